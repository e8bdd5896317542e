"""The totals of one engine over one window, and the facts that they give.

Rates are the growth between the first and the last sample of the window over the time between them:
nothing is extrapolated. A window belongs to one process: when any total falls, or the server gives
another start, what was kept is dropped and a new window begins, so no rate ever spans a restart.
"""

from collections import deque
from dataclasses import replace
from typing import Final, NamedTuple

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.arithmetic import fast_numbers, ratio, steady_acceptance, usable
from ridgeline.telemetry.finish_reasons import Finished, finished_of, reason_of
from ridgeline.telemetry.scrape_longest import LongestAnswers
from ridgeline.telemetry.scrape_page import COUNTERS, EngineTotals, Histogram
from ridgeline.telemetry.scrape_quantile import Quantile, quantile_of

COVERED_SHARE: Final = 0.45
"""Share of the window that samples must span before any rate is told: a mean over a few seconds is
no mean over the window. Half of it, less what the moments of scrapes vary by."""

KEPT_SAMPLES: Final = 16
"""About so many samples are kept of a window; more would only cost memory."""

SAME_START_SECONDS: Final = 1.0
"""Starts further apart are two starts; a process tells one time, of which the rounding may vary."""

_P99: Final = 0.99
_LONGEST: Final = "longest_answer"


class _Sample(NamedTuple):
    at: float
    totals: EngineTotals


class EngineWindow:
    """Keeps samples of one engine of one process, in the order of their times."""

    def __init__(self, window_seconds: float) -> None:
        self._window_seconds = window_seconds
        self._samples: deque[_Sample] = deque()
        self._longest = LongestAnswers()

    def add(self, at: float, totals: EngineTotals) -> None:
        """Keep the totals of the moment `at` (epoch seconds); what is too old is dropped.

        A clock that went back, a total that fell or another start begins the window anew.
        """
        samples = self._samples
        if samples and (at <= samples[-1].at or _restarted(samples[-1].totals, totals)):
            samples.clear()
            self._longest = LongestAnswers()
        self._longest.add(at, totals.histograms.get(_LONGEST))
        if len(samples) >= 2 and at - samples[-2].at < self._window_seconds / KEPT_SAMPLES:
            samples.pop()
        samples.append(_Sample(at, _without_longest(totals)))
        self._drop_old(at)

    def covered_seconds(self, now: float) -> float:
        """How much of the window the samples span at `now`; 0 with fewer than two."""
        self._drop_old(now)
        return self._samples[-1].at - self._samples[0].at if self._samples else 0.0

    def covered(self, now: float) -> bool:
        """Whether the samples span enough of the window for rates."""
        return self.covered_seconds(now) >= COVERED_SHARE * self._window_seconds

    def empty(self, now: float) -> bool:
        """Whether no sample is in the window any more."""
        self._drop_old(now)
        return not self._samples

    def facts(self, engine: str, now: float) -> EngineFacts | None:
        """Facts of the engine at `now`; `None` until the samples cover enough of the window."""
        if not self.covered(now):
            return None
        first, last = self._samples[0], self._samples[-1]
        growth = _Growth(first.totals, last.totals, last.at - first.at)
        return _facts(engine, max(0.0, now - last.at), growth, self._longest.at(now))

    def _drop_old(self, now: float) -> None:
        while self._samples and self._samples[0].at <= now - self._window_seconds:
            self._samples.popleft()


def _without_longest(totals: EngineTotals) -> EngineTotals:
    """What is kept for rates: a histogram less in each sample."""
    kept = {name: each for name, each in totals.histograms.items() if name != _LONGEST}
    return replace(totals, histograms=kept)


def _restarted(old: EngineTotals, new: EngineTotals) -> bool:
    """Whether another process answers: a total fell, or the start is another."""
    if any(
        new.values[name] < old.values[name]
        for name in COUNTERS
        if name in old.values and name in new.values
    ):
        return True
    starts = ((old.created, new.created), (old.process_start, new.process_start))
    return any(
        before is not None and after is not None and abs(before - after) > SAME_START_SECONDS
        for before, after in starts
    )


