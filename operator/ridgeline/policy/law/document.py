"""Slow memory as a document for status, and back.

Reading is total: what is missing, not finite or not of its type is as if it had never been learned,
so a hand-edited or older status costs experience and never a decision.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from ridgeline.policy.law.memory import Learned, SlowMemory, Turn
from ridgeline.policy.law.peak import DAYS_BEFORE, TOP, PeakDay, PeakSketch
from ridgeline.policy.law.terms import LawMode

Document = Mapping[str, Any]

MOST_ITEMS: Final = 16
SLOTS_BETWEEN_WRITES: Final = 12
"""The peak alone is written once an hour: a crash loses that much of it at most."""

_T = TypeVar("_T")


def slow_document(slow: SlowMemory) -> dict[str, Any]:
    """Return slow memory as a document; what is empty or not known has no key."""
    turn = slow.turn
    found = {
        "peak": {
            "firstDay": slow.peak.first_day,
            "days": [
                {"day": each.day, "slots": each.slots, "highest": list(each.highest)}
                for each in slow.peak.days
            ],
        }
        if slow.peak.days
        else None,
        "modes": [mode.value for mode in slow.modes],
        "running": slow.running,
        "turn": turn
        and {
            "at": turn.at,
            "from": turn.from_profile,
            "to": turn.to_profile,
            "demand": _short(turn.demand),
            "concurrency": _short(turn.concurrency),
        },
        "learned": [_lesson(each) for each in slow.learned],
        "lockedUntil": slow.locked_until,
        "starts": [
            {"profile": profile, "seconds": _short(seconds)} for profile, seconds in slow.starts
        ],
        "rollSeen": slow.roll_seen,
    }
    return {key: value for key, value in found.items() if value not in (None, [])}


def _lesson(lesson: Learned) -> dict[str, Any]:
    limits = {
        "offDemand": lesson.off_demand,
        "onDemand": lesson.on_demand,
        "onConcurrency": lesson.on_concurrency,
    }
    known = {key: _short(value) for key, value in limits.items() if value is not None}
    return {"quieter": lesson.quieter, "busier": lesson.busier, "at": lesson.at, **known}


def must_write(written: SlowMemory, now: SlowMemory) -> bool:
    """Tell whether slow memory differs from what was written by more than an hour of the peak."""
    if replace(written, peak=now.peak) != now:
        return True
    return _progress(now.peak) - _progress(written.peak) >= SLOTS_BETWEEN_WRITES


def _progress(sketch: PeakSketch) -> int:
    """Return slots seen up to now, on a scale that a new day goes on with."""
    return sketch.days[-1].day * 288 + sketch.days[-1].slots if sketch.days else 0


def slow_from(document: object) -> SlowMemory:
    """Return the slow memory of a document; of anything else, empty memory."""
    if not isinstance(document, Mapping):
        return SlowMemory()
    return SlowMemory(
        peak=_peak(document.get("peak")),
        modes=tuple(LawMode(each) for each in _list(document, "modes") if each in list(LawMode)),
        running=_text(document, "running"),
        turn=_turn(document.get("turn")),
        learned=tuple(_each(document, "learned", _learned)),
        locked_until=_number(document, "lockedUntil"),
        starts=tuple(_each(document, "starts", _start)),
        roll_seen=_number(document, "rollSeen"),
    )


def _peak(document: object) -> PeakSketch:
    if not isinstance(document, Mapping):
        return PeakSketch()
    days = sorted(_each(document, "days", _day), key=lambda each: each.day)
    first = _number(document, "firstDay")
    if len({each.day for each in days}) != len(days):
        return PeakSketch()
    return PeakSketch(
        days=tuple(days[-DAYS_BEFORE - 1 :]), first_day=None if first is None else int(first)
    )


def _day(document: Document) -> PeakDay | None:
    day, slots = _number(document, "day"), _number(document, "slots")
    values = _list(document, "highest")
    if day is None or slots is None or not values or not all(_is_number(each) for each in values):
        return None
    highest = sorted((float(each) for each in values[:TOP]), reverse=True)
    return PeakDay(day=int(day), slots=int(slots), highest=tuple(highest))


def _turn(document: object) -> Turn | None:
    if not isinstance(document, Mapping):
        return None
    at, demand = _number(document, "at"), _number(document, "demand")
    source, target = _text(document, "from"), _text(document, "to")
    level = _number(document, "concurrency")
    if at is None or demand is None or level is None or source is None or target is None:
        return None
    return Turn(at=at, from_profile=source, to_profile=target, demand=demand, concurrency=level)


def _learned(document: Document) -> Learned | None:
    quieter, busier = _text(document, "quieter"), _text(document, "busier")
    at = _number(document, "at")
    if quieter is None or busier is None or at is None:
        return None
    return Learned(
        quieter=quieter,
        busier=busier,
        at=at,
        off_demand=_number(document, "offDemand"),
        on_demand=_number(document, "onDemand"),
        on_concurrency=_number(document, "onConcurrency"),
    )


def _start(document: Document) -> tuple[str, float] | None:
    profile, seconds = _text(document, "profile"), _number(document, "seconds")
    return None if profile is None or seconds is None else (profile, seconds)


def _each(document: Document, key: str, read: Callable[[Document], _T | None]) -> Iterator[_T]:
    for item in _list(document, key):
        found = read(item) if isinstance(item, Mapping) else None
        if found is not None:
            yield found


def _list(document: Document, key: str) -> list[Any]:
    value = document.get(key)
    return value[:MOST_ITEMS] if isinstance(value, list) else []


def _text(document: Document, key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) else None


def _number(document: Document, key: str) -> float | None:
    value: Any = document.get(key)
    return float(value) if _is_number(value) else None


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value <= 1e15 and math.isfinite(value)


def _short(value: float) -> float:
    return float(f"{value:.6g}")
