"""Builders for a serving whose cut-offs are predicted: four replicas, each with every signal.

One engine delivers, per second, at 10 / 20 / 40 / 60 requests: 1000 / 1600 / 2000 / 2200 tokens on
eagle2, with two tokens a step, and 600 / 1100 / 2000 / 2800 on none. So B* is 40.
"""

from dataclasses import replace
from typing import Any

from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import EngineFacts, Facts, ReplicaFacts
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings, Prediction
from ridgeline.policy.situation import Situation, observe
from tests.unit.policy import moments

NOW, WINDOW = moments.NOW, moments.WINDOW
LEVELS = (10.0, 20.0, 40.0, 60.0)
EAGLE = Curve(
    profile="eagle2", concurrency=LEVELS, tokens_per_second=(1000.0, 1600.0, 2000.0, 2200.0)
)
NONE = Curve(profile="none", concurrency=LEVELS, tokens_per_second=(600.0, 1100.0, 2000.0, 2800.0))
CURVES = {"eagle2": EAGLE, "none": NONE}
LENGTHS = {"eagle2": 2.0, "none": 1.0}
BASIS = "llama at FP8 on 1 x h100-sxm, vLLM 0.24.0"
RATES = (0.6, 0.3, 0.1)

TABLE = CutoffTable(
    (
        CutoffRow(
            profile="eagle2",
            up_to=40.0,
            return_below=30.0,
            band=Band(cutoff=40.0, low=30.0, high=50.0),
        ),
        CutoffRow(profile="none"),
    ),
    curves=(EAGLE, NONE),
)


def prediction(**other: Any) -> Prediction:
    return replace(Prediction(basis=BASIS, lengths=LENGTHS), **other)


def settings(**other: Any) -> PolicySettings:
    return moments.settings(cutoff=TABLE, prediction=prediction(), **other)


def engine(
    level: float = 10.0, *, profile: str = "eagle2", slower: float = 1.0, **other: Any
) -> EngineFacts:
    """An engine that does what the curves say, or is slower by a factor."""
    tokens = CURVES[profile].tokens_at(level) / slower
    steps = tokens / LENGTHS[profile]
    speculates = profile != "none"
    usual = EngineFacts(
        engine="0",
        age_seconds=5.0,
        decode_concurrency=level,
        request_steps_per_second=steps,
        steps_per_second=40.0,
        step_seconds=level / steps if steps else None,
        generated_tokens_per_second=tokens,
        drafts_per_second=steps if speculates else None,
        acceptance=RATES if speculates else None,
        acceptance_length=LENGTHS[profile],
        prompt_tokens_per_second=0.5 * tokens,
        mean_prompt_tokens=400.0,
        mean_output_tokens=200.0,
        waiting=0.0,
        waiting_for_capacity=0.0,
        queue_seconds_per_second=0.0,
        preemptions_per_second=0.0,
    )
    return replace(usual, **other)


def pods(*engines: EngineFacts) -> list[ReplicaFacts]:
    return [moments.replica(f"pod-{index}", each) for index, each in enumerate(engines)]


def facts(
    level: float = 10.0,
    *,
    active: str = "eagle2",
    count: int = 4,
    now: float = NOW,
    engines: dict[str, Any] | None = None,
    **other: Any,
) -> Facts:
    """Facts of `count` equal replicas; `engines` changes the signals of all of them."""
    one = engine(level, profile=active, **(engines or {}))
    given = {"replicas": pods(*[one] * count), "desired": count, **other}
    return moments.facts(active=active, now=now, **given)


def situation(
    seen: Facts | None = None,
    *,
    memory: Memory | None = None,
    now: float = NOW,
    **changed: Any,
) -> Situation:
    """One moment; `changed` goes into the settings."""
    usual = facts(now=now) if seen is None else seen
    return observe(usual, replace(settings(), **changed), memory or Memory(), now)


def learned(*arms: LearnedArm, **other: Any) -> Learned:
    usual = Learned(
        basis=BASIS, context_tokens=500.0, prefill_per_token=0.5, arms=arms, written_at=NOW
    )
    return replace(usual, **other)


def arm(profile: str = "eagle2", **other: Any) -> LearnedArm:
    usual = LearnedArm(
        profile=profile,
        acceptance=RATES if profile != "none" else (),
        drafted=1.0 if profile != "none" else None,
    )
    return replace(usual, **other)


def play(level: float, seconds: float, *, active: str = "eagle2", **changed: Any) -> list[Decision]:
    """Decide every 15 s at one level."""
    memory, made = Memory(), []
    for index in range(int(seconds / 15.0) + 1):
        now = NOW + 15.0 * index
        seen = facts(level, active=active, now=now)
        decision = decide(seen, settings(**changed), memory, now)
        memory = decision.memory
        made.append(decision)
        if decision.outcome is Outcome.SWITCH:
            break
    return made
