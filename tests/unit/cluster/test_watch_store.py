"""Pods by Deployment, and who is told of a change."""

from dataclasses import replace

from ridgeline.cluster.objects import (
    DeploymentObject,
    PodObject,
    ServingObject,
    trim_deployment,
    trim_pod,
)
from ridgeline.cluster.store import Kind, WatchStore
from tests.unit.cluster.bodies import deployment_body, pod_body

Told = list[tuple[Kind, str, str]]


def listened() -> tuple[WatchStore, Told]:
    store, told = WatchStore(), Told()
    store.listen(lambda *change: told.append(change))
    return store, told


def pod(name: str = "p1", deployment: str = "llama", version: int = 1, uid: str = "") -> PodObject:
    body = pod_body(
        name, owner=f"{deployment}-5d9c", version=str(version), uid=uid or f"uid-of-{name}"
    )
    trimmed = trim_pod(body)
    assert trimmed is not None
    return trimmed


SERVING = ServingObject(
    namespace="ns",
    name="s",
    uid="u",
    generation=1,
    resource_version="1",
    created_at=0.0,
    deleting=False,
    spec={},
    status={},
)
DEPLOYMENT: DeploymentObject = trim_deployment(deployment_body())


def test_a_change_is_told_once_and_a_repetition_not_at_all() -> None:
    store, told = listened()
    for _ in range(2):
        store.put_serving(SERVING)
        store.put_deployment(DEPLOYMENT)
        store.put_pod(pod())

    assert told == [
        (Kind.SERVING, "ns", "s"),
        (Kind.DEPLOYMENT, "ns", "llama"),
        (Kind.POD, "ns", "llama"),
    ]
    told.clear()
    for _ in range(2):
        store.drop_serving(("ns", "s"), "u")
        store.drop_deployment(("ns", "llama"), "dep-1")
        store.drop_pod(("ns", "p1"), "uid-of-p1")

    assert [kind for kind, _, _ in told] == [Kind.SERVING, Kind.DEPLOYMENT, Kind.POD]
    assert store.pods_of("ns", "llama") == ()


def test_every_listener_is_told() -> None:
    store, told = listened()
    also: Told = []
    store.listen(lambda *change: also.append(change))

    store.put_serving(SERVING)

    assert told == also == [(Kind.SERVING, "ns", "s")]


def test_the_pods_of_a_deployment_are_its_own_and_in_order() -> None:
    store, _ = listened()
    for name, deployment in (("p2", "llama"), ("p1", "llama"), ("p3", "qwen")):
        store.put_pod(pod(name, deployment))
    store.put_pod(replace(pod("p0"), namespace="elsewhere"))

    assert [each.name for each in store.pods_of("ns", "llama")] == ["p1", "p2"]
    assert [each.name for each in store.pods_of("ns", "qwen")] == ["p3"]
    assert store.pods_of("ns", "phi") == ()


def test_a_pod_that_changes_is_there_once() -> None:
    store, _ = listened()
    store.put_pod(pod(version=1))
    changed = replace(pod(version=2), ready_since=None)
    store.put_pod(changed)
    store.put_pod(pod(version=1))

    assert store.pods_of("ns", "llama") == (changed,)


def test_a_pod_that_comes_back_under_another_deployment_leaves_the_first() -> None:
    store, _ = listened()
    store.put_pod(pod(version=1, uid="old"))
    store.put_pod(pod(deployment="qwen", version=2, uid="new"))

    assert store.pods_of("ns", "llama") == ()
    assert [each.uid for each in store.pods_of("ns", "qwen")] == ["new"]


def test_a_pod_that_is_taken_out_of_its_deployment_is_none_of_it_until_it_is_back() -> None:
    store, told = listened()
    store.put_pod(pod(version=1))
    told.clear()
    store.release_pod(("ns", "p1"), "uid-of-p1")
    store.release_pod(("ns", "p1"), "uid-of-p1")
    store.release_pod(("ns", "somebody-elses"), "uid")
    assert store.pods_of("ns", "llama") == ()
    assert told == [(Kind.POD, "ns", "llama")]

    store.put_pod(pod(version=3))
    store.release_pod(("ns", "p1"), "uid-of-its-forerunner")
    assert [each.name for each in store.pods_of("ns", "llama")] == ["p1"]


def test_a_listing_of_pods_tells_each_deployment_concerned_once() -> None:
    store, told = listened()
    for each in (pod("p1"), pod("p2"), pod("q1", "qwen"), pod("r1", "phi")):
        store.put_pod(each)
    told.clear()

    mark = store.pods_listing_started()
    store.put_pod(pod("p9"))
    told.clear()
    store.lay_over_pods(mark, [pod("p2", version=5), pod("r1", "phi"), pod("p3")])

    assert [each.name for each in store.pods_of("ns", "llama")] == ["p2", "p3", "p9"]
    assert store.pods_of("ns", "qwen") == ()
    assert told == [(Kind.POD, "ns", "llama"), (Kind.POD, "ns", "qwen")]


def test_a_listing_of_servings_and_deployments_tells_what_changed() -> None:
    store, told = listened()
    store.put_serving(SERVING)
    store.put_deployment(DEPLOYMENT)
    told.clear()

    store.lay_over_servings(store.servings.listing_started(), [SERVING])
    store.lay_over_deployments(store.deployments.listing_started(), [])

    assert told == [(Kind.DEPLOYMENT, "ns", "llama")]
    assert store.servings.get(("ns", "s")) == SERVING


def test_it_is_primed_when_every_kind_was_listed() -> None:
    for left_out in range(3):
        store = WatchStore()
        for kind in range(3):
            if kind != left_out:
                list_nothing(store, kind)
        before = store.primed
        list_nothing(store, left_out)
        assert (before, store.primed) == (False, True)


def list_nothing(store: WatchStore, kind: int) -> None:
    match kind:
        case 0:
            store.lay_over_servings(store.servings.listing_started(), [])
        case 1:
            store.lay_over_deployments(store.deployments.listing_started(), [])
        case _:
            store.lay_over_pods(store.pods_listing_started(), [])
