"""What a serving's conditions say: each is a plain function of what was seen and decided.

`Ready` tells whether the serving is observed and decided. A switch under way, a Prometheus that is
down or a cooldown leave it True: they have conditions of their own, and Ready must not flap.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.policy import checks, sight
from ridgeline.policy.decision import Decision
from ridgeline.policy.facts import Problem
from ridgeline.policy.requalify import pending
from ridgeline.policy.roll import Roll
from ridgeline.policy.situation import Situation
from ridgeline.terms.conditions import ConditionStatus, ConditionType
from ridgeline.terms.reasons import Reason

_TRUE, _FALSE, _UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN

_VISIBILITY: Final = (
    checks.telemetry,
    checks.ready_replicas,
    checks.settling,
    sight.finite_data,
    sight.data,
    sight.completeness,
)

_NOT_YET: Final = frozenset({Reason.NO_READY_REPLICAS, Reason.REPLICAS_SETTLING})
"""Nothing can be seen yet, and nothing is wrong with telemetry."""

NEEDS_A_PERSON: Final = frozenset(
    {
        Reason.SPEC_INVALID,
        Reason.POLICY_NOT_FOUND,
        Reason.ACCELERATOR_UNKNOWN,
        Reason.ACCELERATOR_SHARED,
        Reason.ACCELERATOR_MIXED,
        Reason.ACCELERATOR_NOT_READABLE,
        Reason.MODEL_UNKNOWN,
        Reason.FORCED_PROFILE_UNKNOWN,
        Reason.TARGET_NOT_FOUND,
        Reason.TARGET_CONFLICT,
        Reason.CONTAINER_AMBIGUOUS,
        Reason.CONTAINER_NOT_FOUND,
        Reason.INJECTION_POINT_MISSING,
        Reason.ARGS_NOT_EDITABLE,
        Reason.ARGS_NOT_ALLOWED,
        Reason.SPECULATIVE_CONFIG_INVALID,
        Reason.ACTIVE_PROFILE_UNKNOWN,
        Reason.PROFILE_MISMATCH,
        Reason.UNKNOWN_TELEMETRY_ENDPOINT,
        Reason.ROLLOUT_STALLED,
        Reason.ROLLBACK_STALLED,
        Reason.FIELD_CONFLICT,
        Reason.UNDONE_BY_OTHERS,
        Reason.WRITE_REFUSED,
    }
)
"""Situations that do not pass by themselves: Ready is False and Stalled stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One condition without its times."""

    type: ConditionType
    status: ConditionStatus
    reason: Reason
    message: str


def findings(
    situation: Situation | None,
    decision: Decision | None,
    roll: Roll | None,
    problem: Problem | None,
    drift: Problem | None = None,
) -> tuple[Finding, ...]:
    """Return every condition that stands, in the order in which people read them.

    Args:
        situation: What was seen; `None` when the spec could not be read.
        decision: What was decided; `None` likewise.
        roll: The latest roll.
        problem: What keeps the serving from working, beyond what the decision tells.
        drift: What the active profile does otherwise than it used to.
    """
    trouble = problem or _trouble(decision)
    found = [
        _ready(trouble),
        _target_resolved(situation),
        _telemetry_available(situation),
        _profile_applied(situation, decision, roll),
        _suspended(situation),
        *_schedules_valid(situation),
    ]
    if drift is not None:
        found.append(
            Finding(
                type=ConditionType.PREDICTION_FITS,
                status=_FALSE,
                reason=drift.reason,
                message=drift.message,
            )
        )
    found += _proof_fresh(situation)
    if roll is not None and roll.open and trouble is None:
        found.append(
            Finding(
                type=ConditionType.RECONCILING,
                status=_TRUE,
                reason=roll.doing.reason,
                message=roll.doing.message,
            )
        )
    if trouble is not None:
        found.append(
            Finding(
                type=ConditionType.STALLED,
                status=_TRUE,
                reason=trouble.reason,
                message=trouble.message,
            )
        )
    return tuple(found)


def _trouble(decision: Decision | None) -> Problem | None:
    if decision is None or decision.reason not in NEEDS_A_PERSON:
        return None
    return Problem(reason=decision.reason, message=decision.message)


def _ready(trouble: Problem | None) -> Finding:
    if trouble is not None:
        return Finding(
            type=ConditionType.READY,
            status=_FALSE,
            reason=trouble.reason,
            message=trouble.message,
        )
    return Finding(
        type=ConditionType.READY,
        status=_TRUE,
        reason=Reason.OPERATING,
        message="the serving is observed and decided",
    )


def _target_resolved(situation: Situation | None) -> Finding:
    kind = ConditionType.TARGET_RESOLVED
    if situation is None:
        return _not_evaluated(kind)
    target = situation.facts.target
    if isinstance(target, Problem):
        return Finding(type=kind, status=_FALSE, reason=target.reason, message=target.message)
    return Finding(
        type=kind,
        status=_TRUE,
        reason=Reason.RESOLVED,
        message="the target and its container were found",
    )


def _telemetry_available(situation: Situation | None) -> Finding:
    kind = ConditionType.TELEMETRY_AVAILABLE
    if situation is None or isinstance(situation.facts.target, Problem):
        return _not_evaluated(kind)
    for check in _VISIBILITY:
        hold = check(situation).hold
        if hold is not None:
            status = _UNKNOWN if hold.reason in _NOT_YET else _FALSE
            return Finding(type=kind, status=status, reason=hold.reason, message=hold.message)
    return Finding(
        type=kind,
        status=_TRUE,
        reason=Reason.FRESH,
        message="every Ready Pod has fresh samples",
    )


def _profile_applied(
    situation: Situation | None, decision: Decision | None, roll: Roll | None
) -> Finding:
    kind = ConditionType.PROFILE_APPLIED
    if situation is None or situation.target is None or decision is None:
        return _not_evaluated(kind)
    if decision.reason in (Reason.ROLLOUT_STALLED, Reason.ROLLBACK_STALLED):
        return Finding(type=kind, status=_FALSE, reason=decision.reason, message=decision.message)
    if roll is not None and roll.open:
        return Finding(
            type=kind,
            status=_FALSE,
            reason=roll.doing.reason,
            message=roll.doing.message,
        )
    if situation.active is None:
        return Finding(
            type=kind,
            status=_UNKNOWN,
            reason=Reason.ACTIVE_PROFILE_UNKNOWN,
            message="the target runs a config that no profile describes",
        )
    return Finding(
        type=kind,
        status=_TRUE,
        reason=Reason.APPLIED,
        message=f"the target runs {situation.active}",
    )


def _suspended(situation: Situation | None) -> Finding:
    if situation is not None and situation.settings.frozen:
        return Finding(
            type=ConditionType.SUSPENDED,
            status=_TRUE,
            reason=Reason.FROZEN,
            message="nothing is changed while the operator's freeze switch is on",
        )
    if situation is not None and situation.settings.suspended:
        return Finding(
            type=ConditionType.SUSPENDED,
            status=_TRUE,
            reason=Reason.SUSPENDED,
            message="nothing is changed while the serving is suspended or the operator is frozen",
        )
    return Finding(
        type=ConditionType.SUSPENDED,
        status=_FALSE,
        reason=Reason.NOT_SUSPENDED,
        message="the serving may be changed",
    )


def _schedules_valid(situation: Situation | None) -> tuple[Finding, ...]:
    """Return whether the schedules can be followed; nothing where there are none."""
    if situation is None or situation.settings.schedule is None:
        return ()
    kind, wrong = ConditionType.SCHEDULES_VALID, situation.settings.schedule_problems
    if not wrong:
        message = "every schedule can be followed, and no two want different profiles at once"
        return (
            Finding(type=kind, status=_TRUE, reason=Reason.SCHEDULES_RESOLVED, message=message),
        )
    message = "; ".join(each.message for each in wrong)
    return (Finding(type=kind, status=_FALSE, reason=wrong[0].reason, message=message),)


def _proof_fresh(situation: Situation | None) -> tuple[Finding, ...]:
    """Return that the active profile must show itself anew; nothing while it need not."""
    stale = pending(situation) if situation is not None else None
    if stale is None:
        return ()
    kind = ConditionType.PROOF_FRESH
    return (Finding(type=kind, status=_FALSE, reason=stale.reason, message=stale.message),)


def _not_evaluated(kind: ConditionType) -> Finding:
    return Finding(
        type=kind,
        status=_UNKNOWN,
        reason=Reason.NOT_NEEDED,
        message="not evaluated while something else is wrong",
    )
