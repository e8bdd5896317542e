"""Whether a roll could finish: checked before it is begun, each "no" with numbers to check.

A Deployment's own controller rolls the Pods; what it will do follows from a few fields that belong
to others and that we never write. Where they are wrong we hold and say which line to change.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.policy.placement import Room
from ridgeline.policy.roll_neighbours import Autoscaler, Gang, ProtectedPod
from ridgeline.policy.verdict import Hold
from ridgeline.terms.names import FORCE_ANNOTATION, PROFILE_ENV
from ridgeline.terms.reasons import Reason

START_MARGIN: Final = 1.25
"""A drafter's weights and its graphs make a start longer than the one that was seen without it."""

EXIT_SECONDS: Final = 2.0
"""Time that a server takes to exit once it has drained (1 to 3 s recorded with vLLM 0.32)."""

NO_QUOTA_KNOWN: Final = Room(pods=None, why="not known: no ResourceQuota was looked at")

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
        start_seconds_by_profile: How long a start took with a profile, as far as learned.
        start_margin: How much longer than `start_seconds` a start may take.
        grace_seconds: `terminationGracePeriodSeconds`.
        drain_seconds: preStop sleep and `--shutdown-timeout` together.
        drains: Whether the engine's version has `--shutdown-timeout`; `None` when not known.
        longest_answer_seconds: How long the longest answers take; `None` when not known.
        quota: How many Pods more the ResourceQuotas allow.
        autoscaler: The HorizontalPodAutoscaler of the target, `None` without a known one.
        gang: Group that a scheduler starts together, `None` without one.
        protected: Live Pods that somebody asks not to disrupt.
        owner: Object that made the Deployment and keeps it so, such as `InferenceService/llama`;
            empty without one.
        through_owner: Whether profiles are written to that object instead of the Deployment.
        owner_note: What else to say to who may only be given recommendations for its sake.
        configs: Speculative config of each profile, for whoever must set it there by hand.
        unread: Kinds of objects that could not be read, so that nothing follows from them.
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
    start_seconds_by_profile: Mapping[str, float] = field(default_factory=dict)
    start_margin: float = START_MARGIN
    grace_seconds: float = 30.0
    drain_seconds: float = 0.0
    drains: bool | None = None
    longest_answer_seconds: float | None = None
    quota: Room = NO_QUOTA_KNOWN
    autoscaler: Autoscaler | None = None
    gang: Gang | None = None
    protected: tuple[ProtectedPod, ...] = ()
    owner: str = ""
    through_owner: bool = False
    owner_note: str = ""
    configs: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def surge(self) -> int:
        """Pods beyond `replicas` that a roll may add: percentages round up."""
        return _count(self.max_surge, self.replicas, round_up=True)

    @property
    def unavailable(self) -> int:
        """Pods that a roll may take away: percentages round down."""
        return _count(self.max_unavailable, self.replicas, round_up=False)

    @property
    def drain_lasts(self) -> float:
        """Seconds that running answers get when a Pod goes: the grace period ends every drain."""
        return min(self.drain_seconds, self.grace_seconds)

    def towards(self, profile: str | None) -> "RollPlan":
        """Return the plan of a roll to a profile, with the start that was learned of it."""
        learned = self.start_seconds_by_profile.get(profile) if profile is not None else None
        if learned is None or not 0.0 < learned < math.inf:
            return self
        return replace(self, start_seconds=learned, start_margin=1.0)


def target_is_its_own(plan: RollPlan, config: str | None = None) -> Hold | None:
    """Guard that no other controller would put its own Pod template back.

    Args:
        plan: How the roll would go.
        config: The speculative config that is wanted, to be shown; `None` when it is not at hand.
    """
    if not plan.owner or plan.through_owner:
        return None
    note = f" ({plan.owner_note})" if plan.owner_note else ""
    value = "" if config is None else f" = '{config}'"
    return Hold(
        reason=Reason.TARGET_OWNED_BY_CONTROLLER,
        message=f"recommendations only: {plan.owner} owns this Deployment and would put its own "
        f"template back; set the profile there: env item {PROFILE_ENV}{value}{note}",
    )


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
    way_out = "free a GPU" if plan.room.gpu_helps else "add a node"
    return Hold(
        reason=Reason.NO_ROOM_FOR_SURGE,
        message=f"a roll must first start {plan.surge} Pods more (maxUnavailable is 0), and "
        f"{plan.room.why}; {way_out}, or set "
        "spec.strategy.rollingUpdate.maxUnavailable: 1 in the Deployment",
    )


def quota_allows(plan: RollPlan) -> Hold | None:
    """Guard that a surge Pod may be made when no Pod may be taken away for it."""
    if plan.recreate or plan.unavailable > 0 or plan.quota.pods is None or plan.quota.pods > 0:
        return None
    return Hold(
        reason=Reason.NO_QUOTA_FOR_SURGE,
        message=f"a roll must first start {plan.surge} Pods more (maxUnavailable is 0), and "
        f"{plan.quota.why}; raise the quota, or set "
        "spec.strategy.rollingUpdate.maxUnavailable: 1 in the Deployment",
    )


def pods_start_alone(plan: RollPlan) -> Hold | None:
    """Guard that a new Pod need not wait for others that nobody makes."""
    gang = plan.gang
    stay = max(0, plan.replicas - plan.unavailable)
    if gang is None or not gang.may_wait(stay + 1):
        return None
    named = f" {gang.name!r}" if gang.name else ""
    least = "several Pods" if gang.least is None else f"{gang.least} Pods"
    told = ", or lower minMember of its PodGroup" if gang.group else ""
    told = f', or set {gang.least_key}: "1"' if gang.least_key else told
    return Hold(
        reason=Reason.GANG_SCHEDULED,
        message=f"the Pods belong to gang{named} ({gang.key}), of which {least} must find a place "
        f"together: a roll makes {plan.surge + plan.unavailable} at a time, which may wait for "
        f"ever{_beside(gang, stay)}; take {gang.key} out of the Deployment{told}",
    )


