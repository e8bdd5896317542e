"""The next step of a roll under way: every state, every verdict, every word of a person."""

from dataclasses import replace

import pytest

from ridgeline.engine.fingerprint import fingerprint
from ridgeline.policy.facts import Problem, RolloutFacts, TargetFacts
from ridgeline.policy.lifecycle import CLOCK_TOLERANCE_SECONDS
from ridgeline.policy.roll import Roll, moved_on
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.roll_steps import (
    ROLL_PATIENCE,
    Asked,
    Found,
    NextStep,
    Step,
    Watched,
    next_step,
)
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    RollState,
    RollWay,
    TrialPolicy,
)

NOW = 1_800_000_000.0
CANARY_LIMIT = 600.0
ROLL_LIMIT = 3600.0

RESTORING = RollSettings(
    canary_when=CanaryWhen.UNPROVEN,
    canary_max_replicas=2,
    canary_otherwise=CanaryOtherwise.HOLD,
    on_no_traffic=OnNoTraffic.RESTORE,
    canary_deadline_seconds=CANARY_LIMIT,
    trial=TrialPolicy.ALLOWED,
    deadline_seconds=ROLL_LIMIT,
)
PROMOTING = replace(RESTORING, on_no_traffic=OnNoTraffic.PROMOTE)

CANARY = Roll(
    from_profile="none",
    to_profile="eagle2",
    started_at=NOW,
    stage_at=NOW,
    state=RollState.CANARY,
    target_uid="uid-1",
    target_generation=6,
    serving_generation=2,
    way=RollWay.CANARY,
    template="aaaa",
)
TRIAL = replace(CANARY, way=RollWay.TRIAL)
COMPARISON = replace(TRIAL, from_profile="eagle2", to_profile="none", config=fingerprint(""))
ROLLING = replace(CANARY, state=RollState.ROLLING)
UNDOING = replace(
    CANARY,
    state=RollState.UNDOING,
    why=Problem(reason=Reason.CANARY_SLOWER, message="12 % more time per token"),
)

FIRST_POD = RolloutFacts(updated=1, available=4, desired=4, old=4)
HELD_BACK = replace(FIRST_POD, paused=True)

FAILURE = Problem(reason=Reason.PODS_CRASH, message="the server crashed 2 times")
VERDICT = Problem(reason=Reason.CANARY_BETTER, message="20 % less time per token")
BETTER = Watched(found=Found.BETTER, verdict=VERDICT, serving=True)
WITHDRAWN = Problem(reason=Reason.SUSPENDED, message="the serving was suspended")


def target(
    rollout: RolloutFacts | None = HELD_BACK,
    *,
    active: str | None = "eagle2",
    template: str = "aaaa",
    uid: str = "uid-1",
    ours: bool | None = None,
) -> TargetFacts:
    return TargetFacts(
        uid=uid,
        generation=6,
        desired_replicas=4,
        active_profile=active,
        active_config="",
        has_item=True,
        rollout=rollout,
        template=template,
        paused_by_us=bool(rollout and rollout.paused) if ours is None else ours,
    )


def step_of(
    roll: Roll,
    sight: TargetFacts,
    watched: Watched | None = None,
    asked: Asked | None = None,
    settings: RollSettings = RESTORING,
    after: float = 60.0,
) -> NextStep | None:
    return next_step(roll, sight, watched or Watched(), asked or Asked(), settings, NOW + after)


def taken(
    roll: Roll,
    sight: TargetFacts,
    watched: Watched | None = None,
    asked: Asked | None = None,
    settings: RollSettings = RESTORING,
    after: float = 60.0,
) -> tuple[Step, Reason, bool]:
    found = step_of(roll, sight, watched, asked, settings, after)
    assert found is not None
    return found.step, found.why.reason, found.quarantines


