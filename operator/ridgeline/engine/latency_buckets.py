"""Whether a server's latency buckets can tell an objective, and which buckets can.

A quantile of a histogram is known no finer than the bucket that it lies in: two P99 of one bucket
do not differ, and a band narrower than a bucket means nothing. An objective is *resolved* when a
bound lies at it, so that "more than 1 in 100 requests exceed it" is counted and not interpolated,
and the buckets on both of its sides are narrow, so that coming near to it shows.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.engine.flags import flag_value

DEFAULT_BOUNDS: Final = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0),
)
"""Bounds in seconds of vLLM's histograms of time per output token and inter-token latency, the same
from 0.8.5 to 0.33.0 (read from the released packages)."""

FAMILY: Final = "inter_token_latency"
"""vLLM's name for the bounds that both histograms share."""
FLAG: Final = "--custom-histogram-buckets"
FLAG_SINCE: Final = (0, 32)

AT: Final = 0.02
"""A bound this near to the objective, as a share of it, lies at it."""
WIDEST: Final = 0.25
"""Widest bucket beside the objective, as a share of it."""

_OFFERED: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
"""Bounds to offer, as shares of the objective: fine where decisions fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFinding:
    """Why an objective cannot be told, and what would help.

    Attributes:
        message: For a person; it names both.
        bounds: Bounds in seconds that resolve the objective.
        argument: The server's argument that sets them, `None` where its version has none.
    """

    message: str
    bounds: tuple[float, ...]
    argument: str | None


def present_bounds(words: Sequence[str]) -> tuple[float, ...]:
    """Return the bounds in seconds that a server with these arguments has.

    Those of the last `--custom-histogram-buckets`; the defaults where it sets none for this family,
    or says what no server would start with.
    """
    told = flag_value(words, (FLAG,))
    for index, word in enumerate(words):
        name, equals, inline = word.partition("=")
        if name.replace("_", "-") == FLAG:
            # One argument may hold JSON with spaces, which words of a script cannot.
            told = inline if equals else next(iter(words[index + 1 : index + 2]), "")
    try:
        families = json.loads(told)
        bounds = tuple(float(bound) for bound in families[FAMILY])
    except (ValueError, TypeError, KeyError, RecursionError):
        return DEFAULT_BOUNDS
    return bounds if bounds and all(map(math.isfinite, bounds)) else DEFAULT_BOUNDS


def bucket_finding(
    bounds: Iterable[float], objective_seconds: float, *, engine_version: str | None = None
) -> BucketFinding | None:
    """Say when buckets cannot resolve a P99 objective of the time per output token.

    Args:
        bounds: Upper bounds of the present buckets in seconds; infinite ones are passed over.
        objective_seconds: The objective.
        engine_version: Version of the server, such as `0.24.0`; `None` when it is not known.

    Returns:
        `None` when they resolve it.

    Raises:
        ValueError: The objective is not finite or not above 0.
    """
    if not 0 < objective_seconds < math.inf:
        raise ValueError(
            f"objective_seconds: {objective_seconds!r} must be finite and above 0 seconds"
        )
    present = tuple(sorted({bound for bound in bounds if 0 < bound < math.inf}))
    why = _unresolved(present, objective_seconds)
    if why is None:
        return None
    offered = _offered(present, objective_seconds)
    buckets = json.dumps({FAMILY: offered}, separators=(",", ":"))
    if engine_version is not None and not _has_flag(engine_version):
        since = ".".join(map(str, FLAG_SINCE))
        way_out = f"vLLM {engine_version} cannot change its buckets, {since} and later can"
        return BucketFinding(message=f"{why}; {way_out}", bounds=offered, argument=None)
    argument = f"{FLAG}={buckets}"
    return BucketFinding(
        message=f"{why}; add the argument {argument} to the server",
        bounds=offered,
        argument=argument,
    )


def _has_flag(version: str) -> bool:
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) >= FLAG_SINCE


def _unresolved(bounds: tuple[float, ...], objective: float) -> str | None:
    """Why the objective is not resolved; `None` when it is."""
    told = f"the objective of {_ms(objective)} for the P99 of the time per output token"
    at = min(bounds, key=lambda bound: abs(bound - objective), default=None)
    if at is None or abs(at - objective) > AT * objective:
        below, above = _around(bounds, objective)
        span = f"above {_ms(below)}" if above is None else f"from {_ms(below)} to {_ms(above)}"
        return f"{told} lies inside the bucket {span}, where a P99 is interpolated"
    place = bounds.index(at)
    below = bounds[place - 1] if place else 0.0
    above = bounds[place + 1] if place + 1 < len(bounds) else None
    widest = WIDEST * objective
    if above is not None and at - below <= widest and above - at <= widest:
        return None
    end = "without end" if above is None else f"to {_ms(above)}"
    return (
        f"{told} has wide buckets beside it (from {_ms(below)} to {_ms(at)}, then {end}): whether "
        "a P99 comes near it cannot be told"
    )


def _around(bounds: tuple[float, ...], objective: float) -> tuple[float, float | None]:
    place = bisect_left(bounds, objective)
    return (bounds[place - 1] if place else 0.0), (bounds[place] if place < len(bounds) else None)


def _offered(present: tuple[float, ...], objective: float) -> tuple[float, ...]:
    """The present bounds away from the objective, and fine ones around it."""
    fine = [float(f"{share * objective:.4g}") for share in _OFFERED]
    coarse = [bound for bound in present if bound < 0.9 * fine[0] or bound > 1.1 * fine[-1]]
    return tuple(sorted({*coarse, *fine}))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.7g} ms"
