"""Where a surge Pod could go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.devices import DeviceCount
from ridgeline.policy.placement import (
    Node,
    PodClaim,
    PodNeeds,
    Requirement,
    Room,
    Taint,
    Toleration,
    no_node_left,
    room_for,
)

GPU = "nvidia.com/gpu"


def node(name: str = "n", gpus: int = 2, **changes: object) -> Node:
    fields: dict[str, object] = {"labels": {"pool": "h100"}, "allocatable": {GPU: gpus}, **changes}
    return Node(name=name, **fields)  # type: ignore[arg-type]


def needs(**changes: object) -> PodNeeds:
    return PodNeeds(**{"requests": {GPU: 1}, **changes})  # type: ignore[arg-type]


def room(
    pod: PodNeeds, *nodes: Node, used: dict[str, int] | None = None, occupied: tuple[str, ...] = ()
) -> int | None:
    taken = {name: {GPU: count} for name, count in (used or {}).items()}
    return room_for(pod, nodes, taken, frozenset(occupied)).pods


def test_free_gpus_are_allocatable_minus_those_of_bound_pods() -> None:
    assert room(needs(), node("a"), node("b"), used={"a": 2, "b": 1}) == 1


def test_a_pod_of_two_gpus_needs_both_on_one_node() -> None:
    assert room(needs(requests={GPU: 2}), node("a"), node("b"), used={"a": 1, "b": 1}) == 0


def test_an_overcommitted_node_takes_nothing_from_the_others() -> None:
    assert room(needs(), node("a"), node("b"), used={"a": 5}) == 2


@pytest.mark.parametrize(
    ("pod", "where"),
    [
        (needs(node_selector={"pool": "a100"}), node()),
        (
            needs(affinity_terms=((Requirement(key="pool", operator="In", values=("a100",)),),)),
            node(),
        ),
        (needs(), node(usable=False)),
        (needs(), node(taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))),
        (needs(), node(taints=(Taint(key="gone", value="", effect="NoExecute"),))),
    ],
)
def test_an_unsuitable_node_has_no_room(pod: PodNeeds, where: Node) -> None:
    assert room(pod, where) == 0


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="gpu", operator="Equal", value="yes", effect="NoSchedule"),
        Toleration(key="gpu", operator="Exists", value="", effect=""),
        Toleration(key="", operator="Exists", value="", effect=""),
    ],
)
def test_a_tolerated_taint_does_not_block(toleration: Toleration) -> None:
    tainted = node(taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))
    assert room(needs(tolerations=(toleration,)), tainted) == 2


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="gpu", operator="Equal", value="no", effect="NoSchedule"),
        Toleration(key="other", operator="Exists", value="", effect=""),
        Toleration(key="gpu", operator="Exists", value="", effect="NoExecute"),
    ],
)
def test_another_toleration_does_not_help(toleration: Toleration) -> None:
    tainted = node(taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))
    assert room(needs(tolerations=(toleration,)), tainted) == 0


def test_a_soft_taint_does_not_block() -> None:
    assert room(needs(), node(taints=(Taint(key="x", value="", effect="PreferNoSchedule"),))) == 2


def test_one_of_several_affinity_terms_is_enough() -> None:
    terms = (
        (Requirement(key="pool", operator="In", values=("a100",)),),
        (
            Requirement(key="pool", operator="Exists"),
            Requirement(key="zone", operator="DoesNotExist"),
        ),
    )
    assert room(needs(affinity_terms=terms), node()) == 2


@pytest.mark.parametrize(
    ("operator", "values", "met"),
    [
        ("In", ("5",), True),
        ("NotIn", ("5",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("4",), True),
        ("Gt", ("5",), False),
        ("Lt", ("6",), True),
        ("Lt", ("x",), False),
        ("Like", ("5",), False),
    ],
)
def test_operators_of_requirements(operator: str, values: tuple[str, ...], met: bool) -> None:
    assert Requirement(key="k", operator=operator, values=values).met_by({"k": "5"}) is met


def test_a_missing_label_meets_only_the_negative_operators() -> None:
    met = {
        operator
        for operator in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        if Requirement(key="k", operator=operator, values=("1",)).met_by({})
    }
    assert met == {"NotIn", "DoesNotExist"}


def test_one_per_node_counts_nodes_and_skips_those_that_have_one() -> None:
    alone = needs(alone_on_node=True)
    assert room(alone, node("a", 8), node("b", 8), node("c", 8), occupied=("a",)) == 2


@pytest.mark.parametrize(
    "pod",
    [
        needs(alone_on_node=True),
        needs(alone_on_node=True, requests={}),
        needs(alone_on_node=True, claims=(PodClaim(template="gpu"),)),
    ],
)
def test_where_each_suitable_node_has_one_there_is_no_room_whatever_can_be_counted(
    pod: PodNeeds,
) -> None:
    nodes = (node("a", 8), node("b", 8), node("cordoned", 8, usable=False))
    full = room_for(pod, nodes, {}, frozenset({"a", "b"}))
    assert (full.pods, full.gpu_helps) == (0, False)
    assert full.why == (
        "2 suitable nodes have room for 0 more Pods (each has one already, and the Pods' required "
        "anti-affinity lets no two share a node)"
    )
    assert room_for(pod, nodes, {}, frozenset({"a"})).pods in (1, None)


def test_full_nodes_are_no_matter_of_anti_affinity() -> None:
    nodes = (node("a"), node("b"))
    assert no_node_left(needs(), nodes, frozenset({"a", "b"})) is None
    assert no_node_left(needs(alone_on_node=True), (), frozenset()) is None
    full = room_for(needs(alone_on_node=True), nodes, {"b": {GPU: 2}}, frozenset({"a"}))
    assert (full.pods, full.gpu_helps) == (0, True)


@pytest.mark.parametrize("pod", [needs(claims=(PodClaim(template="gpu"),)), needs(requests={})])
def test_what_cannot_be_counted_is_unknown_and_not_zero(pod: PodNeeds) -> None:
    assert room(pod, node()) is None


class TestClaims:
    """Devices that Pods claim count like GPUs, as far as they are known."""

    NODES = (node("a"), node("b"), node("c", usable=False))
    CLAIMING = needs(claims=(PodClaim(template="gpu"),), requests={})

    def room(self, pod: PodNeeds, pods: dict[str, int] | None, *occupied: str) -> Room:
        devices = DeviceCount(pods=pods, why="2 × gpu.example.com")
        return room_for(pod, self.NODES, {}, frozenset(occupied), devices)

    def test_each_suitable_node_has_room_for_what_it_has_free(self) -> None:
        found = self.room(self.CLAIMING, {"a": 2, "b": 0, "c": 9, "elsewhere": 9})
        assert found.pods == 2
        assert found.why == (
            "2 suitable nodes have room for 2 more Pods (2 × gpu.example.com each)"
        )

    def test_what_is_claimed_and_what_is_requested_must_both_be_there(self) -> None:
        both = needs(claims=(PodClaim(template="gpu"),))
        assert self.room(both, {"a": 1, "b": 9}).pods == 3
        assert "1 × nvidia.com/gpu, 2 × gpu.example.com each" in self.room(both, {}).why

    def test_one_per_node_counts_nodes(self) -> None:
        alone = needs(claims=(PodClaim(template="gpu"),), requests={}, alone_on_node=True)
        assert self.room(alone, {"a": 5, "b": 5}, "a").pods == 1

    def test_what_cannot_be_told_is_unknown_with_the_reason(self) -> None:
        found = room_for(
            self.CLAIMING, self.NODES, {}, frozenset(), DeviceCount(pods=None, why="who knows")
        )
        assert found.pods is None
        assert found.why == "not known: the Pods claim devices (DRA), and who knows"


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 10)), max_size=6), st.integers(1, 4))
def test_room_is_never_negative_nor_more_than_what_is_free(
    fleet: list[tuple[int, int]], each: int
) -> None:
    nodes = [node(str(i), gpus) for i, (gpus, _) in enumerate(fleet)]
    used = {str(i): taken for i, (_, taken) in enumerate(fleet)}
    found = room(needs(requests={GPU: each}), *nodes, used=used)
    free = sum(max(gpus - taken, 0) for gpus, taken in fleet)
    assert found is not None
    assert 0 <= found * each <= free
