"""Schedules in the whole controller, under given and under predicted cut-offs.

Each test has a twin without the schedule, or with it at another hour: were the guard gone, the two
would not differ.
"""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.engine.container import Container
from ridgeline.settings.schedules import findings_of
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.workload import Pace
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.test_controller_goodput import around, goodput, server
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    REPLICAS,
    START,
    World,
    container,
    spec,
)

FIXED, GOODPUT = "Fixed", "Goodput"
BOTH = pytest.mark.parametrize("strategy", [FIXED, GOODPUT])
HOUR = 3600.0


def window(name: str, begins: float, lasts: int, **asked: Any) -> dict[str, Any]:
    """A window that opens so many seconds after the start of the world (10:00 UTC)."""
    assert START % 86_400 == 10 * HOUR
    minute = int(600 + begins // 60)
    cron = f"{minute % 60} {minute // 60} * * *"
    return {"name": name, "cron": cron, "durationSeconds": lasts, **asked}


def freeze(begins: float = -600.0, lasts: int = 7200) -> dict[str, Any]:
    return window("deploys", begins, lasts, freeze=True)


class Full:
    """Telemetry in which requests wait for capacity on every engine."""

    def __init__(self, world: World, waiting: float = 9.0) -> None:
        self._read = world.telemetry.read
        self._waiting = waiting

    async def read(self, now: float) -> TelemetrySnapshot:
        snapshot = await self._read(now)
        return replace(
            snapshot,
            engines={
                pod: tuple(replace(each, waiting_for_capacity=self._waiting) for each in engines)
                for pod, engines in snapshot.engines.items()
            },
        )


async def world_of(
    strategy: str,
    *schedules: dict[str, Any],
    config: str = EAGLE_CONFIG,
    users: float = LOW,
    unavailable: int = 0,
    full: bool = False,
    seconds: float = 300.0,
    **fields: Any,
) -> World:
    """A world with one serving that has schedules, after some time."""
    world = World()
    predicted = strategy == GOODPUT
    one: Container = server(config) if predicted else container(config)
    pace = Pace(max_surge=1, max_unavailable=unavailable)
    world.cluster.create_deployment("llama", containers=(one,), replicas=REPLICAS, pace=pace)
    world.users["llama"] = users
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: world.users["llama"])
    if full:
        world.sources["default"] = Full(world)
    wanted = {"schedules": list(schedules), **fields} if schedules else fields
    made = goodput(**wanted) if predicted else spec(**wanted)
    world.cluster.create_serving("llama", made)
    world.start(around=around())
    await world.run(seconds)
    return world


@BOTH
async def test_a_freeze_holds_what_would_be_rolled_and_ends(strategy: str) -> None:
    world = await world_of(strategy, freeze(lasts=4200))
    world.users["llama"] = HIGH
    assert not await world.run(2400, until=lambda: bool(world.tries()))
    assert world.status()["lastDecision"]["reason"] == "FrozenBySchedule"
    assert "until 11:00 UTC" in world.status()["lastDecision"]["message"]
    assert world.status()["recommendedProfile"] == "none"
    assert world.condition("SchedulesValid") == ("True", "SchedulesResolved")
    assert await world.run(1800, until=world.finished("none"))
    assert world.cluster.now > START + HOUR


@BOTH
async def test_without_the_freeze_the_same_crowd_is_rolled_within_the_hour(strategy: str) -> None:
    world = await world_of(strategy, freeze(begins=4 * HOUR))
    world.users["llama"] = HIGH
    assert await world.run(1200, until=world.finished("none"))
    assert world.status()["nextSchedule"]["message"] == "freeze at 14:00 UTC"


@BOTH
async def test_an_order_is_obeyed_inside_a_freeze(strategy: str) -> None:
    world = await world_of(strategy, freeze())
    assert not await world.run(300, until=lambda: bool(world.tries()))
    world.cluster.force("llama", "none")
    assert await world.run(300, until=world.finished("none"))
    assert world.status()["switchHistory"][-1]["reason"] == "Forced"
    assert world.cluster.now < START + HOUR


@BOTH
async def test_a_profile_is_put_in_ahead_of_its_window_and_kept_through_it(strategy: str) -> None:
    day = window("office-hours", 3000.0, 3600, profile="none")
    world = await world_of(strategy, day)
    lead = 1200.0
    assert not await world.run(3000 - lead - 300 - 60, until=lambda: bool(world.tries()))
    assert world.status()["nextSchedule"]["message"] == "none at 10:50 UTC"
    assert await world.run(lead, until=world.finished("none"))
    assert world.cluster.now < START + 3000.0, "before the window opens"
    assert world.status()["switchHistory"][-1]["reason"] == "Scheduled"
    assert not await world.run(3600, until=lambda: world.status()["desiredProfile"] != "none")


@BOTH
async def test_after_its_window_the_quiet_profile_comes_back(strategy: str) -> None:
    day = window("office-hours", 600.0, 600, profile="none")
    world = await world_of(strategy, day, maxSwitchesPerDay=6)
    assert await world.run(1200, until=world.finished("none"))
    assert await world.run(3 * HOUR, until=world.finished("eagle2"))
    assert world.cluster.now > START + 1200.0


