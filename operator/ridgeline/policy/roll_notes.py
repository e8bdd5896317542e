"""What is looked into before a roll, for a person; also what is not known, and does not hold."""

import math

from ridgeline.policy.roll_plan import RollPlan

Note = tuple[str, str]


def looked_into(plan: RollPlan) -> tuple[Note, ...]:
    """Return (what it is about, what is known of it) for a target."""
    notes: list[Note] = [
        ("room for a surge Pod", plan.room.why),
        ("quota", plan.quota.why),
        ("drain", _drain(plan)),
    ]
    if plan.owner:
        what = "profiles are set there" if plan.through_owner else "recommendations only"
        notes.append(("owned by", f"{plan.owner}: {what}"))
    if plan.autoscaler is not None:
        scaler = plan.autoscaler
        notes.append(
            (
                "autoscaler",
                f"HorizontalPodAutoscaler {scaler.name} keeps {scaler.least} to {scaler.most} "
                "replicas and may scale at any moment, also during a roll",
            )
        )
    if plan.gang is not None:
        named, least = plan.gang.name or "unnamed", plan.gang.least
        together = f"{least} together" if least is not None else "how many together is not known"
        notes.append(("gang", f"{named} ({plan.gang.key}): {together}"))
    if plan.unread:
        notes.append(("not readable", f"{', '.join(plan.unread)}: nothing is concluded from them"))
    return tuple(notes)


def _drain(plan: RollPlan) -> str:
    longest = plan.longest_answer_seconds
    known = longest is not None and math.isfinite(longest)
    answers = (
        f"answers take up to {longest:.0f} s" if known else "the longest answers are not known"
    )
    return f"running answers get {plan.drain_lasts:.0f} s when a Pod goes; {answers}"
