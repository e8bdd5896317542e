"""The default law: when to roll a fleet to another profile, and when to stay.

Words. D: demand, the decode tokens per second asked of the fleet. B: requests in decode per engine.
X_p(B): tokens per second of an engine on profile p. Profiles are ordered from the one for the least
demand (most speculation) to the one for the most (none); between two neighbours lies a border with
cut-off B* where X_quieter = X_busier, and D* = engines · X(B*). D_safe: 0.9 of what every phase
of a roll can carry. P: the week's peak ÷ D*.

Why not act at the cut-off: there the gain of a move is zero and its roll at its dearest, since a
speculating fleet carries hardly more than D* and less with a replica out. So

    D_off = min(0.85 · lower edge of D*, D_safe)     with surge min(0.9 · lower edge of D*, D_safe)
    D_on  = 0.9 · D_off
    B_off, B_on: the running profile's concurrency at D_off, D_on

1. Nothing is decided while a roll is under way, for 120 s after it (up to 600 s while servers are
   full), nor when fewer than 80 % of the replicas are seen; what is not watched has not lasted.
2. Gate: a border is insured when P > 1.05 (surge: 1.2) or not known, else in regret mode.
3. Insured: busier when any of {D > D_off, B > B_off, saturation} has lasted 60 s; quieter when all
   of {D < D_on, B < B_on, no saturation} have lasted 600 s.
4. Regret: S ← max(0, S + (L_running − 1.05·L_other)·dt), a move when S ≥ 0.5·cost of its roll;
   saturation for 480 s (surge: 120 s) without its queue shrinking goes busier at once.
5. A schedule's profile is gone to ahead of its time: busier whenever a roll is safe, quieter when
   3's values allow it.
6. Guards (`guards`): budget, detector, cooldown, and a roll that the fleet can carry.
7. Experience (`experience`): saturation below D_off lowers D_off; opposite decisions at one load
   lower D_on and B_on and lock switching on for six hours.

Why it rests: D_on < D_off at every border, so an unchanged D never crosses one both ways. B and
saturation depend on the running profile and can disagree with D where a curve is wrong or where
users are as many at any speed; then a move is undone at most once, and the detector keeps the same
load from doing it again. A second move upwards at the same load goes all the way. So an unchanged
load causes two moves at most, with any number of profiles.

All of it is a pure function: scaling engines, replicas, surge and sums together changes nothing.
"""

import math
from dataclasses import replace

from ridgeline.policy.comparison import Comparison
from ridgeline.policy.law.borders import Border, borders, off_concurrency, on_concurrency
from ridgeline.policy.law.decision import ActAt, LawDecision
from ridgeline.policy.law.experience import with_lock
from ridgeline.policy.law.guards import Barrier, first_barrier
from ridgeline.policy.law.inputs import LawInputs
from ridgeline.policy.law.look import Look, look, without_timers
from ridgeline.policy.law.memory import Asked, LawMemory
from ridgeline.policy.law.moment import Moment, Proposal
from ridgeline.policy.law.proposals import propose
from ridgeline.policy.law.recall import mended, with_profile_seen
from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.law.settle import settling_left
from ridgeline.policy.law.terms import Direction, LawMode, LawReason
from ridgeline.policy.verdict import at_least, at_most
from ridgeline.policy.wording import duration, number, number_beside


def step(inputs: LawInputs, settings: LawSettings, memory: LawMemory, now: float) -> LawDecision:
    """Say which profile one fleet should run, and whether the move may begin now.

    Args:
        inputs: One tick of the fleet.
        settings: The constants, and what a person asked for.
        memory: `LawDecision.memory` of the step before; after a start, slow memory alone.
        now: Epoch seconds; when it is not finite nothing is decided.
    """
    if not math.isfinite(now):
        return _resting(inputs, memory, None, LawReason.BLIND, "the clock shows no finite time")
    before = mended(memory, settings, now)
    seen, memory = look(inputs, settings, before, now)
    memory = with_profile_seen(
        memory, inputs, seen, settings, now, restarted=before.fast.seen_at is None
    )
    obstacle = _obstacle(inputs, settings, seen, now)
    if obstacle is not None or seen is None or inputs.row is None:
        reason, message = obstacle or (LawReason.BLIND, "nothing is seen")
        return _resting(inputs, memory, seen, reason, message)
    moment = Moment(
        inputs=inputs,
        settings=settings,
        slow=memory.slow,
        seen=seen,
        row=inputs.row,
        borders=borders(inputs, settings, memory.slow, now),
        now=now,
    )
    modes = tuple([border.mode for border in moment.borders])
    if modes != memory.slow.modes:
        memory = replace(memory, slow=replace(memory.slow, modes=modes))
    return _decided(moment, memory)


