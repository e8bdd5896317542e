"""The record of a roll, as sights of the target move it on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.facts import RolloutFacts, TargetFacts
from ridgeline.policy.roll import (
    INTENT_VALID_SECONDS,
    Roll,
    abandoned,
    begun,
    moved_on,
    must_begin,
    seen_is_older,
    undone_by_others,
)
from ridgeline.terms.rolls import RollState

NOW = 1_800_000_000.0
UNDER_WAY = RolloutFacts(updated=1, available=4, desired=4)

INTENT = Roll(
    from_profile="eagle2",
    to_profile="none",
    started_at=NOW,
    state=RollState.INTENDED,
    target_uid="uid-1",
    target_generation=5,
    serving_generation=2,
)
ROLLING = begun(INTENT, 6, NOW)
FINISHED = replace(ROLLING, state=RollState.FINISHED, finished_at=NOW + 60.0)
UNDONE = replace(FINISHED, state=RollState.UNDONE, undone_times=2, undone_by="argocd")
ABANDONED = abandoned(INTENT, NOW + 60.0)


def target(
    active: str | None = "none",
    *,
    uid: str = "uid-1",
    generation: int = 6,
    rollout: RolloutFacts | None = None,
) -> TargetFacts:
    return TargetFacts(
        uid=uid,
        generation=generation,
        desired_replicas=4,
        active_profile=active,
        active_config="",
        rollout=rollout,
    )


UNTOUCHED = target("eagle2", generation=5)


@pytest.mark.parametrize(
    ("roll", "sight", "state"),
    [
        (INTENT, UNTOUCHED, RollState.INTENDED),
        (INTENT, target(rollout=UNDER_WAY), RollState.ROLLING),
        (INTENT, target(), RollState.FINISHED),
        (INTENT, target("eagle2", generation=6), RollState.ABANDONED),
        (INTENT, target(None, generation=6), RollState.ABANDONED),
        (INTENT, target("eagle2", uid="uid-2", generation=5), RollState.ABANDONED),
        (INTENT, target(uid="uid-2"), RollState.ABANDONED),
        (ROLLING, target(rollout=UNDER_WAY), RollState.ROLLING),
        (ROLLING, target(generation=9, rollout=UNDER_WAY), RollState.ROLLING),
        (ROLLING, target(), RollState.FINISHED),
        (ROLLING, target("eagle2", generation=7), RollState.UNDONE),
        (ROLLING, target(None, generation=7, rollout=UNDER_WAY), RollState.UNDONE),
        (ROLLING, UNTOUCHED, RollState.ROLLING),
        (ROLLING, target(uid="uid-2"), RollState.ABANDONED),
        (FINISHED, target(), RollState.FINISHED),
        (FINISHED, target(rollout=UNDER_WAY), RollState.FINISHED),
        (FINISHED, target("eagle2", generation=7), RollState.UNDONE),
        (FINISHED, UNTOUCHED, RollState.FINISHED),
        (FINISHED, target("eagle2", uid="uid-2"), RollState.FINISHED),
        (UNDONE, target("eagle2", generation=7), RollState.UNDONE),
        (UNDONE, target(generation=8), RollState.FINISHED),
        (ABANDONED, target(), RollState.ABANDONED),
        (ABANDONED, UNTOUCHED, RollState.ABANDONED),
    ],
)
def test_what_a_sight_makes_of_a_roll(roll: Roll, sight: TargetFacts, state: RollState) -> None:
    moved = moved_on(roll, sight, NOW + 90.0)

    assert moved.state is state
    if roll.open and not moved.open:
        assert moved.finished_at == NOW + 90.0
    elif not roll.open:
        assert moved.finished_at == roll.finished_at


def test_a_roll_that_was_begun_remembers_the_generation_that_its_write_made() -> None:
    assert ROLLING.target_generation == 6
    assert moved_on(INTENT, target(generation=7, rollout=UNDER_WAY), NOW).target_generation == 7


@pytest.mark.parametrize(
    ("roll", "sight", "older"),
    [
        (None, UNTOUCHED, False),
        (INTENT, target("eagle2", generation=4), False),
        (ROLLING, UNTOUCHED, True),
        (FINISHED, UNTOUCHED, True),
        (UNDONE, UNTOUCHED, True),
        (ROLLING, target(), False),
        (ROLLING, target("eagle2", uid="uid-2", generation=1), False),
    ],
)
def test_a_sight_from_before_our_write_is_recognised(
    roll: Roll | None, sight: TargetFacts, older: bool
) -> None:
    assert seen_is_older(roll, sight) is older


@pytest.mark.parametrize(
    ("roll", "sight", "after", "begin"),
    [
        (INTENT, UNTOUCHED, 0.0, True),
        (INTENT, UNTOUCHED, INTENT_VALID_SECONDS, True),
        (INTENT, UNTOUCHED, INTENT_VALID_SECONDS + 1.0, False),
        (INTENT, target("eagle2", generation=6), 0.0, False),
        (INTENT, target("eagle2", generation=4), 0.0, False),
        (INTENT, target("none", generation=5), 0.0, False),
        (INTENT, replace(UNTOUCHED, uid="uid-2"), 0.0, False),
        (ROLLING, replace(UNTOUCHED, generation=6), 0.0, False),
        (ABANDONED, UNTOUCHED, 0.0, False),
        (FINISHED, replace(UNTOUCHED, generation=6), 0.0, False),
    ],
)
def test_an_announced_roll_is_begun_only_where_nothing_has_changed(
    roll: Roll, sight: TargetFacts, after: float, begin: bool
) -> None:
    assert must_begin(roll, sight, NOW + after) is begin


@pytest.mark.parametrize(
    ("roll", "sight", "serving_generation", "undone"),
    [
        (None, target(), 2, False),
        (UNDONE, target("eagle2", generation=7), 2, True),
        (UNDONE, target("eagle2", generation=7), 1, True),
        (UNDONE, target("eagle2", generation=7), 3, False),
        (UNDONE, target("eagle2", uid="uid-2"), 2, False),
        (FINISHED, target(), 2, False),
        (ABANDONED, target("eagle2"), 2, False),
    ],
)
def test_an_undone_roll_stands_until_the_serving_is_edited(
    roll: Roll | None, sight: TargetFacts, serving_generation: int, undone: bool
) -> None:
    assert undone_by_others(roll, sight, serving_generation) is undone


@pytest.mark.parametrize(
    ("by", "template", "in_args", "times", "undone"),
    [
        # From a file something else was changed, and the whole list went along.
        ("kubectl-client-side-apply", "new", True, 1, False),
        ("kubectl", "new", True, 1, False),
        ("kubectl-client-side-apply", "new", True, 2, True),
        # Nothing else was changed, or by hand, or the item is an element of its own.
        ("kubectl-client-side-apply", "old", True, 1, True),
        ("kubectl-edit", "new", True, 1, True),
        ("kubectl-rollout", "new", True, 1, True),
        ("kubectl-client-side-apply", "new", False, 1, True),
        ("", "new", True, 1, True),
        ("kustomize-controller", "new", True, 1, False),
        ("kustomize-controller", "old", True, 2, True),
    ],
)
def test_an_upgrade_that_takes_the_whole_argument_list_along_is_no_word_against_us(
    by: str, template: str, in_args: bool, times: int, undone: bool
) -> None:
    roll = replace(UNDONE, undone_times=times, undone_by=by, template="old")
    sight = replace(target("eagle2"), template=template, in_args=in_args)
    assert undone_by_others(roll, sight, roll.serving_generation) is undone


sights = st.builds(
    target,
    st.sampled_from(["none", "eagle2", "draft-1b", None]),
    uid=st.sampled_from(["uid-1", "uid-1", "uid-1", "uid-2"]),
    generation=st.integers(min_value=3, max_value=9),
    rollout=st.sampled_from([None, UNDER_WAY]),
)
times = st.floats(min_value=0.0, max_value=1000.0).map(lambda after: NOW + after)
rolls = st.sampled_from([INTENT, ROLLING, FINISHED, UNDONE, ABANDONED])


@given(rolls, st.lists(st.tuples(sights, times), max_size=12))
def test_a_roll_that_has_ended_never_opens_again(
    roll: Roll, seen: list[tuple[TargetFacts, float]]
) -> None:
    for sight, now in sorted(seen, key=lambda each: each[1]):
        moved = moved_on(roll, sight, now)
        assert roll.open or not moved.open
        assert moved.open == (moved.finished_at is None)
        assert not (roll.state is RollState.ROLLING and moved.state is RollState.INTENDED)
        assert roll.state is not RollState.ABANDONED or moved == roll
        told = ("from_profile", "to_profile", "started_at", "target_uid", "serving_generation")
        assert all(getattr(moved, name) == getattr(roll, name) for name in told)
        roll = moved


@given(rolls, sights, times)
def test_the_same_sight_twice_says_nothing_new(roll: Roll, sight: TargetFacts, now: float) -> None:
    once = moved_on(roll, sight, now)

    assert moved_on(once, sight, now) == once


@given(sights, times)
def test_whenever_a_process_dies_its_intent_is_begun_resumed_or_given_up(
    sight: TargetFacts, now: float
) -> None:
    moved = moved_on(INTENT, sight, now)
    resumed = must_begin(moved, sight, now)
    was_begun = moved.state in (RollState.ROLLING, RollState.FINISHED)
    given_up = moved.state is RollState.ABANDONED

    assert [resumed, was_begun, given_up].count(True) == 1
    if was_begun:
        assert sight.active_profile == "none"
        assert sight.uid == "uid-1"
    if resumed:
        assert sight.active_profile != "none"
        assert sight.generation == INTENT.target_generation


@given(sights, times)
def test_an_old_intent_is_never_begun(sight: TargetFacts, now: float) -> None:
    late = now + INTENT_VALID_SECONDS + 1.0

    assert moved_on(INTENT, sight, late).state is not RollState.INTENDED


def test_what_git_itself_asks_for_is_not_taken_out_again() -> None:
    undoing = replace(ROLLING, state=RollState.UNDOING, before=None)
    ours, gits = target(generation=8), replace(target(generation=8), has_item=False)
    assert moved_on(undoing, replace(ours, has_item=True), NOW).state is RollState.UNDOING
    assert moved_on(undoing, gits, NOW).state is RollState.RESTORED
