"""The fleet of benchmarks/scale.py: names, and the objects as the API server is given them.

A serving has one Deployment, a Pod one GPU, a node eight. Names and labels of Pods are those that a
Deployment gives. Deployment and Pods have the shape of `deploy/samples/llama-3-8b.yaml`, so that
what the operator decodes is as large as what it meets.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import yaml

from ridgeline.cluster.marker import marker
from ridgeline.terms.names import (
    API_VERSION,
    PROFILE_ENV,
    PROFILE_LABEL,
    SERVING_ANNOTATION,
    SERVING_KIND,
)
from ridgeline.terms.rolls import OnDelete
from tests.cluster.gpus import GPU, gpu_labels
from tests.cluster.paths import REPO
from tests.cluster.spec import Gpus

Object = dict[str, Any]

TEAMS: Final = 20
GPUS_PER_NODE: Final = 8
HASH: Final = "7c9f8d6b5"
CONFIG: Final = '{"method":"eagle","model":"org/head","num_speculative_tokens":4}'
SINCE: Final = "2026-01-01T00:00:00Z"
"""When every Pod became Ready: long before the rate window."""

_SAMPLE: Final = REPO / "deploy" / "samples" / "llama-3-8b.yaml"
_IMAGE: Final = "vllm/vllm-openai:v0.20.2"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One serving with its Deployment and Pods, by its number."""

    number: int
    replicas: int

    @property
    def namespace(self) -> str:
        """Servings are spread over the namespaces of some teams."""
        return f"team-{self.number % TEAMS}"

    @property
    def name(self) -> str:
        """Of the serving and of its Deployment."""
        return f"llama-{self.number}"

    @property
    def pods(self) -> tuple[str, ...]:
        """Names as a ReplicaSet gives them."""
        return tuple(f"{self.name}-{HASH}-{_suffix(index)}" for index in range(self.replicas))

    def node_of(self, index: int) -> str:
        """The node of the Pod with this index."""
        return node_name(self.serial_of(index) // GPUS_PER_NODE)

    def serial_of(self, index: int) -> int:
        """The number of the Pod with this index among all Pods."""
        return self.number * self.replicas + index


def members(first: int, end: int, replicas: int) -> tuple[Member, ...]:
    """The servings with the numbers from `first` to before `end`."""
    return tuple(Member(number=number, replicas=replicas) for number in range(first, end))


def namesakes(labels: dict[str, str], scraped: int, servings: int) -> Iterator[dict[str, str]]:
    """Labels of a Pod's series, and of the same series of Pods that nobody scrapes.

    Args:
        labels: Of a Pod among those of the first servings.
        scraped: How many servings are scraped.
        servings: How many there are to be; each that is not scraped looks like one that is.
    """
    _, number, rest = labels["pod"].split("-", 2)
    for other in range(int(number), servings, scraped):
        member = Member(number=other, replicas=0)
        yield {**labels, "namespace": member.namespace, "pod": f"{member.name}-{rest}"}


def nodes_for(servings: int, replicas: int) -> int:
    """How many nodes that many servings fill."""
    return -(-servings * replicas // GPUS_PER_NODE)


def node_name(number: int) -> str:
    """Name of a node."""
    return f"gpu-{number}"


def address_of(serial: int) -> str:
    """Address of a Pod."""
    return f"10.{serial >> 16 & 255}.{serial >> 8 & 255}.{serial & 255}"


def container_id(serial: int) -> str:
    """What names the container of a Pod."""
    return f"containerd://{serial:064x}"


def _suffix(index: int) -> str:
    letters = "bcdfghjklmnpqrstvwxz2456789"
    text = ""
    for _ in range(5):
        index, rest = divmod(index, len(letters))
        text = letters[rest] + text
    return text


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def service_account(where: str) -> Object:
    """The account without which no Pod is admitted."""
    return _object("v1", "ServiceAccount", "default", where)


def node(number: int) -> Object:
    """A node with GPUs."""
    body = _object("v1", "Node", node_name(number))
    body["metadata"]["labels"] = {
        "kubernetes.io/hostname": node_name(number),
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        **gpu_labels(Gpus(per_node=GPUS_PER_NODE)),
    }
    return body


def node_status(beat: str = SINCE) -> Object:
    """What a kubelet reports of its node; `beat` is the time of the report."""
    room = {"cpu": "192", "memory": "2097152Mi", "pods": "110", GPU: str(GPUS_PER_NODE)}
    told = {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    conditions = [
        {
            "type": kind,
            "status": state,
            "reason": f"Kubelet{kind}",
            "message": f"kubelet reports {kind}",
            "lastHeartbeatTime": beat,
            "lastTransitionTime": SINCE,
        }
        for kind, state in told.items()
    ]
    return {"status": {"capacity": room, "allocatable": room, "conditions": conditions}}


def deployment(member: Member) -> Object:
    """A Deployment as it lies in Git."""
    body = copy.deepcopy(_sample())
    body["metadata"] = {**_metadata(member), "labels": _labels(member)}
    body["spec"]["replicas"] = member.replicas
    body["spec"]["selector"] = {"matchLabels": _labels(member)}
    template = body["spec"]["template"]
    template["metadata"]["labels"] = _labels(member)
    template["spec"]["containers"][0]["image"] = _IMAGE
    return body


def profile(member: Member) -> Object:
    """What the operator has written into the Deployment, with its own field manager."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            **_metadata(member),
            "annotations": {SERVING_ANNOTATION: marker(member.name, OnDelete.KEEP)},
        },
        "spec": {
            "template": {
                "metadata": {"labels": {PROFILE_LABEL: "eagle"}},
                "spec": {"containers": [{"name": "vllm", "env": [_env_item()]}]},
            }
        },
    }


def deployment_status(member: Member, generation: int) -> Object:
    """A roll that ended long ago."""
    return {
        "status": {
            "observedGeneration": generation,
            "replicas": member.replicas,
            "updatedReplicas": member.replicas,
            "readyReplicas": member.replicas,
            "availableReplicas": member.replicas,
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": reason,
                    "lastUpdateTime": SINCE,
                    "lastTransitionTime": SINCE,
                }
                for kind, reason in (
                    ("Available", "MinimumReplicasAvailable"),
                    ("Progressing", "NewReplicaSetAvailable"),
                )
            ],
        }
    }


def pod(member: Member) -> Object:
    """The first Pod of a Deployment, bound to its node."""
    template = deployment(member)["spec"]["template"]
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{member.name}-{HASH}",
        "uid": "00000000-0000-4000-8000-000000000000",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template["spec"]["containers"][0]["env"].append(_env_item())
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": member.pods[0],
            "namespace": member.namespace,
            "labels": {
                **_labels(member),
                "pod-template-hash": HASH,
                PROFILE_LABEL: "eagle",
            },
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "nodeName": member.node_of(0)},
    }


def pod_status(member: Member) -> Object:
    """What a kubelet reports of the first Pod, which is Ready."""
    serial = member.serial_of(0)
    address = address_of(serial)
    container = {
        "name": "vllm",
        "image": _IMAGE,
        "imageID": f"docker.io/vllm/vllm-openai@sha256:{'0' * 64}",
        "containerID": container_id(serial),
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": SINCE}},
    }
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "status": {
            "phase": "Running",
            "hostIP": "192.0.2.1",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": SINCE,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": SINCE} for kind in kinds
            ],
            "containerStatuses": [container],
        }
    }


def serving(member: Member) -> Object:
    """A complete serving, its cut-off predicted."""
    body = _object(API_VERSION, SERVING_KIND, member.name, member.namespace)
    body["spec"] = {
        "targetRef": {"name": member.name, "containerName": "vllm"},
        "mode": "Automatic",
        "cutoff": {"strategy": "Goodput"},
        "profiles": [
            {"name": "eagle", "method": "Eagle", "model": "org/head", "numSpeculativeTokens": 4},
            {"name": "none", "method": "Disabled"},
        ],
    }
    return body


@cache
def _sample() -> Object:
    body: Object = next(iter(yaml.safe_load_all(_SAMPLE.read_text())))
    if body["kind"] != "Deployment":
        raise ValueError(f"{_SAMPLE} does not begin with a Deployment")
    return body


def _env_item() -> Object:
    return {"name": PROFILE_ENV, "value": CONFIG}


def _labels(member: Member) -> dict[str, str]:
    return {"app.kubernetes.io/name": member.name}


def _metadata(member: Member) -> Object:
    return {"name": member.name, "namespace": member.namespace}


def _object(version: str, kind: str, name: str, where: str | None = None) -> Object:
    metadata = {"name": name} if where is None else {"name": name, "namespace": where}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
