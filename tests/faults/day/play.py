"""One fault of a bad day from its stage to what was seen."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from tests.cluster.api import load_api
from tests.cluster.handle import Cluster
from tests.faults.day.hollow import HollowNode
from tests.faults.day.room import (
    ACCOUNT,
    ROLLING,
    STEADY,
    TURNING,
    Room,
    bring_to_the_middle,
    opened,
)
from tests.faults.day.seen import Seen, broken_ending
from tests.faults.day.witness import Witness
from tests.faults.promise import Ending, ending
from tests.faults.sight import Sight
from tests.faults.stage import install_crds

Opened = Callable[[Cluster, HollowNode], AbstractContextManager[Room]]

RECOVERY_S: Final = 300.0
SETTLE_S: Final = 300.0
_QUIET_S: Final = 4.0
"""What is well must still be well after some ticks."""

USUAL_END: Final = {STEADY: "", TURNING: "eagle", ROLLING: "eagle"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One row of the table.

    Attributes:
        name: What goes wrong, as the table has it.
        given: What is done.
        promise: What holds, beyond what holds in every row.
        strike: Strikes, lets it last, mends it. It calls `room.turn()` when it has struck. What it
            returns are complaints.
        room: Makes the stage.
        bring: Brings the stage to where the fault strikes.
        blind: Whether no target may be written while it lasts.
        ends: The profile on which each target should be in the end; empty: as it was.
        budget: Most rolls at one time.
        quick: Whether it is struck in `make test` too.
        long: Whether it takes minutes, so that it is begun first.
        alone: Whether it hurts others that are struck beside it.
    """

    name: str
    given: str
    promise: str
    strike: Callable[[Room], list[str]]
    room: Opened = opened
    bring: Callable[[Room], None] = bring_to_the_middle
    blind: bool = False
    ends: dict[str, str] = field(default_factory=lambda: dict(USUAL_END))
    budget: int = 1
    quick: bool = False
    long: bool = False
    alone: bool = False


def play(cluster: Cluster, node: HollowNode, fault: Fault) -> Seen:
    """Bring the stage to where the fault strikes, strike, and tell what was seen.

    Raises:
        TimeoutError: The stage does not come to where the fault is to strike.
    """
    with fault.room(cluster, node) as room:
        fault.bring(room)
        with Witness(room) as witness:
            room.gateway.codes.clear()
            before, begin = room.profile_writes(), time.monotonic()
            complaints = fault.strike(room)
            struck_s = time.monotonic() - begin
            calls = dict(room.gateway.codes)
            struck = Counter(room.profile_writes())
            struck.subtract(before)
            recovery_s = recovered(room)
            endings = _settled(room, fault)
        seen = Seen(
            date=datetime.now(UTC).date().isoformat(),
            writes=room.profile_writes(),
            wanted_writes={name: int(bool(fault.ends[name])) for name in room.before},
            profiles={name: fault.ends[name] for name in room.before},
            struck_writes=sum(struck.values()),
            blind=fault.blind,
            endings=endings,
            written=_written(room),
            most_at_once=witness.most_at_once,
            budget=fault.budget,
            most_lacking=witness.most_lacking,
            calls={str(code): count for code, count in sorted(calls.items())},
            struck_s=round(struck_s, 1),
            recovery_s=None if recovery_s is None else round(recovery_s, 1),
            restarts=room.restarts,
            notes=tuple(room.notes),
            complaints=tuple(complaints),
        )
        if seen.broken():
            print(room.story())
        return seen


def recovered(room: Room) -> float | None:
    """Edit a serving now; return after how many seconds the operator sees and tells again."""
    begin = time.monotonic()
    edited = next(iter(room.before))
    with contextlib.suppress(TimeoutError):
        room.wait(lambda seen: _edit(room, edited), "an edit", timeout_s=RECOVERY_S)
        room.wait(lambda seen: _answered(seen, edited), "its answer", timeout_s=RECOVERY_S)
        return time.monotonic() - begin
    return None


def _edit(room: Room, name: str) -> bool:
    room.edit(name, stabilization={"busierSeconds": 2, "quieterSeconds": 3})
    return True


def _answered(seen: dict[str, Sight], edited: str) -> bool:
    one = seen[edited].serving
    answered = one["status"].get("observedGeneration", 0) >= one["metadata"]["generation"]
    return bool(answered and all(_sees(each) for each in seen.values()))


def _sees(sight: Sight) -> bool:
    conditions = sight.status.get("conditions") or ()
    wanted = ("TelemetryAvailable", "True")
    return any((each["type"], each["status"]) == wanted for each in conditions)


def _settled(room: Room, fault: Fault) -> dict[str, Ending]:
    """Wait until every target is as it should be and stays so, or the time is up."""
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        room.tend()
        if _well(room, fault):
            room.rest(_QUIET_S)
            if _well(room, fault):
                break
        time.sleep(0.5)
    return _endings(room)


def _well(room: Room, fault: Fault) -> bool:
    endings = _endings(room)
    return bool(endings) and not any(
        broken_ending(each, fault.ends[name]) for name, each in endings.items()
    )


def _endings(room: Room) -> dict[str, Ending]:
    return {name: ending(room.before[name], sight) for name, sight in room.look().items()}


def _written(room: Room) -> tuple[str, ...]:
    """Kinds of objects that the operator's account wrote."""
    account = f"system:serviceaccount:{room.namespace}:{ACCOUNT}"
    return tuple(sorted({each.resource for each in room.audit.writes() if each.user == account}))


@contextlib.contextmanager
def hollow_cluster(cluster: Cluster) -> Iterator[HollowNode]:
    """The hollow node of a control plane, with our CRDs."""
    install_crds(cluster)
    with HollowNode(load_api(cluster.kubeconfig)) as node:
        yield node
