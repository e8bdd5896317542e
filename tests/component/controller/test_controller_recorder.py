"""The record of the live loop: all that decisions rested on, and never at the loop's expense."""

import errno
import gzip
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.recorder import Recorder, recorder_of
from ridgeline.engine.container import Container, EnvItem
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import TelemetryFacts
from ridgeline.settings.config import parse_config
from ridgeline.telemetry.record import RecordedTick, recorded_decision
from ridgeline.telemetry.record_read import read_header, read_record
from ridgeline.telemetry.record_write import RecordFolder, record_files
from ridgeline.terms.reasons import Reason
from tests.component.controller.world import EAGLE_CONFIG, HIGH, World, container, spec
from tests.unit.telemetry.record_ticks import HEADER

SECRET = "hf_8c1b6f0e"


class Notes:
    """A recorder of a test, with its metrics and what it wrote."""

    def __init__(self, directory: Path, **options: int) -> None:
        self.directory = directory
        self.metrics = OperatorMetrics()
        limits = {"max_bytes": 64 * 1024 * 1024, **options}
        self.recorder = Recorder(directory, HEADER, self.metrics, **limits)

    def metric(self, name: str) -> float:
        value = self.metrics.registry.get_sample_value(f"ridgeline_{name}")
        assert value is not None
        return value

    def ticks(self) -> list[RecordedTick]:
        """What was written, once the recorder has ended."""
        self.recorder.stop()
        damage: list[str] = []
        ticks = list(read_record(self.directory, on_damage=damage.append))
        assert damage == []
        return ticks


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    made = Notes(tmp_path / "record")
    made.recorder.start()
    yield made
    made.recorder.stop()


async def busy(notes: Notes, containers: tuple[Container, ...] = (), **options: int) -> World:
    """A world that was quiet, became busy and asks for another profile."""
    world = World(sink=notes.recorder, **options)
    world.deploy(containers=containers)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    world.users["llama"] = HIGH
    await world.run(600, until=world.finished("none"))
    return world


def decisions(world: World) -> float:
    """How many decisions the operator counted."""
    found = 0.0
    for family in world.process.metrics.registry.collect():
        if family.name == "ridgeline_decisions":
            found += sum(each.value for each in family.samples if each.name.endswith("_total"))
    return found


async def test_every_pass_is_recorded_with_all_that_its_decision_rests_on(notes: Notes) -> None:
    world = await busy(notes)
    ticks = notes.ticks()
    assert len(ticks) == decisions(world) > 20
    assert {(each.namespace, each.serving) for each in ticks} == {("default", "llama")}
    for each in ticks:
        assert each.settings is not None
        assert each.memory is not None
        again = decide(each.facts, each.settings, each.memory, each.at)
        assert recorded_decision(again) == each.decision
    outcomes = [each.decision.outcome for each in ticks if each.decision is not None]
    assert outcomes.count(Outcome.SWITCH) == 1
    assert not any(each.overruled for each in ticks)
    assert notes.metric("recording") == 1
    assert notes.metric("record_dropped_total") == 0


async def test_what_overruled_a_decision_is_recorded_beside_it(notes: Notes) -> None:
    await busy(notes, max_rolls=0)
    overruled = [each for each in notes.ticks() if each.overruled is not None]
    assert overruled
    for each in overruled:
        assert each.decision is not None
        assert each.overruled is not None
        assert each.decision.outcome is Outcome.SWITCH
        assert each.overruled.reason is Reason.WAITING_FOR_ROLL_BUDGET


async def test_what_was_decided_while_nobody_may_act_is_recorded_as_it_was_asked(
    notes: Notes,
) -> None:
    """An obstacle suspends a serving for the decision; the record holds these very settings."""
    world = await busy(notes)
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(600)
    undone = [each for each in notes.ticks() if each.overruled is not None]
    assert len(undone) > 10
    for each in undone:
        assert each.overruled is not None
        assert each.overruled.reason is Reason.UNDONE_BY_OTHERS
        assert each.settings is not None
        assert each.memory is not None
        again = decide(each.facts, each.settings, each.memory, each.at)
        assert recorded_decision(again) == each.decision


async def test_no_environment_but_the_speculative_config_is_recorded(notes: Notes) -> None:
    usual = container()
    secret = EnvItem(name="HF_TOKEN", value=SECRET)
    await busy(notes, (replace(usual, env=(*usual.env, secret)),))
    notes.ticks()
    text = b"".join(gzip.decompress(each.read_bytes()) for each in record_files(notes.directory))
    assert EAGLE_CONFIG.replace('"', '\\"').encode() in text
    assert SECRET.encode() not in text


