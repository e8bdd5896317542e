"""Watch streams that lose news, tell them twice, or tell them in another order."""

from collections.abc import Callable
from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.store import Kind, WatchStore
from ridgeline.sim.watch import WatchStream
from tests.soak.api_server import ApiServer

_NONE: Final = 0


class UnreliableStream(WatchStream):
    """Streams into one store, with faults; a listing heals what was lost.

    Attributes:
        lose: So many pieces of news are lost, by kind.
        repeat: So many are told twice.
        swap: So many are told after the one that follows them.
    """

    def __init__(self, store: WatchStore, server: ApiServer) -> None:
        super().__init__(store)
        self._server = server
        self.lose = dict.fromkeys(Kind, _NONE)
        self.repeat = dict.fromkeys(Kind, _NONE)
        self.swap = dict.fromkeys(Kind, _NONE)
        self._kept: dict[Kind, Callable[[], object]] = {}

    def tell_deployment(self, now: float, item: DeploymentObject) -> None:
        """Send a Deployment as it is now, trimmed from the same JSON as an answer."""
        try:
            item = self._server.deployment_object(item.namespace, item.name)
        except NotFoundError:
            return
        super().tell_deployment(now, item)

    def heal(self) -> None:
        """Let everything go its way again."""
        self.stalled = set()
        for kind in Kind:
            self.lose[kind] = self.repeat[kind] = self.swap[kind] = _NONE
            kept = self._kept.pop(kind, None)
            if kept is not None:
                kept()

    def _send(self, kind: Kind, now: float, deliver: Callable[[], Any]) -> None:
        if self.lose[kind] > 0:
            self.lose[kind] -= 1
            return
        kept = self._kept.pop(kind, None)
        if kept is None and self.swap[kind] > 0:
            self.swap[kind] -= 1
            self._kept[kind] = deliver
            return
        super()._send(kind, now, deliver)
        if kept is not None:
            super()._send(kind, now, kept)
        if self.repeat[kind] > 0:
            self.repeat[kind] -= 1
            super()._send(kind, now, deliver)