class TestHoldingBack:
    @pytest.mark.parametrize(
        ("rollout", "step"),
        [
            (FIRST_POD, Step.PAUSE),
            (replace(FIRST_POD, old=None), Step.PAUSE),
            (HELD_BACK, Step.WAIT),
            # Paused before there is a new Pod, the Deployment controller would make none.
            (replace(FIRST_POD, updated=0), Step.WAIT),
            # The counts are those of the spec before.
            (replace(FIRST_POD, observed=False), Step.WAIT),
        ],
    )
    @pytest.mark.parametrize("roll", [CANARY, TRIAL])
    def test_the_rest_is_held_back_once_the_first_new_pods_exist(
        self, roll: Roll, rollout: RolloutFacts, step: Step
    ) -> None:
        assert taken(roll, target(rollout)) == (step, Reason.CANARY_UNDER_WAY, False)

    @pytest.mark.parametrize("rollout", [None, replace(FIRST_POD, old=0)])
    def test_where_the_rest_has_followed_already_there_is_nothing_to_judge_beside(
        self, rollout: RolloutFacts | None
    ) -> None:
        canary, trial = taken(CANARY, target(rollout)), taken(TRIAL, target(rollout))
        assert canary == (Step.PROMOTE, Reason.CANARY_NOT_JUDGED, False)
        assert trial == (Step.UNDO, Reason.CANARY_NOT_JUDGED, False)

    def test_before_the_first_new_pod_no_old_one_is_missed(self) -> None:
        scaled_to_none = RolloutFacts(updated=0, available=0, desired=4, old=0)
        assert taken(CANARY, target(scaled_to_none))[0] is Step.WAIT

    def test_it_is_told_what_is_waited_for(self) -> None:
        young, serving = step_of(CANARY, target()), step_of(TRIAL, target(), Watched(serving=True))
        assert young is not None
        assert young.why.message.startswith("canary of eagle2: it is not Ready yet")
        assert serving is not None
        assert serving.why.message.startswith("trial of eagle2: it serves")
        judged = Watched(verdict=Problem(reason=Reason.CANARY_UNDER_WAY, message="1 of 3 windows"))
        told = step_of(CANARY, target(), judged)
        assert told is not None
        assert told.why.message.startswith("canary of eagle2: 1 of 3 windows")


def carrying_none() -> TargetFacts:
    return replace(target(), active_profile="none")


class TestVerdicts:
    @pytest.mark.parametrize(
        ("found", "settings", "step", "quarantines"),
        [
            (Found.BETTER, RESTORING, Step.PROMOTE, False),
            (Found.ALIKE, RESTORING, Step.PROMOTE, False),
            (Found.WORSE, RESTORING, Step.UNDO, True),
            (Found.WORSE, PROMOTING, Step.UNDO, True),
            (Found.NOT_YET, PROMOTING, Step.WAIT, False),
        ],
    )
    def test_what_follows_for_a_canary(
        self, found: Found, settings: RollSettings, step: Step, quarantines: bool
    ) -> None:
        taken_step = step_of(CANARY, target(), replace(BETTER, found=found), settings=settings)
        assert taken_step is not None
        assert (taken_step.step, taken_step.quarantines) == (step, quarantines)
        assert VERDICT.message in taken_step.why.message

    @pytest.mark.parametrize("found", [Found.BETTER, Found.ALIKE])
    @pytest.mark.parametrize("settings", [RESTORING, PROMOTING])
    def test_a_trial_is_taken_back_whatever_it_showed(
        self, found: Found, settings: RollSettings
    ) -> None:
        step = taken(TRIAL, target(), replace(BETTER, found=found), settings=settings)
        assert step == (Step.UNDO, Reason.TRIAL_ENDED, False)

    def test_a_trial_that_was_worse_is_not_tried_again_soon(self) -> None:
        worse = replace(BETTER, found=Found.WORSE)
        assert taken(TRIAL, target(), worse) == (Step.UNDO, VERDICT.reason, True)

    @pytest.mark.parametrize("roll", [CANARY, TRIAL])
    def test_pods_that_do_not_start_go_before_every_verdict(self, roll: Roll) -> None:
        crashing = replace(BETTER, failure=FAILURE)
        assert taken(roll, target(), crashing) == (Step.UNDO, Reason.PODS_CRASH, True)

    def test_a_verdict_that_comes_with_the_deadline_counts(self) -> None:
        late = taken(CANARY, target(), BETTER, after=CANARY_LIMIT + 1.0)
        assert late == (Step.PROMOTE, Reason.CANARY_BETTER, False)


