"""Everything that is advised of one profile: memory, first token, start, capacity, cost, checks.

Times and token rates that were not measured here are told three times: as predicted, and with the
engine as fast and as slow as the model's error allows (`capacity.ABSOLUTE_FACTOR`). One measured
time per output token without speculation narrows that to the error of the ratio of two profiles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.costmodel.accelerator import WEIGHT_BYTES
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import ABSOLUTE_FACTOR, Capacity, capacity, slower
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.cost import Demand, Plan, plan
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.first_token import first_token_seconds, tokens_per_step
from ridgeline.costmodel.goodput import ArmModel
from ridgeline.costmodel.heuristic import Check, HeuristicInputs, heuristic
from ridgeline.costmodel.lookahead import lookahead_schedule
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.positions import Position, positions
from ridgeline.costmodel.startup import StartUp
from ridgeline.costmodel.uncertainty import ratio_sd
from ridgeline.costmodel.workload import Workload

_NO_FLAG: Final = 1_000_000_000
"""As --max-num-seqs: memory alone sets how many requests there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked beside the profiles.

    Attributes:
        concurrency: Requests in decode per engine at which checks and first tokens are looked at.
        prompt_tokens: Tokens of a prompt.
        budget: Most tokens of one step; `None` for vLLM's default on the GPU.
        tpot_limit: Seconds per output token that must not be exceeded; `None` for no limit.
        demand: The load; `None` when none was told.
    """

    concurrency: float
    prompt_tokens: float
    budget: int | None = None
    tpot_limit: float | None = None
    demand: Demand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTaken:
    """What a profile takes from the KV cache.

    Attributes:
        requests: Requests of the mean context that KV memory holds, whatever the engine's flag.
        without: The same without speculation.
    """

    requests: float
    without: float

    @property
    def share(self) -> float:
        """Share of the KV cache that it takes."""
        return 1.0 - self.requests / self.without


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A load carried by a profile, as predicted and at the edges of the error.

    Attributes:
        likely: As predicted.
        fast: With the engine as fast as the error allows.
        slow: With it as slow.
    """

    likely: Plan | CannotSay
    fast: Plan | CannotSay
    slow: Plan | CannotSay


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAdvice:
    """What is advised of one profile.

    Attributes:
        model: The profile with its step time and room.
        factor: How far its times may be off, either way.
        memory: What it takes from the KV cache; `None` where that has no limit.
        start_up: What a start loads.
        first_token: Seconds to the first token, or why not.
        capacity: The most that one engine delivers, or why not.
        load: How it carries the load; `None` when none was told.
        positions: Draft positions, and up to how many requests each pays; empty without any.
        checks: The checks that practitioners make.
    """

    model: ArmModel
    factor: float
    memory: MemoryTaken | None
    start_up: StartUp
    first_token: float | CannotSay
    capacity: Capacity | CannotSay
    load: Spread | None
    positions: tuple[Position, ...]
    checks: tuple[Check, ...]


def profile_advice(
    deployment: Deployment, model: ArmModel, none: ArmModel, workload: Workload, asked: Asked
) -> ProfileAdvice:
    """Return what is advised of a profile.

    Args:
        deployment: The target.
        model: The profile, which may be `none` itself.
        none: The profile without speculation.
        workload: The mean request.
        asked: What is asked beside that.
    """
    factor = _factor(deployment, model, none)
    budget = asked.budget or tokens_per_step(deployment.accelerator)
    held = min(asked.concurrency, model.room.max_concurrency)
    return ProfileAdvice(
        model=model,
        factor=factor,
        memory=_memory(deployment, model, none, workload),
        start_up=StartUp(
            target_bytes=deployment.model.params * WEIGHT_BYTES[deployment.precision],
            draft_bytes=model.room.draft_bytes,
        ),
        first_token=first_token_seconds(model, held, asked.prompt_tokens, budget),
        capacity=capacity(model, asked.tpot_limit),
        load=None if asked.demand is None else _spread(model, factor, asked, asked.demand),
        positions=_positions(deployment, model, workload),
        checks=_checks(deployment, model, held),
    )


def _factor(deployment: Deployment, model: ArmModel, none: ArmModel) -> float:
    if not none.arm.calibration.seen:
        return ABSOLUTE_FACTOR
    if model.arm.name == none.arm.name:
        return math.exp(CONSTANTS.seen_sd)
    return math.exp(ratio_sd(deployment, model.arm, none.arm, CONSTANTS))


def _memory(
    deployment: Deployment, model: ArmModel, none: ArmModel, workload: Workload
) -> MemoryTaken | None:
    unlimited = replace(deployment, max_num_seqs=_NO_FLAG)
    one, other = (room_of(unlimited, each.arm, workload) for each in (model, none))
    if isinstance(one, CannotSay) or isinstance(other, CannotSay):
        return None
    if not (one.by_memory and other.by_memory):
        return None
    return MemoryTaken(requests=one.max_concurrency, without=other.max_concurrency)


def _spread(model: ArmModel, factor: float, asked: Asked, demand: Demand) -> Spread:
    def carried(times: float) -> Plan | CannotSay:
        found = capacity(slower(model, times), asked.tpot_limit)
        return found if isinstance(found, CannotSay) else plan(found, demand)

    return Spread(likely=carried(1.0), fast=carried(1.0 / factor), slow=carried(factor))


def _positions(deployment: Deployment, model: ArmModel, workload: Workload) -> tuple[Position, ...]:
    tiers = lookahead_schedule(deployment, model.arm, workload)
    return () if isinstance(tiers, CannotSay) else positions(tiers, model.arm.lookahead)


def _checks(deployment: Deployment, model: ArmModel, concurrency: float) -> tuple[Check, ...]:
    arm = model.arm
    rates: Sequence[float] = arm.acceptance.rates if arm.acceptance else ()
    return heuristic(
        HeuristicInputs(
            accelerator=deployment.accelerator,
            precision=deployment.precision,
            tensor_parallel=deployment.tensor_parallel,
            method=arm.method,
            lookahead=arm.lookahead or None,
            concurrency=concurrency,
            acceptance=tuple(rates) or None,
        )
    )
