"""What the control law remembers as it stands in status, and when it is worth writing.

The peak of today changes every five minutes; it is written when it rises by more than a twentieth
and when the day turns, so that a steady state writes nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.policy.law.memory import Learned, SlowMemory, Turn
from ridgeline.policy.law.peak import PeakDay, PeakSketch
from ridgeline.policy.law.terms import LawMode
from ridgeline.terms.times import epoch_seconds, timestamp

RISE: Final = 1.05
"""A peak that is higher than the written one by this factor is worth writing."""

_MOST: Final = 1e12
_MOST_MILLI: Final = 10**15


def control_document(slow: SlowMemory, standing: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what status is to hold: what stands there unless something worth writing changed.

    Args:
        slow: What the law remembers now.
        standing: What status holds, `None` for nothing.
    """
    document = law_document(slow)
    if not standing or document is None or _differs(standing, document):
        return document
    return dict(standing)


def _differs(standing: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    if {**standing, "peak": None} != {**document, "peak": None}:
        return True
    try:
        before = _peak_of(standing.get("peak") or {}).days
    except (AttributeError, KeyError, TypeError, ValueError):
        return True
    after = _peak_of(document.get("peak") or {}).days
    if [each.day for each in before] != [each.day for each in after]:
        return True
    pairs = zip(before, after, strict=True)
    return any(_top(now) > RISE * _top(then) for then, now in pairs)


def law_document(slow: SlowMemory) -> dict[str, Any] | None:
    """Return what status holds of it; `None` when there is nothing to hold."""
    document: dict[str, Any] = {}
    if slow.modes:
        document["modes"] = [mode.value for mode in slow.modes]
    if slow.running is not None:
        document["running"] = slow.running
    if slow.turn is not None:
        document["turn"] = {
            "time": timestamp(slow.turn.at),
            "from": slow.turn.from_profile,
            "to": slow.turn.to_profile,
            "demandMilli": _milli(slow.turn.demand),
            "concurrencyMilli": _milli(slow.turn.concurrency),
        }
    if slow.learned:
        document["lessons"] = [_lesson(each) for each in slow.learned]
    if slow.locked_until is not None:
        document["lockedUntil"] = timestamp(slow.locked_until)
    if slow.starts:
        document["starts"] = [
            {"profile": name, "seconds": round(seconds)} for name, seconds in slow.starts
        ]
    if slow.roll_seen is not None:
        document["rollSeen"] = timestamp(slow.roll_seen)
    if slow.peak.days:
        document["peak"] = _peak(slow.peak)
    return document or None


def law_memory_of(status: Mapping[str, Any]) -> SlowMemory:
    """Read it back; what cannot be read is forgotten as a whole."""
    entry = status.get("control")
    if not entry:
        return SlowMemory()
    try:
        return SlowMemory(
            peak=_peak_of(entry.get("peak") or {}),
            modes=tuple(LawMode(each) for each in entry.get("modes") or ()),
            running=_name(entry.get("running")),
            turn=_turn_of(entry["turn"]) if entry.get("turn") else None,
            learned=tuple(_lesson_of(each) for each in entry.get("lessons") or ()),
            locked_until=_moment(entry.get("lockedUntil")),
            starts=tuple(
                (str(each["profile"]), 1000.0 * _amount(each["seconds"]))
                for each in entry.get("starts") or ()
            ),
            roll_seen=_moment(entry.get("rollSeen")),
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return SlowMemory()


def _lesson(lesson: Learned) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "quieter": lesson.quieter,
        "busier": lesson.busier,
        "time": timestamp(lesson.at),
    }
    for name, value in (
        ("offDemandMilli", lesson.off_demand),
        ("onDemandMilli", lesson.on_demand),
        ("onConcurrencyMilli", lesson.on_concurrency),
    ):
        if value is not None:
            entry[name] = _milli(value)
    return entry


def _peak(sketch: PeakSketch) -> dict[str, Any]:
    document: dict[str, Any] = {
        "days": [
            {
                "day": each.day,
                "slots": each.slots,
                "highestDemandMilli": [_milli(value) for value in each.highest],
            }
            for each in sketch.days
        ]
    }
    if sketch.first_day is not None:
        document["firstDay"] = sketch.first_day
    return document


def _peak_of(entry: Mapping[str, Any]) -> PeakSketch:
    return PeakSketch(
        days=tuple(
            PeakDay(
                day=int(each["day"]),
                slots=int(each["slots"]),
                highest=tuple(_amount(value) for value in each.get("highestDemandMilli") or ()),
            )
            for each in entry.get("days") or ()
        ),
        first_day=None if entry.get("firstDay") is None else int(entry["firstDay"]),
    )


def _turn_of(entry: Mapping[str, Any]) -> Turn:
    return Turn(
        at=epoch_seconds(entry["time"]),
        from_profile=str(entry["from"]),
        to_profile=str(entry["to"]),
        demand=_amount(entry["demandMilli"]),
        concurrency=_amount(entry["concurrencyMilli"]),
    )


def _lesson_of(entry: Mapping[str, Any]) -> Learned:
    def told(name: str) -> float | None:
        return None if entry.get(name) is None else _amount(entry[name])

    return Learned(
        quieter=str(entry["quieter"]),
        busier=str(entry["busier"]),
        at=epoch_seconds(entry["time"]),
        off_demand=told("offDemandMilli"),
        on_demand=told("onDemandMilli"),
        on_concurrency=told("onConcurrencyMilli"),
    )


def _name(text: object) -> str | None:
    return text if isinstance(text, str) else None


def _moment(text: object) -> float | None:
    return epoch_seconds(text) if isinstance(text, str) else None


def _amount(thousandths: object) -> float:
    if not isinstance(thousandths, int) or not 0 <= thousandths <= _MOST_MILLI:
        raise ValueError(f"{thousandths!r} is no number of thousandths")
    return thousandths / 1000.0


def _milli(value: float) -> int:
    """Return thousandths with four digits: what changes less is not worth a write."""
    return round(float(f"{1000.0 * min(max(value, 0.0), _MOST):.4g}"))


def _top(day: PeakDay) -> float:
    return day.highest[0] if day.highest else 0.0