class TestComparison:
    """A Pod without speculation beside the active profile: the verdict is one on the profile."""

    @pytest.mark.parametrize(
        ("found", "verdict", "reason"),
        [
            (Found.WORSE, Reason.CANARY_SLOWER, Reason.REQUALIFIED),
            (Found.WORSE, Reason.CANARY_BELOW_PROMISE, Reason.REQUALIFIED),
            (Found.ALIKE, Reason.CANARY_ALIKE, Reason.REQUALIFIED),
            (Found.BETTER, Reason.CANARY_BETTER, Reason.WORSE_THAN_NONE),
            (Found.WORSE, Reason.ANSWERS_DIFFER, Reason.WORSE_THAN_NONE),
        ],
    )
    @pytest.mark.parametrize("settings", [RESTORING, PROMOTING])
    def test_it_is_taken_back_whatever_it_showed(
        self, found: Found, verdict: Reason, reason: Reason, settings: RollSettings
    ) -> None:
        watched = Watched(
            found=found, verdict=Problem(reason=verdict, message="30 % more time"), serving=True
        )
        step = step_of(COMPARISON, carrying_none(), watched, settings=settings)
        assert step is not None
        assert (step.step, step.why.reason, step.quarantines) == (Step.UNDO, reason, False)
        assert "a Pod on none was measured beside eagle2: 30 % more time" in step.why.message

    @pytest.mark.parametrize(
        ("watched", "after"),
        [
            (Watched(failure=FAILURE), 60.0),
            (Watched(serving=True), CANARY_LIMIT + 1.0),
            (Watched(serving=False), CANARY_LIMIT + 1.0),
        ],
        ids=["no start", "not judged", "not Ready"],
    )
    def test_no_speculation_is_never_blamed(self, watched: Watched, after: float) -> None:
        step = step_of(COMPARISON, carrying_none(), watched, after=after)
        assert step is not None
        assert (step.step, step.quarantines) == (Step.UNDO, False)

    def test_a_trial_of_a_profile_that_speculates_is_none(self) -> None:
        assert COMPARISON.compares
        assert not TRIAL.compares
        assert not replace(COMPARISON, way=RollWay.CANARY).compares


class TestCanaryDeadline:
    @pytest.mark.parametrize("roll", [CANARY, TRIAL])
    def test_it_is_waited_for_until_its_deadline_and_no_longer(self, roll: Roll) -> None:
        assert taken(roll, target(), after=CANARY_LIMIT)[0] is Step.WAIT
        assert taken(roll, target(), after=CANARY_LIMIT + 1.0)[0] is Step.UNDO

    @pytest.mark.parametrize(
        ("roll", "serving", "settings", "expected"),
        [
            (CANARY, True, RESTORING, (Step.UNDO, Reason.CANARY_NOT_JUDGED, True)),
            (CANARY, True, PROMOTING, (Step.PROMOTE, Reason.CANARY_NOT_JUDGED, False)),
            # Nobody lets the rest follow a Pod that never was Ready.
            (CANARY, False, RESTORING, (Step.UNDO, Reason.CANARY_NOT_SERVING, True)),
            (CANARY, False, PROMOTING, (Step.UNDO, Reason.CANARY_NOT_SERVING, True)),
            (TRIAL, True, PROMOTING, (Step.UNDO, Reason.CANARY_NOT_JUDGED, True)),
            (TRIAL, False, PROMOTING, (Step.UNDO, Reason.CANARY_NOT_SERVING, True)),
        ],
    )
    def test_what_follows_from_it(
        self,
        roll: Roll,
        serving: bool,
        settings: RollSettings,
        expected: tuple[Step, Reason, bool],
    ) -> None:
        watched = Watched(serving=serving)
        late = CANARY_LIMIT + 1.0
        assert taken(roll, target(), watched, settings=settings, after=late) == expected

    def test_it_ends_a_canary_that_was_never_paused(self) -> None:
        no_pod = replace(FIRST_POD, updated=0)
        late = CANARY_LIMIT + 1.0
        assert taken(CANARY, target(no_pod), after=late)[0] is Step.UNDO

    def test_it_goes_before_letting_the_rest_go_on_for_want_of_old_pods(self) -> None:
        late = CANARY_LIMIT + 1.0
        assert taken(CANARY, target(replace(FIRST_POD, old=0)), after=late)[0] is Step.UNDO


class TestPersons:
    WATCHED = (
        Watched(),
        BETTER,
        replace(BETTER, found=Found.ALIKE),
        replace(BETTER, found=Found.WORSE),
        Watched(failure=FAILURE),
    )

    @pytest.mark.parametrize("watched", WATCHED)
    @pytest.mark.parametrize("roll", [CANARY, TRIAL])
    @pytest.mark.parametrize("after", [60.0, CANARY_LIMIT + 1.0])
    def test_an_order_decides_a_canary_before_every_verdict_and_deadline(
        self, roll: Roll, watched: Watched, after: float
    ) -> None:
        promoted = taken(roll, target(), watched, Asked(forced="eagle2"), after=after)
        taken_back = taken(roll, target(), watched, Asked(forced="none"), after=after)
        assert promoted == (Step.PROMOTE, Reason.FORCED, False)
        assert taken_back == (Step.UNDO, Reason.FORCED, False)

    @pytest.mark.parametrize("watched", WATCHED)
    @pytest.mark.parametrize("roll", [CANARY, TRIAL])
    def test_a_canary_that_may_not_be_finished_is_taken_back_without_blame(
        self, roll: Roll, watched: Watched
    ) -> None:
        step = taken(roll, target(), watched, Asked(withdrawn=WITHDRAWN))
        assert step == (Step.UNDO, Reason.SUSPENDED, False)

    def test_an_order_does_not_move_a_target_that_may_not_be_touched(self) -> None:
        asked = Asked(forced="eagle2", withdrawn=WITHDRAWN, idle=True)
        assert taken(CANARY, target(), BETTER, asked) == (Step.UNDO, Reason.SUSPENDED, False)

    def test_an_order_goes_before_a_withdrawal(self) -> None:
        asked = Asked(forced="eagle2", withdrawn=WITHDRAWN)
        assert taken(CANARY, target(), BETTER, asked)[:2] == (Step.PROMOTE, Reason.FORCED)

    def test_a_template_that_somebody_changed_ends_the_canary_first_of_all(self) -> None:
        changed = target(template="bbbb")
        for asked in (Asked(), Asked(forced="eagle2"), Asked(withdrawn=WITHDRAWN)):
            step = taken(CANARY, changed, BETTER, asked)
            assert step == (Step.UNDO, Reason.TEMPLATE_CHANGED, False)


