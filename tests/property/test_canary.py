"""What holds of the next step of a roll, whatever is seen and whatever is asked for."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.facts import Problem, RolloutFacts, TargetFacts
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.roll_steps import Asked, Found, Step, Watched, next_step
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
PROBLEMS = st.sampled_from(Reason).map(lambda reason: Problem(reason=reason, message="told"))
COUNTS = st.integers(0, 3)
ROLLOUTS = st.builds(
    RolloutFacts,
    updated=COUNTS,
    available=COUNTS,
    desired=COUNTS,
    old=st.none() | COUNTS,
    paused=st.booleans(),
    observed=st.booleans(),
    deadline_exceeded=st.booleans(),
)
TARGETS = st.builds(
    TargetFacts,
    uid=st.sampled_from(["uid-1", "uid-2"]),
    generation=st.integers(1, 9),
    desired_replicas=COUNTS,
    active_profile=st.sampled_from(["eagle2", "none", None]),
    active_config=st.just(""),
    rollout=st.none() | ROLLOUTS,
    template=st.sampled_from(["aaaa", "bbbb"]),
    paused_by_us=st.booleans(),
)
ROLLS = st.builds(
    Roll,
    from_profile=st.sampled_from(["none", None]),
    to_profile=st.just("eagle2"),
    started_at=st.just(NOW),
    stage_at=st.just(NOW),
    state=st.sampled_from(RollState),
    target_uid=st.just("uid-1"),
    target_generation=st.integers(1, 9),
    serving_generation=st.just(1),
    way=st.sampled_from(RollWay),
    template=st.just("aaaa"),
    why=st.none() | PROBLEMS,
)
CANARIES = ROLLS.map(lambda roll: replace(roll, state=RollState.CANARY))


def carrying(target: TargetFacts) -> TargetFacts:
    """The target of a canary: paused by the operator, where it is paused."""
    ours = target.rollout is not None and target.rollout.paused
    return replace(target, uid="uid-1", active_profile="eagle2", paused_by_us=ours)


CARRYING = TARGETS.map(carrying)
UNTOUCHED = CARRYING.map(lambda target: replace(target, template="aaaa"))
WATCHED = st.builds(
    Watched,
    failure=st.none() | PROBLEMS,
    worse=st.none() | PROBLEMS,
    found=st.sampled_from(Found),
    verdict=st.none() | PROBLEMS,
    serving=st.booleans(),
)
ASKED = st.just(Asked()) | st.builds(
    Asked,
    forced=st.sampled_from([None, "eagle2", "none"]),
    withdrawn=st.none() | PROBLEMS,
    idle=st.booleans(),
)
SETTINGS = st.builds(
    RollSettings,
    canary_when=st.sampled_from(CanaryWhen),
    canary_max_replicas=st.integers(1, 9),
    canary_otherwise=st.sampled_from(CanaryOtherwise),
    on_no_traffic=st.sampled_from(OnNoTraffic),
    canary_deadline_seconds=st.floats(60.0, 86_400.0),
    trial=st.sampled_from(TrialPolicy),
    deadline_seconds=st.floats(60.0, 86_400.0),
)
AFTER = st.floats(0.0, 60.0) | st.floats(-1e6, 1e6)


@given(CANARIES, CARRYING, WATCHED, ASKED, SETTINGS)
def test_no_canary_outlives_its_deadline(
    roll: Roll, target: TargetFacts, watched: Watched, asked: Asked, settings: RollSettings
) -> None:
    late = NOW + settings.canary_deadline_seconds + 1.0
    found = next_step(roll, target, watched, asked, settings, late)
    assert found is not None
    assert found.step in (Step.UNDO, Step.PROMOTE)


@given(CANARIES | ROLLS, UNTOUCHED | CARRYING | TARGETS, WATCHED, ASKED, SETTINGS, AFTER)
def test_a_target_is_paused_for_a_canary_that_may_be_finished_and_for_nothing_else(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    after: float,
) -> None:
    found = next_step(roll, target, watched, asked, settings, NOW + after)
    if found is not None and found.step is Step.PAUSE:
        assert roll.state is RollState.CANARY
        assert target.active_profile == roll.to_profile
        assert target.template == roll.template
        assert asked.withdrawn is None
        assert target.rollout is not None
        assert target.rollout.updated > 0
    if target.paused_by_us and roll.target_uid == target.uid and roll.state is not RollState.CANARY:
        assert found is not None
        assert found.step in (Step.GIVE_BACK, Step.UNDO), "both give spec.paused back"


@given(CANARIES, UNTOUCHED, WATCHED, ASKED, SETTINGS, AFTER)
def test_nothing_that_fails_goes_on_but_by_order(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    after: float,
) -> None:
    found = next_step(roll, target, watched, asked, settings, NOW + after)
    assert found is not None
    if found.step is not Step.PROMOTE:
        return
    if found.why.reason is Reason.FORCED and asked.forced == roll.to_profile:
        return
    judged_worse = watched.found is Found.WORSE and watched.verdict is not None
    assert watched.failure is None
    assert not judged_worse
    assert roll.way is not RollWay.TRIAL
    assert asked.withdrawn is None


@given(CANARIES | ROLLS, UNTOUCHED | CARRYING | TARGETS, WATCHED, ASKED, SETTINGS, AFTER)
def test_a_profile_is_blamed_for_what_it_did_and_not_for_what_a_person_asked(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    after: float,
) -> None:
    found = next_step(roll, target, watched, asked, settings, NOW + after)
    if found is None or not found.quarantines:
        return
    assert found.step is Step.UNDO
    assert target.active_profile == roll.to_profile
    if roll.state is RollState.CANARY:
        assert target.template == roll.template
        assert asked.withdrawn is None
        assert asked.forced is None or asked.idle
