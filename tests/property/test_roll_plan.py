"""More room, more quota, more time never turn a roll that may be begun into one that may not."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.placement import Node, PodNeeds, Requirement, Room, room_for
from ridgeline.policy.quota import PodCost, Quota, quota_room
from ridgeline.policy.roll_neighbours import Autoscaler, Gang, ProtectedPod
from ridgeline.policy.roll_plan import RollPlan, first_hold

RESOURCES = ("pods", "requests.nvidia.com/gpu", "requests.cpu", "memory")
SCOPES = ("NotTerminating", "Terminating", "NotBestEffort", "BestEffort", "PriorityClass", "Other")

amounts = st.fractions(0, 20, max_denominator=4)
some = st.dictionaries(st.sampled_from(RESOURCES), amounts, max_size=4)
scopes = st.lists(
    st.builds(
        Requirement,
        key=st.sampled_from(SCOPES),
        operator=st.sampled_from(["Exists", "In", "NotIn"]),
        values=st.sampled_from([(), ("serving",)]),
    ),
    max_size=2,
).map(tuple)
quotas = st.builds(Quota, name=st.sampled_from("abcd"), hard=some, used=some, scopes=scopes)
costs = st.builds(
    PodCost,
    amounts=some,
    priority_class=st.sampled_from(["", "serving", "batch"]),
    states_compute=st.booleans(),
)
counts = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "25%", "100%"]))
rooms = st.builds(Room, pods=st.one_of(st.none(), st.integers(0, 3)), why=st.just("why"))
seconds = st.floats(0.0, 1000.0)
maybe_seconds = st.one_of(st.none(), seconds)
gangs = st.builds(Gang, name=st.just("g"), key=st.just("k"), least=st.integers(0, 3))
scalers = st.builds(
    Autoscaler,
    name=st.just("hpa"),
    least=st.just(1),
    most=st.just(9),
    current=st.one_of(st.none(), st.integers(0, 3)),
    desired=st.one_of(st.none(), st.integers(0, 3)),
    acts=st.booleans(),
)
plans = st.builds(
    RollPlan,
    replicas=st.integers(0, 9),
    recreate=st.sampled_from([False, False, False, True]),
    max_surge=counts,
    max_unavailable=counts,
    room=rooms,
    quota=rooms,
    startup_budget_seconds=maybe_seconds,
    start_seconds=maybe_seconds,
    start_seconds_by_profile=st.dictionaries(st.just("eagle2"), seconds, max_size=1),
    grace_seconds=seconds,
    drain_seconds=seconds,
    drains=st.sampled_from([None, True, False]),
    longest_answer_seconds=maybe_seconds,
    autoscaler=st.one_of(st.none(), scalers),
    gang=st.one_of(st.none(), gangs),
    protected=st.sampled_from([(), (ProtectedPod(name="p", by="k"),)]),
    owner=st.sampled_from(["", "", "InferenceService/llama"]),
)
profiles = st.sampled_from([None, "eagle2", "none"])


def more(room: Room, pods: int) -> Room:
    return room if room.pods is None else replace(room, pods=room.pods + pods)


@given(
    st.lists(quotas, max_size=4, unique_by=lambda each: each.name),
    costs,
    st.sampled_from(RESOURCES),
    amounts,
    st.booleans(),
)
def test_more_quota_or_less_use_never_leaves_room_for_fewer(
    all_quotas: list[Quota], cost: PodCost, resource: str, amount: Fraction, raised: bool
) -> None:
    def eased(quota: Quota) -> Quota:
        if resource not in quota.hard or resource not in quota.used:
            return quota
        if raised:
            return replace(quota, hard={**quota.hard, resource: quota.hard[resource] + amount})
        left = max(Fraction(0), quota.used[resource] - amount)
        return replace(quota, used={**quota.used, resource: left})

    before = quota_room(all_quotas, cost).pods
    after = quota_room([eased(each) for each in all_quotas], cost).pods
    assert (before is None) is (after is None)
    if before is not None and after is not None:
        assert after >= before >= 0


@given(
    st.lists(st.integers(0, 8), max_size=4),
    st.lists(st.integers(0, 8), max_size=4),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(1, 8),
    st.booleans(),
)
def test_another_gpu_never_leaves_room_for_fewer(
    gpus: list[int], taken: list[int], asked: int, which: int, added: int, alone: bool
) -> None:
    needs = PodNeeds(requests={"nvidia.com/gpu": asked}, alone_on_node=alone)
    used = {str(index): {"nvidia.com/gpu": count} for index, count in enumerate(taken)}

    def room(counts: list[int]) -> int:
        nodes = [
            Node(name=str(index), labels={}, allocatable={"nvidia.com/gpu": count})
            for index, count in enumerate(counts)
        ]
        pods = room_for(needs, nodes, used, frozenset({"0"})).pods
        assert pods is not None
        return pods

    eased = [count + (added if index == which else 0) for index, count in enumerate(gpus)]
    assert room(eased) >= room(gpus)


@given(plans, profiles, st.booleans(), st.integers(0, 3), st.integers(0, 3), seconds)
def test_what_may_be_begun_may_be_begun_with_more_room_quota_and_time(
    plan: RollPlan, profile: str | None, voluntary: bool, pods: int, allowed: int, time: float
) -> None:
    if first_hold(plan, profile, voluntary=voluntary) is not None:
        return
    budget = plan.startup_budget_seconds
    eased = replace(
        plan,
        room=more(plan.room, pods),
        quota=more(plan.quota, allowed),
        startup_budget_seconds=None if budget is None else budget + time,
        grace_seconds=plan.grace_seconds + time,
    )
    assert first_hold(eased, profile, voluntary=voluntary) is None


@given(plans, profiles)
def test_a_roll_that_cannot_wait_is_held_for_nothing_that_one_that_can_is_not(
    plan: RollPlan, profile: str | None
) -> None:
    if first_hold(plan, profile, voluntary=True) is None:
        assert first_hold(plan, profile, voluntary=False) is None


@given(plans, profiles)
def test_what_is_not_known_never_holds(plan: RollPlan, profile: str | None) -> None:
    if first_hold(plan, profile) is not None:
        return
    unknown = replace(
        plan,
        room=Room(pods=None, why=""),
        quota=Room(pods=None, why=""),
        autoscaler=None,
        longest_answer_seconds=None,
        drains=None,
    )
    assert first_hold(unknown, profile) is None


@given(plans, profiles)
def test_every_hold_tells_one_line_of_finite_numbers(plan: RollPlan, profile: str | None) -> None:
    hold = first_hold(plan, profile)
    if hold is not None:
        assert "\n" not in hold.message
        assert "nan" not in hold.message.split()
        assert "inf" not in hold.message.split()
