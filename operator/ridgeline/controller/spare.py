"""Free GPUs that are spoken for: Pods of rolls under way that no node counts yet."""

from collections.abc import Mapping
from typing import Final

from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.policy.placement import Room
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_status import roll_of
from ridgeline.terms.rolls import RollState

CLAIMED: Final = "claimed devices"
"""Stands for all that a Pod claims where its devices cannot be told."""


def asked_by(deployment: DeploymentObject, around: Surroundings | None) -> dict[str, int]:
    """Return what one Pod of a target asks for: extended resources, and devices by their class."""
    needs = deployment.shape.needs
    if not needs.claims:
        return dict(needs.requests)
    if around is None:
        return {**needs.requests, CLAIMED: 1}
    devices = around.devices.asked(deployment.namespace, needs)
    if isinstance(devices, str):
        return {**needs.requests, CLAIMED: 1}
    return {**needs.requests, **devices, CLAIMED: 1}


def claimed_slots(
    store: WatchStore,
    serving: ServingObject,
    requests: Mapping[str, int],
    *,
    written: bool,
    around: Surroundings | None = None,
) -> int:
    """Return how many Pods with some requests lose their room to another serving's roll.

    Args:
        store: What is known of the cluster.
        serving: The serving that rolls.
        requests: What one Pod of the roll that is to begin asks for (`asked_by`).
        written: Whether the roll's write to its target may have been made.
        around: What surrounds the targets.
    """
    name = (serving.spec.get("targetRef") or {}).get("name")
    deployment = store.deployments.get((serving.namespace, str(name)))
    if deployment is None:
        return 0
    theirs = asked_by(deployment, around)
    if any(what in theirs for what in requests if what != CLAIMED):
        # The classes tell which devices both want; else any two claims may want the same.
        requests = {what: count for what, count in requests.items() if what != CLAIMED}
    each = max((-(-theirs.get(what, 0) // count) for what, count in requests.items()), default=0)
    roll = roll_of(serving.status)
    return each * _pods_to_come(store, deployment, roll if written else None)


def _pods_to_come(store: WatchStore, deployment: DeploymentObject, roll: Roll | None) -> int:
    """Return the Pods of a roll that are not on a node yet, made or not.

    What stands there counts the GPUs of every Pod that is bound, also of one that is going, until
    it is gone; what takes its place then is still to come.
    """
    pods = store.pods_of(deployment.namespace, deployment.name)
    # A Pod that was Ready is on a node, whatever is told of it.
    unbound = sum(1 for pod in pods if pod.node is None and pod.ready_since is None)
    most = deployment.replicas + _surge(deployment)
    return unbound + max(0, min(_missing(deployment, roll), most - len(pods)))


def _missing(deployment: DeploymentObject, roll: Roll | None) -> int:
    """Return how many Pods of the new template are not made yet, as far as counts tell."""
    unseen = (
        roll is None
        or roll.state is RollState.INTENDED
        or deployment.generation < roll.target_generation
        or deployment.observed_generation < deployment.generation
    )
    return deployment.replicas - (0 if unseen else deployment.updated_replicas)


def _surge(deployment: DeploymentObject) -> int:
    plan = RollPlan(
        replicas=deployment.replicas,
        max_surge=deployment.shape.max_surge,
        room=Room(pods=None, why=""),
    )
    return plan.surge
