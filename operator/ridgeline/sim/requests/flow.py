"""Demand as a flow of tokens, for a simulation that does not follow single requests."""

from dataclasses import dataclass

import numpy as np

from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.traffic import TICK_SECONDS, Demand, SizeMix, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What is asked of a fleet, in steps of a tick.

    Attributes:
        tokens_per_second: Output tokens/s that arrive, per tick of 15 s.
        prompt: Mean prompt tokens of a request.
        output: Mean output tokens of a request, 1 or more.
        held_prompt: Mean prompt tokens of a request in decode.
        held_output: Mean output tokens of a request in decode: long answers stay longer.

    Raises:
        ValueError: When a number is negative or not finite, or there is no tick.
    """

    tokens_per_second: Floats
    prompt: float
    output: float
    held_prompt: float
    held_output: float

    def __post_init__(self) -> None:
        """Refuse a flow that could not be served."""
        levels = self.tokens_per_second
        if len(levels) == 0 or not np.isfinite(levels).all() or levels.min() < 0:
            raise ValueError("demand: give at least one tick of finite tokens/s, 0 or more")
        kinds = ((self.prompt, self.output), (self.held_prompt, self.held_output))
        for prompt, output in kinds:
            if not (0.0 <= prompt < 1e9 and 1.0 <= output < 1e9):
                raise ValueError(
                    f"requests of {prompt} prompt and {output} output tokens: give 0 and 1 or more"
                )

    @property
    def context(self) -> float:
        """Mean tokens in the KV cache of a request in decode."""
        return self.held_prompt + self.held_output / 2

    @property
    def seconds(self) -> float:
        """Length."""
        return len(self.tokens_per_second) * TICK_SECONDS

    def means(self, seconds: float) -> Floats:
        """Return the mean tokens/s of each whole step of so many seconds, a multiple of a tick."""
        each = max(1, round(seconds / TICK_SECONDS))
        whole = len(self.tokens_per_second) // each * each
        found: Floats = self.tokens_per_second[:whole].reshape(-1, each).mean(axis=1)
        return found


def flow_of_demand(
    demand: Demand,
    mix: SizeMix,
    *,
    cutoff_tokens_per_second: float,
    seconds: float,
    rng: np.random.Generator,
) -> Flow:
    """Return the flow of a demand over a week, with its noise.

    Args:
        demand: Demand as a share of the cut-off demand.
        mix: Sizes of requests.
        cutoff_tokens_per_second: The cut-off demand D*.
        seconds: Length.
        rng: Source of randomness.
    """
    starts = np.arange(0.0, seconds, TICK_SECONDS)
    return flow_of_level(demand.realised(starts, rng) * cutoff_tokens_per_second, mix, rng)


def flow_of_level(level: Floats, mix: SizeMix, rng: np.random.Generator) -> Flow:
    """Return the flow of a level of tokens/s per tick, with the noise of arrivals and sizes.

    A Poisson number of answers arrives in a tick, each of a random length.
    """
    counts = level * TICK_SECONDS / mix.output
    deviation = np.sqrt(counts * (1.0 + mix.output_variation**2)) * mix.output / TICK_SECONDS
    return Flow(
        tokens_per_second=np.maximum(level + deviation * rng.standard_normal(len(level)), 0.0),
        prompt=mix.prompt,
        output=mix.output,
        held_prompt=mix.prompt,
        held_output=mix.output * (1.0 + mix.output_variation**2),
    )


def flow_of_trace(trace: Trace, seconds: float) -> Flow:
    """Return the flow of recorded requests.

    Raises:
        ValueError: When the trace has no request.
    """
    if len(trace.times) == 0:
        raise ValueError("the trace has no request")
    prompts, outputs = trace.sizes.prompts, trace.sizes.outputs
    return Flow(
        tokens_per_second=trace.tokens_per_second(TICK_SECONDS, seconds),
        prompt=float(prompts.mean()),
        output=float(outputs.mean()),
        held_prompt=float(np.average(prompts, weights=outputs)),
        held_output=float(np.average(outputs, weights=outputs)),
    )
