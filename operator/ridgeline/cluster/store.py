"""The watch store: trimmed objects as the watch streams and the listings tell them.

Streams may miss a deletion (a relist after an expired watch does not report it), so a listing is
laid over the store from time to time. A listing takes a while; what a stream told meanwhile wins,
unless its version is the older one (a stream that lags). Nothing may be decided before the first
listing of every kind is in (`primed`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject


class Kind(StrEnum):
    """Kinds of objects that the store keeps."""

    SERVING = "SpeculativeServing"
    DEPLOYMENT = "Deployment"
    POD = "Pod"


class Stored(Protocol):
    """What every trimmed object has."""

    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """Its identity, different for each object of the same name."""

    @property
    def resource_version(self) -> str:
        """Its version; of two versions of one object the greater number is the newer."""


T = TypeVar("T", bound=Stored)
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class Shelf(Generic[T]):
    """Objects of one kind by namespace and name.

    `listing_started()` gives a mark; `lay_over(mark, objects)` then replaces everything that no
    stream has touched since that mark, or touched only with what is older than the listing.

    Attributes:
        primed: Whether the kind has been listed once.
        changes: Rises with every change, so that what follows from the objects need not be worked
            out anew while it stays.
    """

    primed: bool = False
    changes: int = 0
    _objects: dict[Key, T] = field(default_factory=dict)
    _touched: dict[Key, int] = field(default_factory=dict)
    _gone: dict[str, int] = field(default_factory=dict)
    _last_mark: int = 0
    _clock: int = 0

    def get(self, key: Key) -> T | None:
        """Return an object, or `None`."""
        return self._objects.get(key)

    def all(self) -> tuple[T, ...]:
        """Return all objects, in no particular order."""
        return tuple(self._objects.values())

    def put(self, item: T) -> bool:
        """Keep what a stream or an answer told; tell whether anything changed by it.

        What is older than what is known already is left aside: the answer to our own write may
        come before the stream tells the state that it replaced, or after it told the deletion.
        """
        key = (item.namespace, item.name)
        if item.uid in self._gone:
            return False
        self._touch(key)
        before = self._objects.get(key)
        if before == item or (before is not None and _is_newer(before, item)):
            return False
        self._objects[key] = item
        self.changes += 1
        return True

    def drop(self, key: Key, uid: str) -> T | None:
        """Forget a deleted object; a newer one with the same name stays."""
        before = self.release(key, uid)
        self._gone[uid] = self._clock
        return before

    def release(self, key: Key, uid: str) -> T | None:
        """Forget an object that is of no concern any more; it may be kept again."""
        before = self._objects.get(key)
        self._touch(key)
        if before is None or before.uid != uid:
            return None
        del self._objects[key]
        self.changes += 1
        return before

    def listing_started(self) -> int:
        """Return the mark that `lay_over` needs."""
        return self._clock

    def lay_over(self, mark: int, listed: Iterable[T]) -> tuple[Key, ...]:
        """Lay a listing over the shelf; return the keys that it changed."""
        fresh = {(item.namespace, item.name): item for item in listed}
        changed = []
        for key in self._objects.keys() | fresh.keys():
            item = fresh.get(key)
            if self._touched.get(key, -1) > mark and not self._behind(item):
                continue
            if item is None:
                del self._objects[key]
            elif self._objects.get(key) == item:
                continue
            else:
                self._objects[key] = item
            changed.append(key)
        self.changes += len(changed)
        # Marks are needed only while a listing runs; the uids of one listing longer, since an
        # answer may be late by as much as a request may take.
        self._touched = {key: at for key, at in self._touched.items() if at > mark}
        self._gone = {uid: at for uid, at in self._gone.items() if at > self._last_mark}
        self._last_mark = mark
        self.primed = True
        return tuple(changed)

    def clear(self) -> None:
        """Forget everything: the kind is out of reach, or nobody needs it."""
        self.lay_over(self.listing_started(), ())
        self.primed = False

    def _behind(self, listed: T | None) -> bool:
        """Tell whether what a stream told last of an object is older than what was listed."""
        known = self._objects.get((listed.namespace, listed.name)) if listed is not None else None
        return listed is not None and known is not None and _is_newer(listed, known)

    def _touch(self, key: Key) -> None:
        self._clock += 1
        self._touched[key] = self._clock


def _is_newer(one: Stored, other: Stored) -> bool:
    """Tell whether `one` is a newer state of the same name than `other`.

    Versions of one kind come from one counter, so they compare across objects, too.
    """
    versions = one.resource_version, other.resource_version
    if not all(each.isdecimal() for each in versions):
        return False
    return int(versions[0]) > int(versions[1])


Listener = Callable[[Kind, str, str], None]
"""Called with kind, namespace and the name of the serving or Deployment concerned."""


class WatchStore:
    """All that is known of the cluster, with a call to a listener for each change that matters.

    A Pod's change is told as a change of its Deployment, since that is who asks for it; a serving's
    also as one of its rivals for the same target.
    """

    def __init__(self) -> None:
        self.servings: Shelf[ServingObject] = Shelf()
        self.deployments: Shelf[DeploymentObject] = Shelf()
        self._pods: Shelf[PodObject] = Shelf()
        self._pods_of: dict[Key, dict[str, PodObject]] = {}
        self._in_order: dict[Key, tuple[PodObject, ...]] = {}
        self._target_of: dict[Key, Key] = {}
        self._servings_of: dict[Key, set[Key]] = {}
        self._listeners: list[Listener] = []

    @property
    def primed(self) -> bool:
        """Whether every kind has been listed once."""
        return self.servings.primed and self.deployments.primed and self._pods.primed

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each change."""
        self._listeners.append(listener)

    def pods_of(self, namespace: str, deployment: str) -> tuple[PodObject, ...]:
        """Return the Pods of a Deployment, by name; one and the same tuple while they stay."""
        key = (namespace, deployment)
        found = self._in_order.get(key)
        if found is None:
            pods = self._pods_of.get(key)
            if pods is None:
                return ()
            found = self._in_order[key] = tuple(pods[name] for name in sorted(pods))
        return found

    def servings_of(self, namespace: str, deployment: str) -> tuple[ServingObject, ...]:
        """Return the servings that name a Deployment as their target."""
        keys = self._servings_of.get((namespace, deployment), ())
        found = (self.servings.get(key) for key in sorted(keys))
        return tuple(each for each in found if each is not None)

    def put_serving(self, item: ServingObject) -> None:
        """Keep a serving."""
        if self.servings.put(item):
            self._tell(Kind.SERVING, item.namespace, item.name)

    def drop_serving(self, key: Key, uid: str) -> None:
        """Forget a serving."""
        if self.servings.drop(key, uid) is not None:
            self._tell(Kind.SERVING, *key)

    def put_deployment(self, item: DeploymentObject) -> None:
        """Keep a Deployment."""
        if self.deployments.put(item):
            self._tell(Kind.DEPLOYMENT, item.namespace, item.name)

    def drop_deployment(self, key: Key, uid: str) -> None:
        """Forget a Deployment."""
        if self.deployments.drop(key, uid) is not None:
            self._tell(Kind.DEPLOYMENT, *key)

    def put_pod(self, item: PodObject) -> None:
        """Keep a Pod."""
        before = self._pods.get((item.namespace, item.name))
        if not self._pods.put(item):
            return
        if before is not None:
            self._unindex(before)
        self._index(item)
        self._tell(Kind.POD, item.namespace, item.deployment)

    def drop_pod(self, key: Key, uid: str) -> None:
        """Forget a Pod."""
        before = self._pods.drop(key, uid)
        if before is not None:
            self._unindex(before)
            self._tell(Kind.POD, before.namespace, before.deployment)

    def release_pod(self, key: Key, uid: str) -> None:
        """Forget a Pod that belongs to no Deployment (any more); one may take it in again."""
        known = self._pods.get(key)
        if known is not None and self._pods.release(key, uid) is not None:
            self._unindex(known)
            self._tell(Kind.POD, known.namespace, known.deployment)

    def lay_over_pods(self, mark: int, listed: Iterable[PodObject]) -> None:
        """Lay a listing of Pods over the store."""
        before = {(pod.namespace, pod.name): pod for pod in self._pods.all()}
        concerned = set()
        for key in self._pods.lay_over(mark, listed):
            old, new = before.get(key), self._pods.get(key)
            if old is not None:
                self._unindex(old)
            if new is not None:
                self._index(new)
            concerned |= {(each.namespace, each.deployment) for each in (old, new) if each}
        for namespace, deployment in sorted(concerned):
            self._tell(Kind.POD, namespace, deployment)

    def lay_over_servings(self, mark: int, listed: Iterable[ServingObject]) -> None:
        """Lay a listing of servings over the store."""
        for namespace, name in self.servings.lay_over(mark, listed):
            self._tell(Kind.SERVING, namespace, name)

    def lay_over_deployments(self, mark: int, listed: Iterable[DeploymentObject]) -> None:
        """Lay a listing of Deployments over the store."""
        for namespace, name in self.deployments.lay_over(mark, listed):
            self._tell(Kind.DEPLOYMENT, namespace, name)

    def pods_listing_started(self) -> int:
        """Return the mark that `lay_over_pods` needs."""
        return self._pods.listing_started()

    def _index(self, pod: PodObject) -> None:
        key = (pod.namespace, pod.deployment)
        self._pods_of.setdefault(key, {})[pod.name] = pod
        self._in_order.pop(key, None)

    def _unindex(self, pod: PodObject) -> None:
        key = (pod.namespace, pod.deployment)
        siblings = self._pods_of.get(key, {})
        siblings.pop(pod.name, None)
        self._in_order.pop(key, None)
        if not siblings:
            self._pods_of.pop(key, None)

    def _index_serving(self, key: Key) -> set[Key]:
        """Take a serving as it is now; return whom that concerns: itself and its rivals.

        Rivals are those for the target that it named before and those for the one it names now.
        """
        concerned = {key}
        before = self._target_of.pop(key, None)
        if before is not None:
            siblings = self._servings_of[before]
            siblings.discard(key)
            concerned |= siblings
            if not siblings:
                del self._servings_of[before]
        serving = self.servings.get(key)
        name = (serving.spec.get("targetRef") or {}).get("name") if serving is not None else None
        if name is not None:
            target = self._target_of[key] = (key[0], str(name))
            self._servings_of.setdefault(target, set()).add(key)
            concerned |= self._servings_of[target]
        return concerned

    def _tell(self, kind: Kind, namespace: str, name: str) -> None:
        key = (namespace, name)
        concerned = self._index_serving(key) if kind is Kind.SERVING else {key}
        for listener in self._listeners:
            for each in sorted(concerned):
                listener(kind, *each)
