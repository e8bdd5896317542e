"""The control law applied to a serving whose cut-offs are predicted: facts in, a decision out.

Only a predicted table has curves, so only it can be judged by demand; a table that a person or a
rule gave is followed by concurrency alone (`borders`, `move`).
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.saturation import is_saturated as full
from ridgeline.policy.law.settings import LawSettings, Objective
from ridgeline.policy.law.terms import Direction, LawReason
from ridgeline.policy.lifecycle import last_finish, switches_left
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.policy.situation import Situation
from ridgeline.policy.sums import exact_sum
from ridgeline.terms.reasons import Reason

SHORTEST_DWELL: Final = 1.0
"""A dwell in seconds that one decision alone cannot fill."""

GAP_WINDOWS: Final = 0.75
"""A time between two looks that is a gap, in rate windows (90 s of 120)."""

HIGH_SLOT_WINDOWS: Final = 0.5
"""Slots of the recent maximum in rate windows (60 s of 120)."""

SETTLE_MOST_WINDOWS: Final = 5.0
"""Most time of settling in rate windows (600 s of 120)."""

REGRET_COOLDOWN: Final = 0.5
"""Cooldown in regret mode as a share of the one in insured mode (900 s of 1800)."""


def applies(situation: Situation) -> bool:
    """Tell whether the law decides: every row of the table has a curve."""
    table = situation.table
    if table is None or situation.settings.prediction is None or situation.active is None:
        return False
    return all(table.curve(row.profile) is not None for row in table.rows)


def judge(situation: Situation) -> LawDecision | None:
    """Return what the law says; `None` where it does not apply.

    It looks at every moment, also at those in which nothing may be changed: what it remembers of
    demand and peak must not have holes.
    """
    if not applies(situation) or situation.telemetry is None or situation.active is None:
        return None
    inputs = _inputs(situation, situation.active)
    settings = law_settings(situation.settings, situation.telemetry.window_seconds)
    return step(inputs, settings, situation.memory.law, situation.now)


USUAL: Final = LawSettings()


def law_settings(settings: PolicySettings, window_seconds: float) -> LawSettings:
    """Return the law's constants for a serving's settings and rate window."""
    return _law_settings(
        settings.stabilization, settings.cooldown_seconds, settings.objective, window_seconds
    )


@lru_cache(maxsize=4096)
def _law_settings(
    dwells: Stabilization, cooldown: float, objective: Objective | None, window_seconds: float
) -> LawSettings:
    """Return them made and checked once: they are the same from tick to tick."""
    usual = USUAL
    busier = max(SHORTEST_DWELL, dwells.busier_seconds)
    patience = busier / usual.busier_dwell_seconds
    return LawSettings(
        window_seconds=window_seconds,
        gap_seconds=GAP_WINDOWS * window_seconds,
        high_slot_seconds=HIGH_SLOT_WINDOWS * window_seconds,
        busier_dwell_seconds=busier,
        quieter_dwell_seconds=max(SHORTEST_DWELL, dwells.quieter_seconds),
        escape_seconds=patience * usual.escape_seconds,
        escape_seconds_surge=patience * usual.escape_seconds_surge,
        patience_seconds=patience * usual.patience_seconds,
        insured_cooldown_seconds=cooldown,
        regret_cooldown_seconds=REGRET_COOLDOWN * cooldown,
        settle_seconds=window_seconds,
        settle_most_seconds=SETTLE_MOST_WINDOWS * window_seconds,
        objective=objective or Objective(),
    )


REASONS: Final[dict[LawReason, Reason]] = {
    LawReason.DEMAND_ABOVE_OFF: Reason.DEMAND_HIGH,
    LawReason.CONCURRENCY_ABOVE_OFF: Reason.ABOVE_CUTOFF,
    LawReason.SATURATED: Reason.SATURATED,
    LawReason.ALL_QUIET: Reason.ALL_QUIET,
    LawReason.REGRET: Reason.REGRET,
    LawReason.SCHEDULED: Reason.SCHEDULED,
    LawReason.DWELLING: Reason.DWELLING,
    LawReason.LOCKED: Reason.OSCILLATION_LOCKED,
    LawReason.COOLDOWN: Reason.COOLDOWN,
    LawReason.BUDGET_SPENT: Reason.DAILY_BUDGET_SPENT,
    LawReason.PARTIAL_DATA: Reason.PARTIAL_DATA,
    LawReason.SCHEDULE_FORBIDS: Reason.SWITCH_ON_FORBIDDEN_BY_SCHEDULE,
    LawReason.ROLL_WOULD_SATURATE: Reason.ROLL_WOULD_SATURATE,
    LawReason.TOO_SMALL_TO_ROLL: Reason.ROLL_WOULD_SATURATE,
    LawReason.STAYS: Reason.BEST_PROFILE_ACTIVE,
    LawReason.ROLLING: Reason.ROLLOUT_UNDER_WAY,
    LawReason.SETTLING: Reason.REPLICAS_SETTLING,
    LawReason.BLIND: Reason.NO_DATA,
    LawReason.NO_CURVE: Reason.CANNOT_PREDICT,
}
"""The law's words as status and Events tell them."""