def _obstacle(
    inputs: LawInputs, settings: LawSettings, seen: Look | None, now: float
) -> tuple[LawReason, str] | None:
    """Return why nothing can be decided now."""
    if inputs.roll.rolling:
        of = f"{inputs.roll.updated} of {inputs.strategy.replicas} Pods updated"
        return LawReason.ROLLING, f"a rollout is under way: {of}"
    if seen is None:
        share = number(100.0 * inputs.seen_share) if math.isfinite(inputs.seen_share) else "no"
        return LawReason.BLIND, f"demand or concurrency is not known ({share} % of replicas seen)"
    if inputs.row is None:
        return LawReason.NO_CURVE, f"profile {inputs.running!r} has no curve to be compared by"
    left = settling_left(
        finished_at=inputs.roll.finished_at, saturated=seen.saturated, now=now, settings=settings
    )
    if left > 0:
        return LawReason.SETTLING, f"the last roll's effect fades for {duration(left)} more"
    return None


def _resting(
    inputs: LawInputs, memory: LawMemory, seen: Look | None, reason: LawReason, message: str
) -> LawDecision:
    """Return the decision to change nothing, with no timer running."""
    fast = without_timers(memory.fast)
    if reason in (LawReason.ROLLING, LawReason.SETTLING):
        # Concurrency of a fleet with a replica out, or with empty servers, is no evidence.
        fast = replace(fast, regret=0.0, concurrency=None)
    return LawDecision(
        wish=inputs.running,
        go=False,
        direction=None,
        reason=reason,
        message=message,
        comparisons=(),
        act_at=None,
        demand=seen.demand if seen is not None else None,
        concurrency=seen.concurrency if seen is not None else None,
        regret=fast.regret,
        notice=None,
        memory=replace(memory, fast=fast),
    )


def _decided(moment: Moment, memory: LawMemory) -> LawDecision:
    """Return the decision of a moment in which something can be decided."""
    proposal, fast = propose(moment, memory.fast)
    if fast.asked is not None:
        fast = replace(fast, asked=_still_asked(fast.asked, moment))
    memory = replace(memory, fast=fast)
    compared = _compared(moment)
    if proposal is None:
        return _answer(moment, memory, None, LawReason.STAYS, _stays(moment), compared)
    wished = moment.profile(proposal.row)
    sees_too_little = proposal.row < moment.row and not moment.seen.complete
    if proposal.lasted < proposal.needed and not sees_too_little:
        message = f"{proposal.because}{_so_far(proposal)}: {wished} would be better"
        return _answer(moment, memory, proposal, LawReason.DWELLING, message, compared)
    since = fast.busier_since
    moment = replace(moment, busier_for=0.0 if since is None else moment.now - since)
    barrier, numbers = first_barrier(moment, proposal.row)
    compared += numbers
    if barrier is not None:
        message = f"{proposal.because}: {wished} would be better, but {barrier.message}"
        held = _answer(moment, memory, proposal, barrier.reason, message, compared)
        return _locked(moment, held, barrier)
    # What a schedule asks for says nothing about the load.
    scheduled = proposal.reason is LawReason.SCHEDULED
    told = None if scheduled else _asked(moment, proposal)
    asked = replace(memory, fast=replace(fast, asked=told))
    because = f"{proposal.because}{_so_far(proposal)}"
    message = f"{because}: {wished} is better"
    answered = _answer(moment, asked, proposal, proposal.reason, message, compared)
    return replace(answered, go=True, because=because)


def _so_far(proposal: Proposal) -> str:
    if proposal.reason is LawReason.REGRET:
        return ""
    lasted, needed = proposal.lasted, proposal.needed
    return f" for {number_beside(lasted, needed)} s (needs {number_beside(needed, lasted)} s)"


def _answer(
    moment: Moment,
    memory: LawMemory,
    proposal: Proposal | None,
    reason: LawReason,
    message: str,
    compared: tuple[Comparison, ...],
) -> LawDecision:
    direction = None
    if proposal is not None:
        direction = Direction.BUSIER if proposal.row > moment.row else Direction.QUIETER
    return LawDecision(
        wish=moment.profile(moment.row if proposal is None else proposal.row),
        go=False,
        direction=direction,
        reason=reason,
        message=message,
        comparisons=compared,
        act_at=_act_at(moment),
        demand=moment.seen.demand,
        concurrency=moment.seen.concurrency,
        regret=memory.fast.regret,
        notice=None,
        memory=memory,
    )


