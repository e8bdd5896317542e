"""Control laws to compare with: what people write down, and what other engines do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.control_scenarios import Knowledge, expected_peak_hours
from ridgeline.sim.requests.controller import Controller
from ridgeline.sim.requests.published import FREE_SCHEDULE, NONE, SCHEDULE, SPECULATING
from ridgeline.sim.requests.rivals import Static, Threshold, Windows
from ridgeline.sim.requests.truth import crossing


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A control law by name, and the profile that it starts on."""

    name: str
    first: str
    build: Callable[[Knowledge], Controller]


def fixed(off: float, on: float | None = None) -> Callable[[Knowledge], Controller]:
    """Concurrency as written down by a person."""
    return lambda _: Threshold(off=off, on=off if on is None else on)


def band(known: Knowledge) -> Controller:
    """The true cut-off, 20 % to either side."""
    return Threshold(off=1.2 * known.cutoff, on=0.8 * known.cutoff)


def ridge(known: Knowledge) -> Controller:
    """Off where the verified tokens of a step reach the knee."""
    at = known.truth.knee_tokens / (known.truth.lookahead + 1)
    return Threshold(off=at, on=0.8 * at)


def schedule_and_band(known: Knowledge) -> Controller:
    """The in-engine schedule below, none above, with the cut-off of that pair."""
    scheduled, none = (
        known.truth.curve(each, prompt=known.mean_prompt, output=known.mean_output)
        for each in (SCHEDULE, NONE)
    )
    at = crossing(scheduled, none)
    return Threshold(off=at, on=0.7 * at, speculating=SCHEDULE)


def windows(known: Knowledge) -> Controller:
    """Cron windows around the hours in which the week's usual demand passes 0.85 D*."""
    hours = expected_peak_hours(known.scenario.demand, 0.85)
    if hours is None:
        return Static()
    return Windows(begins=hours[0] * 3600.0 - known.roll_seconds, ends=hours[1] * 3600.0)


RIVALS: tuple[Rival, ...] = (
    Rival(name="always-eagle", first=SPECULATING, build=lambda _: Static()),
    Rival(name="always-none", first=NONE, build=lambda _: Static()),
    Rival(name="schedule-alone", first=SCHEDULE, build=lambda _: Static()),
    Rival(name="schedule-alone-free", first=FREE_SCHEDULE, build=lambda _: Static()),
    Rival(name="fixed-20", first=SPECULATING, build=fixed(20.0)),
    Rival(name="fixed-32", first=SPECULATING, build=fixed(32.0)),
    Rival(name="band-20-percent", first=SPECULATING, build=band),
    Rival(name="ridge", first=SPECULATING, build=ridge),
    # SGLang's default table: K = 3 below 32, nothing from 64 on, no hysteresis
    Rival(name="sglang-like", first=SPECULATING, build=fixed(64.0, 32.0)),
    # TensorRT-LLM's draft_len_schedule {4: 4, 8: 2, 32: 1}: nothing from 33 on
    Rival(name="tensorrt-llm-like", first=SPECULATING, build=fixed(33.0)),
    Rival(name="schedule-and-band", first=SCHEDULE, build=schedule_and_band),
    Rival(name="cron-windows", first=SPECULATING, build=windows),
)
"""All but the default law and the bound."""
