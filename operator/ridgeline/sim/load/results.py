"""What became of the requests, in constant memory."""

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

_SMALLEST_S = 1e-4
_GROWTH = 1.05
_BUCKETS = 380
"""From 0.1 ms to over three hours in steps of 5 %."""


@dataclass(frozen=True, kw_only=True)
class RequestResult:
    """One request, with all its attempts.

    Attributes:
        target: The base URL of the last attempt.
        started_s: When it was first sent, on the generator's clock.
        latency_s: From then to the last byte of the answer, or to the last error.
        ttft_s: From the last attempt's start to its first token; None without a stream.
        tpot_s: Mean time per token after the first; None without a stream or a second token.
        tokens: Generated tokens, as the server counts them; 0 after an error.
        error: The kind of the last error, or None.
    """

    target: str
    started_s: float
    latency_s: float
    ttft_s: float | None = None
    tpot_s: float | None = None
    tokens: int = 0
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Seconds: count, mean and quantiles (within 2.5 %); all 0 without a sample."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a run did, so far or in all.

    Attributes:
        elapsed_s: Seconds since the run began.
        begun: Requests begun.
        answered: Requests answered in full.
        failed: Requests given up after an error.
        unfinished: Requests cut off by the end of the run.
        dropped: Arrivals that found too many requests in flight.
        retried: Attempts that were made again.
        tokens: Generated tokens of the answered requests.
        errors: Every error by kind, those that a retry mended included.
        by_target: Answered requests per base URL.
    """

    elapsed_s: float
    begun: int
    answered: int
    failed: int
    unfinished: int
    dropped: int
    retried: int
    tokens: int
    errors: dict[str, int]
    by_target: dict[str, int]
    latency: Distribution
    ttft: Distribution
    tpot: Distribution

    @property
    def tokens_per_s(self) -> float:
        """Generated tokens per second of the run."""
        return self.tokens / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain data."""
        return asdict(self) | {"tokens_per_s": self.tokens_per_s}


class Sketch:
    """Quantiles of positive seconds from buckets that grow by 5 %."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._count = 0
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Takes one sample; what is not a finite number is refused.

        Raises:
            ValueError: ``seconds`` is infinite or not a number.
        """
        if not math.isfinite(seconds):
            raise ValueError(f"a time of {seconds} s cannot be aggregated")
        place = math.log(max(seconds, _SMALLEST_S) / _SMALLEST_S) / math.log(_GROWTH)
        self._counts[min(_BUCKETS - 1, int(place))] += 1
        self._count += 1
        self._sum += seconds

    def distribution(self) -> Distribution:
        """The samples so far."""
        return Distribution(
            count=self._count,
            mean=self._sum / self._count if self._count else 0.0,
            p50=self._quantile(0.5),
            p90=self._quantile(0.9),
            p99=self._quantile(0.99),
        )

    def _quantile(self, q: float) -> float:
        rank, seen = q * self._count, 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= rank:
                return float(_SMALLEST_S * _GROWTH ** (bucket + 0.5))
        return 0.0


@dataclass(kw_only=True)
class Aggregate:
    """Adds results up."""

    begun: int = 0
    answered: int = 0
    failed: int = 0
    unfinished: int = 0
    dropped: int = 0
    retried: int = 0
    tokens: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    by_target: Counter[str] = field(default_factory=Counter)
    latency: Sketch = field(default_factory=Sketch)
    ttft: Sketch = field(default_factory=Sketch)
    tpot: Sketch = field(default_factory=Sketch)

    def add(self, result: RequestResult) -> None:
        """Takes one request that came to its end."""
        if result.error is not None:
            self.failed += 1
            return
        self.answered += 1
        self.tokens += result.tokens
        self.by_target[result.target] += 1
        self.latency.add(result.latency_s)
        if result.ttft_s is not None:
            self.ttft.add(result.ttft_s)
        if result.tpot_s is not None:
            self.tpot.add(result.tpot_s)

    def summary(self, elapsed_s: float) -> Summary:
        """Everything so far."""
        return Summary(
            elapsed_s=elapsed_s,
            begun=self.begun,
            answered=self.answered,
            failed=self.failed,
            unfinished=self.unfinished,
            dropped=self.dropped,
            retried=self.retried,
            tokens=self.tokens,
            errors=dict(self.errors),
            by_target=dict(self.by_target),
            latency=self.latency.distribution(),
            ttft=self.ttft.distribution(),
            tpot=self.tpot.distribution(),
        )
