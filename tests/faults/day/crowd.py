"""A hundred servings that are edited at once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from tests.cluster.handle import Cluster
from tests.faults.day.hollow import HollowNode
from tests.faults.day.play import Fault
from tests.faults.day.room import Room, Setting, opened, put_servings, scene
from tests.faults.sight import Sight

CROWD: Final = 100
BUDGET: Final = 10
WRITES_PER_SERVING: Final = 8
"""Status writes that an edit and the roll that follows from it may cost: the wish, the wait for the
budget, the intent, the roll, its progress and its end."""

ANSWERED_S: Final = 300.0
ROLLED_S: Final = 600.0

NAMES: Final = tuple(f"serving-{number:02}" for number in range(CROWD))


@contextlib.contextmanager
def crowded(cluster: Cluster, node: HollowNode) -> Iterator[Room]:
    """A room with a hundred targets of one replica each."""
    config = {
        "maxConcurrentRolls": BUDGET,
        "maxConcurrentRollsPerPool": BUDGET,
        "tickSeconds": 5,
        "relistSeconds": 60,
    }
    setting = Setting(config=config, lease_s=15)
    with opened(cluster, node, setting, names=NAMES, replicas=1) as room:
        yield room


def _decided(room: Room) -> None:
    room.start_operator()
    put_servings(room)
    decided = lambda seen: all(each.decision for each in seen.values())  # noqa: E731
    room.wait(decided, "a decision about each", timeout_s=ROLLED_S)


def _edited_at_once(room: Room) -> list[str]:
    begin, before = time.monotonic(), _status_writes(room)
    with ThreadPoolExecutor(max_workers=25) as pool:
        list(pool.map(lambda name: _turn_round(room, name), NAMES))
    room.wait(_all_answered, "an answer to every edit", timeout_s=ANSWERED_S)
    room.notes.append(f"every edit answered after {time.monotonic() - begin:.0f} s")
    room.wait(_all_rolled, "the roll of each", timeout_s=ROLLED_S)
    each = (_status_writes(room) - before) / CROWD
    room.notes.append(f"{each:.1f} status writes per serving")
    return [f"{each:.1f} status writes per serving"] if each > WRITES_PER_SERVING else []


def _turn_round(room: Room, name: str) -> None:
    ranges = replace(scene(room, name), quiet_profile="none").ranges()
    room.edit(name, cutoff={"ranges": ranges})


def _all_answered(seen: dict[str, Sight]) -> bool:
    return all(
        each.status.get("observedGeneration", 0) >= each.serving["metadata"]["generation"]
        for each in seen.values()
    )


def _all_rolled(seen: dict[str, Sight]) -> bool:
    return all(each.state == "Finished" for each in seen.values())


def _status_writes(room: Room) -> int:
    return len(room.audit.by_operator("speculativeservings/status", room.namespace))


CROWD_FAULTS: Final = (
    Fault(
        name="100 servings edited at once",
        given=f"by 25 writers, so that each wants another profile; {BUDGET} rolls may be at a time "
        "(tick 5 s, Lease 15 s)",
        promise="none is forgotten, the budget is kept, and few writes are made",
        strike=_edited_at_once,
        room=crowded,
        bring=_decided,
        ends=dict.fromkeys(NAMES, "eagle"),
        budget=BUDGET,
        alone=True,
    ),
)