def _locked(moment: Moment, held: LawDecision, barrier: Barrier) -> LawDecision:
    """Return a held decision; where the detector held it, with its lock and a word to a person."""
    turn = barrier.opposite
    if turn is None:
        return held
    slow = with_lock(held.memory.slow, turn, moment.inputs, moment.settings, moment.now)
    return replace(
        held,
        memory=replace(held.memory, slow=slow),
        notice=f"{held.message}; switching on is locked for "
        f"{duration(moment.settings.detector_seconds)} and needs a lower load from now on: "
        "the predicted cut-off may be too high",
    )


_ASKED_SECONDS = 600.0


def _still_asked(asked: Asked | None, moment: Moment) -> Asked | None:
    """Return the move asked for, while it can still be on its way to the template."""
    return asked if asked is not None and 0 <= moment.now - asked.at <= _ASKED_SECONDS else None


def _asked(moment: Moment, proposal: Proposal) -> Asked:
    seen, border = moment.seen, moment.above
    below_off = proposal.reason is LawReason.SATURATED and seen.steady and border is not None
    off = None
    if below_off and border is not None:
        off = border.safe_demand if border.off_demand is None else border.off_demand
    return Asked(
        profile=moment.profile(proposal.row),
        at=moment.now,
        demand=moment.demand_per_engine,
        concurrency=seen.concurrency,
        off_demand=None if off is None else off / seen.engines,
    )


def _stays(moment: Moment) -> str:
    told = (
        f"demand is {number(moment.seen.demand)} tokens/s and concurrency per engine "
        f"{number(moment.seen.concurrency)}: {moment.curve.profile} stays"
    )
    above, beneath = moment.above, moment.beneath
    if above is not None and above.off_demand is not None:
        told += f"; {above.busier} is for more than {number(above.off_demand)} tokens/s"
    if beneath is not None and beneath.on_demand > 0:
        told += f"; {beneath.quieter} is for less than {number(beneath.on_demand)} tokens/s"
    elif beneath is not None and moment.inputs.strategy.unavailable >= moment.inputs.replicas:
        told += (
            f"; a roll to {beneath.quieter} would stop every replica at once: let the Deployment "
            "surge (maxSurge 1, maxUnavailable 0)"
        )
    elif beneath is not None:
        told += f"; {beneath.quieter} pays at no demand by what is predicted for it"
    return told


def _compared(moment: Moment) -> tuple[Comparison, ...]:
    """Return how demand and concurrency stand to the borders on either side."""
    compared: list[Comparison] = []
    engines, seen = moment.seen.engines, moment.seen
    above, beneath = moment.above, moment.beneath
    if above is not None and above.off_demand is not None:
        stays, asks = f"{above.quieter} stays", f"{above.busier} is asked for"
        level = off_concurrency(above, moment.curve, engines)
        for name, value, limit in (
            ("demand, tokens/s", seen.demand, above.off_demand),
            ("concurrency per engine", seen.concurrency, level or 0.0),
        ):
            compared.append(at_most(name, value, limit, met=stays, missed=asks))
    if beneath is not None:
        stays, asks = f"{beneath.busier} stays", f"{beneath.quieter} is allowed"
        for name, value, limit in (
            ("demand, tokens/s", seen.demand, beneath.on_demand),
            (
                "concurrency per engine",
                seen.concurrency,
                on_concurrency(beneath, moment.curve, engines),
            ),
        ):
            compared.append(at_least(name, value, limit, met=stays, missed=asks))
    return tuple(compared)


def _act_at(moment: Moment) -> ActAt | None:
    border: Border | None = moment.above or moment.beneath
    if border is None:
        return None
    quieter = moment.row if moment.above is not None else moment.row - 1
    other = quieter + 1 if quieter == moment.row else quieter
    curves, engines = moment.inputs.curves, moment.seen.engines
    return ActAt(
        quieter=border.quieter,
        busier=border.busier,
        mode=border.mode,
        peak=border.peak_ratio,
        cutoff_demand=border.cutoff_demand,
        cutoff_concurrency=border.cutoff_concurrency,
        safe_demand=border.safe_demand,
        off_demand=border.off_demand,
        on_demand=border.on_demand,
        off_concurrency=off_concurrency(border, curves[quieter], engines),
        on_concurrency=on_concurrency(border, curves[quieter + 1], engines),
        roll_cost=moment.cost_of(other) if border.mode is LawMode.REGRET else None,
    )
