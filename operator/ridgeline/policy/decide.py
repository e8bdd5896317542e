"""The law: from what is known of a serving at one moment to what is to be done.

Let B be the mean of requests in decode per engine over the rate window, and let the cut-off table
have rows 0 (quietest) to n (busiest), row i with a cut-off U_i and below it the lower edge L_i of
its band, L_i <= U_i. From the row r of the active profile

    leave r upwards    when B >= U_r              (and on, past every U that B reaches)
    leave r downwards  when B <  L_(r-1)          (and on, past every L that B is below)
    stay in r          otherwise, so in L <= B < U whatever is active stays.

A wish to leave becomes a switch when all of this holds, in this order:

1. Nothing stands in the way of deciding (`checks.CHECKS`): the serving is not suspended, the target
   and its table are known, nothing is being rolled, the active profile has a row, telemetry is
   there, fresh, finite and complete enough, one whole rate window lies behind the last roll, and
   the servers' metrics agree with the template.
2. Evidence: upwards, 80 % of the expected replicas joined; downwards, all of them.
3. Dwell: B has been beyond the border without a break for the dwell of that direction, seen by
   at least two decisions. It starts again when B comes back, when the direction turns, and
   whenever the operator cannot see or may not look; time passed blind is no evidence.
4. Daily budget: with b = min(maxSwitchesPerDay, 10) and u switches begun in the last 24 hours,
   upwards b − u >= 1; downwards b − u >= 2, so that the last one is always left for "off".
5. No oscillation: downwards only, not the opposite of a decision at the same load (`oscillation`).
6. Cooldown: downwards only, cooldownSeconds since the last roll ended.
7. Verdict: the strategy can tell whether speculation pays on this accelerator at all, or the
   profile may be tried; the engine would start with it, as far as its release is known
   (`engine_report`); and it is not quarantined for a roll that failed.
8. Schedules (`schedule`): no freeze, no switching on where that is forbidden, and through a crowd
   that is said to be short no roll that takes capacity away from full servers.
9. Mode: Automatic. Otherwise the same wish is a recommendation.
10. The engine's release was read, or a person allows it (`engine_report`); the roll could finish,
   and would cut no answer short (`roll_plan`); what must begin with a canary can (`way`).

A profile that a fresh comparison found worse than no speculation is left before any border is
looked at (`requalified`). Where nothing is to be changed, such a comparison may be due
(`requalify`).

Where the cut-offs are predicted, the control law (`law.law`) takes the place of the borders and of
2 to 6: it looks at demand, concurrency and saturation together, and at what a roll costs. It looks
at every moment, also at those in which 1 holds, so that what it remembers has no holes.

A person's order (the force annotation) takes the place of 1 to 9: it is obeyed as soon as nothing
is being rolled and the roll could finish, unless the serving is suspended or the operator frozen.

All of it is a pure function of its four arguments. It does not depend on the order of replicas or
engines. Times of memory that lie ahead of `now` count as "just now", and those more than five
minutes ahead are set to `now`: a clock that jumps back delays, and never hastens, a switch.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ridgeline.policy.borders import compare_with_borders, stays_because
from ridgeline.policy.by_law import REASONS as LAW_REASONS
from ridgeline.policy.by_law import judge
from ridgeline.policy.checks import CHECKS
from ridgeline.policy.decision import Comparison, Decision, Diagnostics, Outcome
from ridgeline.policy.facts import Facts
from ridgeline.policy.forced import obey
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.law.terms import LawReason
from ridgeline.policy.lifecycle import mend_times, remember_switch
from ridgeline.policy.memory import FastMemory, Memory, Switch
from ridgeline.policy.move import (
    Move,
    law_move,
    leaving_move,
    scheduled_move,
    wanted_move,
)
from ridgeline.policy.move_checks import BLINDING, LAST_CHECKS, MOVE_CHECKS
from ridgeline.policy.requalified import LEAVE_CHECKS, move_away
from ridgeline.policy.requalify import compare_anew
from ridgeline.policy.scheduled import scheduled_wish
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.situation import Seen, Situation, observe
from ridgeline.policy.verdict import Hold, Verdict
from ridgeline.policy.way import way_of
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollWay


def decide(
    facts: Facts,
    settings: PolicySettings,
    memory: Memory,
    now: float,
    seen: Seen | None = None,
) -> Decision:
    """Say what is to be done about one serving.

    Args:
        facts: What is known now.
        settings: What a person asked for.
        memory: `Decision.memory` of the decision before; for the first one, slow memory alone.
        now: Epoch seconds.
        seen: `see(facts)`, by whoever has it already.

    Raises:
        ValueError: When `now` is not finite. Nothing else is raised, whatever the facts say.
    """
    if not math.isfinite(now):
        raise ValueError(f"now must be finite epoch seconds, not {now}")
    situation = observe(facts, settings, mend_times(memory, now), now, seen)
    judged = _judge(situation)
    stopped = settings.suspended or settings.frozen
    if settings.forced is None and not stopped:
        return judged
    # The law has looked, whoever decides: what it remembers has no holes.
    situation = replace(situation, memory=replace(situation.memory, law=judged.memory.law))
    if stopped or settings.forced is None:
        return _suspended(situation, judged)
    obeyed, law = obey(situation, settings.forced), judged.diagnostics.law
    return replace(obeyed, diagnostics=replace(obeyed.diagnostics, law=law))


def _judge(situation: Situation) -> Decision:
    """Decide as if the serving were not suspended."""
    lawful = judge(situation)
    if lawful is not None:
        memory = replace(situation.memory, law=lawful.memory)
        situation = replace(situation, memory=memory)
    decided = compare_anew(situation, lawful, _checked(situation, lawful))
    if lawful is None:
        return decided
    return replace(decided, diagnostics=replace(decided.diagnostics, law=lawful))


def _checked(situation: Situation, lawful: LawDecision | None) -> Decision:
    """Put the moment through the checks, and then to the law or the borders of the table."""
    before: tuple[str, ...] = ("suspended",)
    compared: tuple[Comparison, ...] = ()
    for name, check in CHECKS:
        verdict = check(situation)
        compared += verdict.comparisons
        if verdict.hold is not None:
            return _held(situation, verdict.hold, _told(situation, name, before, compared))
        before += (name,)
    away = move_away(situation)
    if away is not None:
        return _finish(away, (*before, "requalified"), compared, LEAVE_CHECKS)
    if lawful is not None and not situation.must_leave:
        return _by_law(situation, lawful, before, compared)
    return _place(situation, before, compared)


def _by_law(
    situation: Situation,
    lawful: LawDecision,
    before: tuple[str, ...],
    compared: tuple[Comparison, ...],
) -> Decision:
    """Turn the law's word into a decision: a move still has to be allowed and possible."""
    compared += lawful.comparisons
    if lawful.go:
        return _finish(law_move(situation, lawful), (*before, "law"), compared, LAST_CHECKS)
    wished = lawful.direction is not None
    stays = lawful.reason is LawReason.STAYS
    return Decision(
        outcome=Outcome.KEEP if stays else Outcome.HOLD,
        profile=situation.active,
        recommended=lawful.wish if wished else situation.active if stays else None,
        reason=LAW_REASONS[lawful.reason],
        message=lawful.notice or lawful.message,
        memory=_looking_afresh(situation),
        diagnostics=_told(situation, "law", before, compared),
    )


