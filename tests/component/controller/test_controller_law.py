"""The control law in the whole controller: where it acts, what it remembers, what is told."""

from dataclasses import replace
from typing import Any

from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.test_controller_goodput import around, goodput, world_with
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    REPLICAS,
    WINDOW,
    World,
    settled,
    spec,
)


async def quiet(seconds: float = 900.0, **fields: Any) -> World:
    """A quiet world on eagle2 under the law."""
    world = world_with(EAGLE_CONFIG, LOW)
    world.cluster.create_serving("llama", goodput(**fields))
    world.start(around=around())
    await world.run(seconds)
    return world


async def test_where_the_law_acts_stands_beside_the_cutoff_and_below_it() -> None:
    world = await quiet()
    eagle, none = world.status()["cutoffTable"]
    assert 1 <= eagle["actAtConcurrency"] < eagle["upToConcurrency"]
    assert "actAtConcurrency" not in none


async def test_it_stands_through_a_roll_and_a_restart() -> None:
    world = await quiet()
    stands = world.status()["cutoffTable"][0]["actAtConcurrency"]
    seen = set()

    def look() -> bool:
        seen.add(world.status()["cutoffTable"][0].get("actAtConcurrency"))
        return False

    world.kill(world.process)
    world.start(around=around())
    await world.run(120, until=look)
    world.cluster.force("llama", "none")
    await world.run(120, until=look)
    assert seen == {stands}


async def test_a_rule_that_a_person_gave_has_no_such_place() -> None:
    world = await settled()
    assert all("actAtConcurrency" not in row for row in world.status()["cutoffTable"])


async def test_a_crowd_is_left_at_the_act_at_and_not_at_the_cutoff() -> None:
    world = await quiet()
    row = world.status()["cutoffTable"][0]
    between = (row["actAtConcurrency"] + row["upToConcurrency"]) / 2.0
    world.users["llama"] = between * REPLICAS
    assert await world.run(1200, until=world.finished("none"))
    (switch,) = world.status()["switchHistory"]
    assert abs(switch["concurrency"] - between) <= 1.0


async def test_the_peak_and_the_last_turn_outlive_the_process() -> None:
    world = await quiet()
    world.users["llama"] = HIGH
    assert await world.run(1200, until=world.finished("none"))
    await world.run(120)
    control = world.status()["control"]
    assert control["turn"]["to"] == "none"
    assert control["running"] == "none"
    assert control["peak"]["days"]
    world.kill(world.process)
    world.start(around=around())
    await world.run(60)
    after = world.status()["control"]
    assert after["turn"] == control["turn"]
    assert after["peak"]["firstDay"] == control["peak"]["firstDay"]


async def test_what_a_suspended_serving_asks_for_is_remembered_too() -> None:
    world = await quiet(suspend=True, seconds=1800)
    assert world.status()["control"]["peak"]["days"][0]["slots"] >= 1
    assert world.status()["lastDecision"]["reason"] == "Suspended"


async def test_first_contact_is_told_once_and_says_how_to_allow_it() -> None:
    world = world_with("", LOW)
    world.cluster.create_serving("llama", goodput(stated=False))
    world.start(around=around())
    await world.run(1200)
    for users in (HIGH, LOW, HIGH, LOW):
        world.users["llama"] = users
        await world.run(900)
    assert world.events().count("CutoffUndecided") == 1
    (note,) = [
        each.note.note
        for each in world.cluster.events
        if each.note.reason.value == "CutoffUndecided"
    ]
    assert "annotation ridgeline.dev/force-profile" in note
    assert "acceptancePercent" in note
    assert world.tries() == []


NARROW = {
    "strategy": "Fixed",
    "ranges": [
        {"profile": "eagle2", "upToConcurrency": 20, "returnBelowConcurrency": 19},
        {"profile": "none"},
    ],
}


class TestOscillation:
    """A band too narrow for a cut-off: the detector of tables that a person gave."""

    async def undone(self) -> World:
        """A world that was rolled off at 20.5 and would be rolled back at 18.5."""
        world = World()
        world.deploy(users=20.5 * REPLICAS)
        world.cluster.create_serving("llama", spec(cutoff=NARROW, maxSwitchesPerDay=10))
        world.start()
        assert await world.run(900, until=world.finished("none"))
        world.users["llama"] = 18.5 * REPLICAS
        await world.run(900)
        return world

    async def test_the_opposite_at_the_same_load_is_locked_and_told_once(self) -> None:
        world = await self.undone()
        assert world.status()["lastDecision"]["reason"] == "OscillationLocked"
        assert world.status()["recommendedProfile"] == "eagle2"
        assert world.status()["switchHistory"][-1]["concurrency"] in (20, 21)
        for users in (19.5, 18.5) * 4:
            world.users["llama"] = users * REPLICAS
            await world.run(5 * WINDOW)
        assert world.events().count("OscillationLocked") == 1
        assert len(world.history()) == 1

    async def test_a_restart_does_not_lose_it(self) -> None:
        world = await self.undone()
        world.kill(world.process)
        world.start()
        await world.run(1800)
        assert world.status()["lastDecision"]["reason"] == "OscillationLocked"
        assert len(world.history()) == 1
        assert world.events().count("OscillationLocked") == 1

    async def test_a_lower_load_or_six_hours_end_it(self) -> None:
        world = await self.undone()
        world.users["llama"] = LOW
        assert await world.run(900, until=world.finished("eagle2"))
        world = await self.undone()
        assert not await world.run(4.5 * 3600, until=lambda: len(world.history()) > 1, step=15.0)
        assert await world.run(2 * 3600, until=world.finished("eagle2"), step=15.0)


class Silent:
    """Telemetry that lacks what the law's demand is made of, now and then."""

    def __init__(self, world: World) -> None:
        self._read = world.telemetry.read
        self.silent = False

    async def read(self, now: float) -> TelemetrySnapshot:
        snapshot = await self._read(now)
        if not self.silent:
            return snapshot
        engines = {
            pod: tuple(replace(each, generated_tokens_per_second=None) for each in engines)
            for pod, engines in snapshot.engines.items()
        }
        return replace(snapshot, engines=engines)


async def test_without_demand_the_law_holds_and_where_it_acts_stands() -> None:
    world = world_with(EAGLE_CONFIG, LOW)
    source = Silent(world)
    world.sources["default"] = source
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    await world.run(900)
    stands = world.status()["cutoffTable"]
    source.silent = True
    world.users["llama"] = HIGH
    assert not await world.run(1200, until=lambda: bool(world.tries()))
    assert world.status()["lastDecision"]["reason"] == "NoData"
    assert world.status()["cutoffTable"] == stands