@BOTH
async def test_switching_on_waits_until_its_window_ends(strategy: str) -> None:
    batch = window("nightly-batch", -600.0, 6600, switchOn="Forbidden")
    world = await world_of(strategy, batch, config="")
    assert not await world.run(5400, until=lambda: bool(world.tries()))
    assert world.status()["lastDecision"]["reason"] == "SwitchOnForbiddenBySchedule"
    assert world.status()["recommendedProfile"] == "eagle2"
    assert await world.run(3600, until=world.finished("eagle2"))
    assert world.cluster.now >= START + 6000.0


@BOTH
async def test_without_its_window_switching_on_does_not_wait(strategy: str) -> None:
    batch = window("nightly-batch", 8 * HOUR, 3600, switchOn="Forbidden")
    world = await world_of(strategy, batch, config="")
    assert await world.run(3600, until=world.finished("eagle2"))


@BOTH
async def test_switching_off_is_free_in_a_window_that_forbids_switching_on(strategy: str) -> None:
    batch = window("nightly-batch", -600.0, 7200, switchOn="Forbidden")
    world = await world_of(strategy, batch)
    world.users["llama"] = HIGH
    assert await world.run(1200, until=world.finished("none"))


@BOTH
async def test_full_servers_sit_a_short_crowd_out(strategy: str) -> None:
    rush = window("rush", -600.0, 4200, crowd="Short")
    world = await world_of(strategy, rush, full=True, unavailable=1, users=HIGH, seconds=2400)
    held = "ShortCrowdScheduled" if strategy == FIXED else "RollWouldSaturate"
    assert world.tries() == []
    assert world.status()["lastDecision"]["reason"] == held
    assert await world.run(1800, until=world.finished("none"))
    assert world.cluster.now > START + HOUR


@BOTH
@pytest.mark.parametrize(
    ("crowd", "unavailable"), [(8 * HOUR, 1), (-600.0, 0)], ids=["another hour", "capacity is kept"]
)
async def test_else_full_servers_are_rolled(strategy: str, crowd: float, unavailable: int) -> None:
    rush = window("rush", crowd, 4200, crowd="Short")
    world = await world_of(
        strategy, rush, full=True, unavailable=unavailable, users=HIGH, seconds=60
    )
    assert await world.run(2400, until=world.finished("none"))


async def test_servers_that_are_not_full_are_rolled_in_a_short_crowd() -> None:
    rush = window("rush", -600.0, 4200, crowd="Short")
    world = await world_of(FIXED, rush, unavailable=1, users=HIGH, seconds=60)
    assert await world.run(2400, until=world.finished("none"))


class TestWhatIsWrong:
    LOST = window("lost", 0.0, 3600, profile="none", timeZone="Europe/Nowhere")

    async def test_it_is_a_condition_and_one_event_and_stops_nothing(self) -> None:
        world = await world_of(FIXED, self.LOST)
        assert world.condition("SchedulesValid") == ("False", "ScheduleInvalid")
        assert "Europe/Nowhere" in world.message("SchedulesValid")
        assert world.condition("Ready") == ("True", "Operating")
        assert world.events().count("ScheduleInvalid") == 1
        world.users["llama"] = HIGH
        assert await world.run(1200, until=world.finished("none"))
        assert world.events().count("ScheduleInvalid") == 1

    async def test_its_repair_is_seen_at_once(self) -> None:
        world = await world_of(FIXED, self.LOST)
        world.cluster.edit_serving("llama", spec(schedules=[freeze(begins=8 * HOUR)]))
        await world.run(30)
        assert world.condition("SchedulesValid") == ("True", "SchedulesResolved")
        assert world.events()[-1] == "Recovered"
        world.cluster.edit_serving("llama", spec())
        await world.run(30)
        assert world.condition("SchedulesValid") == ("", "")

    async def test_two_profiles_at_once_are_told(self) -> None:
        one = window("day", 3600.0, 7200, profile="none")
        other = window("night", 7200.0, 7200, profile="eagle2")
        world = await world_of(FIXED, one, other, seconds=60)
        assert world.condition("SchedulesValid") == ("False", "SchedulesOverlap")
        assert "day and night want different profiles" in world.message("SchedulesValid")
        assert world.events() == ["SchedulesOverlap"]

    async def test_a_restart_tells_nothing_anew(self) -> None:
        world = await world_of(FIXED, self.LOST)
        before, told = world.status(), world.events()
        world.kill(world.process)
        world.start(around=around())
        await world.run(300)
        assert world.events() == told
        assert world.status()["conditions"] == before["conditions"]

    async def test_it_is_looked_into_once_a_day(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks: list[float] = []

        def counting(resolved: Any, now: float) -> Any:
            looks.append(now)
            return findings_of(resolved, now)

        monkeypatch.setattr("ridgeline.controller.basis.findings_of", counting)
        world = await world_of(FIXED, self.LOST, seconds=1800)
        assert 1 <= len(looks) <= 2
        await world.run(86_400, step=60.0)
        assert 2 <= len(looks) <= 3


async def test_a_serving_with_schedules_settles_like_any_other() -> None:
    world = await world_of(FIXED, window("day", 6 * HOUR, 7200, profile="none"), seconds=900)
    before = world.status()
    await world.run(1800)
    assert world.status() == before