def _beside(gang: Gang, stay: int) -> str:
    if gang.least is None or not gang.counts_running:
        return ""
    return f" (with one of them {stay + 1} are there: {stay} old ones stay meanwhile)"


def no_pod_is_protected(plan: RollPlan) -> Hold | None:
    """Guard Pods that somebody asks not to disrupt now: a roll replaces every one."""
    if not plan.protected:
        return None
    first, others = plan.protected[0], len(plan.protected) - 1
    more = f" (and {others} more)" if others else ""
    keys = " ".join(f"{key}-" for key in first.by.split(", "))
    return Hold(
        reason=Reason.POD_PROTECTED,
        message=f"Pod {first.name}{more} carries {first.by}, which its template does not: somebody "
        f"asks not to disrupt it now; when it may go: kubectl annotate pod {first.name} {keys}",
    )


def autoscaler_rests(plan: RollPlan) -> Hold | None:
    """Guard that the number of replicas is not being changed."""
    scaler = plan.autoscaler
    if scaler is None or not scaler.scaling:
        return None
    return Hold(
        reason=Reason.SCALING_UNDER_WAY,
        message=f"HorizontalPodAutoscaler {scaler.name} goes from {scaler.current} to "
        f"{scaler.desired} replicas; wait until it is there",
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
    needed = plan.start_margin * plan.start_seconds
    seen = f"a start of this target took {plan.start_seconds:.0f} s"
    if plan.start_margin > 1.0:
        seen += f", so one with a drafter may take {needed:.0f} s"
    for budget, what in (
        (plan.startup_budget_seconds, "the startup (or liveness) probe's budget"),
        (plan.progress_deadline_seconds, "spec.progressDeadlineSeconds"),
    ):
        if budget is not None and budget < needed:
            return Hold(
                reason=Reason.START_BUDGET_TOO_SHORT,
                message=f"{seen}, and {what} is {budget:.0f} s; raise it in the Deployment",
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


def answers_outlast_no_drain(plan: RollPlan) -> Hold | None:
    """Guard that a roll that can wait cuts no running answer."""
    longest = plan.longest_answer_seconds
    if longest is None or not plan.drain_lasts < longest < math.inf:
        return None
    seconds, grace = math.ceil(longest), math.ceil(longest + EXIT_SECONDS)
    return Hold(
        reason=Reason.DRAIN_TOO_SHORT,
        message=f"answers take up to {longest:.0f} s, and a Pod that goes leaves them "
        f"{plan.drain_lasts:.0f} s (preStop and --shutdown-timeout within "
        f"terminationGracePeriodSeconds, {plan.grace_seconds:.0f}): running ones would be cut; "
        f"{_way_to_drain(plan.drains, seconds)} and terminationGracePeriodSeconds {grace} in the "
        f"Deployment, or order the profile with the annotation {FORCE_ANNOTATION}",
    )


def _way_to_drain(drains: bool | None, seconds: int) -> str:
    sleep = f"set a preStop sleep of {seconds} s"
    if drains is False:
        return f"vLLM before 0.18 has no --shutdown-timeout and aborts them at SIGTERM, so {sleep}"
    flag = f"set --shutdown-timeout={seconds}"
    if drains:
        return flag
    return f"{flag} (vLLM 0.18 and later; earlier ones abort them at SIGTERM: {sleep})"


RollCheck = Callable[[RollPlan], Hold | None]

ROLL_CHECKS: Final[tuple[tuple[str, RollCheck], ...]] = (
    ("strategy_serves", strategy_serves),
    ("strategy_moves", strategy_moves),
    ("pods_start_alone", pods_start_alone),
    ("quota_allows", quota_allows),
    ("surge_fits", surge_fits),
    ("disruptions_allowed", disruptions_allowed),
    ("start_is_given_time", start_is_given_time),
    ("drain_is_given_time", drain_is_given_time),
    ("no_pod_is_protected", no_pod_is_protected),
    ("autoscaler_rests", autoscaler_rests),
)
"""In the order in which a person would mend them; what passes by itself comes last."""

VOLUNTARY_CHECKS: Final[tuple[tuple[str, RollCheck], ...]] = (
    ("answers_outlast_no_drain", answers_outlast_no_drain),
)
"""Those of a roll that can wait: neither ordered by a person nor wanted by full servers."""


def first_hold(
    plan: RollPlan,
    profile: str | None = None,
    *,
    voluntary: bool = True,
) -> Hold | None:
    """Return why a roll is not begun, `None` when it may be.

    Args:
        plan: How it would go.
        profile: Profile to be rolled to; `None` when it is not at hand.
        voluntary: Whether the roll can wait.
    """
    hold = target_is_its_own(plan, plan.configs.get(profile) if profile is not None else None)
    if hold is not None:
        return hold
    plan = plan.towards(profile)
    checks = (*ROLL_CHECKS, *VOLUNTARY_CHECKS) if voluntary else ROLL_CHECKS
    return next((hold for _, check in checks if (hold := check(plan)) is not None), None)


def _count(value: IntOrPercent, replicas: int, *, round_up: bool) -> int:
    if isinstance(value, int):
        return value
    text = value.strip()
    if text.endswith("%") and text[:-1].isdigit():
        hundredths = int(text[:-1]) * replicas
        return -(-hundredths // 100) if round_up else hundredths // 100
    return int(text) if text.isdigit() else 0
