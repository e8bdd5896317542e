"""Kubernetes objects trimmed to what decisions need, and how to trim them.

Nothing in this file calls the API: the functions turn JSON objects into frozen values.
"""

import ipaddress
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from ridgeline.cluster import managed_fields
from ridgeline.cluster.protection import protected_by
from ridgeline.cluster.shape import TargetShape, trim_shape
from ridgeline.cluster.shared import shared_name, shared_ports
from ridgeline.cluster.times import epoch
from ridgeline.cluster.unwell import Unwell, trim_unwell
from ridgeline.engine.args_given import without_literal_flags
from ridgeline.engine.container import Container, EnvItem
from ridgeline.engine.fingerprint import fingerprint
from ridgeline.terms.names import (
    FORCE_ANNOTATION,
    PROFILE_ENV,
    PROFILE_LABEL,
    PROFILE_MANAGER,
    SERVING_ANNOTATION,
)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingObject:
    """A SpeculativeServing as the API server has it: spec and status unparsed.

    Attributes:
        forced_profile: Value of the force annotation, `None` without one.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    created_at: float
    deleting: bool
    spec: Json
    status: Json
    forced_profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentObject:
    """A Deployment without the parts that no decision looks at.

    Attributes:
        progress_deadline_exceeded: The Deployment controller gave up on the newest template.
        marker: Value of our annotation, `None` without one.
        last_writer: Field manager other than ours that wrote its spec last; empty if not told.
        last_writer_at: Epoch seconds of that write; 0 if not told.
        shape: How it rolls and what its Pods ask for.
        template: Fingerprint of its Pod template without what is ours.
        ours: Whether we own an env item or an argument list of its Pod template.
        args_ours: Names of the containers whose argument list we own.
        paused_by_us: Whether it is paused, and by us.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    deleting: bool
    replicas: int
    paused: bool
    template_profile: str | None
    containers: tuple[Container, ...]
    marker: str | None
    observed_generation: int
    current_replicas: int
    updated_replicas: int
    ready_replicas: int
    available_replicas: int
    progress_deadline_exceeded: bool
    last_writer: str = ""
    last_writer_at: float = 0.0
    shape: TargetShape = field(default_factory=TargetShape)
    template: str = ""
    ours: bool = False
    args_ours: tuple[str, ...] = ()
    paused_by_us: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObject:
    """A Pod of a Deployment.

    Attributes:
        deployment: Name of the Deployment that its ReplicaSet belongs to.
        ready_since: Epoch seconds since it is Ready, `None` when it is not.
        trouble: Why a container of it does not run, in the kubelet's word, `None` when all run.
        node: Node that it is bound to, `None` before.
        started_at: Epoch seconds since its last container runs, `None` while one does not.
        address: IP address of the Pod, `None` without one that a Pod can have.
        ports: Name and number of its containers' named TCP ports.
        unwell: What is known of it while it is not Ready, or when it has crashed.
        protected_by: Keys of its annotations that ask not to disrupt it, `None` without any.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    deployment: str
    profile: str | None
    ready_since: float | None
    deleting: bool
    trouble: str | None = None
    node: str | None = None
    started_at: float | None = None
    address: str | None = None
    ports: tuple[tuple[str, int], ...] = ()
    unwell: Unwell | None = None
    protected_by: str | None = None


def trim_serving(body: Json) -> ServingObject:
    """Trim a SpeculativeServing."""
    metadata = body["metadata"]
    return ServingObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        resource_version=metadata["resourceVersion"],
        created_at=epoch(metadata["creationTimestamp"]),
        deleting="deletionTimestamp" in metadata,
        spec=dict(body.get("spec") or {}),
        status=dict(body.get("status") or {}),
        forced_profile=(metadata.get("annotations") or {}).get(FORCE_ANNOTATION),
    )


def trim_deployment(body: Json) -> DeploymentObject:
    """Trim a Deployment."""
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    template = spec["template"]
    replicas = spec.get("replicas")
    entries = metadata.get("managedFields") or ()
    mine, names = (
        managed_fields.ours(entries),
        [each["name"] for each in template["spec"]["containers"]],
    )
    written_at, writer = _last_writer(entries)
    args_ours = tuple(
        each for each in names if managed_fields.owns(mine, managed_fields.args_of(each))
    )
    return DeploymentObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        resource_version=metadata["resourceVersion"],
        deleting="deletionTimestamp" in metadata,
        replicas=1 if replicas is None else replicas,
        paused=bool(spec.get("paused", False)),
        template_profile=((template.get("metadata") or {}).get("labels") or {}).get(PROFILE_LABEL),
        containers=tuple(trim_container(each) for each in template["spec"]["containers"]),
        marker=_marker(metadata, template),
        observed_generation=status.get("observedGeneration", 0),
        current_replicas=status.get("replicas", 0),
        updated_replicas=status.get("updatedReplicas", 0),
        ready_replicas=status.get("readyReplicas", 0),
        available_replicas=status.get("availableReplicas", 0),
        progress_deadline_exceeded=any(
            each.get("type") == "Progressing"
            and each.get("status") == "False"
            and each.get("reason") == "ProgressDeadlineExceeded"
            for each in status.get("conditions") or ()
        ),
        shape=trim_shape(spec, metadata),
        last_writer=writer,
        last_writer_at=epoch(written_at) if written_at else 0.0,
        template=template_fingerprint(template),
        ours=bool(args_ours)
        or any(managed_fields.owns(mine, managed_fields.env_item(each)) for each in names),
        args_ours=args_ours,
        paused_by_us=bool(spec.get("paused")) and managed_fields.owns(mine, managed_fields.PAUSED),
    )


def _marker(metadata: Json, template: Json) -> str | None:
    """Return our annotation, wherever a parent has passed it on to."""
    own = (metadata.get("annotations") or {}).get(SERVING_ANNOTATION)
    passed_on = ((template.get("metadata") or {}).get("annotations") or {}).get(SERVING_ANNOTATION)
    found = passed_on if own is None else own
    return None if found is None else str(found)


def template_fingerprint(template: Json) -> str:
    """Return a fingerprint of a Pod template that leaves out all that is ours."""
    metadata, spec = template.get("metadata") or {}, template["spec"]
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != PROFILE_LABEL}
    # A parent that passes our annotation on puts it into the template, too.
    told = metadata.get("annotations") or {}
    told = {k: v for k, v in told.items() if k != SERVING_ANNOTATION}
    containers = [_without_ours(each) for each in spec["containers"]]
    rest = [labels, told, {**spec, "containers": containers}]
    return fingerprint(json.dumps(rest, sort_keys=True, separators=(",", ":")))


def _without_ours(container: Json) -> Json:
    """Return a container without the env item, and without flags that carry a profile."""
    env = [item for item in container.get("env") or () if item["name"] != PROFILE_ENV]
    words = container.get("args")
    args = {"args": without_literal_flags(words)} if words else {}
    return {**container, "env": env, **args}


def trim_container(body: Json) -> Container:
    """Trim a container to its command line and environment."""
    return Container(
        name=body["name"],
        command=tuple(body.get("command") or ()),
        args=tuple(body.get("args") or ()),
        env=tuple(
            EnvItem(
                name=each["name"],
                value=each.get("value"),
                from_elsewhere=bool(each.get("valueFrom")),
            )
            for each in body.get("env") or ()
        ),
        has_env_from=bool(body.get("envFrom")),
        image=body.get("image", ""),
    )


def trim_pod(body: Json) -> PodObject | None:
    """Trim a Pod; `None` for a Pod that belongs to no Deployment.

    A Deployment names its ReplicaSets `<deployment>-<pod-template-hash>`, so owner and hash label
    tell the Deployment without watching ReplicaSets.
    """
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    suffix = f"-{labels.get('pod-template-hash', '')}"
    owner = next(
        (
            each["name"]
            for each in metadata.get("ownerReferences") or ()
            if each.get("controller") and each.get("kind") == "ReplicaSet"
        ),
        "",
    )
    if len(suffix) == 1 or not owner.endswith(suffix):
        return None
    spec, status = body.get("spec") or {}, body.get("status") or {}
    return PodObject(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deployment=intern(owner.removesuffix(suffix)),
        profile=shared_name(labels.get(PROFILE_LABEL)),
        ready_since=_ready_since(status),
        deleting="deletionTimestamp" in metadata,
        trouble=_trouble(status),
        node=shared_name(spec.get("nodeName")),
        started_at=_started_at(status),
        address=_address(status.get("podIP")),
        ports=shared_ports(
            tuple(
                (port["name"], port["containerPort"])
                for container in spec.get("containers") or ()
                for port in container.get("ports") or ()
                if port.get("name") and port.get("protocol", "TCP") == "TCP"
            )
        ),
        unwell=trim_unwell(metadata, status),
        protected_by=protected_by(metadata),
    )


def _last_writer(entries: Iterable[Json]) -> tuple[str, str]:
    """Return when another than us wrote the spec last, and who; empty texts if not told.

    Who only takes something out leaves no trace: managed fields tell what is there.
    """
    # Who owns nothing of the spec wrote something else: the Deployment controller, for one, writes
    # an annotation at each revision.
    writers = [
        (each.get("time", ""), each.get("manager", ""))
        for each in entries
        if not each.get("subresource")
        and each.get("manager") != PROFILE_MANAGER
        and "f:spec" in (each.get("fieldsV1") or {})
    ]
    return max(writers, default=("", ""))


def _ready_since(status: Json) -> float | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            since = condition.get("lastTransitionTime")
            return epoch(since) if since else None
    return None


def _started_at(status: Json) -> float | None:
    moments = [
        ((each.get("state") or {}).get("running") or {}).get("startedAt")
        for each in status.get("containerStatuses") or ()
    ]
    if not moments or not all(moments):
        return None
    return max(epoch(str(each)) for each in moments)


def _address(text: str | None) -> str | None:
    """Return a Pod's address; `None` for one that would lead elsewhere than to a Pod.

    The status of a Pod is written by its node's kubelet, and by whoever may write it: loopback and
    link-local addresses (the metadata service of clouds, say) are not followed.
    """
    try:
        address = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    elsewhere = (
        address.is_loopback,
        address.is_link_local,
        address.is_multicast,
        address.is_unspecified,
    )
    return None if any(elsewhere) else str(address)


def _trouble(status: Json) -> str | None:
    for each in status.get("containerStatuses") or ():
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return str(waiting["reason"])
    return None
