"""`explain` names the right cause in every state that goes wrong for others, in words."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.explain_document import explanation_document
from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.explain import Explanation, Seen, told, view_of
from ridgeline.controller.view import View
from ridgeline.policy.quota import PodCost
from ridgeline.sim.fate import cannot_pull
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import EndpointFaults
from ridgeline.sim.pace import Pace
from ridgeline.sim.template import Template
from tests.component.controller.test_controller_explain import GPU, page_of, server
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    REPLICAS,
    World,
    container,
    settled,
    spec,
)
from tests.unit.cluster.test_neighbours import quota_body, scaler_body

Make = Callable[[], Awaitable[tuple[World, Surroundings]]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A state of one scenario, the reason that is right there, and words that must be said."""

    scenario: str
    make: Make
    reason: str
    words: tuple[str, ...]


def broken(breaks: Callable[[World, EndpointFaults], None], users: float = HIGH) -> Make:
    """A quiet serving whose telemetry breaks while its load changes."""

    async def make() -> tuple[World, Surroundings]:
        world = await settled()
        breaks(world, world.telemetry.faults)
        world.users["llama"] = users
        await world.run(600)
        return world, Surroundings()

    return make


def after(change: Callable[[World], None], seconds: float = 300, **options: Any) -> Make:
    """A settled serving to which something happens."""

    async def make() -> tuple[World, Surroundings]:
        world = await settled(**options)
        change(world)
        await world.run(seconds)
        return world, Surroundings()

    return make


def from_the_start(
    build: Callable[[World, Surroundings], None], seconds: float = 900, **fields: Any
) -> Make:
    """A busy serving of a world that was built so."""

    async def make() -> tuple[World, Surroundings]:
        world, around = World(), Surroundings()
        build(world, around)
        if "llama" not in world.users:
            world.deploy(users=HIGH)
        world.cluster.create_serving("llama", spec(**fields))
        world.start(around=around)
        await world.run(seconds)
        return world, around

    return make


def _pods(world: World) -> list[str]:
    return [pod.name for pod in world.cluster.pods_of("llama")]


def _stopped(world: World, faults: EndpointFaults) -> None:
    faults.scraping = False


def _down(_: World, faults: EndpointFaults) -> None:
    faults.error = "HTTP 503: service unavailable"


def _empty(_: World, faults: EndpointFaults) -> None:
    faults.empty = True


def _nan(world: World, faults: EndpointFaults) -> None:
    faults.not_finite = set(_pods(world))


def _half(world: World, faults: EndpointFaults) -> None:
    faults.hidden = set(_pods(world)[:2])


def _engine_missing(world: World, _: Surroundings) -> None:
    world.deploy(users=LOW, containers=[container(None, "vllm", "--data-parallel-size=2")])
    world.telemetry.faults.missing_engines = {"1"}


def _contested(world: World, _: Surroundings) -> None:
    world.deploy(users=HIGH)
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="flux")


def _rivals(world: World, _: Surroundings) -> None:
    world.deploy(users=HIGH)
    world.cluster.create_serving("an-older-one", spec())
    world.cluster.advance(world.cluster.now + 60)


def _quota_full(world: World, around: Surroundings) -> None:
    body = quota_body("team", hard={"pods": "4"}, used={"pods": "4"}, namespace="default")
    body["metadata"]["resourceVersion"] = "1"
    around.quotas.lay_over(0, [trim_quota(body)])
    _shaped(world, cost=PodCost(amounts={"pods": Fraction(1)}))


def _scaling(world: World, around: Surroundings) -> None:
    body = scaler_body(
        "hpa", namespace="default", status={"currentReplicas": REPLICAS, "desiredReplicas": 6}
    )
    body["metadata"]["resourceVersion"] = "1"
    around.autoscalers.lay_over(0, [trim_autoscaler(body)])
    world.deploy(users=HIGH)


def _shaped(world: World, **shape: Any) -> None:
    world.cluster.create_deployment(
        "llama", containers=(container(),), replicas=REPLICAS, shape=TargetShape(**shape)
    )
    world.users["llama"] = HIGH
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: world.users["llama"])


def _unstartable(world: World, _: Surroundings) -> None:
    pace = Pace(deadline_seconds=120.0, starts=lambda template: template.profile is None)
    world.deploy(pace=pace, users=HIGH)


def _no_image(world: World, _: Surroundings) -> None:
    def fate(template: Template) -> Any:
        return cannot_pull("503 from the registry") if template.profile else None

    world.deploy(users=LOW, containers=[container(None)], pace=Pace(fate=fate))


async def _undone() -> tuple[World, Surroundings]:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(900)
    return world, Surroundings()


async def _rolling() -> tuple[World, Surroundings]:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    return world, Surroundings()


def _busy(world: World) -> None:
    world.users["llama"] = HIGH


def _gone(world: World) -> None:
    world.cluster.delete_deployment("llama")


def _paused(world: World) -> None:
    world.cluster.pause("llama", True)
    world.users["llama"] = HIGH


def _suspended(world: World) -> None:
    world.cluster.edit_serving("llama", spec(suspend=True))
    world.users["llama"] = HIGH


def _recommending(world: World) -> None:
    world.cluster.edit_serving("llama", spec(mode="RecommendOnly"))
    world.users["llama"] = HIGH


