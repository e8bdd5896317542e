"""What one fault of a bad day came to, and whether that is what is promised."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.faults.promise import Ending

RECORD: Final = Path(__file__).with_name("seen.json")

OWN: Final = frozenset({"deployments", "speculativeservings/status", "events", "leases"})
"""All that the operator ever writes."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was seen of a fault.

    Attributes:
        date: Day of the run.
        writes: How often the operator changed each target.
        wanted_writes: How often it should have.
        profiles: The profile on which each target should be.
        struck_writes: Changes of targets while the fault lasted.
        blind: Whether there should be none.
        endings: How each target ended.
        written: Kinds that the operator wrote.
        most_at_once: Most rolls that were under way at one time.
        budget: Most that may be.
        most_lacking: Most Ready replicas that a target lacked at a time.
        calls: Answers of the API server, or in its place, while the fault lasted, by HTTP status.
        struck_s: Seconds that the fault lasted.
        recovery_s: Seconds from its end to an edit that was answered in the status, with telemetry
            available again for every serving; `None` when that did not come.
        restarts: How often the operator was started again.
        notes: What else was seen.
        complaints: What broke a promise that only this fault makes.
    """

    date: str
    writes: dict[str, int]
    wanted_writes: dict[str, int]
    profiles: dict[str, str]
    struck_writes: int
    blind: bool
    endings: dict[str, Ending]
    written: tuple[str, ...]
    most_at_once: int
    budget: int
    most_lacking: int
    calls: dict[str, int]
    struck_s: float
    recovery_s: float | None
    restarts: int
    notes: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()

    def broken(self) -> list[str]:
        """Say what of the promise is not kept; empty when all of it is."""
        told = list(self.complaints)
        for name, each in self.endings.items():
            told += [f"{name}: {what}" for what in broken_ending(each, self.profiles[name])]
            times = self.writes.get(name, 0)
            if times != self.wanted_writes[name]:
                told.append(f"{name}: written {times} times, not {self.wanted_writes[name]}")
        if not self.endings:
            told.append("no target was looked at")
        if self.blind and self.struck_writes:
            told.append(f"{self.struck_writes} writes of targets while it was blind")
        if self.most_at_once > self.budget:
            told.append(f"{self.most_at_once} rolls at once, {self.budget} may be")
        if self.most_lacking > 0:
            told.append(f"a target lacked {self.most_lacking} Ready replicas")
        told += [f"it wrote {each}" for each in self.written if each not in OWN]
        if self.recovery_s is None:
            told.append("an edit made at the end of the fault was not answered")
        return told

    def told(self) -> str:
        """Return it for a table."""
        rolled = sum(self.writes.values())
        parts = [f"{rolled} {'roll' if rolled == 1 else 'rolls'}"]
        parts.append(f"{self.struck_writes} of them begun in it")
        if self.restarts:
            parts.append(f"operator restarted {self.restarts} ×")
        return "; ".join([*parts, *self.notes])


def broken_ending(each: Ending, profile: str) -> list[str]:
    """Say what of the promise for a target is not kept.

    Args:
        each: How it ended.
        profile: On which profile it should be; empty for a target that stays as it was.
    """
    if profile:
        told = each.broken()
    else:
        # It never rolled, so there is no roll whose end could be told.
        told = dataclasses.replace(each, state="Finished").broken()
        if each.state:
            told.append(f"a roll is {each.state}, and none was due")
    if each.profiles != (profile,):
        told.append(f"its Pods are on {', '.join(map(repr, each.profiles))}, not {profile!r}")
    return told


Rows = dict[str, Seen]
"""Fault → what was seen."""


def load(path: Path = RECORD) -> Rows:
    """Read what was seen; empty where nothing was yet."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {fault: _seen(each) for fault, each in data.items()}


def dump(rows: Mapping[str, Seen], path: Path = RECORD) -> None:
    """Write what was seen."""
    data = {fault: dataclasses.asdict(each) for fault, each in rows.items()}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _seen(data: dict[str, Any]) -> Seen:
    endings = {name: Ending(**_tuples(each)) for name, each in data.pop("endings").items()}
    return Seen(endings=endings, **_tuples(data))


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
