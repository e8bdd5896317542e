"""Pods that somebody asks not to disrupt."""

import pytest

from ridgeline.cluster.objects import trim_pod
from ridgeline.cluster.protection import own_protection
from tests.unit.cluster.bodies import pod_body

KARPENTER = "karpenter.sh/do-not-disrupt"
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        ({KARPENTER: "true"}, KARPENTER),
        ({AUTOSCALER: "false"}, AUTOSCALER),
        ({KARPENTER: "true", AUTOSCALER: "false"}, f"{AUTOSCALER}, {KARPENTER}"),
        ({KARPENTER: "false", AUTOSCALER: "true"}, None),
        ({KARPENTER: "15m"}, None),
        ({}, None),
    ],
)
def test_a_pod_is_protected_by_annotations_that_say_so(
    annotations: dict[str, str], found: str | None
) -> None:
    pod = trim_pod(pod_body(annotations=annotations))
    assert pod is not None
    assert pod.protected_by == found


def test_a_pod_without_annotations_is_not_protected() -> None:
    pod = trim_pod(pod_body())
    assert pod is not None
    assert pod.protected_by is None


@pytest.mark.parametrize(
    ("pod", "template", "own"),
    [
        (KARPENTER, None, KARPENTER),
        (KARPENTER, KARPENTER, None),
        (f"{AUTOSCALER}, {KARPENTER}", AUTOSCALER, KARPENTER),
        (KARPENTER, f"{AUTOSCALER}, {KARPENTER}", None),
        (None, KARPENTER, None),
        (None, None, None),
    ],
)
def test_what_a_template_carries_is_not_a_pods_own_protection(
    pod: str | None, template: str | None, own: str | None
) -> None:
    assert own_protection(pod, template) == own
