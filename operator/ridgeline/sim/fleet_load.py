"""What the servers of a simulated Deployment do under load: the stand-in's step-time model.

With B requests in decode, a step takes T(B) and makes E[L] tokens per request, so a replica makes
B · E[L] / T(B) tokens per second. In a closed loop B is the users' number by the replicas; in an
open loop it is the B at which the tokens made are the tokens asked for.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Final, Protocol

from ridgeline.engine.speculative_config import parse
from ridgeline.sim.stand_in.settings import StandInSettings
from ridgeline.sim.stand_in.step_time import StepTimeModel

MOST_REQUESTS: Final = 256.0
"""Requests in decode beyond which an engine lets others wait (vLLM's `--max-num-seqs`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one engine does per second, as the counters of vLLM tell it.

    Attributes:
        acceptance: Share of drafts accepted up to each position; not a rate, and never summed.
    """

    inter_token_seconds: float = 0.0
    request_steps: float = 0.0
    engine_steps: float = 0.0
    generated: float = 0.0
    drafts: float | None = None
    acceptance: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineModel:
    """How fast an engine is in each profile.

    Attributes:
        step_time: Duration of a step.
        acceptance: Conditional acceptance by draft position; the last holds beyond it.
    """

    step_time: StepTimeModel = field(default_factory=StepTimeModel)
    acceptance: tuple[float, ...] = field(default_factory=lambda: StandInSettings().acceptance)

    def rates(self, config: str, requests: float) -> Rates:
        """Return what an engine with that speculative config does with `requests` in decode."""
        lookahead, drafter = _drafter(config)
        drafts = 0.0 if lookahead else None
        if requests <= 0:
            return Rates(drafts=drafts)
        seconds = self._step_seconds(requests, lookahead, drafter)
        per_request = 1.0 + math.fsum(self._acceptance(lookahead))
        return Rates(
            inter_token_seconds=requests,
            request_steps=requests / seconds,
            engine_steps=1.0 / seconds,
            generated=requests * per_request / seconds,
            drafts=None if drafts is None else requests / seconds,
            acceptance=self._acceptance(lookahead),
        )

    def requests_at(self, config: str, tokens_per_second: float) -> float:
        """Return the requests in decode at which an engine makes so many tokens per second."""
        if self.rates(config, MOST_REQUESTS).generated <= tokens_per_second:
            return MOST_REQUESTS
        low, high = 0.0, MOST_REQUESTS
        for _ in range(40):
            middle = (low + high) / 2.0
            if self.rates(config, middle).generated < tokens_per_second:
                low = middle
            else:
                high = middle
        return high

    def _step_seconds(self, requests: float, lookahead: int, drafter: str | None) -> float:
        """Interpolate between whole batches."""
        below, above = math.floor(requests), math.ceil(requests)
        low, high = (
            self.step_time.seconds(
                requests=each, lookahead=lookahead, prefill_tokens=0, drafter=drafter
            )
            for each in (below, above)
        )
        return low + (high - low) * (requests - below)

    def _acceptance(self, lookahead: int) -> tuple[float, ...]:
        last = len(self.acceptance) - 1
        given = (self.acceptance[min(position, last)] for position in range(lookahead))
        return tuple(accumulate(given, operator.mul))


class Traffic(Protocol):
    """How the requests to a Deployment come."""

    def requests_per_engine(
        self, now: float, engines: int, tokens_at: Callable[[float], float]
    ) -> float:
        """Return the requests in decode on each of `engines` engines.

        Args:
            now: Epoch seconds.
            engines: Engines that serve, at least 1.
            tokens_at: The requests at which one engine makes a number of tokens per second.
        """


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Users who each wait for an answer before they ask again: their number over time."""

    users: Callable[[float], float]

    def requests_per_engine(
        self, now: float, engines: int, tokens_at: Callable[[float], float]
    ) -> float:
        """Share the users out."""
        del tokens_at
        return min(MOST_REQUESTS, max(0.0, self.users(now)) / engines)


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Requests that come whatever the answers do: decode tokens per second asked for over time."""

    demand: Callable[[float], float]

    def requests_per_engine(
        self, now: float, engines: int, tokens_at: Callable[[float], float]
    ) -> float:
        """Share the demand out, and find the batch that meets it."""
        return tokens_at(max(0.0, self.demand(now)) / engines)


@cache
def _drafter(config: str) -> tuple[int, str | None]:
    """Return lookahead and vLLM's method of a speculative config that a server started with."""
    parsed = parse(config)
    if parsed is None:
        return 0, None
    lookahead, method = parsed.get("num_speculative_tokens"), parsed.get("method")
    return (lookahead if isinstance(lookahead, int) else 1), str(method or "draft_model")