class TestRolling:
    @pytest.mark.parametrize(
        ("watched", "rollout", "after", "reason"),
        [
            (Watched(failure=FAILURE), FIRST_POD, 60.0, Reason.PODS_CRASH),
            (
                Watched(),
                replace(FIRST_POD, deadline_exceeded=True),
                60.0,
                Reason.ROLL_DEADLINE_EXCEEDED,
            ),
            (Watched(), FIRST_POD, ROLL_LIMIT + 1.0, Reason.ROLL_DEADLINE_EXCEEDED),
        ],
    )
    def test_what_fails_is_taken_back(
        self, watched: Watched, rollout: RolloutFacts, after: float, reason: Reason
    ) -> None:
        step = taken(ROLLING, target(rollout), watched, after=after)
        assert step == (Step.UNDO, reason, True)
        frozen = Asked(idle=True, withdrawn=WITHDRAWN)
        assert step_of(ROLLING, target(rollout), watched, frozen, after=after) is None
        gone = target(rollout, active="none")
        assert step_of(ROLLING, gone, watched, after=after) is None
        assert step_of(ROLLING, target(None), watched, after=after) is None

    def test_what_goes_well_is_left_alone_until_the_deadline(self) -> None:
        assert step_of(ROLLING, target(FIRST_POD), after=ROLL_LIMIT) is None

    def test_the_deadline_counts_from_when_the_rest_followed(self) -> None:
        promoted = replace(ROLLING, started_at=NOW - 10 * ROLL_LIMIT)
        assert step_of(promoted, target(FIRST_POD)) is None

    def test_the_message_tells_how_far_it_came(self) -> None:
        for each in (replace(FIRST_POD, deadline_exceeded=True), FIRST_POD):
            found = step_of(ROLLING, target(each), after=ROLL_LIMIT + 1.0)
            assert found is not None
            assert "1 of 4 Pods updated" in found.why.message

    def test_a_roll_that_began_without_a_canary_may_finish_whatever_is_asked(self) -> None:
        for asked in (Asked(forced="none"), Asked(withdrawn=WITHDRAWN)):
            assert step_of(ROLLING, target(FIRST_POD), None, asked) is None


class TestUndoing:
    @pytest.mark.parametrize(
        "sight", [target(), target(active="none", ours=True), target(None, active="eagle2")]
    )
    def test_what_is_not_put_back_yet_is_put_back(self, sight: TargetFacts) -> None:
        assert taken(UNDOING, sight) == (Step.UNDO, Reason.CANARY_SLOWER, False)

    def test_once_it_is_back_its_pods_are_waited_for(self) -> None:
        step = step_of(UNDOING, target(FIRST_POD, active="none"), after=10 * ROLL_LIMIT)
        assert step is not None
        assert (step.step, step.why.reason) == (Step.WAIT, Reason.UNDOING)
        assert "12 % more time per token" in step.why.message

    def test_one_that_does_not_end_is_told_and_not_repeated(self) -> None:
        stalled = target(replace(FIRST_POD, deadline_exceeded=True), active="none")
        step = step_of(UNDOING, stalled)
        assert step is not None
        assert (step.step, step.why.reason) == (Step.WAIT, Reason.ROLLBACK_STALLED)
        assert "12 % more time per token" in step.why.message

    def test_it_goes_on_whatever_a_person_asks_for(self) -> None:
        for asked in (Asked(forced="eagle2"), Asked(withdrawn=WITHDRAWN, idle=True)):
            assert taken(UNDOING, target(), BETTER, asked)[0] is Step.UNDO


