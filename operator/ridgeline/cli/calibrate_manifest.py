"""The Job that measures step times in a cluster, and the ConfigMap with its program."""

from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cli.calibrate_plan import Plan, program

_FOLDER: Final = "/ridgeline"
_FILE: Final = "measure.py"
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFlags:
    """What the cluster needs to know beside the plan.

    Attributes:
        name: Of both objects.
        namespace: Where they go; `None` leaves it to kubectl.
        image: A vLLM image.
        gpus: GPUs that the Pod asks for.
        resource: By which name.
        node_selector: Labels of the node.
        secret: Secret whose keys become environment variables, such as a token of a model hub.
        claim: Volume claim with a model cache, mounted where the hub's client looks.
    """

    name: str
    namespace: str | None
    image: str
    gpus: int
    resource: str
    node_selector: dict[str, str]
    secret: str | None
    claim: str | None


def manifests(plan: Plan, flags: JobFlags) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ConfigMap and the Job."""
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(flags),
        "data": {_FILE: program()},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(flags),
        "spec": {
            # Numbers of a second try beside those of a first would be hard to read.
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": _DAY,
            "template": {"metadata": {"labels": _labels()}, "spec": _pod(plan, flags)},
        },
    }
    return config_map, job


def _metadata(flags: JobFlags) -> dict[str, Any]:
    place = {} if flags.namespace is None else {"namespace": flags.namespace}
    return {"name": flags.name, **place, "labels": _labels()}


def _labels() -> dict[str, str]:
    return {"app.kubernetes.io/name": "ridgeline-calibrate"}


def _pod(plan: Plan, flags: JobFlags) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [
        {"name": "program", "configMap": {"name": flags.name}},
        # What the GPUs of one engine share.
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
    ]
    mounts = [
        {"name": "program", "mountPath": _FOLDER, "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 (a mount, not a file)
    ]
    if flags.claim is not None:
        volumes.append({"name": "models", "persistentVolumeClaim": {"claimName": flags.claim}})
        mounts.append({"name": "models", "mountPath": "/models"})
    container: dict[str, Any] = {
        "name": "measure",
        "image": flags.image,
        "command": ["python3", f"{_FOLDER}/{_FILE}", plan.text()],
        "resources": {"limits": {flags.resource: str(flags.gpus)}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    if flags.claim is not None:
        container["env"] = [{"name": "HF_HOME", "value": "/models"}]
    if flags.secret is not None:
        container["envFrom"] = [{"secretRef": {"name": flags.secret}}]
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": volumes,
    }
    if flags.node_selector:
        pod["nodeSelector"] = flags.node_selector
    return pod