def _place(
    situation: Situation, before: tuple[str, ...], compared: tuple[Comparison, ...]
) -> Decision:
    """Compare concurrency with the borders of the active row."""
    table, row, concurrency = situation.table, situation.row, situation.estimates.concurrency
    if table is not None and situation.must_leave:
        return _try(leaving_move(situation, table), before, compared)
    if table is None or row is None or concurrency is None:
        raise AssertionError("the checks let a serving through that cannot be placed in its table")
    compared += compare_with_borders(table, row, concurrency)
    towards = table.next_row(row, concurrency)
    asked = scheduled_wish(situation, table, concurrency)
    if asked is not None and asked.profile != situation.active:
        return _try(scheduled_move(situation, table, row, asked), before, compared)
    if towards != row and asked is None:
        move = wanted_move(situation, table, row, towards, concurrency)
        return _try(move, before, compared)
    inside, message = stays_because(table, row, concurrency)
    reason = Reason.INSIDE_BAND if inside else Reason.BEST_PROFILE_ACTIVE
    if asked is not None:
        reason, message = asked.reason, asked.message
    return Decision(
        outcome=Outcome.KEEP,
        profile=situation.active,
        recommended=situation.active,
        reason=reason,
        message=message,
        memory=_looking_afresh(situation),
        diagnostics=_told(situation, "cutoffs", before, compared),
    )


