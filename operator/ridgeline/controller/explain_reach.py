"""What a person's rights do not reach, made up for by what the operator wrote down."""

from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError, RefusedError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import NodeObject, Surroundings
from ridgeline.policy.placement import Node

EVENTS: Final = "events"


async def events_within_reach(
    looking: LookApi, serving: ServingObject
) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    """Return the Events of a serving, and the kind's name where they may not be read.

    Raises:
        ClusterError: The API server does not answer.
    """
    try:
        return await looking.events(serving), ()
    except (RefusedError, NotFoundError):
        return (), (EVENTS,)


def nodes_of_status(store: WatchStore, serving: ServingObject, around: Surroundings) -> None:
    """Give the nodes of a target's Pods the labels that the operator found on them.

    Nodes belong to the cluster, and few people may list them; without their labels no GPU would be
    known, and every answer would be about that. Nodes stay unprimed: nothing is counted on them.
    """
    if around.nodes.primed:
        return
    found = (serving.status.get("accelerator") or {}).get("labels") or ()
    labels = dict(each.split("=", 1) for each in found if "=" in each)
    if not labels:
        return
    target = str((serving.spec.get("targetRef") or {}).get("name"))
    pods = store.pods_of(serving.namespace, target)
    for name in {pod.node for pod in pods if pod.node is not None}:
        node = Node(name=name, labels=labels)
        around.nodes.put(NodeObject(name=name, uid=name, resource_version="", node=node))