def _no_replicas(world: World) -> None:
    world.cluster.scale("llama", 0)


async def _behind_another() -> tuple[World, Surroundings]:
    world = World(max_rolls=1, max_rolls_per_pool=1)
    for name in ("aya", "llama"):
        world.deploy(name, pace=Pace(startup_seconds=300.0))
        world.cluster.create_serving(name, spec(name))
    world.start()
    await world.run(180)
    world.users["aya"] = HIGH
    assert await world.run(900, until=lambda: world.roll("aya") == "Rolling")
    world.users["llama"] = HIGH
    await world.run(180)
    return world, Surroundings()


PREDICTED: dict[str, Any] = {"accelerator": "slow", "cutoff": {"strategy": "Goodput"}}


def _quiet_unseen(world: World, around: Surroundings) -> None:
    """A target that has never speculated, on a GPU that a person described."""
    around.accelerators.put(GPU)
    world.deploy(users=LOW, containers=[server()])


def _nothing(_: World) -> None:
    """Leave it alone."""


CASES = [
    Case(scenario="P1", make=broken(_empty), reason="NoData", words=("no",)),
    Case(scenario="P2", make=broken(_nan), reason="NotFinite", words=("NaN",)),
    Case(scenario="P3", make=after(_no_replicas), reason="NoReadyReplicas", words=("eady",)),
    Case(scenario="P10", make=broken(_half), reason="PartialData", words=("2 of 4",)),
    Case(
        scenario="P12",
        make=from_the_start(_engine_missing),
        reason="PartialData",
        words=("engine",),
    ),
    Case(
        scenario="P15",
        make=broken(_down),
        reason="TelemetryUnavailable",
        words=("503: service unavailable",),
    ),
    Case(scenario="P15 stale", make=broken(_stopped), reason="NoData", words=("has no samples",)),
    Case(
        scenario="G4, G7",
        make=from_the_start(_unstartable),
        reason="ProfileQuarantined",
        words=("none", "RollDeadlineExceeded"),
    ),
    Case(
        scenario="G9",
        make=from_the_start(_no_image, rollout={"canary": {"when": "Always"}, "trial": "Never"}),
        reason="ProfileQuarantined",
        words=("503 from the registry",),
    ),
    Case(scenario="H1", make=from_the_start(_scaling), reason="ScalingUnderWay", words=("4 to 6",)),
    Case(
        scenario="H2, H3",
        make=from_the_start(_contested),
        reason="FieldConflict",
        words=("'flux'", "SPECULATION_CONFIG"),
    ),
    Case(
        scenario="H5",
        make=from_the_start(_rivals),
        reason="TargetConflict",
        words=("an-older-one is older",),
    ),
    Case(scenario="H8", make=_undone, reason="UndoneByOthers", words=("'kubectl-edit'",)),
    Case(scenario="H9", make=after(_gone), reason="TargetNotFound", words=("does not exist",)),
    Case(
        scenario="G1",
        make=from_the_start(_quota_full),
        reason="NoQuotaForSurge",
        words=("4 of 4 pods in use",),
    ),
    Case(scenario="T2", make=_rolling, reason="RolloutUnderWay", words=("Pods",)),
    Case(
        scenario="T1",
        make=after(_nothing),
        reason="BestProfileActive",
        words=("To none: concurrency per engine at 20",),
    ),
    Case(
        scenario="a person's pause", make=after(_paused), reason="RolloutPaused", words=("paused",)
    ),
    Case(scenario="suspended", make=after(_suspended), reason="Suspended", words=("suspend",)),
    Case(scenario="frozen", make=after(_busy, frozen=True), reason="Frozen", words=("freeze",)),
    Case(
        scenario="look first",
        make=after(_recommending),
        reason="RecommendOnly",
        words=("spec.mode RecommendOnly changes nothing",),
    ),
    Case(
        scenario="F1",
        make=_behind_another,
        reason="WaitingForRollBudget",
        words=("other",),
    ),
    Case(
        scenario="F2",
        make=from_the_start(_quiet_unseen, **PREDICTED),
        reason="CutoffUndecided",
        words=("first contact", "acceptancePercent"),
    ),
    Case(
        scenario="N1",
        make=from_the_start(_quiet_unseen, cutoff={"strategy": "Goodput"}),
        reason="AcceleratorNotReadable",
        words=("spec.accelerator",),
    ),
    Case(
        scenario="K9",
        make=from_the_start(lambda world, _: world.deploy(users=HIGH), cooldownSeconds=-1),
        reason="SpecInvalid",
        words=("spec.cooldownSeconds",),
    ),
]


async def look(world: World, around: Surroundings) -> Explanation:
    """What a person reads now."""
    now = world.cluster.now
    serving = world.cluster.serving("llama")
    snapshot = await world.telemetry.read(now)
    view: View | InvalidServing
    try:
        view = view_of(world.process.store, serving, around, snapshot, now)
    except InvalidServing as error:
        view = error
    return told(Seen(serving=serving, events=(), view=view, snapshot=snapshot))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.scenario)
async def test_explain_names_the_cause(case: Case) -> None:
    found = await look(*await case.make())
    assert found.cause is not None
    assert found.cause.reason == case.reason, found.cause
    page = page_of(found)
    for each in case.words:
        assert each in page, page
    assert explanation_document(found)["cause"]["reason"] == case.reason
