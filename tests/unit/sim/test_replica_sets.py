"""Sizes of ReplicaSets as the Deployment controller reckons them."""

import pytest

from ridgeline.engine.container import Container
from ridgeline.sim.replica_sets import (
    Limits,
    ReplicaSet,
    grow_newest,
    is_scaled,
    recreate,
    scale,
    shrink_others,
)
from ridgeline.sim.template import Template


def of(revision: int, size: int, available: int | None = None, most: int = 5) -> ReplicaSet:
    return ReplicaSet(
        template=Template(containers=(Container(name="vllm"),), profile=str(revision)),
        revision=revision,
        size=size,
        available=size if available is None else available,
        desired=most - 1,
        most=most,
    )


def limits(replicas: int, surge: int = 1, unavailable: int = 0) -> Limits:
    return Limits(replicas=replicas, max_surge=surge, max_unavailable=unavailable)


def test_a_paused_deployment_that_is_scaled_shares_by_size() -> None:
    old, canary = of(1, 4), of(2, 1)
    assert is_scaled([old, canary], 12)
    scale([old, canary], canary, limits(12))
    assert (old.size, canary.size) == (10, 3)
    assert not is_scaled([old, canary], 12)
    scale([old, canary], canary, limits(12))
    assert (old.size, canary.size) == (10, 3)
    scale([old, canary], canary, limits(4))
    assert (old.size, canary.size) == (4, 1)


def test_what_rounding_leaves_goes_to_the_largest() -> None:
    sets = [of(1, 8, most=13), of(2, 5, most=13)]
    scale(sets, sets[1], limits(15, surge=3))
    assert [each.size for each in sets] == [11, 7]
    sets = [of(1, 1, most=3), of(2, 1, most=3), of(3, 1, most=3)]
    scale(sets, sets[2], limits(3, surge=1))
    assert [each.size for each in sets] == [1, 1, 2]


def test_a_single_replica_set_gets_the_replicas_without_a_surge() -> None:
    old = of(1, 4)
    scale([old], None, limits(6, surge=2))
    assert old.size == 6


def test_nothing_is_left_of_a_deployment_scaled_to_zero() -> None:
    sets = [of(1, 4), of(2, 1)]
    scale(sets, sets[1], limits(0))
    assert [each.size for each in sets] == [0, 0]


def test_a_complete_newest_leaves_nothing_to_the_others() -> None:
    sets = [of(1, 1, most=5), of(2, 4)]
    scale(sets, sets[1], limits(4))
    assert [each.size for each in sets] == [0, 4]


@pytest.mark.parametrize(
    ("surge", "unavailable", "canary"), [(1, 0, 1), (2, 0, 2), (1, 1, 2), (5, 5, 10)]
)
def test_the_first_step_makes_surge_and_unavailable_pods(
    surge: int, unavailable: int, canary: int
) -> None:
    old, newest = of(1, 20), of(2, 0)
    bounds = limits(20, surge, unavailable)
    while grow_newest([old, newest], newest, bounds) or shrink_others(
        [old, newest], newest, bounds
    ):
        newest.available, old.available = 0, min(old.available, old.size)
    assert (old.size, newest.size) == (20 - unavailable, canary)


def test_unavailable_old_pods_go_first_and_only_as_far_as_the_new_ones_leave_room() -> None:
    # Ten replicas, surge 3, unavailable 2; the new five crash and one of the old eight is lost.
    old, newest = of(1, 8, available=7), of(2, 5, available=0)
    bounds = limits(10, 3, 2)
    assert not shrink_others([old, newest], newest, bounds)
    # Undone: the crashing ones are the old ones now, and four of them may go at once.
    crashing, newest = of(1, 5, available=0), of(2, 8, available=7)
    assert shrink_others([crashing, newest], newest, bounds)
    assert (crashing.size, newest.size) == (1, 8)
    assert grow_newest([crashing, newest], newest, bounds)
    assert newest.size == 10


def test_available_old_pods_stay_until_enough_others_serve() -> None:
    old, newest = of(1, 4), of(2, 1, available=0)
    assert not shrink_others([old, newest], newest, limits(4))
    newest.available = 1
    assert shrink_others([old, newest], newest, limits(4))
    assert old.size == 3


def test_recreate_makes_nothing_before_the_last_old_pod_is_gone() -> None:
    old, newest = of(1, 4), of(2, 0)
    assert recreate([old, newest], newest, limits(4), others_gone=False)
    assert (old.size, newest.size) == (0, 0)
    assert not recreate([old, newest], newest, limits(4), others_gone=False)
    assert recreate([old, newest], newest, limits(4), others_gone=True)
    assert newest.size == 4
