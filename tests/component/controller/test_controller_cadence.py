"""The two cadences: who is woken by what, and what the liveness probe is told."""

import asyncio

import pytest

from ridgeline.controller import cadence as cadence_module
from ridgeline.sim.session import Call, CallKind
from tests.component.controller.world import HIGH, World, container, settled, spec


async def test_an_edit_is_answered_before_the_next_tick() -> None:
    world = await settled()
    world.process.next_tick = world.cluster.now + 3600
    world.cluster.edit_serving("llama", spec(suspend=True))
    await world.run(2, step=1.0)
    assert world.condition("Suspended") == ("True", "Suspended")


async def test_a_step_of_a_roll_is_answered_before_the_next_tick() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(300, until=lambda: world.roll() == "Rolling")
    world.process.next_tick = world.cluster.now + 3600
    assert await world.run(300, until=world.finished("none"))


async def test_a_stranger_wakes_nobody() -> None:
    world = await settled()
    before = _passes(world)
    world.process.next_tick = world.cluster.now + 3600
    world.deploy("stranger")
    world.cluster.scale("stranger", 2)
    await world.run(60)
    assert _passes(world) == before
    world.cluster.scale("llama", 5)
    await world.run(60)
    assert _passes(world) > before


async def test_a_serving_that_changes_its_target_is_woken_by_the_new_one_only() -> None:
    world = await settled()
    world.deploy("other", containers=[container("")])
    world.cluster.edit_serving("llama", spec("other", suspend=True))
    await world.run(16)
    assert world.status()["activeProfile"] == "none"
    world.process.next_tick = world.cluster.now + 3600
    before = _passes(world)
    world.cluster.scale("llama", 5)
    await world.run(60)
    assert _passes(world) == before
    world.cluster.scale("other", 5)
    await world.run(60)
    assert _passes(world) > before


def _passes(world: World) -> float:
    sample = world.process.metrics.registry.get_sample_value
    return sample("ridgeline_pass_seconds_count") or 0.0


async def test_the_worker_counts_as_alive_while_passes_end_and_one_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(cadence_module, "stopwatch", lambda: clock[0])
    world = World()
    for name in ("llama", "qwen"):
        world.deploy(name)
        world.cluster.create_serving(name, spec(name))
    process = world.start()
    hanging = asyncio.Event()
    applied = process.session.apply_status

    async def apply_status(serving, status):  # type: ignore[no-untyped-def]
        if serving.name == "qwen":
            await hanging.wait()
        return await applied(serving, status)

    monkeypatch.setattr(process.session, "apply_status", apply_status)
    world.cluster.advance(world.cluster.now + 1)
    await process.cadence.tick()
    clock[0] += 500.0
    batch = asyncio.create_task(process.cadence.work_off())
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.condition("Ready") == ("True", "Operating")
    assert process.cadence.idle_seconds == 0.0
    clock[0] += 500.0
    assert process.cadence.idle_seconds == 500.0
    hanging.set()
    await batch
    assert process.cadence.idle_seconds == 0.0


async def test_it_runs_by_itself_until_it_is_cancelled() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    process = world.start()
    written = asyncio.Event()
    process.store.listen(lambda *_: written.set())
    running = asyncio.create_task(process.cadence.run())
    async with asyncio.timeout(10):
        await written.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # Telemetry was read before the first pass.
    assert world.condition("TelemetryAvailable")[1] != "TelemetryUnavailable"


async def test_a_stop_waits_for_the_batch_and_lets_no_other_begin() -> None:
    world = await settled()
    process = world.process
    seen: list[Call] = []
    process.session.faults = lambda call: seen.append(call)
    await process.cadence.finish_batch()
    world.cluster.edit_serving("llama", spec(suspend=True))
    world.cluster.advance(world.cluster.now + 15)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await process.cadence.work_off()
    assert [call.kind for call in seen if call.kind is CallKind.STATUS] == []
