"""Free GPUs that another serving's roll will take: Pods of it that no node counts yet."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.spare import CLAIMED, asked_by, claimed_slots
from ridgeline.policy.placement import PodClaim, PodNeeds
from tests.unit.cluster.device_bodies import published, slice_body

GPU = "nvidia.com/gpu"

BEFORE = DeploymentObject(
    namespace="ns",
    name="llama",
    uid="d",
    generation=4,
    resource_version="1",
    deleting=False,
    replicas=3,
    paused=False,
    template_profile=None,
    containers=(),
    marker=None,
    observed_generation=4,
    current_replicas=3,
    updated_replicas=3,
    ready_replicas=3,
    available_replicas=3,
    progress_deadline_exceeded=False,
    shape=TargetShape(max_surge=1, max_unavailable=0, needs=PodNeeds(requests={GPU: 2})),
)
UNSEEN = replace(BEFORE, generation=5)
SEEN = replace(UNSEEN, observed_generation=5)


def serving(state: str = "Rolling") -> ServingObject:
    rollout = {
        "from": "eagle2",
        "to": "none",
        "startTime": "2026-01-01T00:00:00Z",
        "state": state,
        "targetUID": "d",
        "targetGeneration": 4 if state == "Intended" else 5,
        "servingGeneration": 1,
    }
    return ServingObject(
        namespace="ns",
        name="llama",
        uid="s",
        generation=1,
        resource_version="1",
        created_at=0.0,
        deleting=False,
        spec={"targetRef": {"name": "llama"}},
        status={"rollout": rollout},
    )


def pod(name: str, node: str | None = "n", ready: bool = True, going: bool = False) -> PodObject:
    return PodObject(
        namespace="ns",
        name=name,
        uid=name,
        resource_version="1",
        deployment="llama",
        profile=None,
        ready_since=1.0 if ready else None,
        deleting=going,
        node=node,
    )


OLD = tuple(pod(f"old-{number}") for number in range(3))
WAITING = pod("new-0", node=None, ready=False)
STARTING = pod("new-0", ready=False)


def claimed(
    deployment: DeploymentObject,
    *pods: PodObject,
    state: str = "Rolling",
    written: bool = True,
    gpus: int = 2,
) -> int:
    store = WatchStore()
    store.put_deployment(deployment)
    for each in pods:
        store.put_pod(each)
    return claimed_slots(store, serving(state), {GPU: gpus}, written=written)


def test_a_roll_that_is_about_to_be_written_claims_its_surge_pod() -> None:
    assert claimed(BEFORE, *OLD, written=False) == 1
    assert claimed(BEFORE, *OLD, state="Intended") == 1
    once_before = replace(BEFORE, generation=5, observed_generation=5)
    assert claimed(once_before, *OLD, state="Finished", written=False) == 1


def test_counts_of_the_old_template_do_not_hide_what_is_to_come() -> None:
    assert claimed(UNSEEN, *OLD) == 1
    assert claimed(BEFORE, *OLD) == 1, "the store is still behind the write"


def test_a_surge_pod_without_a_node_is_claimed_and_one_with_a_node_is_counted_there() -> None:
    begun = replace(SEEN, updated_replicas=1, current_replicas=4)
    assert claimed(begun, *OLD, WAITING) == 1
    assert claimed(begun, *OLD, STARTING) == 0


def test_between_a_pod_that_went_and_the_next_its_gpu_is_not_free() -> None:
    midway = replace(SEEN, updated_replicas=1, current_replicas=3)
    assert claimed(midway, *OLD[:2], pod("new-0")) == 1
    going = (pod("old-2", going=True),)
    assert claimed(midway, *OLD[:2], *going, pod("new-0")) == 0


def test_a_roll_whose_last_pod_was_made_claims_nothing_more() -> None:
    last = replace(SEEN, updated_replicas=3, current_replicas=3, available_replicas=2)
    news = [pod("new-0"), pod("new-1"), pod("new-2", ready=False)]
    assert claimed(last, *news) == 0


def test_a_pod_that_serves_is_on_a_node_whatever_is_told_of_it() -> None:
    last = replace(SEEN, updated_replicas=3)
    assert claimed(last, *(pod(f"new-{number}", node=None) for number in range(3))) == 0


@pytest.mark.parametrize(("gpus", "slots"), [(1, 2), (2, 1), (8, 1)])
def test_pods_of_other_sizes_are_counted_in_slots_of_the_one_that_asks(
    gpus: int, slots: int
) -> None:
    assert claimed(BEFORE, *OLD, written=False, gpus=gpus) == slots


def claiming(name: str, template: str = "gpu", count: int = 2) -> tuple[DeploymentObject, Any]:
    """A target whose Pods claim devices, and what is known of them."""
    around = Surroundings()
    published(around.devices, slice_body("s", node="n"), count=count, template=template)
    needs = PodNeeds(claims=(PodClaim(template=template),))
    shape = TargetShape(max_surge=1, max_unavailable=0, needs=needs)
    return replace(BEFORE, name=name, shape=shape), around


class TestClaimedDevices:
    def about_to_roll(self) -> tuple[WatchStore, Surroundings]:
        deployment, around = claiming("llama")
        store = WatchStore()
        store.put_deployment(deployment)
        for each in OLD:
            store.put_pod(each)
        return store, around

    def test_a_pod_that_claims_is_counted_by_its_devices_where_they_are_known(self) -> None:
        deployment, around = claiming("llama")
        assert asked_by(deployment, around) == {"gpu.example.com": 2, CLAIMED: 1}
        assert asked_by(BEFORE, around) == {GPU: 2}

    def test_and_by_itself_where_they_are_not(self) -> None:
        deployment, _ = claiming("llama")
        for around in (None, Surroundings()):
            assert asked_by(deployment, around) == {CLAIMED: 1}

    @pytest.mark.parametrize(("asks", "slots"), [(1, 2), (2, 1), (4, 1)])
    def test_another_roll_takes_as_many_slots_as_its_devices_are(
        self, asks: int, slots: int
    ) -> None:
        store, around = self.about_to_roll()
        ours = {"gpu.example.com": asks, CLAIMED: 1}
        found = claimed_slots(store, serving(), ours, written=False, around=around)
        assert found == slots

    def test_claims_that_cannot_be_compared_may_want_the_same(self) -> None:
        store, around = self.about_to_roll()
        for ours in ({CLAIMED: 1}, {"other.example.com": 4, CLAIMED: 1}):
            assert claimed_slots(store, serving(), ours, written=False, around=around) == 1
        assert claimed_slots(store, serving(), {GPU: 1}, written=False, around=around) == 0


def test_other_resources_and_targets_that_are_gone_claim_nothing() -> None:
    store = WatchStore()
    assert claimed_slots(store, serving(), {GPU: 1}, written=True) == 0
    store.put_deployment(BEFORE)
    assert claimed_slots(store, serving(), {"amd.com/gpu": 1}, written=False) == 0
    assert claimed_slots(store, serving(), {}, written=False) == 0
