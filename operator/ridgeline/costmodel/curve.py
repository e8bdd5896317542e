"""Throughput of one engine by concurrency, as sampled points; what the control law reckons with."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import le, lt


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Tokens per second that one engine delivers on one profile, by concurrency.

    Between points the curve is straight, below the first it is straight through the origin, above
    the last it is flat: the engine admits no more requests.

    Attributes:
        profile: Name of the profile.
        concurrency: Requests in decode per engine, rising, the first positive.
        tokens_per_second: Output tokens per second at each; never falling.

    Raises:
        ValueError: When there is no point, lengths differ, or the points are not as above.
    """

    profile: str
    concurrency: tuple[float, ...]
    tokens_per_second: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse a curve that could not be read backwards."""
        if not self.concurrency or len(self.concurrency) != len(self.tokens_per_second):
            raise ValueError(f"curve of {self.profile}: give as many speeds as concurrencies")
        _require_rising(self.profile, self.concurrency, strictly=True)
        _require_rising(self.profile, self.tokens_per_second, strictly=False)

    @property
    def capacity(self) -> float:
        """Most tokens per second that one engine delivers."""
        return self.tokens_per_second[-1]

    def tokens_at(self, concurrency: float) -> float:
        """Return the tokens per second at a concurrency."""
        return _interpolate(concurrency, self.concurrency, self.tokens_per_second)

    def concurrency_at(self, tokens_per_second: float) -> float | None:
        """Return the concurrency at which the engine delivers so much; `None` if it never does."""
        if tokens_per_second > self.capacity:
            return None
        return _interpolate(tokens_per_second, self.tokens_per_second, self.concurrency)

    def seconds_per_token_at(self, concurrency: float) -> float:
        """Return the time per output token that one request sees at a concurrency above 0."""
        if not (math.isfinite(concurrency) and concurrency > 0):
            raise ValueError(f"concurrency is {concurrency}: give a positive number")
        return concurrency / self.tokens_at(concurrency)


def _interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    if x <= 0:
        return 0.0
    if x >= xs[-1]:
        return ys[-1]
    right = bisect_left(xs, x)
    left_x, left_y = (xs[right - 1], ys[right - 1]) if right else (0.0, 0.0)
    width = xs[right] - left_x
    share = (x - left_x) / width if width > 0 else 1.0
    return left_y + share * (ys[right] - left_y)


def _require_rising(profile: str, values: Sequence[float], *, strictly: bool) -> None:
    # The common case in one go: what rises from above 0 to a finite end is finite throughout, and
    # NaN compares as false.
    compare = lt if strictly else le
    if values[0] > 0 and math.isfinite(values[-1]) and all(map(compare, values, values[1:])):
        return
    previous = 0.0
    for value in values:
        if not math.isfinite(value) or value < previous or value <= 0:
            raise ValueError(f"curve of {profile}: {value} after {previous} does not rise")
        if strictly and value == previous:
            raise ValueError(f"curve of {profile}: {value} stands twice")
        previous = value
