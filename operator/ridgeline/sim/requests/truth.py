"""The truth of a simulation: what a replica does on each profile, as tables."""

from dataclasses import dataclass

import numpy as np

from ridgeline.costmodel.curve import Curve
from ridgeline.sim.requests.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTruth:
    """Step times of one profile.

    Attributes:
        name: Name of the profile.
        concurrency: Requests in decode, rising, from 1.
        step_seconds: Seconds of one engine step at each, at the truth's reference context.
        tokens_per_step: Acceptance length E[L] at each: it varies where an in-engine schedule does.
        kv_tokens: Tokens that fit into the KV cache beside the drafter.

    Raises:
        ValueError: When the lengths differ or a number is not positive.
    """

    name: str
    concurrency: tuple[float, ...]
    step_seconds: tuple[float, ...]
    tokens_per_step: tuple[float, ...]
    kv_tokens: float = 1e12

    def __post_init__(self) -> None:
        """Refuse tables that could not be read."""
        if not len(self.concurrency) == len(self.step_seconds) == len(self.tokens_per_step):
            raise ValueError(f"truth of {self.name}: give as many step times as concurrencies")
        if min(self.step_seconds) <= 0 or min(self.tokens_per_step) < 1:
            raise ValueError(f"truth of {self.name}: a step takes time and yields a token")

    def steps(self, max_seqs: int) -> Floats:
        """Return the step time at 0 … max_seqs requests."""
        return np.interp(np.arange(max_seqs + 1), self.concurrency, self.step_seconds)

    def lengths(self, max_seqs: int) -> Floats:
        """Return the acceptance length at 0 … max_seqs requests."""
        return np.interp(np.arange(max_seqs + 1), self.concurrency, self.tokens_per_step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One deployment: model, GPU, engine, and its profiles.

    Attributes:
        name: Its name.
        profiles: Its profiles; the last one speculates nothing.
        max_seqs: Most requests in decode at once (`max_num_seqs`).
        reference_context: Tokens per request in the KV cache at which the tables hold.
        kv_seconds_per_token: Seconds that a step takes longer per token in the KV cache.
        prefill_seconds_per_token: Engine time per prompt token that is computed.
        prefill_fixed_seconds: Engine time per prefill on top.
        knee_tokens: Tokens per step where compute time equals memory time, for the ridge rule.
        lookahead: Lookahead K of the profile that always speculates.
    """

    name: str
    profiles: tuple[ProfileTruth, ...]
    max_seqs: int
    reference_context: float
    kv_seconds_per_token: float
    prefill_seconds_per_token: float
    prefill_fixed_seconds: float = 0.002
    knee_tokens: float
    lookahead: int

    def index_of(self, profile: str) -> int:
        """Return the place of a profile.

        Raises:
            ValueError: When there is none of that name.
        """
        for index, each in enumerate(self.profiles):
            if each.name == profile:
                return index
        raise ValueError(
            f"no profile {profile!r}: choose from {[each.name for each in self.profiles]}"
        )

    def speeds(
        self, profile: str, *, prompt: float, output: float, held: tuple[float, float] | None = None
    ) -> Floats:
        """Return the tokens/s of one replica in decode of 0 … max_seqs requests of one kind.

        Prefills take their share of the engine's time: X = x ÷ (1 + x · prefill ÷ output). The
        result never falls: a busy engine could always admit fewer. It is flat where the KV cache
        holds no more requests of that length.

        Args:
            profile: Name of the profile.
            prompt: Mean prompt tokens of a request that comes.
            output: Mean output tokens of a request that comes.
            held: The same two of a request in decode: long answers stay longer. `None`: the same.
        """
        own = self.profiles[self.index_of(profile)]
        table = own.steps(self.max_seqs)
        batch = np.arange(self.max_seqs + 1)
        held_prompt, held_output = held or (prompt, output)
        context = held_prompt + held_output / 2 - self.reference_context
        steps = np.maximum(0.3 * table, table + self.kv_seconds_per_token * context * batch)
        decode = batch * own.lengths(self.max_seqs) / steps
        prefill = self.prefill_fixed_seconds + self.prefill_seconds_per_token * prompt
        speeds = np.maximum.accumulate(decode / (1.0 + decode * prefill / output))
        room = max(1, int(own.kv_tokens / (held_prompt + held_output)))
        most = float(speeds[min(room, self.max_seqs)])
        return np.asarray(np.minimum(speeds, most), dtype=np.float64)

    def curve(
        self, profile: str, *, prompt: float, output: float, held: tuple[float, float] | None = None
    ) -> Curve:
        """Return the same as a curve, as a controller that knew the truth would have it."""
        speeds = self.speeds(profile, prompt=prompt, output=output, held=held)
        return Curve(
            profile=profile,
            concurrency=tuple(float(each) for each in range(1, self.max_seqs + 1)),
            tokens_per_second=tuple(float(each) for each in speeds[1:]),
        )


def crossing(lower: Curve, upper: Curve) -> float:
    """Return the cut-off B*: the concurrency from which the second curve is the faster one.

    It is the last place where the first is not slower. The end of the curve where it never is.
    """
    batch = np.asarray(lower.concurrency)
    lead = np.asarray(lower.tokens_per_second) - np.asarray(upper.tokens_per_second)
    ahead = np.flatnonzero(lead > 0)
    if len(ahead) == 0:
        return float(batch[0])
    last = int(ahead[-1])
    if last == len(batch) - 1:
        return float(batch[-1])
    share = lead[last] / (lead[last] - lead[last + 1])
    return float(batch[last] + share * (batch[last + 1] - batch[last]))
