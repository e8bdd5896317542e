"""Objects as the API server tells them, with just what is trimmed out of them."""

from typing import Any


def pod_body(
    name: str = "llama-5d9c-x1",
    *,
    owner: str = "llama-5d9c",
    template: str | None = "5d9c",
    uid: str = "pod-1",
    version: str = "7",
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A Pod of the Deployment `llama`."""
    labels = {"app": "llama", "ridgeline.dev/profile": "eagle2"}
    if template is not None:
        labels["pod-template-hash"] = template
    return {
        "metadata": {
            "namespace": "ns",
            "name": name,
            "uid": uid,
            "resourceVersion": version,
            "labels": labels,
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": True}],
            **metadata,
        },
        "spec": {"containers": [{"name": "vllm"}]},
        "status": status if status is not None else ready(),
    }


def ready(status: str = "True", since: str | None = "2026-11-29T10:00:00Z") -> dict[str, Any]:
    """A Pod status with a Ready condition."""
    condition: dict[str, Any] = {"type": "Ready", "status": status}
    if since is not None:
        condition["lastTransitionTime"] = since
    return {"conditions": [{"type": "Initialized", "status": "True"}, condition]}


def wrote(manager: str, time: str, fields: str = "f:spec") -> dict[str, Any]:
    """An entry of managedFields."""
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {fields: {}}}


def deployment_body(**spec: Any) -> dict[str, Any]:
    """A settled Deployment of four replicas."""
    return {
        "metadata": {
            "namespace": "ns",
            "name": "llama",
            "uid": "dep-1",
            "generation": 5,
            "resourceVersion": "99",
            "annotations": {"ridgeline.dev/serving": '{"serving":"s","onDelete":"Keep"}'},
            "managedFields": [
                wrote("ridgeline-profile", "2026-11-29T12:00:00Z"),
                wrote("helm", "2026-11-29T10:00:00Z"),
                wrote("joe", "2026-11-29T11:00:00Z"),
                wrote("kube-controller-manager", "2026-11-29T13:00:00Z", "f:metadata"),
                {**wrote("autoscaler", "2026-11-29T14:00:00Z"), "subresource": "scale"},
            ],
        },
        "spec": {
            "replicas": 4,
            "template": {
                "metadata": {"labels": {"ridgeline.dev/profile": "eagle2"}},
                "spec": {
                    "containers": [
                        {
                            "name": "vllm",
                            "image": "vllm:1",
                            "command": ["vllm"],
                            "args": ["serve"],
                            "env": [
                                {"name": "A", "value": "1"},
                                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}},
                                {"name": "C"},
                            ],
                            "envFrom": [{"configMapRef": {"name": "c"}}],
                        },
                        {"name": "sidecar"},
                    ]
                },
            },
            **spec,
        },
        "status": {
            "observedGeneration": 5,
            "replicas": 5,
            "updatedReplicas": 4,
            "readyReplicas": 3,
            "availableReplicas": 2,
        },
    }
