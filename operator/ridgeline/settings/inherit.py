"""Whose word holds for each tuning field: the serving's, its policy's, or the default's.

Every value keeps its source, so that `kubectl ridgeline explain` can tell where it came from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ridgeline.api import defaults
from ridgeline.api.cutoff import Cutoff
from ridgeline.api.objective import PREFER, Objective
from ridgeline.api.policy import SpeculationPolicySpec
from ridgeline.api.schedules import Schedule
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.api.tuning import StabilizationPolicy, Tuning
from ridgeline.policy.facts import Problem
from ridgeline.settings.rollout import ResolvedRollout, resolve_rollout
from ridgeline.settings.sources import Origin, Source, Sourced, first_said
from ridgeline.terms.objective import Preference
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSpec:
    """A serving's spec with every tuning field resolved.

    Attributes:
        own: The serving's spec as a person wrote it; what no policy shares is read from here.
        policy: Name of the policy in use, `None` without one.
        problem: Why the policy cannot be followed, `None` when all is well. The values stand
            nevertheless, so that the serving is still observed.
        cutoff: Taken as a whole: its fields only have a meaning together.
        busier_seconds: Dwell before a busier range, in seconds.
        quieter_seconds: Dwell before a quieter range, in seconds.
        cooldown_seconds: Time after a roll in which nothing is switched on.
        max_switches_per_day: Most switches in any 24 hours.
        p99_tpot_milliseconds: Limit on the time per output token, `None` for no limit.
        prefer: What counts among profiles that keep the limit.
        rollout: How carefully the target is rolled, each field by itself.
        schedules: In a person's order; taken as a whole, since the order has a meaning.
        telemetry: Name of the telemetry endpoint.
    """

    own: SpeculativeServingSpec
    policy: str | None
    problem: Problem | None
    cutoff: Sourced[Cutoff]
    busier_seconds: Sourced[int]
    quieter_seconds: Sourced[int]
    cooldown_seconds: Sourced[int]
    max_switches_per_day: Sourced[int]
    p99_tpot_milliseconds: Sourced[int | None]
    prefer: Sourced[Preference]
    rollout: ResolvedRollout
    schedules: Sourced[tuple[Schedule, ...]]
    telemetry: Sourced[str]


def resolve_spec(
    spec: SpeculativeServingSpec, policy: tuple[str, SpeculationPolicySpec | Problem] | None
) -> ResolvedSpec:
    """Resolve every tuning field of a serving.

    Args:
        spec: What a person asked of the serving.
        policy: The policy of that name in the serving's namespace, or why it cannot be read;
            `None` when there is none. It is looked at only when the serving refers to it.
    """
    referred = spec.policy_ref.name if spec.policy_ref else None
    found = policy if policy is not None and policy[0] == referred else None
    named = None
    if found is not None and not isinstance(found[1], Problem):
        named = found[0], found[1]
    layers = tuple(_layers(spec, named))
    cutoff = first_said(((layer.cutoff, source) for layer, source in layers), Cutoff())
    return ResolvedSpec(
        own=spec,
        policy=named[0] if named else None,
        problem=_problem(spec, found, cutoff),
        cutoff=cutoff,
        busier_seconds=first_said(
            ((_dwells(layer).busier_seconds, source) for layer, source in layers),
            defaults.BUSIER_SECONDS,
        ),
        quieter_seconds=first_said(
            ((_dwells(layer).quieter_seconds, source) for layer, source in layers),
            defaults.QUIETER_SECONDS,
        ),
        cooldown_seconds=first_said(
            ((layer.cooldown_seconds, source) for layer, source in layers),
            defaults.COOLDOWN_SECONDS,
        ),
        max_switches_per_day=first_said(
            ((layer.max_switches_per_day, source) for layer, source in layers),
            defaults.MAX_SWITCHES_PER_DAY,
        ),
        p99_tpot_milliseconds=first_said(
            ((_objective(layer).p99_tpot_milliseconds, source) for layer, source in layers), None
        ),
        prefer=first_said(((_objective(layer).prefer, source) for layer, source in layers), PREFER),
        rollout=resolve_rollout(layers),
        schedules=first_said(((layer.schedules, source) for layer, source in layers), ()),
        telemetry=first_said(
            ((layer.telemetry, source) for layer, source in layers), defaults.TELEMETRY
        ),
    )


_SERVING: Final = Source(origin=Origin.SERVING)
_NO_DWELLS: Final = StabilizationPolicy()
_NO_OBJECTIVE: Final = Objective()


def _layers(
    spec: SpeculativeServingSpec, policy: tuple[str, SpeculationPolicySpec] | None
) -> Iterator[tuple[Tuning, Source]]:
    yield spec, _SERVING
    if policy is not None:
        yield policy[1], Source(origin=Origin.POLICY, policy=policy[0])


def _dwells(layer: Tuning) -> StabilizationPolicy:
    return layer.stabilization or _NO_DWELLS


def _objective(layer: Tuning) -> Objective:
    return layer.objective or _NO_OBJECTIVE


def _problem(
    spec: SpeculativeServingSpec,
    found: tuple[str, SpeculationPolicySpec | Problem] | None,
    cutoff: Sourced[Cutoff],
) -> Problem | None:
    if spec.policy_ref is None:
        return None
    if found is None:
        return Problem(
            reason=Reason.POLICY_NOT_FOUND,
            message=f"spec.policyRef names SpeculationPolicy {spec.policy_ref.name!r}, which does "
            "not exist in this namespace: create it, correct spec.policyRef.name, or remove "
            "spec.policyRef",
        )
    if isinstance(found[1], Problem):
        return found[1]
    return _unknown_profile(spec, cutoff)


def _unknown_profile(spec: SpeculativeServingSpec, cutoff: Sourced[Cutoff]) -> Problem | None:
    known = [each.name for each in spec.profiles]
    unknown = [name for name in cutoff.value.profile_names if name not in known]
    if not unknown:
        return None
    return Problem(
        reason=Reason.SPEC_INVALID,
        message=f"spec.cutoff.ranges of {cutoff.source} names profile {unknown[0]!r}, which this "
        f"serving does not define (it has: {', '.join(known)}): add the profile to the serving, "
        "set a cutoff of its own, or correct the policy",
    )
