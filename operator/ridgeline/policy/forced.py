"""A person's order: the force annotation names the profile, whatever the cut-offs say.

It needs no telemetry and waits for no dwell, cooldown or budget, and lifts a quarantine. What it
does not override is what would do harm whoever asks: another rollout under way, a roll that could
not finish, and the same roll once more after it has failed. An order stands until somebody takes
it back, and would else take Pods away and put them back for ever; so it is obeyed once, and again
when the quarantine that its failure left is over or lifted by an edit.
"""

from dataclasses import replace
from typing import Final

from ridgeline.policy import checks
from ridgeline.policy.decision import Decision, Diagnostics, Outcome
from ridgeline.policy.engine_report import refusal
from ridgeline.policy.lifecycle import remember_switch
from ridgeline.policy.memory import FastMemory, Switch
from ridgeline.policy.quarantine import Quarantined, binding
from ridgeline.policy.roll_plan import first_hold
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import Hold
from ridgeline.policy.wording import duration
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
        failed = _failed_when_ordered(situation, profile)
        if failed is not None:
            return _decision(situation, profile, failed, "quarantine")
    if situation.active != profile and situation.facts.plan is not None:
        hold_by_plan = first_hold(situation.facts.plan, profile, voluntary=False)
        if hold_by_plan is not None:
            return _decision(situation, profile, hold_by_plan, "roll_can_finish")
    return _decision(situation, profile, None, "forced")


def _failed_when_ordered(situation: Situation, profile: str) -> Hold | None:
    """Return why an order is not obeyed once more: its own roll has failed."""
    bound = binding(situation.memory.slow.quarantine, situation.now)
    entry = next((each for each in bound if each.profile == profile), None)
    if entry is None or not _was_ordered(situation, entry):
        return None
    ago, left = max(0.0, situation.now - entry.since), entry.until - situation.now
    return Hold(
        reason=Reason.PROFILE_QUARANTINED,
        message=f"annotation {FORCE_ANNOTATION} orders {profile}, which was rolled to by that "
        f"order and failed {duration(ago)} ago ({entry.reason.value}: {entry.message}); it is "
        f"tried again in {duration(left)}, or at once when the profile, or an image or argument in "
        "the Deployment, is edited; remove the annotation to go back to the cut-off table",
    )


def _was_ordered(situation: Situation, entry: Quarantined) -> bool:
    """Tell whether the roll that failed was ordered: a failure before the order is overridden."""
    rolls = reversed(situation.memory.slow.switches)
    last = next((each for each in rolls if each.started_at <= entry.since), None)
    if last is None:
        return False
    return last.to_profile == entry.profile and last.reason is Reason.FORCED


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
