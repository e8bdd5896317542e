"""The past, read from a real Prometheus: as live reading would have found it, and as it was."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ridgeline.cli.record import app
from ridgeline.policy.facts import ReplicaFacts, TelemetryFacts
from ridgeline.telemetry import client
from ridgeline.telemetry.history import (
    LONG_STEP_SECONDS,
    RECENT_STEP_SECONDS,
    History,
    of_target,
    read_history,
)
from ridgeline.telemetry.history_ranges import Grid, RangeDownload
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.record import PAST, RecordedTick, RecordError
from ridgeline.telemetry.record_past import UNKNOWN, PastPlan, past_ticks
from ridgeline.telemetry.record_read import read_header, read_record
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry.past import (
    HOURS,
    NAMESPACE,
    PODS,
    STOPPED,
    TOKENS_PER_STEP,
    TURN,
    Past,
    past_prometheus,
)

pytestmark = pytest.mark.prometheus

WINDOW = 120.0
TOKENS_PER_REQUEST_SECOND = TOKENS_PER_STEP / 0.02 * 1.01
"""Output tokens per second of one request in decode that speculates, first tokens included."""


@pytest.fixture(scope="module")
def past(prometheus_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    with past_prometheus(tmp_path_factory.mktemp("past"), prometheus_binary) as running:
        yield running


def plan(past: Past, **fields: object) -> PastPlan:
    usual: dict[str, object] = {
        "endpoint": past.endpoint(),
        "namespace": NAMESPACE,
        "target": "llama",
        "pods": None,
        "grid": Grid(start=past.beginning, end=past.end, step=60),
        "window_seconds": WINDOW,
    }
    return PastPlan(**(usual | fields))  # type: ignore[arg-type]


def ticks(wanted: PastPlan) -> list[RecordedTick]:
    return list(past_ticks(wanted, RangeDownload(wanted.endpoint), lambda done, count: None))


def replicas(tick: RecordedTick) -> dict[str, ReplicaFacts]:
    return {each.name: each for each in tick.facts.replicas}


async def live(past: Past, at: float) -> TelemetrySnapshot:
    reader = TelemetryReader(past.endpoint(), window_seconds=WINDOW)
    try:
        return await reader.read(at)
    finally:
        await reader.close()


def test_every_number_is_the_one_that_live_reading_gives(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Live reading refuses a clock that differs from the evaluation time, as it does here.
    for limit in ("REMARKED_SKEW_SECONDS", "REFUSED_SKEW_SECONDS"):
        monkeypatch.setattr(client, limit, 1e9)
    found = {each.at: each for each in ticks(plan(past))}
    compared = 0
    for seconds in (600, TURN + 60, TURN + 600, HOURS * 3600 - 60):
        at = past.beginning + seconds
        snapshot = asyncio.run(live(past, at))
        assert snapshot.error is None
        for name, replica in replicas(found[at]).items():
            assert replica.engines == snapshot.engines[NAMESPACE, name]
            compared += len(replica.engines)
    assert compared >= 8


def test_how_answers_ended_and_how_long_they_took(past: Past) -> None:
    """Also of Pods that lived for longer and for shorter than the hour that is looked at."""
    found = {each.at - past.beginning: replicas(each) for each in ticks(plan(past))}
    for at, pod in ((1800.0, PODS[0]), (TURN - 60.0, PODS[0]), (TURN + 900.0, PODS[2])):
        (engine,) = found[at][pod.name].engines
        ends = dict(engine.finished_per_second or ())
        assert sorted(ends) == ["length", "stop"]
        assert ends["stop"] / sum(ends.values()) == pytest.approx(STOPPED)
        assert (engine.longest_answer_seconds, engine.longest_answer_unbounded) == (60.0, False)


def test_pods_come_and_go_as_they_did(past: Past) -> None:
    found = {each.at - past.beginning: set(replicas(each)) for each in ticks(plan(past))}
    before, after = {each.name for each in PODS[:2]}, {each.name for each in PODS[2:4]}
    assert found[600.0] == before
    assert found[TURN + 900.0] == after
    # Both at once while the roll ran: the second old Pod lived five minutes longer.
    assert found[TURN + 180.0] == after | {PODS[1].name}


def test_what_prometheus_does_not_tell_is_marked(past: Past) -> None:
    found = ticks(plan(past))
    assert {each.unknown for each in found} == {UNKNOWN}
    assert {(each.settings, each.memory, each.decision) for each in found} == {(None, None, None)}
    late = replicas(next(each for each in found if each.at == past.beginning + TURN + 900))
    (seen,) = {each.ready_seconds for each in late.values()}
    # Known since the first step whose window held two samples of theirs.
    assert 900 - 120 <= seen <= 900
    assert isinstance(found[0].facts.telemetry, TelemetryFacts)


def test_pods_are_told_apart_by_workload(past: Past) -> None:
    grid = Grid(start=past.end - 300, end=past.end, step=60)
    found = ticks(plan(past, target=None, pods=".*", grid=grid))
    assert {each.serving for each in found} == {"llama", "llama-70b", "bare"}
    engines = {
        len(pod.engines)
        for each in found
        if each.serving == "llama-70b"
        for pod in each.facts.replicas
    }
    assert engines == {2}


def test_another_namespace_has_nothing(past: Past) -> None:
    assert ticks(plan(past, namespace="elsewhere")) == []


def test_a_refused_query_is_told_in_prometheus_own_words(past: Past) -> None:
    with pytest.raises(
        RecordError, match=r"query \w+ failed: HTTP 400, query refused: .*missing clos"
    ):
        ticks(plan(past, target=None, pods="("))


@pytest.fixture(scope="module")
def history(past: Past) -> History:
    return asyncio.run(
        read_history(
            past.endpoint(),
            past.end,
            window_seconds=WINDOW,
            long_seconds=HOURS * 3600,
            recent_seconds=600,
        )
    )


def test_history_of_a_target_is_its_demand_through_a_roll(past: Past, history: History) -> None:
    assert history.error is None
    load = of_target(history.long, NAMESPACE, "llama")
    by_time = {each.at - past.beginning: each for each in load}
    assert {b.at - a.at for a, b in pairwise(load)} == {LONG_STEP_SECONDS}
    early, late = by_time[3600.0], by_time[HOURS * 3600.0]
    assert (early.engines, late.engines) == (2, 2)
    assert early.concurrency == pytest.approx(12.0, rel=0.01)
    assert late.concurrency == pytest.approx(54.0, rel=0.01)
    assert early.tokens_per_second == pytest.approx(12 * TOKENS_PER_REQUEST_SECOND, rel=0.01)
    assert late.tokens_per_second == pytest.approx(54 / 0.02 * 1.01, rel=0.01)


def test_history_tells_workloads_and_other_pods_apart(history: History) -> None:
    assert set(history.long) == {(NAMESPACE, name) for name in ("llama", "llama-70b", "bare")}
    last = history.long[NAMESPACE, "llama-70b"][-1]
    assert last.engines == 2
    assert last.concurrency == pytest.approx(6.0, rel=0.01)


def test_recent_history_is_by_pod(past: Past, history: History) -> None:
    assert {pod for _, pod in history.recent} == {each.name for each in PODS[2:]}
    points = history.recent[NAMESPACE, PODS[2].name]
    assert points[-1].at == past.end
    assert points[-1].at - points[0].at == 600
    assert {b.at - a.at for a, b in pairwise(points)} == {RECENT_STEP_SECONDS}
    assert points[-1].concurrency == pytest.approx(24.0, rel=0.01)
    assert of_target(history.recent, NAMESPACE, "llama")[-1].concurrency == pytest.approx(
        54.0, rel=0.01
    )


async def test_history_that_cannot_be_read_says_why(past: Past) -> None:
    found = await read_history(past.endpoint(url="http://127.0.0.1:1"), past.end)
    assert (found.long, found.recent) == ({}, {})
    assert found.error is not None
    assert "check the address of Prometheus" in found.error


def test_the_command_records_the_past(past: Past, tmp_path: Path) -> None:
    out = tmp_path / "llama.jsonl.gz"
    arguments = ["--prometheus", past.url, "-n", NAMESPACE, "--target", "llama"]
    arguments += ["--from", str_of(past.end - 600), "--to", str_of(past.end), "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = list(read_record(out))
    assert [each.at for each in found] == [past.end - 600 + 15 * n for n in range(41)]
    header = read_header(out)
    assert (header.source, header.step_seconds, header.window_seconds) == (PAST, 15.0, 120.0)
    assert "41 ticks" in result.output

    part = tmp_path / "part.jsonl.gz"
    arguments = ["cut", str(out), "--serving", f"{NAMESPACE}/llama", "--out", str(part)]
    arguments += ["--from", str_of(past.end - 60)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert list(read_record(part)) == found[-5:]


def test_the_command_says_when_there_was_nothing(past: Past, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl.gz"
    arguments = ["--prometheus", past.url, "-n", NAMESPACE, "--target", "lama"]
    arguments += ["--from", str_of(past.end - 60), "--to", str_of(past.end), "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "none has a sample of these Pods in namespace 'inference'" in result.output
    assert not out.exists()


def str_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
