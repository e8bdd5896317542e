"""The best lookahead, its schedule, and the order of profiles."""

from dataclasses import replace
from itertools import pairwise

import pytest

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.choose import ranking
from ridgeline.costmodel.goodput import Estimate, estimate
from ridgeline.costmodel.lookahead import Tier, best_lookahead, lookahead_schedule
from ridgeline.terms.methods import Method
from tests.unit.costmodel.targets import (
    CHAT,
    EAGLE_8B,
    NONE,
    accepted,
    arm,
    on,
)

HEAD = arm(2.4, 5, EAGLE_8B, Method.EAGLE, acceptance=accepted((0.76, 0.54, 0.39, 0.28, 0.21)))


def test_a_schedule_is_without_gaps_and_falls() -> None:
    found = lookahead_schedule(on(max_num_seqs=200, captured_tokens=4096), HEAD, CHAT)
    assert not isinstance(found, CannotSay)
    assert found[0].first == 1
    assert found[-1].last == 200
    assert all(below.last + 1 == above.first for below, above in pairwise(found))
    tiers = [each.lookahead for each in found]
    assert tiers == sorted(set(tiers), reverse=True)
    assert tiers[0] > tiers[-1]


@pytest.mark.parametrize("requests", [1, 7, 20, 60, 130, 256])
def test_a_schedule_has_the_best_lookahead_of_each_batch(requests: int) -> None:
    target = on(max_num_seqs=256)
    tiers = lookahead_schedule(target, HEAD, CHAT)
    assert not isinstance(tiers, CannotSay)
    own = next(each for each in tiers if each.first <= requests <= each.last)
    assert own.lookahead == best_lookahead(target, HEAD, CHAT, requests, drafter_stays=True)


def test_a_drafter_that_stays_makes_none_dearer() -> None:
    weak = replace(HEAD, acceptance=accepted((0.36, 0.1, 0.05, 0.02, 0.01)))
    gone, stays = (
        best_lookahead(on(), weak, CHAT, 180, drafter_stays=each) for each in (False, True)
    )
    assert gone == 0
    assert stays == 1


def test_a_hopeless_draft_has_a_schedule_of_none() -> None:
    hopeless = replace(HEAD, acceptance=accepted((0.0,) * 5))
    assert lookahead_schedule(on(max_num_seqs=32), hopeless, CHAT) == (
        Tier(first=1, last=32, lookahead=0),
    )


@pytest.mark.parametrize(
    "one", [NONE, replace(HEAD, tree_nodes=20), replace(HEAD, acceptance=None)]
)
def test_a_profile_without_a_lookahead_to_choose_has_no_schedule(one: object) -> None:
    assert isinstance(lookahead_schedule(on(), one, CHAT), CannotSay)  # type: ignore[arg-type]


def test_profiles_are_ranked_by_what_they_make() -> None:
    better, unknown = arm(2.8, name="better"), arm(2.0, name="unknown", acceptance=None)
    found = ranking(on(), [NONE, HEAD, unknown, better], NONE, CHAT, 8.0)
    assert [each.profile for each in found.estimates] == ["better", "spec", "none"]
    assert [each.speedup for each in found.estimates][-1] == 1.0
    assert len(found.left_out) == 1


def test_an_estimate_above_what_is_admitted_stays_at_the_most() -> None:
    target = on(max_num_seqs=64)
    most, more = (estimate(target, HEAD, NONE, CHAT, each) for each in (64.0, 500.0))
    assert isinstance(most, Estimate)
    assert isinstance(more, Estimate)
    assert most.admitted
    assert not more.admitted
    assert more.tokens_per_second == most.tokens_per_second
    assert more.tpot_seconds == most.tpot_seconds


def test_suffix_decoding_has_no_lookahead_to_choose() -> None:
    suffix = arm(1.6, 8, None, Method.SUFFIX)
    found = lookahead_schedule(on(), suffix, CHAT)
    assert isinstance(found, CannotSay)
    assert "as many tokens as it finds" in found.reason
