"""What a comparison comes to, as numbers."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ridgeline.sim.compare.case import Case
from ridgeline.sim.compare.play import Kind, Outcome
from ridgeline.sim.compare.setup import Options, Prepared
from ridgeline.sim.requests.simulate import Result
from ridgeline.sim.requests.traffic import TICK_SECONDS

LEAST_GAIN = 0.005
"""Below this share of the better static's latency hindsight leaves no gain to have a share of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A roll: from when to when, in seconds, and where to."""

    begins: float
    ends: float
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One strategy in numbers; `None` where its queue outgrew the simulation.

    Attributes:
        name: The strategy.
        kind: What decides in it.
        about: What it is.
        latency_seconds: Mean time from a request's arrival to its last token.
        seconds_per_token: Request-seconds per output token: what a token costs in waiting.
        requests: Requests served.
        rolls: Rolls.
        most_rolls_in_a_day: Most rolls that began within 24 hours.
        rolling_share: Share of the time in which a roll was under way.
        regret_request_hours: Request-hours more than the best in hindsight.
        change: Mean latency relative to what runs today, such as -0.12.
        share_of_gain: Part of the gain that hindsight has over the better static choice.
    """

    name: str
    kind: Kind
    about: str
    latency_seconds: float | None
    seconds_per_token: float | None
    requests: int | None
    rolls: int | None
    most_rolls_in_a_day: int | None
    rolling_share: float | None
    regret_request_hours: float | None
    change: float | None
    share_of_gain: float | None


def scores(outcomes: Sequence[Outcome], today: str) -> tuple[Score, ...]:
    """Return every outcome in numbers.

    Args:
        outcomes: As they were played, hindsight included.
        today: Profile that runs without the operator.
    """
    best = _latency(_only(outcomes, Kind.HINDSIGHT))
    statics = [each for each in outcomes if each.strategy.kind is Kind.STATIC]
    known = [latency for each in statics if (latency := _latency(each)) is not None]
    now = next((_latency(each) for each in statics if each.strategy.first == today), None)
    return tuple(_score(each, best, min(known, default=None), now) for each in outcomes)


def rolls_of(result: Result) -> tuple[Span, ...]:
    """Return the rolls of a simulation with their ends."""
    begins = [each.time for each in result.switches]
    spans = []
    for index, switch in enumerate(result.switches):
        tick = int(switch.time / TICK_SECONDS)
        after = result.rolling[tick:]
        still = np.flatnonzero(~after)
        end = (tick + int(still[0])) * TICK_SECONDS if len(still) else result.seconds
        following = begins[index + 1] if index + 1 < len(begins) else result.seconds
        spans.append(
            Span(
                begins=switch.time,
                ends=min(max(end, switch.time), following),
                profile=switch.profile,
            )
        )
    return tuple(spans)


def _score(
    outcome: Outcome, best: float | None, better_static: float | None, now: float | None
) -> Score:
    result, latency = outcome.result, _latency(outcome)
    strategy = outcome.strategy
    if result is None or latency is None:
        return Score(
            name=strategy.name,
            kind=strategy.kind,
            about=strategy.about,
            latency_seconds=None,
            seconds_per_token=None,
            requests=None,
            rolls=None,
            most_rolls_in_a_day=None,
            rolling_share=None,
            regret_request_hours=None,
            change=None,
            share_of_gain=None,
        )
    served = result.served_tokens
    rolled = statistics.fmean(result.rolling.tolist()) if len(result.rolling) else 0.0
    return Score(
        name=strategy.name,
        kind=strategy.kind,
        about=strategy.about,
        latency_seconds=latency,
        seconds_per_token=latency * result.completed / served if served > 0 else None,
        requests=result.completed,
        rolls=len(result.switches),
        most_rolls_in_a_day=result.most_rolls_in_a_day,
        rolling_share=rolled,
        regret_request_hours=(
            None if best is None else (latency - best) * result.completed / 3600.0
        ),
        change=None if not now else latency / now - 1.0,
        share_of_gain=_share(latency, best, better_static),
    )


def _share(latency: float, best: float | None, better_static: float | None) -> float | None:
    if best is None or better_static is None:
        return None
    gain = better_static - best
    return (better_static - latency) / gain if gain >= LEAST_GAIN * better_static else None


def _latency(outcome: Outcome | None) -> float | None:
    if outcome is None or outcome.result is None or outcome.result.completed == 0:
        return None
    return outcome.result.mean_latency_seconds


def _only(outcomes: Sequence[Outcome], kind: Kind) -> Outcome | None:
    return next((each for each in outcomes if each.strategy.kind is kind), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A comparison that was played.

    Attributes:
        case: What was compared.
        options: As a person chose them.
        prepared: What was played.
        outcomes: What became of every strategy, hindsight last.
        scores: The same in numbers, in the same order.
    """

    case: Case
    options: Options
    prepared: Prepared
    outcomes: tuple[Outcome, ...]
    scores: tuple[Score, ...]

    def outcome(self, kind: Kind, first: str | None = None) -> Outcome | None:
        """Return the first outcome of a kind, of those that began on a profile where it is told."""
        return next(
            (
                each
                for each in self.outcomes
                if each.strategy.kind is kind and first in (None, each.strategy.first)
            ),
            None,
        )

    def score(self, outcome: Outcome | None) -> Score | None:
        """Return the numbers of an outcome."""
        if outcome is None:
            return None
        return self.scores[self.outcomes.index(outcome)]

    @property
    def today(self) -> Score | None:
        """What runs without the operator."""
        return self.score(self.outcome(Kind.STATIC, self.case.today))

    @property
    def operator(self) -> Score | None:
        """The operator as it is asked."""
        return self.score(self.outcome(Kind.OPERATOR))

    @property
    def better_static(self) -> Score | None:
        """The best of the choices that nobody changes."""
        known = [each for each in self.scores if each.kind is Kind.STATIC]
        served = [each for each in known if each.latency_seconds is not None]
        return min(served, key=lambda each: each.latency_seconds or 0.0, default=None)

    @property
    def hindsight(self) -> Score | None:
        """The best that rolls could have done."""
        return next((each for each in self.scores if each.kind is Kind.HINDSIGHT), None)
