"""`explain` names the right cause in every state that goes wrong for others, in words.

Each state is looked at twice: by a person whose rights do not reach the operator, and by one who
has the answer of its last pass, too.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from ridgeline.cli.explain_document import explanation_document
from ridgeline.sim.fleet_telemetry import Oddity
from tests.component.controller import explain_roll_states as rolls
from tests.component.controller import explain_states as states
from tests.component.controller.explain_looks import (
    Change,
    edited,
    held,
    looked,
    pruned,
    uninstalled,
)
from tests.component.controller.explain_states import Make, after, broken, from_the_start
from tests.component.controller.test_controller_explain import page_of
from tests.component.controller.world import HIGH

IDS = """
P1 P2 P3 P4 P6 P7 P8 P10 P11 P12 P14 P15  G1 G2 G3 G4 G7 G8 G9 G10 G11  H1 H2 H3 H4 H5 H7 H8 H9
K1 K2 K3 K4 K6 K8 K9  N1  T1 T2 T3  C1 C2  F1 F2 F3
"""
"""Every scenario that is known to have gone wrong for others."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A state of one scenario, the reason that is right there, and words that must be said.

    Attributes:
        scenario: Its id, or a name where it has none.
        make: Brings a world there.
        reason: The cause that is to be named.
        words: What stands on the page.
        seen: What else a person sees, or cannot see.
        asked: The cause where the operator answers; empty: the same.
        answers: Whether an operator is there to answer.
        in_cause: What the one line of the cause must hold.
    """

    scenario: str
    make: Make
    reason: str
    words: tuple[str, ...]
    seen: Change = lambda seen, _: seen
    asked: str = ""
    answers: bool = True
    in_cause: str = ""


ALWAYS = {"canary": {"when": "Always"}, "trial": "Never"}
GOODPUT = {"strategy": "Goodput"}
PREDICTED: dict[str, Any] = {"accelerator": "slow", "cutoff": GOODPUT}

CASES = [
    # Prometheus says nothing, or nonsense.
    Case(scenario="P1", make=broken(states.empty), reason="NoData", words=("no samples",)),
    Case(scenario="P2", make=broken(states.nan), reason="NotFinite", words=("NaN",)),
    Case(scenario="P3", make=after(states.no_replicas), reason="NoReadyReplicas", words=("eady",)),
    Case(
        scenario="P4",
        make=rolls.canary_unseen,
        reason="CanaryUnderWay",
        words=("no samples of", "it is judged when they come back"),
    ),
    Case(
        scenario="P6",
        make=rolls.canary_ordered,
        reason="Forced",
        words=("force-profile", "eagle2"),
    ),
    Case(
        scenario="P7",
        make=rolls.canary(Oddity(idle=True), seconds=1500),
        reason="ProfileQuarantined",
        words=("CanaryNotJudged", "it has not made a token yet", "onNoTraffic"),
    ),
    Case(
        scenario="P8",
        make=states.seen_through(states.no_latency),
        reason="BestProfileActive",
        words=("time per output token: not known", "concurrency per engine: 5"),
    ),
    Case(scenario="P10", make=broken(states.half), reason="PartialData", words=("2 of 4",)),
    Case(
        scenario="P11",
        make=states.rolling,
        reason="RolloutUnderWay",
        words=("Pods updated", "acceptance length: "),
    ),
    Case(
        scenario="P12",
        make=from_the_start(states.engine_missing),
        reason="PartialData",
        words=("engine",),
    ),
    Case(
        scenario="P14",
        make=rolls.latency_by_the_token,
        reason="BestProfileActive",
        words=("time per output token: 55", "60 ms"),
    ),
    Case(
        scenario="P15",
        make=broken(states.down),
        reason="TelemetryUnavailable",
        words=("503: service unavailable",),
    ),
    Case(scenario="P15 stale", make=broken(states.stopped), reason="NoData", words=("no samples",)),
    # Rolling GPU Deployments.
    Case(
        scenario="G1",
        make=from_the_start(states.quota_full),
        reason="NoQuotaForSurge",
        words=("4 of 4 pods in use",),
    ),
    Case(
        scenario="G2",
        make=from_the_start(states.alone_on_its_node),
        reason="NoRoomForSurge",
        words=("anti-affinity lets no two share a node", "add a node"),
    ),
    Case(
        scenario="G3",
        make=states.immovable,
        reason="RollCannotMove",
        words=("maxSurge 0 and maxUnavailable 10% both round",),
    ),
    Case(
        scenario="G4",
        make=from_the_start(states.unstartable),
        reason="ProfileQuarantined",
        words=("none", "RollDeadlineExceeded"),
    ),
    Case(
        scenario="G7",
        make=states.taken_back,
        reason="RollDeadlineExceeded",
        words=("passed spec.progressDeadlineSeconds",),
    ),
    Case(
        scenario="G8",
        make=rolls.canary(Oddity(silent_seconds=1e6)),
        reason="CanaryUnderWay",
        words=("it has not made a token yet",),
    ),
    Case(
        scenario="G9",
        make=from_the_start(states.no_image, rollout=ALWAYS),
        reason="ProfileQuarantined",
        words=("503 from the registry",),
    ),
    Case(
        scenario="G10",
        make=from_the_start(states.short_of_drain),
        reason="DrainTooShort",
        words=("ask for 60 s", "terminationGracePeriodSeconds is 30"),
    ),
    Case(
        scenario="G11",
        make=rolls.hardly_worth_it,
        reason="BestProfileActive",
        words=("eagle2 is faster at this load", "not worth its roll"),
        in_cause="not worth its roll",
    ),
    # Two writers.
    Case(
        scenario="H1",
        make=from_the_start(states.scaling),
        reason="ScalingUnderWay",
        words=("4 to 6",),
    ),
    Case(
        scenario="H2",
        make=from_the_start(states.contested),
        reason="FieldConflict",
        words=("'flux'", "SPECULATION_CONFIG"),
    ),
    Case(
        scenario="H3",
        make=from_the_start(states.contested),
        reason="FieldConflict",
        words=("'flux'", "SPECULATION_CONFIG"),
    ),
    Case(
        scenario="H4",
        make=states.upgraded,
        reason="RolloutUnderWay",
        words=("last written by kubectl-client-side-apply", "its template runs none"),
    ),
    Case(
        scenario="H5",
        make=from_the_start(states.rivals),
        reason="TargetConflict",
        words=("an-older-one is older",),
    ),
    Case(
        scenario="H7",
        make=states.renamed,
        reason="ContainerNotFound",
        words=("no container 'vllm' (it has server)", "spec.targetRef.containerName"),
    ),
    Case(scenario="H8", make=states.undone, reason="UndoneByOthers", words=("'kubectl-edit'",)),
    Case(
        scenario="H9",
        make=after(states.gone),
        reason="TargetNotFound",
        words=("does not exist",),
    ),
    # The operator itself, and who else is about.
    Case(
        scenario="K1",
        make=states.watch_dead,
        reason="EditNotTakenUp",
        words=("edited 300 s ago by kubectl-edit", "knows generation 1 of it"),
        seen=edited,
    ),
    Case(
        scenario="K2",
        make=after(states.nothing),
        reason="BestProfileActive",
        words=("The operator's decision, ", " s ago, as operator (the leader) tells it"),
    ),
    Case(
        scenario="K3",
        make=states.standby,
        reason="BestProfileActive",
        asked="BestProfileActive",
        words=("as operator (a standby) tells it",),
    ),
    Case(
        scenario="K4",
        make=after(states.nothing),
        reason="BeingDeleted",
        words=("for 60 min", "kopf.dev/finalizer", "ridgeline sets none"),
        seen=held,
    ),
    Case(
        scenario="K4 uninstalled",
        make=after(states.nothing),
        reason="OperatorSilent",
        words=("last renewed 30 min ago", "the status was last written 2 h ago"),
        seen=uninstalled,
        answers=False,
    ),
    Case(
        scenario="K6",
        make=after(states.nothing),
        reason="BestProfileActive",
        words=("it lacks conditions and lastDecision", "apply --server-side -f crds/"),
        seen=pruned,
    ),
    Case(
        scenario="K8",
        make=from_the_start(states.quiet_unseen, cutoff=GOODPUT),
        reason="AcceleratorNotReadable",
        words=("no right to read nodes", "spec.accelerator"),
    ),
    Case(
        scenario="K9",
        make=from_the_start(lambda world, _: world.deploy(users=HIGH), cooldownSeconds=-1),
        reason="SpecInvalid",
        words=("spec.cooldownSeconds",),
        answers=False,
    ),
    # The GPU.
    Case(
        scenario="N1",
        make=from_the_start(states.on_a_share, cutoff=GOODPUT),
        reason="AcceleratorShared",
        words=("SHARED", "spec.accelerator"),
    ),
    # Flapping.
    Case(
        scenario="T1",
        make=after(states.nothing),
        reason="BestProfileActive",
        words=("To none: concurrency per engine at 20",),
    ),
    Case(scenario="T2", make=states.rolling, reason="RolloutUnderWay", words=("Pods updated",)),
    Case(
        scenario="T3",
        make=states.seen_through(states.long_prompts),
        reason="BestProfileActive",
        words=("concurrency per engine: 5",),
    ),
    # Found on a real API server, and the rest.
    Case(
        scenario="C1",
        make=rolls.twenty,
        reason="CanaryImpossible",
        words=("take 5 old Pods away at once", "maxUnavailable: 0"),
    ),
    Case(
        scenario="C2",
        make=rolls.canary(model=rolls.MUCH_ALIKE, seconds=520),
        reason="CanaryUnderWay",
        words=("(± 1", "of 5 windows"),
    ),
    Case(
        scenario="F1",
        make=states.behind_another,
        reason="WaitingForRollBudget",
        words=("other",),
    ),
    Case(
        scenario="F2",
        make=from_the_start(states.quiet_unseen, **PREDICTED),
        reason="CutoffUndecided",
        words=("first contact", "acceptancePercent"),
    ),
    Case(
        scenario="F3",
        make=rolls.canary(Oddity(answer_share=0.2, finish_reason="length"), seconds=1500),
        reason="ProfileQuarantined",
        words=("AnswersDiffer", "its answers have 20 tokens"),
    ),
    # States that have no id.
    Case(
        scenario="a person's pause",
        make=after(states.paused),
        reason="RolloutPaused",
        words=("paused",),
    ),
    Case(
        scenario="suspended", make=after(states.suspended), reason="Suspended", words=("suspend",)
    ),
    Case(
        scenario="frozen",
        make=after(states.busy, frozen=True),
        reason="Frozen",
        words=("freeze",),
    ),
    Case(
        scenario="look first",
        make=after(states.recommending),
        reason="RecommendOnly",
        words=("spec.mode RecommendOnly changes nothing",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.scenario)
async def test_explain_names_the_cause(case: Case) -> None:
    world, around = await case.make()
    alone = await looked(world, around, case.seen, asks=False)
    assert alone.cause is not None
    pages = page_of(alone)
    if case.in_cause:
        assert case.in_cause in alone.cause.message
    assert alone.cause.reason == case.reason, alone.cause
    assert explanation_document(alone)["cause"]["reason"] == case.reason
    if case.answers:
        found = await looked(world, around, case.seen, asks=True)
        assert found.cause is not None
        assert found.cause.reason == (case.asked or case.reason), found.cause
        assert case.in_cause in found.cause.message
        assert explanation_document(found)["cause"]["reason"] == (case.asked or case.reason)
        pages = f"{pages}\n{page_of(found)}"
    for each in case.words:
        assert each in pages, pages


def test_every_scenario_has_its_row() -> None:
    rows = [case.scenario for case in CASES]
    assert sorted(rows) == sorted(set(rows))
    assert set(IDS.split()) <= set(rows)
