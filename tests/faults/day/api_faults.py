"""Faults of the API server, as the operator meets them."""

from __future__ import annotations

import contextlib
import json
import signal
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Final

from tests.cluster.spec import load_spec
from tests.cluster.waiting import wait_until
from tests.faults.day.play import Fault
from tests.faults.day.room import STEADY, Room, Setting, opened
from tests.faults.gateway import Silence
from tests.faults.manner import USUAL, Manner
from tests.faults.processes import process_of, state_of

OUTAGE_S: Final = 20.0
LONG_OUTAGE_S: Final = 600.0
RETRY_AFTER_S: Final = 3

MOST_CALLS_PER_SECOND: Final = 12.0
"""Of an operator with three servings whose every call is refused: thirteen watches and listings,
the Lease and the passes, each tried again and again. A loop without a pause makes hundreds."""


def spoilt(manner: Manner, seconds: float = OUTAGE_S) -> Callable[[Room], list[str]]:
    """Spoil every request for a while, new watches too."""

    def strike(room: Room) -> list[str]:
        room.gateway.behave(manner)
        room.gateway.cut_watches()
        room.turn()
        try:
            room.rest(seconds)
        finally:
            room.gateway.behave(USUAL)
        rate = sum(room.gateway.codes.values()) / seconds
        room.notes.append(f"{rate:.1f} calls per second in it")
        if rate > MOST_CALLS_PER_SECOND:
            return [f"{rate:.0f} calls per second of an API server that is unwell"]
        return []

    return strike


def _watches_silent(room: Room) -> list[str]:
    room.gateway.silence(Silence.WATCHES)
    room.turn()
    try:
        room.rest(OUTAGE_S)
    finally:
        room.gateway.silence(Silence.NOTHING)
    return []


def _compacted(room: Room) -> list[str]:
    """Leave the watches behind what etcd and the API server still know."""
    room.gateway.behave(Manner(down=True))
    room.gateway.cut_watches()
    room.turn()
    room.edit(STEADY, cooldownSeconds=1)
    room.rest(3.0)
    revision = _compact(room)
    # Its watch cache begins anew: what was before that is with etcd, which has forgotten it.
    process_of(room.cluster, "kube-apiserver").kill(signal.SIGKILL)
    room.rest(1.0)
    room.cluster.start_component("kube-apiserver")
    wait_until(room.api.ready, "the API server after its restart")
    room.gateway.behave(USUAL)
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: room.gateway.codes[410], "410 Gone", timeout_s=30)
    gone = room.gateway.codes[410]
    room.notes.append(f"{gone} × 410 Gone")
    return [] if gone else [f"no watch was told 410 Gone after compaction at {revision}"]


def _compact(room: Room) -> int:
    """Let etcd forget all but the present, as `etcdctl compact --physical` does."""
    spec = load_spec((state_of(room.cluster) / "spec.json").read_text())
    etcd = f"http://127.0.0.1:{spec.ports.etcd}/v3"
    nothing = _asked(f"{etcd}/kv/range", {"key": "AA=="})
    revision = int(nothing["header"]["revision"])
    _asked(f"{etcd}/kv/compaction", {"revision": revision, "physical": True})
    return revision


def _asked(url: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(url, data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: dict[str, dict[str, str]] = json.loads(answer.read())
        return found


_NOTHING_BEGUN: Final = "what was begun goes on by itself; nothing is begun; few calls are made"

API_FAULTS: Final = (
    Fault(
        name="API server down 20 s",
        given="connections end without an answer, and every watch is cut",
        promise=_NOTHING_BEGUN,
        strike=spoilt(Manner(down=True)),
        blind=True,
    ),
    Fault(
        name="API server down 10 min",
        given="the same for ten minutes",
        promise=_NOTHING_BEGUN,
        strike=spoilt(Manner(down=True), LONG_OUTAGE_S),
        blind=True,
        long=True,
    ),
    Fault(
        name="API server slow",
        given="every answer takes 3 s longer, a watch too (the Lease lasts 15 s here, not 12)",
        promise="everything is done, only later; no write is made twice",
        strike=spoilt(Manner(delay_s=3.0), 2 * OUTAGE_S),
        room=partial(opened, setting=Setting(lease_s=15)),
    ),
    Fault(
        name="API server answers 429",
        given=f"every call is answered with 429 and Retry-After: {RETRY_AFTER_S}",
        promise=_NOTHING_BEGUN,
        strike=spoilt(Manner(status=429, retry_after_s=RETRY_AFTER_S)),
        blind=True,
        quick=True,
    ),
    Fault(
        name="API server answers 500",
        given="every call is answered with 500",
        promise=_NOTHING_BEGUN,
        strike=spoilt(Manner(status=500)),
        blind=True,
    ),
    Fault(
        name="every second answer is 500",
        given="each other call is answered with 500, a watch too",
        promise="everything is done, only later; no write is made twice",
        strike=spoilt(Manner(status=500, every=2)),
    ),
    Fault(
        name="watches silent",
        given="streams stay open and bring nothing; all other calls work",
        promise="the next listing (`relistSeconds`, here 10 s) finds what they missed",
        strike=_watches_silent,
    ),
    Fault(
        name="watches lag",
        given="each event comes 5 s late",
        promise="what was decided on an old sight is looked at again before it is written",
        strike=spoilt(Manner(lag_s=5.0), 2 * OUTAGE_S),
    ),
    Fault(
        name="etcd compacted, 410 Gone",
        given="the way to the API server is cut, objects change, etcd is compacted, the API "
        "server is restarted without its watch cache, and the watches come back with what they "
        "knew",
        promise="a watch that is told 410 Gone lists anew",
        strike=_compacted,
        alone=True,
    ),
)
