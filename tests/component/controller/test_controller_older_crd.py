"""What a CRD older than the operator has no place for is not written again and again."""

from dataclasses import replace

import pytest

from ridgeline.cluster.objects import ServingObject
from ridgeline.sim.session import CallKind
from tests.component.controller.world import HIGH, LOW, WINDOW, World, spec

DROPPED = ("target", "told", "learned", "control")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose API server keeps less of a status than is written."""
    world = World()
    keep = world.cluster.apply_status

    def pruned(serving: ServingObject, status: dict[str, object], who: str) -> ServingObject:
        kept = {key: value for key, value in status.items() if key not in DROPPED}
        return keep(serving, kept, who)

    monkeypatch.setattr(world.cluster, "apply_status", pruned)
    world.deploy(users=LOW)
    world.cluster.create_serving("llama", spec())
    world.start()
    return world


def _tries(world: World) -> int:
    return sum(1 for each in world.process.session.calls if each.kind is CallKind.STATUS)


async def test_at_rest_nothing_is_written(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.run(2.5 * WINDOW)
    before = _tries(world)
    await world.run(10 * WINDOW)
    assert _tries(world) == before
    told = [each for each in caplog.records if "older than the operator" in each.getMessage()]
    assert len(told) == 1


async def test_what_changes_is_written_and_rolls_go_on(world: World) -> None:
    await world.run(2.5 * WINDOW)
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    assert world.profiles_written() == ["none"]


async def test_a_status_that_somebody_else_changed_is_put_right(world: World) -> None:
    await world.run(2.5 * WINDOW)
    serving = world.process.store.servings.get(("default", "llama"))
    assert serving is not None
    broken = {**serving.status, "desiredProfile": "somebody's"}
    world.process.store.put_serving(replace(serving, status=broken, resource_version="99999999"))
    before = _tries(world)
    await world.run(WINDOW)
    assert _tries(world) > before


async def test_no_roll_is_begun_that_could_not_be_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.run(2.5 * WINDOW)
    keep = world.cluster.apply_status

    def without_rolls(serving: ServingObject, status: dict[str, object], who: str) -> ServingObject:
        kept = {key: value for key, value in status.items() if key != "rollout"}
        return keep(serving, kept, who)

    monkeypatch.setattr(world.cluster, "apply_status", without_rolls)
    world.users["llama"] = HIGH
    assert not await world.run(300, until=world.finished("none"))
    assert world.profiles_written() == []
