"""Demand D: the decode tokens per second that the fleet is asked for, served or not.

    D = Σ generated tokens per second + mean answer · d(waiting)/dt

What is served alone stops rising when the servers are full; the growth of the queue tells the rest,
and its shrinking takes back what is served late. Both are smoothed by the time that really passed:

    D ← D + (1 − e^(−dt/window)) · (sample − D)

After a gap (nobody looked, or nothing was seen) smoothing starts afresh from the next sample, which
telemetry already took over its own window: time passed blind is no evidence.
"""

import math

HIGH_SECONDS = 60
"""Width of the buckets of the recent maximum."""

HIGHS = 6
"""Buckets kept: the five minutes before now, and the one under way."""


def observed_demand(
    *,
    generated: float,
    waiting_before: float | None,
    waiting_now: float | None,
    mean_output: float | None,
    seconds: float,
) -> float:
    """Return one sample of demand, tokens per second; it may be negative for a moment.

    Args:
        generated: Output tokens per second.
        waiting_before: Requests waiting at the look before; `None` when not comparable.
        waiting_now: Requests waiting now; `None` when not known.
        mean_output: Mean answer in tokens; `None` when not known.
        seconds: Time between the two looks.
    """
    if waiting_before is None or waiting_now is None or mean_output is None or seconds <= 0:
        return generated
    return generated + mean_output * (waiting_now - waiting_before) / seconds


def smooth(before: float | None, sample: float, seconds: float, window: float) -> float:
    """Return the smoothed signal after a sample that `seconds` have passed for."""
    if before is None:
        return sample
    return before - math.expm1(-max(0.0, seconds) / window) * (sample - before)


def with_high(
    highs: tuple[tuple[int, float], ...],
    demand: float,
    now: float,
    slot_seconds: float = HIGH_SECONDS,
) -> tuple[tuple[int, float], ...]:
    """Return the highest demands by slot (of a minute) after another look."""
    minute = math.floor(now / slot_seconds)
    kept = [each for each in highs if minute - HIGHS < each[0] <= minute]
    if kept and kept[-1][0] == minute:
        kept[-1] = (minute, max(kept[-1][1], demand))
    else:
        kept.append((minute, demand))
    return tuple(kept)


def recent_high(highs: tuple[tuple[int, float], ...]) -> float:
    """Return the highest smoothed demand of the last five minutes."""
    return max((demand for _, demand in highs), default=0.0)
