"""Another version of what is around the operator: its CRD, or the status that it finds."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from tests.cluster.paths import REPO
from tests.faults.day.play import Fault
from tests.faults.day.room import ROLLING, STEADY, TURNING, Room
from tests.faults.stage import install_crds

LAST_S: Final = 15.0
MOST_IDLE_WRITES: Final = 3
"""Status writes that three servings may need in the time, while nothing of note changes."""

_FILE: Final = REPO / "crds" / "ridgeline.dev_speculativeservings.yaml"
_FUTURE: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_DROPPED: Final = ("told", "target", "switchHistory")
_SINCE_THE_FIRST: Final = frozenset({"observedGeneration", "activeProfile", "desiredProfile"})
_ROLL_SINCE_THE_FIRST: Final = frozenset(
    {"from", "to", "startTime", "targetUID", "targetGeneration", "servingGeneration", "state"}
    | {"updatedReplicas", "availableReplicas", "replicas"}
)

Schema = dict[str, Any]
Change = Callable[[Schema], object]
"""Changes the schema of the CRD's version, under its key `schema`, or what stands beside it."""


@contextlib.contextmanager
def other_crd(room: Room, change: Change) -> Iterator[None]:
    """Serve the CRD of servings with a change."""
    document = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    change(document["spec"]["versions"][0])
    room.cluster.kubectl("apply", "-f", "-", input_object=document)
    try:
        yield
    finally:
        install_crds(room.cluster)


def _properties(version: Schema, part: str) -> Schema:
    found: Schema = version["schema"]["openAPIV3Schema"]["properties"][part]["properties"]
    return found


def _newer(version: Schema) -> None:
    spec, status = _properties(version, "spec"), _properties(version, "status")
    spec["future"] = status["future"] = _FUTURE
    spec["cooldownSeconds"]["minimum"] = 60
    status["rollout"]["properties"]["future"] = {"type": "string"}
    column = {"name": "Future", "type": "string", "jsonPath": ".status.future.word"}
    version["additionalPrinterColumns"].append(column)


def _older(version: Schema) -> None:
    for each in _DROPPED:
        _properties(version, "status").pop(each)


def _crd_upgraded(room: Room) -> list[str]:
    with other_crd(room, _newer):
        room.turn()
        room.edit(STEADY, future={"word": "new"})
        room.rest(LAST_S)
        return []


def _crd_older(room: Room) -> list[str]:
    with other_crd(room, _older):
        room.turn()
        room.rest(LAST_S)
        before = _status_writes(room)
        room.rest(LAST_S)
        idle = _status_writes(room) - before
    room.notes.append(f"{idle} status writes in {LAST_S:.0f} s at rest")
    return [f"{idle} status writes at rest"] if idle > MOST_IDLE_WRITES else []


def _status_writes(room: Room) -> int:
    return len(room.audit.by_operator("speculativeservings/status", room.namespace))


def _status_of_a_newer(status: Schema) -> None:
    status["future"] = {"word": "new", "numbers": [1, 2]}
    status["lastDecision"]["reason"] = "FutureReason"
    if "rollout" in status:
        status["rollout"]["future"] = "new"
    moment = status["lastDecision"]["time"]
    told = {"status": "True", "reason": "FutureReason", "message": "", "lastTransitionTime": moment}
    status["conditions"].append({"type": "FutureCondition", **told})


def _status_of_the_first(status: Schema) -> None:
    kept = {key: value for key, value in status.items() if key in _SINCE_THE_FIRST}
    roll = status.get("rollout") or {}
    if roll:
        kept["rollout"] = {k: v for k, v in roll.items() if k in _ROLL_SINCE_THE_FIRST}
    status.clear()
    status.update(kept)


def _another_version_was_here(change: Callable[[Schema], None]) -> Callable[[Room], list[str]]:
    """Stop the operator, let another version's status stand there, and start it again."""

    def strike(room: Room) -> list[str]:
        with other_crd(room, _newer):
            room.operator.stop()
            for name in (STEADY, TURNING, ROLLING):
                _rewrite(room, name, change)
            room.turn()
            room.start_operator()
            room.rest(LAST_S)
        return []

    return strike


def _rewrite(room: Room, name: str, change: Callable[[Schema], None]) -> None:
    path = f"/apis/ridgeline.dev/v1alpha1/namespaces/{room.namespace}/speculativeservings/{name}"
    found = copy.deepcopy(room.api.call("GET", path))
    change(found["status"])
    room.api.call("PUT", f"{path}/status", found)


VERSION_FAULTS: Final = (
    Fault(
        name="CRD upgraded while it runs",
        given="the CRD gets fields, a column and a stricter bound that servings break; "
        "a serving is edited by a new field",
        promise="the rolls go on, and statuses are written as before",
        strike=_crd_upgraded,
        alone=True,
    ),
    Fault(
        name="CRD older than the operator",
        given=f"the CRD lacks {', '.join(f'`status.{each}`' for each in _DROPPED)}: what is "
        "written there is pruned",
        promise="nothing is written again and again",
        strike=_crd_older,
        alone=True,
    ),
    Fault(
        name="operator downgraded",
        given="it starts on statuses of a newer version: fields, a condition and a reason that it "
        "does not know, in the middle of a roll",
        promise="the roll is carried on; what it does not know is not misread",
        strike=_another_version_was_here(_status_of_a_newer),
        alone=True,
    ),
    Fault(
        name="operator upgraded over the first version",
        given="it starts on statuses that hold only what the first version wrote",
        promise="the roll is carried on",
        strike=_another_version_was_here(_status_of_the_first),
        alone=True,
    ),
)
