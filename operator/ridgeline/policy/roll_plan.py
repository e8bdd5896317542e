"""Whether a roll could finish: checked before it is begun, each "no" with numbers to check.

A Deployment's own controller rolls the Pods; what it will do follows from a few fields that belong
to others and that we never write. Where they are wrong we hold and say which line to change.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ridgeline.policy.placement import Room
from ridgeline.policy.verdict import Hold
from ridgeline.terms.reasons import Reason

START_MARGIN: Final = 1.25
"""A drafter's weights and its graphs make a start longer than the one that was seen without it."""

EXIT_SECONDS: Final = 2.0
"""Time that a server takes to exit once it has drained (1 to 3 s recorded with vLLM 0.32)."""

IntOrPercent = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollPlan:
    """What decides how a roll of one target goes.

    Attributes:
        replicas: Replicas asked for.
        recreate: Whether the strategy stops all Pods first.
        max_surge: As in the Deployment (a number or a percentage).
        max_unavailable: Likewise.
        room: Where a surge Pod could go.
        disruptions_allowed: Pods that the PodDisruptionBudgets would let go now; `None` without.
        budget_name: The PodDisruptionBudget that says so.
        startup_budget_seconds: How long a start may take before a probe kills it; `None`: for ever.
        progress_deadline_seconds: `progressDeadlineSeconds`; `None` when not limited.
        start_seconds: How long starts of this target take, as far as seen.
        grace_seconds: `terminationGracePeriodSeconds`.
        drain_seconds: preStop sleep and `--shutdown-timeout` together.
    """

    replicas: int
    recreate: bool = False
    max_surge: IntOrPercent = "25%"
    max_unavailable: IntOrPercent = "25%"
    room: Room
    disruptions_allowed: int | None = None
    budget_name: str = ""
    startup_budget_seconds: float | None = None
    progress_deadline_seconds: float | None = 600.0
    start_seconds: float | None = None
    grace_seconds: float = 30.0
    drain_seconds: float = 0.0

    @property
    def surge(self) -> int:
        """Pods beyond `replicas` that a roll may add: percentages round up."""
        return _count(self.max_surge, self.replicas, round_up=True)

    @property
    def unavailable(self) -> int:
        """Pods that a roll may take away: percentages round down."""
        return _count(self.max_unavailable, self.replicas, round_up=False)


def strategy_serves(plan: RollPlan) -> Hold | None:
    """Guard that a roll does not stop every replica at once."""
    if not plan.recreate:
        return None
    return Hold(
        reason=Reason.ROLL_STOPS_SERVING,
        message="strategy Recreate stops every replica before a new one starts; set "
        "spec.strategy.type: RollingUpdate in the Deployment",
    )


def strategy_moves(plan: RollPlan) -> Hold | None:
    """Guard that surge and unavailability do not both round to no Pod."""
    if plan.recreate or plan.surge > 0 or plan.unavailable > 0:
        return None
    return Hold(
        reason=Reason.ROLL_CANNOT_MOVE,
        message=f"maxSurge {plan.max_surge} and maxUnavailable {plan.max_unavailable} both round "
        f"to 0 Pods of {plan.replicas} (Kubernetes would take one away all the same); set one of "
        "spec.strategy.rollingUpdate.maxSurge and maxUnavailable in the Deployment to 1",
    )


def surge_fits(plan: RollPlan) -> Hold | None:
    """Guard that a surge Pod finds a node when no Pod may be taken away for it."""
    if plan.recreate or plan.unavailable > 0 or plan.room.pods is None or plan.room.pods > 0:
        return None
    return Hold(
        reason=Reason.NO_ROOM_FOR_SURGE,
        message=f"a roll must first start {plan.surge} Pods more (maxUnavailable is 0), and "
        f"{plan.room.why}; free a GPU, or set spec.strategy.rollingUpdate.maxUnavailable: 1 in "
        "the Deployment",
    )


def disruptions_allowed(plan: RollPlan) -> Hold | None:
    """Guard that a roll takes no more Pods away than a PodDisruptionBudget would allow."""
    if plan.disruptions_allowed is None or plan.unavailable <= plan.disruptions_allowed:
        return None
    return Hold(
        reason=Reason.DISRUPTION_BUDGET,
        message=f"a roll may take {plan.unavailable} Pods away at once, and PodDisruptionBudget "
        f"{plan.budget_name} allows {plan.disruptions_allowed} now; set "
        "spec.strategy.rollingUpdate.maxUnavailable in the Deployment to at most that",
    )


def start_is_given_time(plan: RollPlan) -> Hold | None:
    """Guard that neither a probe nor the progress deadline ends a start that goes well."""
    if plan.start_seconds is None:
        return None
    needed = START_MARGIN * plan.start_seconds
    for budget, what in (
        (plan.startup_budget_seconds, "the startup (or liveness) probe's budget"),
        (plan.progress_deadline_seconds, "spec.progressDeadlineSeconds"),
    ):
        if budget is not None and budget < needed:
            return Hold(
                reason=Reason.START_BUDGET_TOO_SHORT,
                message=f"a start of this target took {plan.start_seconds:.0f} s, so one with a "
                f"drafter may take {needed:.0f} s, and {what} is {budget:.0f} s; raise it in the "
                "Deployment",
            )
    return None


def drain_is_given_time(plan: RollPlan) -> Hold | None:
    """Guard that the grace period lasts as long as the drain that the Pod asks for."""
    needed = plan.drain_seconds + EXIT_SECONDS
    if plan.drain_seconds <= 0 or plan.grace_seconds >= needed:
        return None
    return Hold(
        reason=Reason.DRAIN_TOO_SHORT,
        message=f"preStop and --shutdown-timeout ask for {plan.drain_seconds:.0f} s, and "
        f"terminationGracePeriodSeconds is {plan.grace_seconds:.0f}: running answers would be "
        f"cut; set it to {math.ceil(needed)} or more in the Deployment",
    )


ROLL_CHECKS: Final[tuple[tuple[str, Callable[[RollPlan], Hold | None]], ...]] = (
    ("strategy_serves", strategy_serves),
    ("strategy_moves", strategy_moves),
    ("surge_fits", surge_fits),
    ("disruptions_allowed", disruptions_allowed),
    ("start_is_given_time", start_is_given_time),
    ("drain_is_given_time", drain_is_given_time),
)
"""In the order in which a person would mend them."""


def first_hold(plan: RollPlan) -> Hold | None:
    """Return why a roll is not begun, `None` when it may be."""
    return next((hold for _, check in ROLL_CHECKS if (hold := check(plan)) is not None), None)


def _count(value: IntOrPercent, replicas: int, *, round_up: bool) -> int:
    if isinstance(value, int):
        return value
    text = value.strip()
    if text.endswith("%") and text[:-1].isdigit():
        hundredths = int(text[:-1]) * replicas
        return -(-hundredths // 100) if round_up else hundredths // 100
    return int(text) if text.isdigit() else 0
