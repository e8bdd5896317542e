"""Free places brought up to date change by change are those that a count from scratch finds."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cluster import rooms
from ridgeline.cluster.rooms import Rooms
from ridgeline.cluster.surroundings import BoundPod, NodeObject, Surroundings
from ridgeline.policy.placement import Node, PodNeeds, Requirement, Taint, no_node_left, room_for

GPU = "nvidia.com/gpu"
NAMES = ("a", "b", "c")
NEEDS = (
    PodNeeds(requests={GPU: 2}),
    PodNeeds(requests={GPU: 1}, alone_on_node=True),
    PodNeeds(requests={GPU: 1}, node_selector={"pool": "x"}),
    PodNeeds(
        requests={GPU: 1},
        affinity_terms=((Requirement(key="pool", operator="In", values=("y",)),),),
    ),
    PodNeeds(alone_on_node=True),
    PodNeeds(),
)

nodes = st.builds(
    Node,
    name=st.sampled_from(NAMES),
    labels=st.sampled_from(({}, {"pool": "x"}, {"pool": "y"})),
    taints=st.sampled_from(((), (Taint(key="k", value="", effect="NoSchedule"),))),
    usable=st.booleans(),
    allocatable=st.builds(lambda count: {GPU: count}, st.integers(0, 8)),
)
pods = st.builds(
    BoundPod,
    namespace=st.just("ns"),
    name=st.sampled_from(("p", "q")),
    uid=st.sampled_from(("one", "two")),
    resource_version=st.integers(1, 9).map(str),
    node=st.sampled_from(NAMES),
    requests=st.builds(lambda count: {GPU: count}, st.integers(1, 4)),
)
places = st.frozensets(st.sampled_from(NAMES))
events = st.one_of(
    st.tuples(st.just("node"), nodes),
    st.tuples(st.just("node gone"), st.sampled_from(NAMES)),
    st.tuples(st.just("pod"), pods),
    st.tuples(st.just("pod gone"), pods),
    st.tuples(st.just("pods listed"), st.lists(pods, max_size=2, unique_by=lambda pod: pod.name)),
    st.tuples(st.just("nodes listed"), st.lists(nodes, max_size=3, unique_by=lambda n: n.name)),
)


def as_object(node: Node, version: int) -> NodeObject:
    return NodeObject(name=node.name, uid=node.name, resource_version=str(version), node=node)


def happen(around: Surroundings, kind: str, what: object, version: int) -> None:
    if isinstance(what, Node):
        around.nodes.put(as_object(what, version))
    elif kind == "node gone":
        # Its uid is used up with it: another comes by the next listing.
        around.nodes.drop(("", str(what)), str(what))
    elif isinstance(what, BoundPod) and kind == "pod":
        around.put_bound(what)
    elif isinstance(what, BoundPod):
        around.drop_bound((what.namespace, what.name), what.uid)
    elif kind == "pods listed" and isinstance(what, list):
        around.lay_over_bound(around.bound.listing_started(), what)
    elif kind == "nodes listed" and isinstance(what, list):
        listed = [as_object(node, version) for node in what]
        around.nodes.lay_over(around.nodes.listing_started(), listed)


def used_from_scratch(around: Surroundings) -> dict[str, dict[str, int]]:
    used: dict[str, dict[str, int]] = {}
    for pod in around.bound.all():
        node = used.setdefault(pod.node, {})
        for name, count in pod.requests.items():
            node[name] = node.get(name, 0) + count
    return used


@given(st.lists(events, max_size=20), places)
def test_a_count_that_follows_the_changes_is_the_count_from_scratch(
    told: list[tuple[str, object]], occupied: frozenset[str]
) -> None:
    around = Surroundings()
    for version, (kind, what) in enumerate(told, 1):
        happen(around, kind, what, version)
        # What is not asked for after every event is brought up to date over several.
        asked = NEEDS if version == len(told) else NEEDS[version % 2 :: 2]
        there, used = [each.node for each in around.nodes.all()], used_from_scratch(around)
        assert around.used() == used
        for needs in asked:
            assert around.room(needs, occupied, "ns") == room_for(needs, there, used, occupied)
            assert around.no_node_left(needs, occupied) == no_node_left(needs, there, occupied)


def test_counts_made_before_changes_that_are_forgotten_are_made_anew() -> None:
    around, needs = Surroundings(), NEEDS[0]
    node = Node(name="a", labels={}, allocatable={GPU: 8})
    around.nodes.put(as_object(node, 1))
    assert around.room(needs, frozenset(), "ns").pods == 4
    for version in range(2, rooms.MOST_CHANGES + 4):
        changed = replace(node, allocatable={GPU: 2 + 2 * (version % 2)})
        around.nodes.put(as_object(changed, version))
        _ = around.nodes_version
    expected = room_for(needs, [each.node for each in around.nodes.all()], {}, frozenset())
    assert around.room(needs, frozenset(), "ns") == expected


def test_a_heartbeat_of_a_node_changes_no_version() -> None:
    around, node = Surroundings(), Node(name="a", labels={"pool": "x"}, allocatable={GPU: 8})
    around.nodes.put(as_object(node, 1))
    before = around.nodes_version
    around.nodes.put(as_object(replace(node, labels=dict(node.labels)), 2))
    assert around.nodes_version == before
    around.nodes.put(as_object(replace(node, usable=False), 3))
    assert around.nodes_version > before


def test_a_count_looks_at_the_nodes_that_changed_alone() -> None:
    seen: list[str] = []

    class Watched(PodNeeds):
        __slots__ = ()

        def allows(self, node: Node) -> bool:
            seen.append(node.name)
            return super().allows(node)

    found = Rooms()
    there = [Node(name=f"n{i}", labels={}, allocatable={GPU: 8}) for i in range(100)]
    found.see_nodes(there)
    needs = Watched(requests={GPU: 1})
    assert found.room(needs, frozenset()).pods == 800
    seen.clear()
    found.see_used("n7", {GPU: 3})
    assert found.room(needs, frozenset()).pods == 797
    assert set(seen) == {"n7"}


def test_a_node_that_is_gone_has_no_room_any_more() -> None:
    around, needs = Surroundings(), NEEDS[0]
    node = Node(name="a", labels={}, allocatable={GPU: 8})
    around.nodes.put(as_object(node, 1))
    around.nodes.put(as_object(replace(node, name="b"), 1))
    assert around.room(needs, frozenset(), "ns").pods == 8
    around.nodes.drop(("", "a"), "a")
    assert around.room(needs, frozenset(), "ns").pods == 4
    around.nodes.lay_over(around.nodes.listing_started(), [])
    assert around.room(needs, frozenset(), "ns").pods == 0
