"""Orders, freezes and verdicts: what stands above the cut-offs, and what stands beside them."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Facts, Problem, RolloutFacts
from ridgeline.policy.memory import Memory
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.settings import PolicySettings
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict
from tests.unit.policy.moments import NOW, TWO_ROWS, facts, memory, settings

FULL = RollPlan(
    replicas=4, max_surge=1, max_unavailable=0, room=Room(pods=0, why="no node has a free GPU")
)

NOT_FOUND = Problem(reason=Reason.TARGET_NOT_FOUND, message="-")


def crossed(seen: Facts, wanted: PolicySettings) -> Decision:
    """Decide at a moment when concurrency has been high for long enough."""
    return decide(seen, wanted, memory(towards="none", crossed_ago=300.0), NOW)


def test_an_order_needs_no_telemetry_and_no_dwell() -> None:
    blind = replace(
        facts(10.0), telemetry=Problem(reason=Reason.UNKNOWN_TELEMETRY_ENDPOINT, message="-")
    )
    decision = decide(blind, settings(forced="none"), Memory(), NOW)
    assert (decision.outcome, decision.profile) == (Outcome.SWITCH, "none")
    assert decision.reason is Reason.FORCED
    assert decision.memory.slow.switches[-1].reason is Reason.FORCED


def test_an_order_is_obeyed_in_recommend_only_and_beyond_the_budget() -> None:
    wanted = settings(forced="none", mode=Mode.RECOMMEND_ONLY, max_switches_per_day=1)
    assert decide(facts(10.0), wanted, Memory(), NOW).outcome is Outcome.SWITCH


def test_an_obeyed_order_stays_whatever_the_load() -> None:
    decision = crossed(facts(100.0), settings(forced="eagle2"))
    assert (decision.outcome, decision.reason) == (Outcome.KEEP, Reason.FORCED)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (facts(10.0, rollout=RolloutFacts(updated=1, available=3, desired=4)), "RolloutUnderWay"),
        (
            facts(10.0, target=Problem(reason=Reason.TARGET_NOT_FOUND, message="-")),
            "TargetNotFound",
        ),
        (replace(facts(10.0), plan=FULL), "NoRoomForSurge"),
    ],
)
def test_an_order_waits_for_what_would_do_harm(seen: Facts, reason: str) -> None:
    decision = decide(seen, settings(forced="none"), Memory(), NOW)
    assert (decision.outcome, decision.reason.value) == (Outcome.HOLD, reason)
    assert decision.recommended == "none"


def test_an_order_for_an_unknown_profile_holds_and_names_the_known_ones() -> None:
    decision = decide(facts(10.0), settings(forced="egale"), Memory(), NOW)
    assert decision.reason is Reason.FORCED_PROFILE_UNKNOWN
    assert "eagle2" in decision.message
    assert decision.recommended is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"frozen": True}, Reason.FROZEN), ({"suspended": True}, Reason.SUSPENDED)],
)
def test_a_freeze_and_a_suspension_win_over_an_order(
    changes: dict[str, bool], reason: Reason
) -> None:
    decision = decide(facts(10.0), settings(forced="none", **changes), Memory(), NOW)
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, reason)


def test_a_freeze_keeps_the_recommendation() -> None:
    decision = crossed(facts(100.0), settings(frozen=True))
    assert (decision.outcome, decision.recommended) == (Outcome.HOLD, "none")
    assert "frozen" in decision.message


def test_an_undecided_cutoff_recommends_and_does_not_act() -> None:
    undecided = replace(TWO_ROWS, verdict=Verdict.UNDECIDED, reasons=("depends on the model",))
    decision = crossed(facts(100.0), settings(cutoff=undecided))
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, Reason.CUTOFF_UNDECIDED)
    assert decision.recommended == "none"
    assert "depends on the model" in decision.message


def test_where_nothing_pays_a_speculating_target_is_switched_off() -> None:
    nothing = CutoffTable(
        (CutoffRow(profile="none"),), verdict=Verdict.NO, reasons=("TP over PCIe",)
    )
    decision = crossed(facts(1.0), settings(cutoff=nothing))
    assert (decision.outcome, decision.profile) == (Outcome.SWITCH, "none")
    assert "TP over PCIe" in decision.message
    first_sight = decide(facts(1.0), settings(cutoff=nothing), Memory(), NOW)
    assert first_sight.reason is Reason.DWELLING


def test_a_roll_that_could_not_finish_is_held_after_everything_else() -> None:
    decision = crossed(replace(facts(100.0), plan=FULL), settings())
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, Reason.NO_ROOM_FOR_SURGE)
    assert decision.recommended == "none"
    assert decision.memory.fast.crossing is not None
    only_looking = crossed(replace(facts(100.0), plan=FULL), settings(mode=Mode.RECOMMEND_ONLY))
    assert only_looking.reason is Reason.RECOMMEND_ONLY
