"""Pod templates that put their Pods into a gang."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.gangs import PodGroupObject, gang_of, trim_pod_group
from ridgeline.cluster.shape import trim_shape
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.policy.roll_neighbours import Gang


def template(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    metadata = {"labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "vllm"}], **spec}}


COSCHEDULING = {"scheduling.x-k8s.io/pod-group": "g"}
OLDER = {"pod-group.scheduling.sigs.k8s.io": "g"}
LIGHT = {"pod-group.scheduling.sigs.k8s.io/name": "g"}
LIGHT_LEAST = "pod-group.scheduling.sigs.k8s.io/min-available"
VOLCANO = {"scheduling.k8s.io/group-name": "g"}
VOLCANO_OWN = {"scheduling.volcano.sh/group-name": "g"}
VOLCANO_LEAST = "scheduling.volcano.sh/group-min-member"
KUEUE = {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/pod-group-name": "g"}
KUEUE_LEAST = "kueue.x-k8s.io/pod-group-total-count"
KOORDINATOR = {"gang.scheduling.koordinator.sh/name": "g"}
KOORDINATOR_LEAST = "gang.scheduling.koordinator.sh/min-available"
YUNIKORN = {"yunikorn.apache.org/task-group-name": "g"}


@pytest.mark.parametrize(
    ("labels", "annotations", "least"),
    [
        (COSCHEDULING, {}, None),
        (OLDER, {}, None),
        (LIGHT, {}, None),
        ({**LIGHT, LIGHT_LEAST: "3"}, {}, 3),
        ({}, VOLCANO, None),
        ({}, {**VOLCANO, VOLCANO_LEAST: "1"}, 1),
        ({}, {**VOLCANO_OWN, VOLCANO_LEAST: "4"}, 4),
        (KUEUE, {}, None),
        (KUEUE, {KUEUE_LEAST: "2"}, 2),
        ({}, {**KOORDINATOR, KOORDINATOR_LEAST: "1"}, 1),
        ({}, YUNIKORN, None),
    ],
)
def test_each_scheduler_has_labels_or_annotations_of_its_own(
    labels: dict[str, str], annotations: dict[str, str], least: int | None
) -> None:
    gang = gang_of(template(labels, annotations), {})
    assert gang is not None
    assert (gang.name, gang.least) == ("g", least)
    assert gang.key in {**labels, **annotations}
    assert gang.may_wait(1) is (least != 1)
    running = "kueue.x-k8s.io/pod-group-name" not in labels
    assert gang.counts_running is running
    assert gang.may_wait(99) is (least is None or (least > 1 and not running))


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ({"workloadRef": {"name": "w", "podGroup": "g"}}, "spec.workloadRef.podGroup"),
        ({"schedulingGroup": {"podGroupName": "g"}}, "spec.schedulingGroup.podGroupName"),
    ],
)
def test_kubernetes_own_groups(spec: dict[str, Any], key: str) -> None:
    gang = gang_of(template(**spec), {})
    assert gang is not None
    assert (gang.name, gang.key, gang.least) == ("g", key, None)


@pytest.mark.parametrize(
    ("labels", "spec"),
    [
        ({}, {}),
        ({"app": "llama"}, {}),
        ({"kueue.x-k8s.io/queue-name": "q"}, {}),
        ({"scheduling.x-k8s.io/pod-group": ""}, {}),
        ({}, {"workloadRef": {}, "schedulingGroup": None}),
    ],
)
def test_pods_that_are_scheduled_one_by_one_are_in_no_gang(
    labels: dict[str, str], spec: dict[str, Any]
) -> None:
    assert gang_of(template(labels, **spec), {}) is None


@pytest.mark.parametrize("text", ["many", "-1", "", "1.5", "²", "1" * 10])
def test_a_least_number_that_is_none_is_not_known(text: str) -> None:
    gang = gang_of(template(annotations={**VOLCANO, VOLCANO_LEAST: text}), {})
    assert gang is not None
    assert gang.least is None


def test_volcano_makes_a_gang_by_the_number_on_the_deployment() -> None:
    described = {"annotations": {VOLCANO_LEAST: "2"}}
    gang = gang_of(template(schedulerName="volcano"), described)
    assert gang is not None
    assert (gang.name, gang.least) == ("", 2)
    assert gang_of(template(), described) is None
    named = gang_of(template(annotations=VOLCANO), described)
    assert named is not None
    assert named.least == 2


def test_of_several_gangs_the_largest_counts_and_one_that_does_not_tell_before_all() -> None:
    sizes = {**KOORDINATOR, KOORDINATOR_LEAST: "3", **VOLCANO, VOLCANO_LEAST: "5"}
    larger = gang_of(template(annotations=sizes), {})
    assert larger is not None
    assert larger.least == 5
    marks = {**KOORDINATOR, KOORDINATOR_LEAST: "1", **YUNIKORN}
    gang = gang_of(template(annotations=marks), {})
    assert gang is not None
    assert gang.key == "yunikorn.apache.org/task-group-name"


@pytest.mark.parametrize(
    ("labels", "annotations", "group"),
    [
        (COSCHEDULING, {}, "scheduling.x-k8s.io"),
        ({}, VOLCANO, "scheduling.volcano.sh"),
        ({}, VOLCANO_OWN, "scheduling.volcano.sh"),
        (LIGHT, {}, ""),
        ({}, KOORDINATOR, ""),
    ],
)
def test_which_object_tells_how_many(
    labels: dict[str, str], annotations: dict[str, str], group: str
) -> None:
    gang = gang_of(template(labels, annotations), {})
    assert gang is not None
    assert gang.group == group


def pod_group(name: str = "g", least: object = 3) -> PodGroupObject:
    metadata = {"namespace": "ns", "name": name, "uid": f"u-{name}", "resourceVersion": "1"}
    return trim_pod_group({"metadata": metadata, "spec": {"minMember": least}})


@pytest.mark.parametrize(("least", "known"), [(3, 3), (0, 0), (None, None), ("3", None)])
def test_a_pod_group_tells_its_least_number(least: object, known: int | None) -> None:
    assert pod_group(least=least).least == known
    assert trim_pod_group({"metadata": {**META}}).least is None


META = {"namespace": "ns", "name": "g", "uid": "u", "resourceVersion": "1"}


class TestToldByItsPodGroup:
    GANG = Gang(name="g", key="k", group="scheduling.x-k8s.io")

    def around(self, *objects: PodGroupObject) -> Surroundings:
        around = Surroundings()
        around.pod_groups["scheduling.x-k8s.io"].lay_over(0, objects)
        return around

    def test_the_object_wins_over_an_annotation(self) -> None:
        around = self.around(pod_group())
        for gang in (self.GANG, replace(self.GANG, least=9)):
            told = around.gang_told("ns", gang)
            assert told is not None
            assert told.least == 3

    @pytest.mark.parametrize(
        ("namespace", "gang"),
        [
            ("other", GANG),
            ("ns", replace(GANG, name="h")),
            ("ns", replace(GANG, group="scheduling.volcano.sh")),
            ("ns", replace(GANG, group="")),
        ],
    )
    def test_another_object_tells_nothing(self, namespace: str, gang: Gang) -> None:
        assert self.around(pod_group()).gang_told(namespace, gang) == gang

    def test_nothing_is_known_of_what_cannot_be_read(self) -> None:
        assert Surroundings().gang_told("ns", self.GANG) == self.GANG
        assert Surroundings().gang_told("ns", None) is None


def test_the_shape_of_a_deployment_carries_its_gang() -> None:
    spec = {"template": template(schedulerName="volcano")}
    metadata = {"annotations": {VOLCANO_LEAST: "2"}}
    assert trim_shape({"template": template(COSCHEDULING)}).gang is not None
    assert trim_shape(spec).gang is None
    assert trim_shape(spec, metadata).gang is not None
