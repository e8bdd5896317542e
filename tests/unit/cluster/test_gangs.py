"""Pod templates that put their Pods into a gang."""

from typing import Any

import pytest

from ridgeline.cluster.gangs import gang_of
from ridgeline.cluster.shape import trim_shape


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
    assert gang.may_wait is (least != 1)


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


def test_of_several_gangs_one_that_may_wait_counts() -> None:
    marks = {**KOORDINATOR, KOORDINATOR_LEAST: "1", **YUNIKORN}
    gang = gang_of(template(annotations=marks), {})
    assert gang is not None
    assert gang.key == "yunikorn.apache.org/task-group-name"


def test_the_shape_of_a_deployment_carries_its_gang() -> None:
    spec = {"template": template(schedulerName="volcano")}
    metadata = {"annotations": {VOLCANO_LEAST: "2"}}
    assert trim_shape({"template": template(COSCHEDULING)}).gang is not None
    assert trim_shape(spec).gang is None
    assert trim_shape(spec, metadata).gang is not None
