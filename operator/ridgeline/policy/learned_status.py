"""What was learned as it stands in status: whole per cents, and read back from there."""

import math
from collections.abc import Mapping
from typing import Any, Final

from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.terms.times import epoch_seconds, timestamp

_MOST_SCALE: Final = 10_000
_BASIS_LIMIT: Final = 512


def learned_document(learned: Learned) -> dict[str, Any]:
    """Return what status holds of it."""
    document: dict[str, Any] = {
        "basis": learned.basis[:_BASIS_LIMIT],
        "time": timestamp(learned.written_at),
    }
    if learned.context_tokens is not None:
        document["contextTokens"] = round(learned.context_tokens)
    if learned.prefill_per_token is not None:
        document["prefillPercent"] = round(100 * learned.prefill_per_token)
    profiles = [_arm_document(each) for each in learned.arms]
    if profiles:
        document["profiles"] = profiles
    return document


def _arm_document(arm: LearnedArm) -> dict[str, Any]:
    scale = round(100 * math.exp(arm.log_scale))
    entry: dict[str, Any] = {
        "profile": arm.profile,
        "stepTimePercent": min(max(scale, 1), _MOST_SCALE),
        "windows": arm.windows,
    }
    if arm.acceptance:
        entry["acceptancePercent"] = [round(100 * rate) for rate in arm.acceptance]
    if arm.drafted is not None:
        entry["draftedPercent"] = round(100 * arm.drafted)
    return entry


def learned_of(status: Mapping[str, Any]) -> Learned | None:
    """Read it back; `None` when there is none or it cannot be read: it is learned anew then."""
    entry = status.get("learned")
    if not entry:
        return None
    try:
        prefill, context = entry.get("prefillPercent"), entry.get("contextTokens")
        return Learned(
            basis=str(entry["basis"]),
            context_tokens=None if context is None else max(0.0, _number(context)),
            prefill_per_token=None if prefill is None else max(0.0, _number(prefill) / 100),
            arms=tuple(_arm_of(each) for each in entry.get("profiles") or ()),
            written_at=epoch_seconds(entry["time"]),
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def _arm_of(entry: Mapping[str, Any]) -> LearnedArm:
    drafted = entry.get("draftedPercent")
    return LearnedArm(
        profile=str(entry["profile"]),
        acceptance=_falling([_number(each) / 100 for each in entry.get("acceptancePercent") or ()]),
        drafted=None if drafted is None else _share(_number(drafted) / 100),
        log_scale=math.log(_number(entry.get("stepTimePercent", 100)) / 100),
        windows=max(0, int(_number(entry.get("windows", 0)))),
    )


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, str) or not math.isfinite(number):
        raise ValueError(f"{value!r} is no finite number")
    return number


def _falling(rates: list[float]) -> tuple[float, ...]:
    ceiling, falling = 1.0, []
    for rate in rates:
        ceiling = min(_share(rate), ceiling)
        falling.append(ceiling)
    return tuple(falling)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