class _Growth:
    """What grew between two moments of one process, per second."""

    def __init__(self, old: EngineTotals, new: EngineTotals, seconds: float) -> None:
        self._old = old
        self._new = new
        self._seconds = seconds

    def rate(self, name: str) -> float | None:
        """Growth per second of a counter; `None` unless both moments have it."""
        before, after = self._old.values.get(name), self._new.values.get(name)
        if before is None or after is None:
            return None
        return usable((after - before) / self._seconds)

    def gauge(self, name: str) -> float | None:
        """The newest value of a gauge."""
        return usable(self._new.values.get(name))

    def steps(self) -> float | None:
        """Engine steps per second; `None` where each of several processes counts them."""
        return None if self._new.created is None else self.rate("engine_steps")

    def acceptance(self) -> tuple[float, ...] | None:
        """Acceptance p_i; `None` where it is not known without bias."""
        before, after = self._old.accepted, self._new.accepted
        if not after or len(before) != len(after):
            return None
        return steady_acceptance(
            tuple((new - old) / self._seconds for old, new in zip(before, after, strict=True)),
            drafts=self.rate("drafts"),
            draft_tokens=self.rate("draft_tokens"),
            drafted_share=ratio(self.rate("drafts"), self.rate("request_steps")),
        )

    def finished(self) -> Finished | None:
        """Requests per second that finished, by reason; `None` where that is not told."""
        before, after = self._old.finished, self._new.finished
        return finished_of(
            (reason_of(each), (after[each] - before[each]) / self._seconds)
            for each in sorted(after.keys() & before.keys())
        )

    def not_finite(self) -> tuple[str, ...]:
        """Signals that were NaN or infinite at either moment."""
        return tuple(sorted({*self._old.not_finite, *self._new.not_finite}))

    def p99(self, name: str) -> Quantile | None:
        """P99 of what a histogram counted between the two moments."""
        old, new = self._old.histograms.get(name), self._new.histograms.get(name)
        if old is None or new is None or old[0] != new[0]:
            return None
        return quantile_of(_P99, new[0], _difference(old, new))


def _difference(old: Histogram, new: Histogram) -> tuple[float, ...]:
    return tuple(after - before for before, after in zip(old[1], new[1], strict=True))


def _facts(
    engine: str, age: float, growth: _Growth, longest: tuple[float | None, bool]
) -> EngineFacts:
    rate, gauge = growth.rate, growth.gauge
    numbers = fast_numbers(
        inter_token_seconds=rate("decode_concurrency"),
        request_steps=rate("request_steps"),
        generated=rate("generated_tokens"),
        first=rate("first_tokens"),
    )
    tpot, step = growth.p99("tpot_p99"), growth.p99("step_latency_p99")
    return EngineFacts(
        engine=engine,
        age_seconds=age,
        decode_concurrency=numbers.decode_concurrency,
        request_steps_per_second=numbers.request_steps_per_second,
        # Also where the mean batch is unknown: who has steps was looked at for drafts.
        steps_per_second=rate("engine_steps"),
        step_seconds=numbers.step_seconds,
        mean_batch=ratio(numbers.request_steps_per_second, growth.steps()),
        generated_tokens_per_second=numbers.generated_tokens_per_second,
        acceptance_length=numbers.acceptance_length,
        tpot_seconds=numbers.tpot_seconds,
        drafts_per_second=rate("drafts"),
        drafted_share=ratio(rate("drafts"), numbers.request_steps_per_second),
        running=gauge("running"),
        waiting=gauge("waiting"),
        tpot_p99_seconds=None if tpot is None else tpot.value,
        step_latency_p99_seconds=None if step is None else step.value,
        tpot_p99_bounds=None if tpot is None else tpot.bounds,
        acceptance=growth.acceptance(),
        draft_tokens_per_second=rate("draft_tokens"),
        prompt_tokens_per_second=rate("prompt_tokens"),
        mean_prompt_tokens=ratio(rate("prompt_length"), rate("prompts")),
        mean_output_tokens=ratio(rate("output_length"), rate("outputs")),
        kv_cache_use=gauge("kv_cache"),
        preemptions_per_second=rate("preemptions"),
        waiting_for_capacity=gauge("waiting_for_capacity"),
        queue_seconds_per_second=rate("queue_time"),
        ttft_seconds=ratio(rate("ttft"), rate("first_tokens")),
        finished_per_second=growth.finished(),
        longest_answer_seconds=longest[0],
        longest_answer_unbounded=longest[1],
        not_finite=growth.not_finite(),
    )
