"""The parts of a soak: the API server's answers, the ways they get lost, the loop, the slopes."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    FieldConflictError,
    NotFoundError,
    StaleVersionError,
    UnavailableError,
)
from ridgeline.cluster.store import Kind
from ridgeline.cluster.target import ProfileWrite, TargetApi
from tests.component.controller.world import EAGLE_CONFIG
from tests.soak.client import SimulatedClient
from tests.soak.day import Day, play
from tests.soak.loop import JumpingLoop
from tests.soak.measure import Sample, held_bytes, slope
from tests.soak.record import Seen, load, save
from tests.soak.servings import whole, with_canary
from tests.soak.stage import Stage
from tests.soak.trouble import LATE_SECONDS, Harm, Strike
from tests.tools.fault_matrix import PAGE
from tests.tools.soak_table import page_with, table


def _stage() -> Stage:
    return Stage((whole("aya"),))


def _api(stage: Stage) -> tuple[TargetApi, SimulatedClient]:
    client = SimulatedClient(stage, "a")
    stage.lease.holder = "a"
    return TargetApi(KubernetesApi(cast("Any", client))), client


async def _write(stage: Stage, targets: TargetApi) -> ProfileWrite:
    told = await targets.read("default", "aya")
    assert told == stage.server.deployment_object("default", "aya")
    return ProfileWrite(
        namespace="default",
        deployment="aya",
        uid=told.uid,
        resource_version=told.resource_version,
        container="vllm",
        serving="aya",
        profile="none",
        config="",
    )


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        (lambda stage: stage.touch("aya"), StaleVersionError),
        (lambda stage: stage.heal_by_git("aya", EAGLE_CONFIG), StaleVersionError),
        (lambda stage: stage.recreate_target("aya"), AnotherObjectError),
        (lambda stage: stage.delete_target("aya"), AnotherObjectError),
        (lambda stage: setattr(stage.cluster, "api_down", True), UnavailableError),
    ],
)
async def test_what_has_changed_since_it_was_read_is_not_written(
    deed: Any, error: type[ClusterError]
) -> None:
    stage = _stage()
    targets, _ = _api(stage)
    write = await _write(stage, targets)
    deed(stage)
    with pytest.raises(error):
        await targets.apply(write)


async def test_a_field_of_somebody_else_is_a_conflict_that_names_them() -> None:
    stage = _stage()
    targets, _ = _api(stage)
    stage.heal_by_git("aya", "{}")
    write = await _write(stage, targets)
    with pytest.raises(FieldConflictError) as caught:
        await targets.apply(write)
    assert {each.manager for each in caught.value.conflicts} == {"flux"}


async def test_a_target_that_is_gone_is_not_found() -> None:
    stage = _stage()
    targets, _ = _api(stage)
    stage.delete_target("aya")
    with pytest.raises(NotFoundError):
        await targets.read("default", "aya")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("harm", [Harm.TIMEOUT, Harm.RESET, Harm.BROKEN, Harm.TOO_MANY])
async def test_a_write_without_an_answer_may_have_landed(harm: Harm, after: bool) -> None:
    stage = _stage()
    targets, client = _api(stage)
    write = await _write(stage, targets)
    client.trouble.expect(Strike(harm=harm, kind="profile", after=after))
    with pytest.raises(UnavailableError):
        await targets.apply(write)
    assert stage.config("aya") == ("" if after else EAGLE_CONFIG)


@pytest.mark.parametrize("touched", [False, True])
async def test_a_late_write_lands_where_nobody_has_written_since(touched: bool) -> None:
    stage = _stage()
    targets, client = _api(stage)
    write = await _write(stage, targets)
    client.trouble.expect(Strike(harm=Harm.LATE, kind="profile"))
    with pytest.raises(UnavailableError):
        await targets.apply(write)
    if touched:
        stage.touch("aya")
    stage.advance(LATE_SECONDS + 1.0)
    assert stage.config("aya") == (EAGLE_CONFIG if touched else "")


async def test_lost_news_come_by_the_next_listing() -> None:
    stage = _stage()
    stage.start("a")
    operator = stage.operators["a"]
    operator.next_listing = math.inf
    stage.stream("lose", Kind.DEPLOYMENT, 100)
    stage.scale("aya", 6)
    await stage.pass_time(30.0)
    known = operator.store.deployments.get(("default", "aya"))
    assert known is not None
    assert known.replicas == 4
    stage.heal_streams()
    await stage.pass_time(30.0)
    known = operator.store.deployments.get(("default", "aya"))
    assert known is not None
    assert known.replicas == 6


def _holder(stage: Stage) -> str | None:
    return stage.lease.holder


async def test_the_lease_goes_to_the_next_after_it_has_run_out() -> None:
    stage = _stage()
    stage.start("a")
    stage.start("b")
    await stage.pass_time(5.0)
    assert _holder(stage) == "a"
    stage.hand_over()
    await stage.pass_time(10.0)
    assert _holder(stage) is None
    await stage.kill("a")
    await stage.pass_time(10.0)
    assert _holder(stage) == "b"


def test_who_sleeps_is_woken_at_once() -> None:
    async def sleeps() -> float:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(86_400.0)
        return asyncio.get_running_loop().time() - before

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        assert runner.run(sleeps()) == pytest.approx(86_400.0)


def test_a_slope_has_an_error_and_noise_is_flat() -> None:
    hours = [float(each) for each in range(24)]
    grows = slope(hours, [1e6 + 1e4 * hour for hour in hours])
    assert grows.per_hour == pytest.approx(1e4)
    assert not grows.flat
    assert slope(hours, [1e6 + 1e4 * (hour % 2) for hour in hours]).flat
    assert slope(hours, [1e6] * 24).flat
    with pytest.raises(ValueError, match="three points"):
        slope([0.0, 1.0], [0.0, 1.0])


async def test_what_an_operator_remembers_for_ever_shows() -> None:
    stage = Stage((whole("aya"), with_canary("qwen")))
    stage.start("a")
    await stage.pass_time(60.0)
    operator = stage.operators["a"]
    before = held_bytes(operator)
    hoard = [bytearray(1000) for _ in range(1000)]
    operator.cadence._complaints.hoard = hoard  # type: ignore[attr-defined]
    assert held_bytes(operator) - before > 1_000_000
    assert before < 5_000_000


def test_a_short_day_breaks_nothing_and_its_result_is_kept(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        seen = runner.run(play(Day(seed=7, hours=0.3, quiet_seconds=2400.0)))
    assert seen.broken == []
    assert seen.happenings
    save(seen, tmp_path)
    (read,) = load(tmp_path)
    assert read == replace(seen)


def test_the_same_seed_plays_the_same_day() -> None:
    def once() -> Seen:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            return runner.run(play(Day(seed=3, hours=0.05, quiet_seconds=0.0)))

    one, other = once(), once()
    assert (one.happenings, one.rolls, one.writes) == (other.happenings, other.rolls, other.writes)


async def test_a_successor_counts_rolls_that_its_streams_have_not_told() -> None:
    stage = Stage((whole("aya"), whole("qwen")))
    stage.start("a")
    stage.start("b")
    await stage.pass_time(200.0)
    successor = stage.operators["b"]
    successor.stream.stalled, successor.next_listing = {Kind.SERVING}, math.inf
    stage.users["aya"] = 160.0
    while not stage.judge.rolls:
        await stage.pass_time(5.0)
    stage.users["qwen"] = 160.0
    await stage.pass_time(10.0)
    await stage.kill("a")
    await stage.pass_time(300.0)
    assert stage.judge.rolls == 2
    assert stage.judge.found == []


def test_the_page_shows_what_the_runs_saw_and_is_in_step() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(load(), page) == page, "run: python -m tests.tools.soak_table"


def test_a_run_that_broke_a_promise_or_grew_is_told_as_such() -> None:
    samples = [
        Sample(
            hour=float(hour),
            rss_bytes=10**8,
            allocated_blocks=10**6,
            traced_bytes=0,
            held_bytes=10**6 + 10**5 * hour,
            file_descriptors=8,
            tasks=1,
            stored_objects=30,
            largest_status_bytes=4000,
        )
        for hour in range(24)
    ]
    seen = Seen(
        date="2026-01-02",
        seed=5,
        hours=24.0,
        cpu_seconds=100.0,
        servings=5,
        happenings={"clock jumps": 3, "scaled": 4},
        rolls={"begun": 7, "put back": 1},
        operators_lost=2,
        passes=100,
        writes={},
        broken=["at 1: a writes without the Lease"],
        samples=samples,
    )
    told = table([seen])
    assert "| 2026-01-02 | 5 | 24 | 7 | 7 | 1 | 2 | 1 |" in told
    assert "what the operator holds | 2.75e+03 kB | 100 kB | 0 kB | **no** |" in told
    assert "| asyncio tasks | 1 | 0 | 0 | yes |" in told
    assert "scaled (4); clock jumps (3)" in told
    assert not seen.whole
    assert replace(seen, broken=[], samples=[]).whole
    assert not replace(seen, broken=[]).whole
