"""How a roll is made: whole, behind a canary, as a trial; and when it is not made at all."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.policy.memory import Crossing, Memory, SlowMemory
from ridgeline.policy.move import Move
from ridgeline.policy.placement import Room
from ridgeline.policy.proof import Proof
from ridgeline.policy.quarantine import Entries, quarantined
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.settings import Prediction
from ridgeline.policy.situation import observe
from ridgeline.policy.verdict import PASSED
from ridgeline.policy.way import (
    canary,
    canary_obstacle,
    is_trial,
    may_try,
    quarantine,
    trial_obstacle,
    way_of,
)
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    ProofResult,
    RollWay,
    TrialPolicy,
)
from ridgeline.terms.verdict import Verdict
from tests.unit.policy.moments import NOW, TWO_ROWS, facts, settings

CAREFUL = RollSettings(
    canary_when=CanaryWhen.UNPROVEN,
    canary_max_replicas=2,
    canary_otherwise=CanaryOtherwise.HOLD,
    on_no_traffic=OnNoTraffic.RESTORE,
    canary_deadline_seconds=2700.0,
    trial=TrialPolicy.ALLOWED,
    deadline_seconds=7200.0,
)
PLAN = RollPlan(
    replicas=4, max_surge=1, max_unavailable=0, room=Room(pods=4, why="4 nodes have room")
)
UNDECIDED = CutoffTable(TWO_ROWS.rows, verdict=Verdict.UNDECIDED, reasons=("nobody knows",))
SERVED = Proof(profile="eagle2", result=ProofResult.SERVED, at=NOW, config="c1", template="t1")


def move(
    profile: str = "eagle2",
    *,
    rolls: RollSettings | None = CAREFUL,
    plan: RollPlan | None = PLAN,
    proofs: tuple[Proof, ...] = (),
    entries: Entries = (),
    table: CutoffTable = TWO_ROWS,
    predicted: bool = True,
    now: float = NOW,
) -> Move:
    seen = facts(5.0, active="none")
    assert not isinstance(seen.target, Problem)
    situation = observe(
        replace(seen, target=replace(seen.target, template="t1"), plan=plan),
        settings(
            cutoff=table,
            rolls=rolls,
            configs={"eagle2": "c1"},
            prediction=Prediction(basis="one model") if predicted else None,
        ),
        Memory(slow=SlowMemory(proofs=proofs, quarantine=entries)),
        now,
    )
    return Move(
        situation=situation,
        profile=profile,
        busier=profile == "none",
        because="concurrency per engine is 5",
        crossing=Crossing(towards=profile, since=NOW - 700.0),
        seen_before=True,
        lasted=700.0,
        dwell=600.0,
        reason=Reason.BELOW_CUTOFF,
    )


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "obstacle"),
    [
        (1, 0, 4, None),
        (2, 0, 4, None),
        ("25%", 0, 8, None),
        # A quarter of nine rounds up to three.
        ("25%", 0, 9, "maxSurge 25% makes 3 Pods at once"),
        (3, 0, 4, "maxSurge 3 makes 3 Pods at once, more than"),
        # A quarter of three rounds down to none.
        ("25%", "25%", 3, None),
        ("25%", "25%", 20, "maxUnavailable 25% lets the Deployment take 5 old Pods away"),
        (1, 1, 4, "maxUnavailable 1 lets the Deployment take 1 old Pods away"),
        (0, 1, 4, "maxUnavailable 1"),
        (0, 0, 4, "maxSurge 0 adds no Pod"),
    ],
)
def test_a_canary_is_what_a_deployment_begins_with_if_that_is_few_pods_more(
    surge: int | str, unavailable: int | str, replicas: int, obstacle: str | None
) -> None:
    plan = replace(PLAN, max_surge=surge, max_unavailable=unavailable, replicas=replicas)
    found = canary_obstacle(plan, CAREFUL)
    if obstacle is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(obstacle)


def test_more_pods_are_a_canary_where_a_person_says_so() -> None:
    plan = replace(PLAN, max_surge=5, replicas=20)
    assert canary_obstacle(plan, replace(CAREFUL, canary_max_replicas=5)) is None
    told = canary_obstacle(plan, replace(CAREFUL, canary_max_replicas=4))
    assert told is not None
    assert told.endswith("more than spec.rollout.canary.maxReplicas (4)")


def test_recreate_leaves_nothing_to_compare_with() -> None:
    told = canary_obstacle(replace(PLAN, recreate=True), CAREFUL)
    assert told == "strategy Recreate leaves no old Pod to compare it with"


WHEN = [
    (CanaryWhen.UNPROVEN, (), RollWay.CANARY),
    (CanaryWhen.UNPROVEN, (SERVED,), RollWay.WHOLE),
    (CanaryWhen.UNPROVEN, (replace(SERVED, template="t0"),), RollWay.CANARY),
    (CanaryWhen.UNPROVEN, (replace(SERVED, config="c0"),), RollWay.CANARY),
    (CanaryWhen.UNPROVEN, (replace(SERVED, result=ProofResult.WORSE),), RollWay.CANARY),
    (CanaryWhen.ALWAYS, (SERVED,), RollWay.CANARY),
    (CanaryWhen.NEVER, (), RollWay.WHOLE),
]


@pytest.mark.parametrize(("when", "proofs", "way"), WHEN)
def test_which_rolls_begin_with_a_canary(
    when: CanaryWhen, proofs: tuple[Proof, ...], way: RollWay
) -> None:
    rolls = replace(CAREFUL, canary_when=when)
    assert way_of(move(rolls=rolls, proofs=proofs)) is way
    assert canary(move(rolls=rolls, proofs=proofs)) == PASSED
    unable = replace(PLAN, max_surge=3)
    held = canary(move(rolls=rolls, proofs=proofs, plan=unable))
    assert (held == PASSED) is (way is RollWay.WHOLE)


@pytest.mark.parametrize("when", list(CanaryWhen))
def test_a_roll_to_no_speculation_waits_for_no_canary(when: CanaryWhen) -> None:
    rolls = replace(CAREFUL, canary_when=when)
    off = move("none", rolls=rolls, plan=replace(PLAN, recreate=True))
    assert way_of(off) is RollWay.WHOLE
    assert canary(off) == PASSED


def test_where_none_can_be_made_the_person_s_choice_counts() -> None:
    unable = replace(PLAN, max_unavailable=1)
    held = canary(move(plan=unable)).hold
    assert held is not None
    assert held.reason is Reason.CANARY_IMPOSSIBLE
    for part in (
        "since it has not served yet with this Pod template; but maxUnavailable 1 lets",
        "maxUnavailable: 0 and maxSurge: 1",
        "spec.rollout.canary.otherwise: Roll",
        "ridgeline.dev/force-profile",
    ):
        assert part in held.message
    always = canary(move(plan=unable, rolls=replace(CAREFUL, canary_when=CanaryWhen.ALWAYS))).hold
    assert always is not None
    assert "since spec.rollout.canary.when is Always; but" in always.message
    rolling = replace(CAREFUL, canary_otherwise=CanaryOtherwise.ROLL)
    assert canary(move(plan=unable, rolls=rolling)) == PASSED
    assert way_of(move(plan=unable, rolls=rolling)) is RollWay.WHOLE
    assert way_of(move(rolls=rolling)) is RollWay.CANARY


@pytest.mark.parametrize("missing", ["rolls", "plan"])
def test_where_nothing_is_known_of_the_roll_it_is_whole(missing: str) -> None:
    lacking = move(rolls=None) if missing == "rolls" else move(plan=None)
    assert way_of(lacking) is RollWay.WHOLE
    assert canary(lacking) == PASSED


class TestTrial:
    def test_what_nobody_can_tell_is_tried(self) -> None:
        unknown = move(table=UNDECIDED)
        assert is_trial(unknown)
        assert may_try(unknown)
        assert way_of(unknown) is RollWay.TRIAL
        assert not is_trial(move())

    @pytest.mark.parametrize(
        "unknown",
        [
            move("none", table=UNDECIDED),
            move(table=UNDECIDED, predicted=False),
            move(table=UNDECIDED, rolls=replace(CAREFUL, trial=TrialPolicy.NEVER)),
            move(table=UNDECIDED, rolls=None),
            move(table=UNDECIDED, plan=replace(PLAN, max_unavailable=1)),
        ],
        ids=["no speculation", "no prediction", "never", "no settings", "no canary possible"],
    )
    def test_what_may_not_be_tried(self, unknown: Move) -> None:
        assert not may_try(unknown)

    @pytest.mark.parametrize("result", list(ProofResult))
    def test_it_is_tried_once_for_each_template_and_config(self, result: ProofResult) -> None:
        shown = replace(SERVED, result=result)
        told = trial_obstacle(move(table=UNDECIDED, proofs=(shown,)))
        assert told == "it was tried with this Pod template already"
        for changed in (replace(shown, template="t0"), replace(shown, config="c0")):
            assert trial_obstacle(move(table=UNDECIDED, proofs=(changed,))) is None

    def test_why_not_is_told(self) -> None:
        never = replace(CAREFUL, trial=TrialPolicy.NEVER)
        assert trial_obstacle(move(rolls=never)) == "spec.rollout.trial is Never"
        big = trial_obstacle(move(plan=replace(PLAN, max_surge=3)))
        assert big is not None
        assert "spec.rollout.canary.maxReplicas" in big


class TestQuarantine:
    ENTRIES = quarantined(
        (),
        "eagle2",
        reason=Reason.PODS_CRASH,
        message="the server crashed 2 times",
        config="c1",
        template="t1",
        now=NOW,
    )

    def test_a_profile_that_failed_is_not_rolled_to_until_its_time_is_over(self) -> None:
        held = quarantine(move(entries=self.ENTRIES, now=NOW + 7200.0)).hold
        assert held is not None
        assert held.reason is Reason.PROFILE_QUARANTINED
        for part in (
            "failed 2 h ago (PodsCrash: the server crashed 2 times)",
            "not chosen for 22 h more",
            "ridgeline.dev/force-profile",
        ):
            assert part in held.message
        assert quarantine(move(entries=self.ENTRIES, now=NOW + 86_400.0)) == PASSED

    def test_other_profiles_go_on(self) -> None:
        assert quarantine(move("none", entries=self.ENTRIES)) == PASSED
        assert quarantine(move(entries=())) == PASSED

    def test_a_clock_that_jumped_back_tells_no_time_before_the_failure(self) -> None:
        held = quarantine(move(entries=self.ENTRIES, now=NOW - 7200.0)).hold
        assert held is not None
        assert "failed 0 s ago" in held.message
