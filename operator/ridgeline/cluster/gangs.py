"""Pod templates whose Pods a scheduler starts together or not at all. Calls nothing."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.policy.roll_neighbours import Gang

Json = Mapping[str, Any]


COSCHEDULING: Final = "scheduling.x-k8s.io"
"""API group of the PodGroups of scheduler-plugins."""

VOLCANO: Final = "scheduling.volcano.sh"
"""API group of Volcano's PodGroups."""

POD_GROUPS: Final = "podgroups"

POD_GROUP_VERSIONS: Final = {
    COSCHEDULING: f"{COSCHEDULING}/v1alpha1",
    VOLCANO: f"{VOLCANO}/v1beta1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroupObject:
    """A PodGroup of either scheduler.

    Attributes:
        least: Its minMember; `None` when it has none.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    least: int | None


def trim_pod_group(body: Json) -> PodGroupObject:
    """Trim a PodGroup."""
    metadata, least = body["metadata"], (body.get("spec") or {}).get("minMember")
    return PodGroupObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        least=least if isinstance(least, int) and not isinstance(least, bool) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """How a scheduler is told of a gang: by the same key as a label or as an annotation."""

    name_key: str
    least_key: str = ""
    group: str = ""
    counts_running: bool = True


_MARKS: Final = (
    # Coscheduling of scheduler-plugins: the number stands in the PodGroup.
    _Mark(name_key="scheduling.x-k8s.io/pod-group", group=COSCHEDULING),
    # Its forerunners: a PodGroup, and labels alone.
    _Mark(name_key="pod-group.scheduling.sigs.k8s.io"),
    _Mark(
        name_key="pod-group.scheduling.sigs.k8s.io/name",
        least_key="pod-group.scheduling.sigs.k8s.io/min-available",
    ),
    # Volcano reads both names.
    _Mark(
        name_key="scheduling.k8s.io/group-name",
        least_key="scheduling.volcano.sh/group-min-member",
        group=VOLCANO,
    ),
    _Mark(
        name_key="scheduling.volcano.sh/group-name",
        least_key="scheduling.volcano.sh/group-min-member",
        group=VOLCANO,
    ),
    # Kueue: a queue's name alone makes no gang, each Pod is admitted by itself. A group has just as
    # many Pods as it says: one more is in excess, whoever runs.
    _Mark(
        name_key="kueue.x-k8s.io/pod-group-name",
        least_key="kueue.x-k8s.io/pod-group-total-count",
        counts_running=False,
    ),
    _Mark(
        name_key="gang.scheduling.koordinator.sh/name",
        least_key="gang.scheduling.koordinator.sh/min-available",
    ),
    _Mark(name_key="yunikorn.apache.org/task-group-name"),
)

_VOLCANO_LEAST: Final = "scheduling.volcano.sh/group-min-member"
"""On the Deployment or its template, Volcano makes a gang of that many by itself."""


def gang_of(template: Json, deployment: Json) -> Gang | None:
    """Return the gang that the Pods of a template belong to, `None` without one.

    Of several, the one of the most Pods is returned; one that does not tell is the first.

    Args:
        template: The Pod template.
        deployment: The Deployment's metadata.
    """
    return max(_gangs(template, deployment), key=_how_many, default=None)


def _how_many(gang: Gang) -> float:
    return math.inf if gang.least is None else float(gang.least)


def _gangs(template: Json, deployment: Json) -> Iterator[Gang]:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    own = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    every = {**(deployment.get("annotations") or {}), **own}
    for mark in _MARKS:
        if own.get(mark.name_key):
            yield Gang(
                name=own[mark.name_key],
                key=mark.name_key,
                least=_number(every.get(mark.least_key)),
                least_key=mark.least_key,
                group=mark.group,
                counts_running=mark.counts_running,
            )
    if _VOLCANO_LEAST in every and spec.get("schedulerName") == "volcano":
        least = _number(every[_VOLCANO_LEAST])
        yield Gang(name="", key=_VOLCANO_LEAST, least=least, least_key=_VOLCANO_LEAST)
    # Kubernetes' own, from 1.35 on: first by Workload, then by PodGroup.
    for key, name in (("workloadRef", "podGroup"), ("schedulingGroup", "podGroupName")):
        group = (spec.get(key) or {}).get(name)
        if group:
            yield Gang(name=group, key=f"spec.{key}.{name}")


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 9 else None