@pytest.mark.parametrize(
    "roll",
    [
        replace(CANARY, state=state)
        for state in RollState
        if state not in (RollState.CANARY, RollState.UNDOING)
    ],
    ids=lambda roll: str(roll.state),
)
def test_in_every_other_state_a_pause_of_ours_is_given_back_and_no_other_touched(
    roll: Roll,
) -> None:
    for active in ("eagle2", "none"):
        ours, theirs = target(active=active), target(active=active, ours=False)
        for asked in (Asked(), Asked(idle=True, withdrawn=WITHDRAWN), Asked(forced="none")):
            assert taken(roll, ours, asked=asked, after=ROLL_LIMIT + 1.0)[0] is Step.GIVE_BACK
        found = step_of(roll, theirs)
        assert found is None or found.step is Step.WAIT


def test_a_canary_whose_profile_somebody_took_out_gives_its_pause_back() -> None:
    assert taken(CANARY, target(active="none", ours=True), BETTER)[0] is Step.GIVE_BACK
    assert step_of(CANARY, target(active="none", ours=False), BETTER) is None


@pytest.mark.parametrize("state", list(RollState))
def test_nothing_is_done_to_another_deployment_of_the_same_name(state: RollState) -> None:
    other = target(uid="uid-2", ours=True)
    assert step_of(replace(CANARY, state=state), other, Watched(failure=FAILURE)) is None


@pytest.mark.parametrize("state", [RollState.CANARY, RollState.ROLLING])
def test_no_deadline_waits_for_a_clock_that_was_ahead(state: RollState) -> None:
    ahead = replace(CANARY, state=state, stage_at=NOW + 365 * 86_400.0)
    sight = target(FIRST_POD)
    moved = moved_on(ahead, sight, NOW)
    assert moved.stage_at == NOW
    limit = CANARY_LIMIT if state is RollState.CANARY else ROLL_LIMIT
    assert taken(moved, sight, after=limit + 1.0)[0] is Step.UNDO
    slightly = replace(ahead, stage_at=NOW + CLOCK_TOLERANCE_SECONDS)
    assert moved_on(slightly, sight, NOW) == slightly


class TestOthersPauses:
    THEIRS = target(HELD_BACK, ours=False)

    @pytest.mark.parametrize("roll", [CANARY, TRIAL, ROLLING])
    @pytest.mark.parametrize("watched", [BETTER, Watched(failure=FAILURE)])
    def test_a_rollout_that_somebody_else_paused_is_waited_for(
        self, roll: Roll, watched: Watched
    ) -> None:
        step = taken(roll, self.THEIRS, watched, after=10 * ROLL_LIMIT)
        assert step == (Step.WAIT, Reason.ROLLOUT_PAUSED, False)

    def test_so_is_one_that_was_put_back(self) -> None:
        back = target(HELD_BACK, active="none", ours=False)
        assert taken(UNDOING, back) == (Step.WAIT, Reason.ROLLOUT_PAUSED, False)

    def test_an_order_goes_before_it(self) -> None:
        assert taken(CANARY, self.THEIRS, asked=Asked(forced="none"))[0] is Step.UNDO

    def test_a_canary_that_was_held_back_once_is_not_paused_against_who_resumed_it(self) -> None:
        seen = moved_on(CANARY, target(HELD_BACK), NOW)
        assert taken(CANARY, target(FIRST_POD))[0] is Step.PAUSE
        assert taken(seen, target(FIRST_POD))[0] is Step.PROMOTE
        trial = moved_on(TRIAL, target(HELD_BACK), NOW)
        assert taken(trial, target(FIRST_POD))[0] is Step.UNDO


class TestSlowFleets:
    def test_a_roll_may_take_twice_as_long_as_its_starts_whatever_its_deadline(self) -> None:
        slow = Watched(expected_seconds=ROLL_LIMIT)
        twice = ROLL_PATIENCE * ROLL_LIMIT
        assert step_of(ROLLING, target(FIRST_POD), slow, after=twice) is None
        assert taken(ROLLING, target(FIRST_POD), slow, after=twice + 1.0)[0] is Step.UNDO
        fast = Watched(expected_seconds=60.0)
        assert step_of(ROLLING, target(FIRST_POD), fast, after=ROLL_LIMIT) is None

    def test_what_fails_after_somebody_changed_the_template_may_be_their_change(self) -> None:
        changed = target(FIRST_POD, template="bbbb")
        for watched in (Watched(failure=FAILURE), Watched()):
            assert step_of(ROLLING, changed, watched, after=ROLL_LIMIT + 1.0) is None
