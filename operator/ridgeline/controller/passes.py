"""The last pass of every serving, for whoever asks the operator why it does what it does.

A pass hands over values that nobody changes any more and pays for one assignment; an answer is put
together when somebody asks, on the thread of the HTTP server. Nothing here can change anything.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from ridgeline import __version__
from ridgeline.cluster.store import Key, Kind, WatchStore
from ridgeline.controller.clock import Clock
from ridgeline.controller.endpoints import EXPLAIN
from ridgeline.controller.explain_answer import Asked, Pass, answer_document
from ridgeline.controller.ports import Leader
from ridgeline.controller.recorder import PassSink
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision

MOST_BYTES: Final = 256 * 1024
"""An answer is never longer."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")

Answer = tuple[HTTPStatus, bytes]


class LastPasses:
    """Keeps the last pass of each serving that there is, and answers what it came to."""

    def __init__(
        self,
        store: WatchStore,
        leader: Leader,
        clock: Clock,
        *,
        instance: str,
        tick_seconds: float,
        heard_seconds_ago: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._store = store
        self._leader = leader
        self._clock = clock
        self._instance = instance
        self._tick_seconds = tick_seconds
        self._heard_seconds_ago = heard_seconds_ago
        self._passes: dict[Key, Pass] = {}
        store.listen(self._changed)

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        """Take note of a pass; what `decide` alone had answered is nothing that was acted on."""
        del decided
        key = (view.serving.namespace, view.serving.name)
        # A pass may end after its serving went.
        if self._store.servings.get(key) is not None:
            self._passes[key] = Pass(view=view, told=told)

    def answer(self, path: str) -> Answer:
        """Return status and body for a path below `EXPLAIN`; whatever it is, nothing is raised."""
        namespace, _, name = path.removeprefix(EXPLAIN).partition("/")
        if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(name)):
            return _refusal(HTTPStatus.NOT_FOUND, f"ask for {EXPLAIN}NAMESPACE/SERVING")
        serving = self._store.servings.get((namespace, name))
        if serving is None:
            told = f"this operator looks after no SpeculativeServing {namespace}/{name}"
            return _refusal(HTTPStatus.NOT_FOUND, told)
        found = self._passes.get((namespace, name))
        if found is None or found.view.serving.uid != serving.uid:
            told = f"this operator has made no pass over {namespace}/{name} yet"
            return _refusal(HTTPStatus.NOT_FOUND, told)
        asked = Asked(
            version=__version__,
            instance=self._instance,
            leader=self._leader.held,
            tick_seconds=self._tick_seconds,
            now=self._clock(),
            watch_heard_seconds_ago=self._heard_seconds_ago(),
            generation=serving.generation,
        )
        body = _json(answer_document(found, asked))
        if len(body) > MOST_BYTES:
            told = f"the answer would be longer than {MOST_BYTES} bytes"
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, told)
        return HTTPStatus.OK, body

    def _changed(self, kind: Kind, namespace: str, name: str) -> None:
        key = (namespace, name)
        if kind is Kind.SERVING and self._store.servings.get(key) is None:
            self._passes.pop(key, None)


@dataclass(frozen=True, slots=True)
class AllSinks:
    """Tells several sinks of every pass."""

    sinks: tuple[PassSink, ...]

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        """Let each take note of a pass."""
        for each in self.sinks:
            each.saw(view, decided, told)


def all_sinks(sinks: Iterable[PassSink | None]) -> AllSinks:
    """Return one sink for those that there are."""
    return AllSinks(tuple(each for each in sinks if each is not None))


def _refusal(status: HTTPStatus, message: str) -> Answer:
    return status, _json({"message": message})


def _json(document: dict[str, Any]) -> bytes:
    return f"{json.dumps(document, allow_nan=False)}\n".encode()