async def test_addresses_in_what_an_endpoint_says_are_not_recorded(notes: Notes) -> None:
    world = World(sink=notes.recorder)
    world.deploy()
    world.cluster.create_serving("llama", spec())
    world.telemetry.faults.error = "Cannot connect to host prometheus.mon:9090 (10.1.2.3)"
    world.start()
    await world.run(30)
    (told, *_) = notes.ticks()
    assert isinstance(told.facts.telemetry, TelemetryFacts)
    assert told.facts.telemetry.error == "Cannot connect to host [address] ([address])"
    assert told.decision is not None
    assert "10.1.2.3" not in told.decision.message


async def test_a_folder_that_cannot_be_used_ends_the_recording_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "record").write_text("a file stands here")
    notes = Notes(tmp_path / "record")
    notes.recorder.start()
    world = await busy(notes)
    notes.recorder.stop()
    assert world.profiles_written() == ["none"]
    assert notes.metric("recording") == 0
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    (told,) = [each.getMessage() for each in errors]
    assert "recording ended" in told
    assert "record.maxMiB" in told
    assert "recorder" not in {each.name for each in threading.enumerate()}


async def test_a_full_disk_ends_the_recording_and_what_stands_there_is_read(
    notes: Notes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, calls = RecordFolder.flush, [0]

    def flush(folder: RecordFolder) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(folder)

    monkeypatch.setattr(RecordFolder, "flush", flush)
    world = await busy(notes)
    assert world.profiles_written() == ["none"]
    assert notes.ticks()
    assert notes.metric("recording") == 0
    assert calls == [4]
    assert [each.getMessage() for each in caplog.records if "recording ended" in each.message]


async def test_a_slow_disk_costs_ticks_and_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()
    monkeypatch.setattr(RecordFolder, "add", _after(may_write, RecordFolder.add))
    waits = _waits_of_the_loop(monkeypatch)
    notes = Notes(tmp_path / "record", queue_ticks=5)
    notes.recorder.start()
    world = await busy(notes)
    assert world.profiles_written() == ["none"]
    assert waits == {False}
    may_write.set()
    ticks = notes.ticks()
    # The queue's, and the one that the thread had taken out of it.
    assert 5 <= len(ticks) <= 6
    assert notes.metric("record_dropped_total") == decisions(world) - len(ticks)


def _waits_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> set[bool]:
    """Whether any handing over was ready to wait for room in the queue."""
    found: set[bool] = set()
    real = queue.Queue.put

    def put(
        self: queue.Queue[object], item: object, block: bool = True, timeout: float | None = None
    ) -> None:
        if item is not None:
            found.add(block)
        real(self, item, block, timeout)

    monkeypatch.setattr(queue.Queue, "put", put)
    return found


def _after(
    event: threading.Event, real: Callable[[RecordFolder, RecordedTick], None]
) -> Callable[[RecordFolder, RecordedTick], None]:
    def add(folder: RecordFolder, tick: RecordedTick) -> None:
        assert event.wait(60)
        real(folder, tick)

    return add


async def test_a_tick_that_cannot_be_written_costs_itself_alone(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = RecordFolder.add, [0]

    def add(folder: RecordFolder, tick: RecordedTick) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise ValueError("surrogates not allowed")
        real(folder, tick)

    monkeypatch.setattr(RecordFolder, "add", add)
    world = await busy(notes)
    assert len(notes.ticks()) == decisions(world) - 1
    assert notes.metric("record_dropped_total") == 1
    assert notes.metric("recording") == 1


def test_without_a_folder_nothing_is_recorded() -> None:
    config = parse_config({"telemetry": [{"url": "http://prometheus:9090"}]})
    assert recorder_of(config, OperatorMetrics()) is None


def test_the_header_tells_endpoints_without_addresses_and_values(tmp_path: Path) -> None:
    config = parse_config(
        {
            "record": {"directory": str(tmp_path)},
            "telemetry": [
                {
                    "name": "eu",
                    "url": "http://prometheus:9090",
                    "headers": {"X-Scope-OrgID": SECRET},
                    "matchers": [{"label": "cluster", "value": SECRET, "operator": "=~"}],
                }
            ],
        }
    )
    recorder = recorder_of(config, OperatorMetrics())
    assert recorder is not None
    text = repr(recorder.header)
    assert "eu" in text
    assert "cluster=~" in text
    assert "prometheus" not in text
    assert SECRET not in text


async def test_the_header_stands_in_the_file(notes: Notes) -> None:
    await busy(notes)
    notes.recorder.stop()
    assert read_header(notes.directory) == HEADER
