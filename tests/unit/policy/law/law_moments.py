"""Builders of law inputs: a calm fleet of four on EAGLE unless a test says otherwise.

One engine delivers, per second, at 10 / 20 / 40 / 60 requests: 1000 / 1600 / 2000 / 2200 tokens on
EAGLE and 600 / 1100 / 2000 / 2800 on none. So B* is 40 and D* of four engines 8000.
"""

from dataclasses import replace
from typing import Any

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import LawMemory, SlowMemory
from ridgeline.policy.law.peak import PeakSketch, from_history
from ridgeline.policy.law.settings import LawSettings

NOW = 1_800_000_000.0
TICK = 15.0
LEVELS = (10.0, 20.0, 40.0, 60.0)

EAGLE = Curve(
    profile="eagle", concurrency=LEVELS, tokens_per_second=(1000.0, 1600.0, 2000.0, 2200.0)
)
NONE = Curve(profile="none", concurrency=LEVELS, tokens_per_second=(600.0, 1100.0, 2000.0, 2800.0))
NGRAM = Curve(
    profile="ngram", concurrency=LEVELS, tokens_per_second=(800.0, 1500.0, 2100.0, 2600.0)
)

D_STAR = 8000.0


def inputs(demand: float = 4000.0, **others: Any) -> LawInputs:
    """Return a fleet that serves a demand, tokens per second, on its running profile."""
    running = others.get("running", "eagle")
    curves = others.get("curves", (EAGLE, NONE))
    curve = next((each for each in curves if each.profile == running), EAGLE)
    engines = others.get("engines", 4)
    at = curve.concurrency_at(min(demand / engines, curve.capacity))
    usual = LawInputs(
        running=running,
        curves=curves,
        engines=engines,
        replicas=engines,
        strategy=RollStrategy(replicas=engines, surge=0, unavailable=1),
        generated_tokens_per_second=demand,
        waiting_requests=0.0,
        mean_output_tokens=250.0,
        concurrency=at,
        waiting_for_capacity=0.0,
        queued_requests=0.0,
        preemptions_per_second=0.0,
        roll=RollState(),
    )
    return replace(usual, **others)


def surge(count: int = 4) -> RollStrategy:
    """Return the strategy of a fleet with a spare GPU."""
    return RollStrategy(replicas=count, surge=1, unavailable=0)


def week_of(demand_per_engine: float, *, until: float = NOW, days: int = 8) -> PeakSketch:
    """Return the sketch of days at one demand."""
    last = int(until // 300)
    return from_history((last - i, demand_per_engine) for i in range(1, days * 288))


def knowing_peak(ratio: float) -> LawMemory:
    """Return memory of a week whose peak was so many times D*."""
    return LawMemory(slow=SlowMemory(peak=week_of(ratio * D_STAR / 4)))


def lasting(
    seen: LawInputs,
    seconds: float,
    *,
    memory: LawMemory | None = None,
    settings: LawSettings | None = None,
    now: float = NOW,
    tick: float = TICK,
) -> LawDecision:
    """Return the decision after the same inputs for some time, or the first that says go."""
    memory = memory or LawMemory()
    decision = step(seen, settings or LawSettings(), memory, now)
    for index in range(1, int(seconds / tick) + 1):
        if decision.go:
            break
        decision = step(seen, settings or LawSettings(), decision.memory, now + index * tick)
    return decision
