"""What a process has used, and what it has asked of the API server, told from outside of it."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_READS: Final = frozenset({"get", "list", "watch"})
_TOO_MANY: Final = 429


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Of one process since its start.

    Attributes:
        cpu_seconds: User and system time of all its threads.
        resident_bytes: Memory that it holds now.
        peak_bytes: Most memory that it ever held.
    """

    cpu_seconds: float
    resident_bytes: int
    peak_bytes: int


def usage_of(pid: int) -> Usage:
    """Read `/proc`.

    Raises:
        FileNotFoundError: There is no such process.
    """
    # The name stands in parentheses and may hold spaces and parentheses itself.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {line.partition(":")[0]: line.split() for line in lines if line.startswith("Vm")}
    return Usage(
        cpu_seconds=ticks / os.sysconf("SC_CLK_TCK"),
        resident_bytes=int(sizes["VmRSS"][1]) * 1024,
        peak_bytes=int(sizes["VmHWM"][1]) * 1024,
    )


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that the API server has answered.

    Attributes:
        began: Epoch seconds when it was received.
        ended: Epoch seconds when it was answered.
        verb: As in a Role.
        resource: Plural name, `/` and subresource.
        key: Namespace and name of the object.
        code: HTTP status.
    """

    began: float
    ended: float
    verb: str
    resource: str
    key: tuple[str, str]
    code: int

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.verb not in _READS

    @property
    def on_lease(self) -> bool:
        """Whether it is part of the election."""
        return self.resource == "leases"


class Journal:
    """The calls of one user in an audit log, from the moment of construction on."""

    def __init__(self, log: Path, user: str) -> None:
        self._log = log
        self._user = user
        self._offset = log.stat().st_size

    def calls(self) -> list[Call]:
        """Every call that was answered since then, open watches aside."""
        with self._log.open("rb") as log:
            log.seek(self._offset)
            # A last line that is still being written is left out.
            lines = log.read().split(b"\n")[:-1]
        mark = f'"{self._user}"'.encode()
        return calls_in((json.loads(line) for line in lines if mark in line), self._user)


def calls_in(events: Iterable[dict[str, Any]], user: str) -> list[Call]:
    """The calls of a user among events of an audit log, watches aside."""
    return [
        _call(event)
        for event in events
        if event["user"].get("username") == user
        and event["stage"] == "ResponseComplete"
        and event["verb"] != "watch"
    ]


def _call(event: dict[str, Any]) -> Call:
    target = event.get("objectRef") or {}
    parts = [target.get("resource", ""), target.get("subresource", "")]
    return Call(
        began=_epoch(event["requestReceivedTimestamp"]),
        ended=_epoch(event["stageTimestamp"]),
        verb=event["verb"],
        resource="/".join(part for part in parts if part),
        key=(target.get("namespace", ""), target.get("name", "")),
        code=int((event.get("responseStatus") or {}).get("code", 0)),
    )


def _epoch(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def most_at_once(calls: Sequence[Call]) -> int:
    """The most calls that were under way at one time."""
    # Who ends at the moment at which another begins was not there with it.
    edges = sorted([(each.began, 1) for each in calls] + [(each.ended, -1) for each in calls])
    under_way = most = 0
    for _, step in edges:
        under_way += step
        most = max(most, under_way)
    return most


def throttled(calls: Iterable[Call]) -> int:
    """Calls that the API server asked to come later with."""
    return sum(1 for each in calls if each.code == _TOO_MANY)


def first_statuses(calls: Iterable[Call], resource: str) -> dict[tuple[str, str], float]:
    """When the first status of each object was written, epoch seconds."""
    found: dict[tuple[str, str], float] = {}
    for each in sorted(calls, key=lambda call: call.ended):
        if each.writes and each.resource == f"{resource}/status" and each.code < 300:
            found.setdefault(each.key, each.ended)
    return found
