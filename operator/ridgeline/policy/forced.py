"""A person's order: the force annotation names the profile, whatever the cut-offs say.

It needs no telemetry and waits for no dwell, cooldown or budget. What it does not override is what
would do harm whoever asks: another rollout under way, and a roll that could not finish.
"""

from dataclasses import replace
from typing import Final

from ridgeline.policy import checks
from ridgeline.policy.decision import Decision, Diagnostics, Outcome
from ridgeline.policy.engine_report import refusal
from ridgeline.policy.lifecycle import remember_switch
from ridgeline.policy.memory import FastMemory, Switch
from ridgeline.policy.roll_plan import first_hold
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import Hold
from ridgeline.terms.names import FORCE_ANNOTATION
from ridgeline.terms.reasons import Reason

_STILL_CHECKED: Final = (
    ("target", checks.target),
    ("rollout", checks.rollout),
    ("own_roll", checks.own_roll),
)


def obey(situation: Situation, profile: str) -> Decision:
    """Decide for the ordered profile."""
    if profile not in situation.settings.methods:
        known = ", ".join(sorted(situation.settings.methods))
        hold = Hold(
            reason=Reason.FORCED_PROFILE_UNKNOWN,
            message=f"annotation {FORCE_ANNOTATION} names profile {profile!r}, which spec.profiles "
            f"does not define (defined: {known}); correct or remove the annotation",
        )
        return _decision(situation, profile, hold, "forced_profile_known")
    for name, check in _STILL_CHECKED:
        verdict = check(situation)
        if verdict.hold is not None:
            return _decision(situation, profile, verdict.hold, name)
    if situation.active != profile:
        hold_by_engine = refusal(situation.settings.engine, profile)
        if hold_by_engine is not None:
            return _decision(situation, profile, hold_by_engine, "engine")
    if situation.active != profile and situation.facts.plan is not None:
        hold_by_plan = first_hold(situation.facts.plan, profile, voluntary=False)
        if hold_by_plan is not None:
            return _decision(situation, profile, hold_by_plan, "roll_can_finish")
    return _decision(situation, profile, None, "forced")


def _decision(situation: Situation, profile: str, hold: Hold | None, by: str) -> Decision:
    memory = replace(situation.memory, fast=FastMemory())
    known = profile in situation.settings.methods
    told = Diagnostics(decided_by=by, passed=(), comparisons=(), estimates=situation.estimates)
    if hold is not None:
        return Decision(
            outcome=Outcome.HOLD,
            profile=situation.active,
            recommended=profile if known else None,
            reason=hold.reason,
            message=hold.message,
            memory=memory,
            diagnostics=told,
        )
    switches = situation.active != profile
    if switches:
        switch = Switch(
            started_at=situation.now,
            finished_at=None,
            from_profile=situation.active,
            to_profile=profile,
            reason=Reason.FORCED,
        )
        memory = remember_switch(memory, switch)
    return Decision(
        outcome=Outcome.SWITCH if switches else Outcome.KEEP,
        profile=profile,
        recommended=profile,
        reason=Reason.FORCED,
        message=f"annotation {FORCE_ANNOTATION} orders {profile}; remove it to go back to the "
        "cut-off table",
        memory=memory,
        diagnostics=told,
    )