def is_busier(decision: LawDecision) -> bool:
    """Tell whether the wish of the law is a profile for more demand."""
    return decision.direction is Direction.BUSIER


def _inputs(situation: Situation, active: str) -> LawInputs:
    table, engines = situation.table, situation.fleet.engines
    if table is None:
        raise AssertionError("the law applies to a table alone")
    curves = [table.curve(row.profile) for row in table.rows]
    whole = _whole(situation)
    return replace(
        _signals(situation, active),
        curves=tuple(curve for curve in curves if curve is not None),
        lower_edges=tuple(
            row.band.low / row.band.cutoff if row.band is not None else 1.0
            for row in table.rows[:-1]
        ),
        whole_answer=situation.telemetry is not None and not situation.telemetry.partial,
        generated_tokens_per_second=_total(
            [each.generated_tokens_per_second for each in engines], whole
        ),
        waiting_requests=_total([each.waiting for each in engines], whole),
        mean_output_tokens=_mean([each.mean_output_tokens for each in engines]),
        concurrency=situation.estimates.concurrency,
        roll=_roll_state(situation),
        schedule=_schedule(situation),
        switches_left=switches_left(situation.memory, situation.settings, situation.now),
    )


def is_saturated(situation: Situation) -> bool:
    """Tell whether requests wait for capacity or lose their place, as the law tells it."""
    return full(_signals(situation, situation.active or ""), USUAL)


def _signals(situation: Situation, active: str) -> LawInputs:
    """Return what the servers tell of being full, without any curve."""
    fleet, serving = situation.fleet, situation.facts.replicas
    engines, whole = fleet.engines, _whole(situation)
    return LawInputs(
        running=active,
        curves=(),
        engines=sum([each.expected_engines for each in serving]),
        replicas=len(serving),
        strategy=roll_strategy(situation),
        seen_share=len(fleet.joined) / fleet.expected if fleet.expected else 0.0,
        waiting_for_capacity=_total([each.waiting_for_capacity for each in engines], whole),
        queued_requests=_total([each.queue_seconds_per_second for each in engines], whole),
        preemptions_per_second=_total([each.preemptions_per_second for each in engines], whole),
    )


def _whole(situation: Situation) -> float:
    """Return by what a sum over those old enough for a rate grows with those too young for one.

    The law scales it up to those that should have joined; the young ones are taken for as busy as
    the others.
    """
    fleet = situation.fleet
    return (fleet.expected + len(fleet.pending)) / fleet.expected if fleet.expected else 1.0


def _total(values: list[float | None], whole: float) -> float | None:
    """Return the sum of a signal over the replicas that joined, and those too young for a rate."""
    return _scaled(exact_sum(values), whole)


def roll_strategy(situation: Situation) -> RollStrategy:
    """Return how many Pods a roll adds and takes away; what is not known is taken for the worst."""
    target, plan = situation.target, situation.facts.plan
    replicas = target.desired_replicas if target is not None else 0
    if plan is None:
        return RollStrategy(replicas=replicas, surge=0, unavailable=min(1, replicas))
    if plan.recreate:
        return RollStrategy(replicas=replicas, surge=0, unavailable=replicas)
    return RollStrategy(
        replicas=replicas,
        surge=_surge(plan),
        unavailable=min(plan.unavailable, replicas),
    )


def _surge(plan: RollPlan) -> int:
    """Return the Pods that a roll adds before it takes any away.

    Where none may be taken away the roll waits for its surge Pod, so capacity is kept or it does
    not move at all; else only those count that are known to find a place.
    """
    if plan.unavailable == 0:
        return plan.surge
    return min(plan.surge, plan.room.pods) if plan.room.pods is not None else 0


def _roll_state(situation: Situation) -> RollState:
    rollout = situation.target.rollout if situation.target is not None else None
    switches = situation.memory.slow.switches
    return RollState(
        rolling=rollout is not None,
        updated=rollout.updated if rollout is not None else 0,
        started_at=switches[-1].started_at if switches else None,
        finished_at=last_finish(situation.memory),
    )


def _schedule(situation: Situation) -> ScheduleNow:
    state = situation.settings.schedule
    if state is None:
        return ScheduleNow()
    return ScheduleNow(
        profile=state.profile,
        no_switch_on=state.no_switch_on,
        crowd_is_short=state.crowd_is_short,
    )


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None and math.isfinite(each)]
    return math.fsum(sorted(known)) / len(known) if known else None
