"""The fleet-wide roll budget: which servings are rolling now."""

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.controller.resolve import rollout_of
from ridgeline.policy.roll import INTENT_VALID_SECONDS
from ridgeline.policy.status import roll_of
from ridgeline.terms.rolls import RollState


def rolling(store: WatchStore, now: float) -> set[Key]:
    """Return the servings whose roll takes a place in the budget at `now`.

    A status that cannot be brought up to date (its target is gone, its spec unreadable) keeps no
    place: what counts besides the status is that the target is there and really being rolled.
    """
    return {
        (serving.namespace, serving.name)
        for serving in store.servings.all()
        if not serving.deleting and _is_rolling(store, serving, now)
    }


def _is_rolling(store: WatchStore, serving: ServingObject, now: float) -> bool:
    roll = roll_of(serving.status)
    if roll is None or not roll.open:
        return False
    name = (serving.spec.get("targetRef") or {}).get("name")
    deployment = store.deployments.get((serving.namespace, str(name)))
    if deployment is None or deployment.uid != roll.target_uid:
        return False
    if roll.state is RollState.INTENDED:
        return now - roll.started_at <= INTENT_VALID_SECONDS
    not_seen_yet = deployment.generation < roll.target_generation
    return not_seen_yet or rollout_of(deployment) is not None
