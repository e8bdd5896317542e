"""How many more Pods the ResourceQuotas of a namespace allow."""

from fractions import Fraction

import pytest

from ridgeline.policy.placement import Requirement
from ridgeline.policy.quota import PodCost, Quota, quota_room

GPU = "requests.nvidia.com/gpu"
COST = PodCost(
    amounts={
        GPU: Fraction(2),
        "pods": Fraction(1),
        "requests.cpu": Fraction(3, 2),
        "memory": Fraction(64 * 2**30),
    },
    priority_class="serving",
    states_compute=True,
)


def quota(
    name: str = "team",
    *scopes: Requirement,
    hard: dict[str, int],
    used: dict[str, int] | None = None,
) -> Quota:
    return Quota(
        name=name,
        hard={key: Fraction(value) for key, value in hard.items()},
        used={key: Fraction(value) for key, value in (used or {}).items()},
        scopes=scopes,
    )


def scope(key: str, operator: str = "Exists", *values: str) -> Requirement:
    return Requirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("resource", "hard", "used", "pods"),
    [
        (GPU, 8, 6, 1),
        (GPU, 8, 7, 0),
        (GPU, 8, 4, 2),
        (GPU, 8, 9, 0),
        ("pods", 10, 9, 1),
        ("pods", 10, 10, 0),
        ("requests.cpu", 6, 3, 2),
        ("requests.cpu", 6, 4, 1),
        ("requests.cpu", 6, 5, 0),
        ("memory", 128 * 2**30, 64 * 2**30, 1),
        ("memory", 128 * 2**30, 64 * 2**30 + 1, 0),
    ],
)
def test_a_pod_fits_while_used_and_asked_are_within_the_limit(
    resource: str, hard: int, used: int, pods: int
) -> None:
    assert quota_room([quota(hard={resource: hard}, used={resource: used})], COST).pods == pods


def test_the_tightest_resource_of_all_quotas_counts_and_is_named() -> None:
    roomy = quota("roomy", hard={GPU: 100, "pods": 50}, used={GPU: 0, "pods": 0})
    tight = quota("tight", hard={GPU: 8, "pods": 50}, used={GPU: 6, "pods": 3})
    room = quota_room([roomy, tight], COST)
    assert room.pods == 1
    assert room.why == (
        "ResourceQuota tight has 6 of 8 requests.nvidia.com/gpu in use and allows 1 more Pods "
        "(2 each)"
    )


def test_memory_is_told_in_its_own_units() -> None:
    held = quota(hard={"memory": 96 * 2**30}, used={"memory": 64 * 2**30})
    assert "64Gi of 96Gi memory" in quota_room([held], COST).why
    fine = quota(hard={"requests.cpu": 2}, used={"requests.cpu": 1})
    assert "(1.5 each)" in quota_room([fine], COST).why


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"requests.amd.com/gpu": 0},
        {"limits.cpu": 0},
    ],
)
def test_a_quota_of_what_the_pods_do_not_ask_for_limits_nothing(limits: dict[str, int]) -> None:
    room = quota_room([quota(hard=limits, used=limits)], COST)
    assert room.pods is None
    assert "no ResourceQuota limits" in room.why


def test_what_the_pods_ask_nothing_of_limits_nothing() -> None:
    free = PodCost(amounts={"requests.cpu": Fraction(0)})
    assert (
        quota_room([quota(hard={"requests.cpu": 1}, used={"requests.cpu": 1})], free).pods is None
    )


def test_a_quota_that_nobody_has_counted_yet_is_not_known_to_be_full() -> None:
    assert quota_room([quota(hard={GPU: 0})], COST).pods is None


FULL = {"hard": {GPU: 0}, "used": {GPU: 0}}


@pytest.mark.parametrize(
    ("scopes", "under"),
    [
        ((), True),
        ((scope("NotTerminating"),), True),
        ((scope("Terminating"),), False),
        ((scope("NotBestEffort"),), True),
        ((scope("BestEffort"),), False),
        ((scope("PriorityClass", "In", "serving", "batch"),), True),
        ((scope("PriorityClass", "In", "batch"),), False),
        ((scope("PriorityClass", "NotIn", "batch"),), True),
        ((scope("PriorityClass"),), True),
        ((scope("NotTerminating"), scope("PriorityClass", "In", "batch")), False),
        ((scope("CrossNamespacePodAffinity"),), None),
        ((scope("CrossNamespacePodAffinity"), scope("Terminating")), False),
        ((scope("CrossNamespacePodAffinity"), scope("NotTerminating")), None),
    ],
)
def test_scopes_tell_for_which_pods_a_quota_is(
    scopes: tuple[Requirement, ...], under: bool | None
) -> None:
    room = quota_room([quota("scoped", *scopes, **FULL)], COST)
    assert room.pods == (0 if under else None)
    assert ("not counted" in room.why) is (under is None)
    assert ("scoped" in room.why) is (under is not False)


@pytest.mark.parametrize("key", ["BestEffort", "NotBestEffort", "PriorityClass"])
def test_what_a_template_leaves_to_the_api_server_is_not_known(key: str) -> None:
    bare = PodCost(amounts={GPU: Fraction(1)})
    room = quota_room([quota("scoped", scope(key, "Exists"), **FULL)], bare)
    assert room.pods is None
    assert room.why.endswith("not counted, since its scopes may not be for them: scoped")


def test_a_quota_that_counts_speaks_beside_one_that_cannot_be_told() -> None:
    unknown = quota("unknown", scope("CrossNamespacePodAffinity"), **FULL)
    room = quota_room([unknown, quota(hard={GPU: 8}, used={GPU: 0})], COST)
    assert room.pods == 4
    assert "not counted" in room.why
