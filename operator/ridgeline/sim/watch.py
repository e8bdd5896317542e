"""What reaches one operator process of the simulated cluster: its watch streams."""

import math
from collections import deque
from collections.abc import Callable
from typing import Final

from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject
from ridgeline.cluster.store import Key, Kind, WatchStore

USUAL_DELAY_SECONDS: Final = 0.05


class WatchStream:
    """Three streams into one store, one per kind of object; each keeps its order.

    Attributes:
        store: Where they lead.
        delay_seconds: How long news of a kind are on their way.
        stalled: Kinds that come to a halt; what they hold arrives when they go on.
    """

    def __init__(self, store: WatchStore) -> None:
        self.store = store
        self.delay_seconds: dict[Kind, float] = dict.fromkeys(Kind, USUAL_DELAY_SECONDS)
        self.stalled: set[Kind] = set()
        self._queues: dict[Kind, deque[tuple[float, Callable[[], object]]]] = {
            kind: deque() for kind in Kind
        }

    def tell_serving(self, now: float, item: ServingObject) -> None:
        """Send a serving as it is now."""
        self._send(Kind.SERVING, now, lambda: self.store.put_serving(item))

    def tell_deployment(self, now: float, item: DeploymentObject) -> None:
        """Send a Deployment as it is now."""
        self._send(Kind.DEPLOYMENT, now, lambda: self.store.put_deployment(item))

    def tell_pod(self, now: float, item: PodObject) -> None:
        """Send a Pod as it is now."""
        self._send(Kind.POD, now, lambda: self.store.put_pod(item))

    def tell_gone(self, kind: Kind, now: float, key: Key, uid: str) -> None:
        """Send that an object was deleted."""
        drop = {
            Kind.SERVING: self.store.drop_serving,
            Kind.DEPLOYMENT: self.store.drop_deployment,
            Kind.POD: self.store.drop_pod,
        }[kind]
        self._send(kind, now, lambda: drop(key, uid))

    @property
    def due_at(self) -> float:
        """When the next piece of news arrives; infinite when none is on its way."""
        heads = [queue[0][0] for kind, queue in self._queues.items() if self._moves(kind)]
        return min(heads, default=math.inf)

    def deliver(self, now: float) -> None:
        """Hand over everything that has arrived."""
        for kind, queue in self._queues.items():
            while self._moves(kind) and queue[0][0] <= now:
                queue.popleft()[1]()

    def _send(self, kind: Kind, now: float, deliver: Callable[[], object]) -> None:
        self._queues[kind].append((now + self.delay_seconds[kind], deliver))

    def _moves(self, kind: Kind) -> bool:
        return kind not in self.stalled and bool(self._queues[kind])
