"""Ten minutes of a Prometheus that misbehaves in every way: no wrong write, and it heals at once.

The real reader, over real HTTP, under the real controller; only the cluster and the time are
simulated.
"""

from collections.abc import AsyncIterator

import pytest

from ridgeline.sim.session import CallKind
from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from tests.component.controller.simulated_prometheus import (
    Misbehaviour,
    SimulatedPrometheus,
    simulated_prometheus,
)
from tests.component.controller.world import HIGH, LOW, TICK, WINDOW, World, spec

TEN_MINUTES = 600.0

LATE = 1.0
"""Seconds, real ones: more than the reader waits."""

FAULTS = {
    "500": Misbehaviour(status=500, spoil=lambda _: b"internal"),
    "422": Misbehaviour(status=422, spoil=lambda _: b'{"error":"too many chunks"}'),
    "429": Misbehaviour(status=429, headers={"Retry-After": "20"}),
    "late": Misbehaviour(delay=LATE),
    "cut": Misbehaviour(cut_after=40),
    "truncated": Misbehaviour(spoil=lambda body: body[: len(body) // 2]),
    "corrupt": Misbehaviour(spoil=lambda body: body.replace(b'"', b"\xff", 3)),
    "empty": Misbehaviour(empty=True),
    "nan": Misbehaviour(value="NaN"),
    "infinite": Misbehaviour(value="+Inf"),
    "half": Misbehaviour(drop_series=True),
    "clock ahead": Misbehaviour(clock_ahead=300.0),
    "clock behind": Misbehaviour(clock_ahead=-300.0),
}
"""Whatever the true load is, none of these tells it."""


class Scene:
    """A world whose only telemetry is a Prometheus that can be made to misbehave."""

    def __init__(self, prometheus: SimulatedPrometheus, world: World) -> None:
        self.prometheus = prometheus
        self.world = world
        self.began = 0.0

    async def settle(self, profile: str, users: float) -> None:
        """Let it run on a profile and a load that fit, until nothing moves any more."""
        self.world.users["llama"] = HIGH if profile == "none" else LOW
        if profile == "none":
            assert await self.world.run(900, until=self.world.finished("none"))
        # Longer than cooldown and dwell.
        await self.world.run(600)
        assert self.world.status()["activeProfile"] == profile
        assert self.world.condition("TelemetryAvailable") == ("True", "Fresh")
        self.world.users["llama"] = users
        self.began = self.world.cluster.now

    def writes(self) -> list[str]:
        """What was tried at the Deployment since it settled."""
        kinds = (CallKind.PROFILE, CallKind.REHEARSAL)
        return [
            each.what
            for each in self.world.cluster.writes
            if each.kind in kinds and each.at >= self.began
        ]

    async def heals(self) -> bool:
        """Whether telemetry counts as available again within one window."""
        self.prometheus.misbehaviour = Misbehaviour()
        return await self.world.run(
            WINDOW, until=lambda: self.world.condition("TelemetryAvailable") == ("True", "Fresh")
        )


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    async with simulated_prometheus(world.telemetry, WINDOW) as prometheus:
        endpoint = Endpoint(name="default", url=prometheus.url, timeout_seconds=LATE / 4)
        reader = TelemetryReader(
            endpoint, window_seconds=WINDOW, backoff=Backoff(longest_seconds=60.0)
        )
        world.sources["default"] = reader
        world.start()
        yield Scene(prometheus, world)
        await reader.close()


async def misbehave_in_turn(scene: Scene) -> None:
    """Each fault for three ticks, and a right answer between two of them."""
    end = scene.world.cluster.now + TEN_MINUTES
    while scene.world.cluster.now < end:
        for fault in FAULTS.values():
            scene.prometheus.misbehaviour = fault
            await scene.world.run(3 * TICK)
            scene.prometheus.misbehaviour = Misbehaviour()
            await scene.world.run(TICK)


@pytest.mark.parametrize(
    ("profile", "users"), [("none", HIGH), ("eagle2", LOW)], ids=["busy", "quiet"]
)
async def test_what_is_right_stays_through_ten_minutes_of_nonsense(
    scene: Scene, profile: str, users: float
) -> None:
    await scene.settle(profile, users)
    await misbehave_in_turn(scene)
    assert scene.writes() == []
    assert await scene.heals()
    # And it is not stuck: a load that asks for the other profile gets it.
    scene.world.users["llama"] = LOW if profile == "none" else HIGH
    other = "eagle2" if profile == "none" else "none"
    assert await scene.world.run(900, until=scene.world.finished(other))


@pytest.mark.parametrize("fault", FAULTS)
async def test_while_it_cannot_see_it_holds_and_then_acts(scene: Scene, fault: str) -> None:
    """The load changes the moment the fault begins, and nobody is told."""
    await scene.settle("eagle2", HIGH)
    scene.prometheus.misbehaviour = FAULTS[fault]
    await scene.world.run(TEN_MINUTES)
    assert scene.writes() == []
    status, reason = scene.world.condition("TelemetryAvailable")
    assert status == "False"
    assert scene.world.events()[-1] == reason
    began = scene.world.cluster.now
    assert await scene.heals()
    # One sight after the outage is no evidence.
    assert scene.writes() == []
    assert await scene.world.run(300, until=scene.world.finished("none"))
    assert scene.world.cluster.now > began + TICK


async def test_a_partial_answer_never_switches_on(scene: Scene) -> None:
    """Every Pod of ours is there, and still something is missing: who knows what."""
    await scene.settle("none", LOW)
    scene.prometheus.misbehaviour = Misbehaviour(warnings=("store gateway-1 is down",))
    await scene.world.run(TEN_MINUTES)
    assert scene.writes() == []
    assert scene.world.status()["lastDecision"]["reason"] == "PartialData"
    assert "store gateway-1 is down" in scene.world.status()["lastDecision"]["message"]
    assert await scene.heals()
    assert await scene.world.run(300, until=scene.world.finished("eagle2"))


async def test_a_partial_answer_may_switch_off(scene: Scene) -> None:
    await scene.settle("eagle2", HIGH)
    scene.prometheus.misbehaviour = Misbehaviour(warnings=("store gateway-1 is down",))
    assert await scene.world.run(TEN_MINUTES, until=scene.world.finished("none"))


async def test_an_informational_annotation_is_no_partial_answer(scene: Scene) -> None:
    await scene.settle("none", LOW)
    info = "PromQL info: metric might not be a counter"
    scene.prometheus.misbehaviour = Misbehaviour(warnings=(info,))
    assert await scene.world.run(TEN_MINUTES, until=scene.world.finished("eagle2"))


async def test_an_endpoint_that_is_down_is_asked_ever_more_rarely(scene: Scene) -> None:
    await scene.settle("eagle2", LOW)
    scene.prometheus.misbehaviour = FAULTS["500"]
    before = scene.prometheus.requests
    await scene.world.run(TEN_MINUTES)
    ticks = TEN_MINUTES / TICK
    # After 15, 30 and then every 60 s: about a third of the ticks, five queries each.
    assert scene.prometheus.requests - before < 5 * ticks / 2
