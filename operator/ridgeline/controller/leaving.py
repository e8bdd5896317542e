"""Targets whose serving is gone: what their own annotation says is done, and no more.

No finalizer holds a serving back, so nobody waits for an operator that may be gone itself. What is
to happen stands in the target: `Restore` gives our fields up (the default of the target's own
manifest applies again), `Keep` leaves the profile where it is. A target that is paused for a canary
is never left so: what was there before the canary is put back.
"""

import logging
from typing import Final

from ridgeline.cluster.args_write import args_write
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.marker import Marker, marker_of
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.cluster.target import ProfileWrite
from ridgeline.controller.complaints import Complaints
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.ports import Leader, Targets
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.container import Container
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError
from ridgeline.policy.roll_status import roll_of
from ridgeline.terms.names import PROFILE_ENV
from ridgeline.terms.rolls import OnDelete

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 60.0
"""A serving that was deleted is created again within this time by whoever replaces it."""


class Leaving:
    """Sees targets off whose serving is gone; silent while this process is not the leader."""

    def __init__(
        self, *, store: WatchStore, targets: Targets, leader: Leader, metrics: OperatorMetrics
    ) -> None:
        self._store = store
        self._targets = targets
        self._leader = leader
        self._metrics = metrics
        self._gone_since: dict[Key, float] = {}
        self._last_word: dict[Key, OnDelete] = {}
        self._unattended: set[Key] = set()
        self._complaints = Complaints()

    def attend(self, target: Key, *, attended: bool) -> None:
        """Take note whether the pass over a serving can go on with the roll of its target."""
        (self._unattended.discard if attended else self._unattended.add)(target)

    def remember(self, serving: Key, on_delete: OnDelete) -> None:
        """Take note of what a serving says now: the annotation is as old as the last write."""
        self._last_word[serving] = on_delete

    async def see_off(self, now: float, *, frozen: bool = False) -> None:
        """Do what is due for every target whose serving is gone, or cannot go on with its canary.

        Args:
            now: Epoch seconds.
            frozen: Do nothing but give back what is paused for a canary.
        """
        self._forget()
        left = {
            (each.namespace, each.name): (each, marker)
            for each in self._store.deployments.all()
            if (marker := self._left_behind(each)) is not None
        }
        self._gone_since = {key: self._gone_since.get(key, now) for key in left}
        for key, (deployment, marker) in sorted(left.items()):
            waited = now - self._gone_since[key]
            if frozen and not deployment.paused_by_us:
                continue
            if self._leader.held and not 0 <= waited < PATIENCE_SECONDS:
                await self._guarded(deployment, marker)

    def _forget(self) -> None:
        """Drop what was noted of servings and targets of which nothing is left."""
        targets = self._store.deployments.all()
        marked = (
            (each.namespace, marker.serving)
            for each in targets
            if each.marker is not None and (marker := marker_of(each.marker)) is not None
        )
        servings = {(each.namespace, each.name) for each in self._store.servings.all()}
        if gone := self._last_word.keys() - servings:
            for key in gone - set(marked):
                del self._last_word[key]
        if self._unattended:
            self._unattended &= {(each.namespace, each.name) for each in targets}

    def _left_behind(self, deployment: DeploymentObject) -> Marker | None:
        """Return the annotation of a target that is to be seen off."""
        if deployment.marker is None or deployment.deleting:
            return None
        marker = marker_of(deployment.marker)
        if marker is None:
            return None
        if deployment.paused_by_us:
            return None if self._in_charge(deployment, marker) else marker
        claimed = self._store.servings_of(deployment.namespace, deployment.name)
        serving = self._store.servings.get((deployment.namespace, marker.serving))
        if claimed or serving is not None:
            return None
        return marker if self._wanted(deployment, marker) is OnDelete.RESTORE else None

    def _in_charge(self, deployment: DeploymentObject, marker: Marker) -> bool:
        """Tell whether a serving goes on with the canary that a target is paused for."""
        serving = self._store.servings.get((deployment.namespace, marker.serving))
        roll = roll_of(serving.status) if serving is not None else None
        return (
            roll is not None
            and roll.open
            and roll.target_uid == deployment.uid
            and (deployment.namespace, deployment.name) not in self._unattended
        )

    def _wanted(self, deployment: DeploymentObject, marker: Marker) -> OnDelete:
        return self._last_word.get((deployment.namespace, marker.serving), marker.on_delete)

    async def _guarded(self, deployment: DeploymentObject, marker: Marker) -> None:
        key = (deployment.namespace, deployment.name)
        try:
            await self._see_off(deployment, marker)
        except NotFoundError:
            return
        except (ClusterError, ArgsError, InvalidSpeculativeConfigError) as error:
            if self._complaints.is_new(key, error):
                log.warning("a target without its serving is left as it is: %s", error)
        else:
            self._complaints.ended(key)

    async def _see_off(self, seen: DeploymentObject, marker: Marker) -> None:
        live = await self._targets.read(seen.namespace, seen.name)
        if live.uid != seen.uid or live.marker != seen.marker:
            return
        write = None
        if live.paused_by_us or self._wanted(live, marker) is OnDelete.KEEP:
            write = _without_canary(live, marker)
        if write is None:
            outcome = await self._targets.release(live, exact=True)
        else:
            outcome = await self._targets.apply(write)
        self._metrics.writes.labels("profile").inc()
        self._store.put_deployment(outcome)
        log.info(
            "no serving goes on with it: %s",
            "the operator's fields are given up" if write is None else "its canary is taken back",
            extra={"namespace": live.namespace, "deployment": live.name},
        )


def _without_canary(live: DeploymentObject, marker: Marker) -> ProfileWrite | None:
    """Return the write that puts back what was there before a canary; `None`: give all up."""
    before, container = marker.canary, _container(live, marker)
    unmarked = marker.args is None and live.args_ours
    if before is None or before.config is None or container is None or unmarked:
        return None
    return ProfileWrite(
        namespace=live.namespace,
        deployment=live.name,
        uid=live.uid,
        resource_version=live.resource_version,
        container=container.name,
        serving=marker.serving,
        profile=before.label,
        config=before.config,
        on_delete=marker.on_delete,
        args=None if marker.args is None else args_write(live, container, before.config),
    )


def _container(live: DeploymentObject, marker: Marker) -> Container | None:
    """Return the container that has the profile, `None` without one."""
    if marker.args is not None:
        name = marker.args.container
        return next((each for each in live.containers if each.name == name), None)
    return next(
        (each for each in live.containers if any(item.name == PROFILE_ENV for item in each.env)),
        None,
    )
