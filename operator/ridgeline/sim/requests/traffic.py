"""Traffic: demand through the day, bursts, crowds, sizes of requests, recorded traces."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ridgeline.sim.requests.arrays import Floats

TICK_SECONDS = 15.0
DAY = 86_400.0
WEEK = 7 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Prompt and output tokens of requests, in the order in which they arrive."""

    prompts: Floats
    outputs: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMix:
    """Lognormal prompt and output lengths.

    Attributes:
        prompt: Mean prompt tokens.
        prompt_variation: Its standard deviation ÷ mean.
        output: Mean output tokens.
        output_variation: Its standard deviation ÷ mean.
    """

    prompt: float = 500.0
    prompt_variation: float = 0.9
    output: float = 800.0
    output_variation: float = 0.8

    def draw(self, count: int, rng: np.random.Generator) -> Sizes:
        """Return so many requests."""
        return Sizes(
            prompts=_lognormal(self.prompt, self.prompt_variation, count, rng),
            outputs=_lognormal(self.output, self.output_variation, count, rng),
        )


MIXES = {
    "chat": SizeMix(),
    "azure-conversation": SizeMix(
        prompt=1155.0, prompt_variation=0.96, output=211.0, output_variation=0.77
    ),
    "azure-code": SizeMix(prompt=2048.0, prompt_variation=0.96, output=28.0, output_variation=2.15),
    "mooncake": SizeMix(prompt=12035.0, prompt_variation=1.31, output=343.0, output_variation=0.73),
}
"""Mixes by name; all but the first have mean and deviation of the public trace of that name
(Azure LLM inference 2023, CC-BY-4.0; Mooncake conversation, Apache-2.0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A flash crowd: demand steps up at once, and down again.

    Attributes:
        begins: Seconds.
        minutes: How long it lasts.
        factor: What the demand is multiplied by.
    """

    begins: float
    minutes: float
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demand over a week, as a share of the cut-off demand D*.

    Time 0 is Thursday, midnight, so that four days hold as much weekend as work. A weekday rises
    from 7 to 10 o'clock to its plateau, which it leaves from 18 to 22 o'clock; a weekend day does
    the same at half the height.

    Attributes:
        plateau: Plateau of a weekday.
        night: Share of the plateau that is left at night.
        weekend: Plateau of a weekend day ÷ that of a weekday.
        drift: Standard deviation of the slow noise (5 minutes), relative.
        bursts_per_day: Bursts of 2 to 10 minutes and +15 to +40 %, on average.
        flat: Whether the plateau holds day and night.
        crowds: Flash crowds.
    """

    plateau: float
    night: float = 0.25
    weekend: float = 0.5
    drift: float = 0.04
    bursts_per_day: float = 6.0
    flat: bool = False
    crowds: tuple[Crowd, ...] = ()

    def expected(self, times: Floats) -> Floats:
        """Return the demand without noise, bursts and crowds."""
        if self.flat:
            return np.full(len(times), self.plateau)
        hour = (times % DAY) / 3600.0
        day = np.interp(hour, [0, 7, 10, 18, 22, 24], [self.night, self.night, 1, 1, 0.4, 0.3])
        weekend = np.isin((times % WEEK) // DAY, (2.0, 3.0))
        return self.plateau * day * np.where(weekend, self.weekend, 1.0)

    def realised(self, times: Floats, rng: np.random.Generator) -> Floats:
        """Return the demand with everything that nobody can know ahead."""
        level = self.expected(times) * (1.0 + self.drift * _slow_noise(len(times), rng))
        length = len(times) * TICK_SECONDS
        for _ in range(rng.poisson(self.bursts_per_day * length / DAY)):
            begin = rng.uniform(0.0, length)
            end = begin + rng.uniform(120.0, 600.0)
            height = 1.0 + rng.uniform(0.15, 0.4)
            level[(times >= begin) & (times < end)] *= height
        for crowd in self.crowds:
            end = crowd.begins + 60.0 * crowd.minutes
            level[(times >= crowd.begins) & (times < end)] *= crowd.factor
        return np.maximum(level, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Recorded or generated requests.

    Attributes:
        times: Arrivals in seconds, rising.
        sizes: Their prompts and outputs.
    """

    times: Floats
    sizes: Sizes

    @property
    def seconds(self) -> float:
        """Length of the trace."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def tokens_per_second(self, step: float, length: float) -> Floats:
        """Return the output tokens/s that arrive, in steps of so many seconds."""
        bins = int(np.ceil(length / step))
        index = np.minimum((self.times / step).astype(np.int64), bins - 1)
        return np.bincount(index, weights=self.sizes.outputs, minlength=bins) / step

    def busier(self, factor: float, rng: np.random.Generator) -> "Trace":
        """Return a trace of the same shape with so many times the requests.

        Each request appears ⌊factor⌋ or ⌈factor⌉ times, within half a minute.
        """
        copies = np.floor(factor + rng.random(len(self.times))).astype(np.int64)
        times = np.repeat(self.times, copies)
        times = np.maximum(times + rng.uniform(-15.0, 15.0, len(times)), 0.0)
        order = np.argsort(times, kind="stable")
        return Trace(
            times=times[order],
            sizes=Sizes(
                prompts=np.repeat(self.sizes.prompts, copies)[order],
                outputs=np.repeat(self.sizes.outputs, copies)[order],
            ),
        )


def generate(
    demand: Demand,
    mix: SizeMix,
    *,
    cutoff_tokens_per_second: float,
    seconds: float,
    rng: np.random.Generator,
) -> Trace:
    """Return requests of a demand: a Poisson process whose rate follows it tick by tick.

    Args:
        demand: Demand as a share of the cut-off demand.
        mix: Sizes of requests.
        cutoff_tokens_per_second: The cut-off demand D*.
        seconds: Length.
        rng: Source of randomness.
    """
    starts = np.arange(0.0, seconds, TICK_SECONDS)
    rate = demand.realised(starts, rng) * cutoff_tokens_per_second / mix.output
    counts = rng.poisson(rate * TICK_SECONDS)
    times = np.repeat(starts, counts) + rng.uniform(0.0, TICK_SECONDS, int(counts.sum()))
    times.sort()
    return Trace(times=times, sizes=mix.draw(len(times), rng))


def read_trace(path: Path) -> Trace:
    """Read a CSV file with a header and the columns arrival (s), prompt and output tokens.

    Raises:
        ValueError: When the file has no requests, or a row is not three numbers in order.
    """
    rows = []
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if number == 1:
                continue
            try:
                arrival, prompt, output = (float(each) for each in row)
            except ValueError as error:
                raise ValueError(
                    f"{path.name}, line {number}: give arrival, prompt and output tokens"
                ) from error
            rows.append((arrival, prompt, max(1.0, output)))
    if not rows or not np.isfinite(rows).all() or min(min(row) for row in rows) < 0:
        raise ValueError(f"{path.name}: give at least one request, and finite numbers from 0")
    columns = np.array(sorted(rows)).T
    return Trace(
        times=np.ascontiguousarray(columns[0]),
        sizes=Sizes(
            prompts=np.ascontiguousarray(columns[1]), outputs=np.ascontiguousarray(columns[2])
        ),
    )


def _lognormal(mean: float, variation: float, count: int, rng: np.random.Generator) -> Floats:
    variance = np.log1p(variation**2)
    drawn = rng.lognormal(np.log(mean) - variance / 2, np.sqrt(variance), count)
    return np.maximum(1.0, np.rint(drawn))


def _slow_noise(count: int, rng: np.random.Generator) -> Floats:
    """Return noise of unit deviation that forgets itself in 5 minutes."""
    keep = float(np.exp(-TICK_SECONDS / 300.0))
    shocks = rng.normal(0.0, np.sqrt(1.0 - keep**2), count)
    noise = np.empty(count)
    level = 0.0
    for at in range(count):
        level = keep * level + shocks[at]
        noise[at] = level
    return noise