def _try(move: Move, before: tuple[str, ...], compared: tuple[Comparison, ...]) -> Decision:
    """Put a wanted move through its checks."""
    return _finish(move, (*before, "cutoffs"), compared, MOVE_CHECKS)


def _finish(
    move: Move,
    before: tuple[str, ...],
    compared: tuple[Comparison, ...],
    checks: tuple[tuple[str, Callable[[Move], Verdict]], ...],
) -> Decision:
    """Switch, unless one of the checks holds the move."""
    situation = move.situation
    for name, check in checks:
        verdict = check(move)
        compared += verdict.comparisons
        if verdict.hold is not None:
            told = _told(situation, name, before, compared)
            held = _held(situation, verdict.hold, told)
            if name in BLINDING:
                return replace(held, recommended=None)
            remembered = replace(situation.memory, fast=FastMemory(crossing=move.crossing))
            return replace(held, recommended=move.profile, memory=remembered)
        before += (name,)
    return _switch(move, _told(situation, "switch", before, compared))


def _switch(move: Move, told: Diagnostics) -> Decision:
    situation, reason, way = move.situation, move.reason, way_of(move)
    switch = Switch(
        started_at=situation.now,
        finished_at=None,
        from_profile=situation.active,
        to_profile=move.profile,
        reason=reason,
        # What was ordered says nothing about the load.
        concurrency=None if reason is Reason.SCHEDULED else situation.estimates.concurrency,
    )
    # A trial is taken back: it is no switch, and takes nothing of the day's budget.
    memory = situation.memory
    trial = way is RollWay.TRIAL
    message = (
        f"{move.told}: {move.profile} may be better, and is measured on one canary"
        if trial
        else f"{move.told}: {move.profile} is better"
    )
    return Decision(
        outcome=Outcome.SWITCH,
        profile=move.profile,
        recommended=move.profile,
        reason=Reason.TRIAL if trial else reason,
        message=message,
        memory=replace(memory, fast=FastMemory()) if trial else remember_switch(memory, switch),
        diagnostics=told,
        way=way,
    )


def _held(situation: Situation, hold: Hold, told: Diagnostics) -> Decision:
    return Decision(
        outcome=Outcome.HOLD,
        profile=situation.active,
        recommended=None,
        reason=hold.reason,
        message=hold.message,
        memory=_looking_afresh(situation),
        diagnostics=told,
    )


def _suspended(situation: Situation, judged: Decision) -> Decision:
    """Hold, and keep what the table asks for as a recommendation."""
    frozen = situation.settings.frozen
    message = (
        f"{'the operator is frozen' if frozen else 'spec.suspend is true'}: nothing is changed"
    )
    if judged.recommended is None:
        message += f"; there is no recommendation either: {judged.message}"
    elif judged.recommended == situation.active:
        message += f"; {judged.recommended} would stay"
    else:
        message += f"; the cut-off table asks for {judged.recommended}"
    return Decision(
        outcome=Outcome.HOLD,
        profile=situation.active,
        recommended=judged.recommended,
        reason=Reason.FROZEN if frozen else Reason.SUSPENDED,
        message=message,
        memory=_looking_afresh(situation),
        diagnostics=replace(judged.diagnostics, decided_by="suspended", passed=()),
    )


def _looking_afresh(situation: Situation) -> Memory:
    """Return memory in which no crossing is under way."""
    memory = situation.memory
    return memory if memory.fast == _AFRESH else replace(memory, fast=_AFRESH)


_AFRESH: Final = FastMemory()


def _told(
    situation: Situation, name: str, before: tuple[str, ...], compared: tuple[Comparison, ...]
) -> Diagnostics:
    return Diagnostics(
        decided_by=name,
        passed=before,
        comparisons=compared,
        estimates=situation.estimates,
    )
