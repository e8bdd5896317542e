"""A small deployment and short simulations."""

from dataclasses import replace

import numpy as np

from ridgeline.sim.requests.controller import Observation
from ridgeline.sim.requests.fleet import RollSettings
from ridgeline.sim.requests.simulate import Setting
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import Demand, SizeMix, generate
from ridgeline.sim.requests.truth import ProfileTruth, Truth

MIX = SizeMix(prompt=200.0, prompt_variation=0.5, output=100.0, output_variation=0.5)
SHORT = RollSettings(least_start_seconds=60.0, most_start_seconds=90.0, grace_seconds=60.0)


def truth(*, prefill: float = 1e-4, kv_seconds: float = 0.0) -> Truth:
    """Two profiles that cross between 8 and 16 requests, at most 16 in decode."""

    def profile(name: str, steps: tuple[float, ...], length: float) -> ProfileTruth:
        return ProfileTruth(
            name=name,
            concurrency=(1.0, 8.0, 16.0),
            step_seconds=steps,
            tokens_per_step=(length,) * 3,
        )

    return Truth(
        name="small",
        profiles=(
            profile("eagle", (0.03, 0.05, 0.11), 2.0),
            profile("none", (0.025, 0.028, 0.034), 1.0),
        ),
        max_seqs=16,
        reference_context=250.0,
        kv_seconds_per_token=kv_seconds,
        prefill_seconds_per_token=prefill,
        prefill_fixed_seconds=0.0,
        knee_tokens=32.0,
        lookahead=3,
    )


def setting(*, level: float = 600.0, seconds: float = 3600.0, seed: int = 1) -> Setting:
    """Four replicas and a flat demand of so many tokens/s, hidden by nothing."""
    trace = generate(
        Demand(plateau=1.0, flat=True, drift=0.0, bursts_per_day=0.0),
        MIX,
        cutoff_tokens_per_second=level,
        seconds=seconds,
        rng=np.random.default_rng(seed),
    )
    return Setting(
        truth=truth(),
        seconds=seconds,
        first_profile="eagle",
        trace=trace,
        rolls=SHORT,
        telemetry=TelemetrySettings(noise=0.0, loss=0.0),
        seed=seed,
    )


def surging(base: Setting) -> Setting:
    """The same with a spare GPU."""
    return replace(base, rolls=replace(base.rolls, surge=1))


class Still:
    """Changes nothing; keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def decide(self, observation: Observation, now: float) -> str | None:
        self.seen.append(observation)
        return None


class RollsAt(Still):
    """Asks for none from a time on."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at

    def decide(self, observation: Observation, now: float) -> str | None:
        super().decide(observation, now)
        return "none" if now >= self.at else None


class Flaps(Still):
    """Asks for the other profile whenever it is asked."""

    def decide(self, observation: Observation, now: float) -> str | None:
        return "eagle" if observation.active_profile == "none" else "none"
