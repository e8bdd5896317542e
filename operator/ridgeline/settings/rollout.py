"""Whose word holds for each field of `rollout`, and what the policy makes of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from ridgeline.api import defaults
from ridgeline.api.rollout import CanaryPolicy, Rollout
from ridgeline.api.tuning import Tuning
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.settings.sources import Source, Sourced, first_said
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    RequalifyPolicy,
    TrialPolicy,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRollout:
    """Every field of `rollout` with its source; meanings as in `api.rollout`."""

    canary_when: Sourced[CanaryWhen]
    canary_max_replicas: Sourced[int]
    canary_otherwise: Sourced[CanaryOtherwise]
    on_no_traffic: Sourced[OnNoTraffic]
    canary_deadline_seconds: Sourced[int]
    trial: Sourced[TrialPolicy]
    requalify: Sourced[RequalifyPolicy]
    deadline_seconds: Sourced[int]


_NO_ROLLOUT = Rollout()
_NO_CANARY = CanaryPolicy()


def resolve_rollout(layers: Iterable[tuple[Tuning, Source]]) -> ResolvedRollout:
    """Resolve every field of `rollout`.

    Args:
        layers: Who may speak, the strongest first.
    """
    said = tuple((layer.rollout or _NO_ROLLOUT, source) for layer, source in layers)

    def of_roll(field: Callable[[Rollout], T | None], default: T) -> Sourced[T]:
        return first_said(((field(each), source) for each, source in said), default)

    def of_canary(field: Callable[[CanaryPolicy], T | None], default: T) -> Sourced[T]:
        return of_roll(lambda each: field(each.canary or _NO_CANARY), default)

    return ResolvedRollout(
        canary_when=of_canary(lambda each: each.when, defaults.CANARY_WHEN),
        canary_max_replicas=of_canary(lambda each: each.max_replicas, defaults.CANARY_MAX_REPLICAS),
        canary_otherwise=of_canary(lambda each: each.otherwise, defaults.CANARY_OTHERWISE),
        on_no_traffic=of_canary(lambda each: each.on_no_traffic, defaults.CANARY_ON_NO_TRAFFIC),
        canary_deadline_seconds=of_canary(
            lambda each: each.deadline_seconds, defaults.CANARY_DEADLINE_SECONDS
        ),
        trial=of_roll(lambda each: each.trial, defaults.TRIAL),
        requalify=of_roll(lambda each: each.requalify, defaults.REQUALIFY),
        deadline_seconds=of_roll(
            lambda each: each.deadline_seconds, defaults.ROLL_DEADLINE_SECONDS
        ),
    )


def roll_settings(resolved: ResolvedRollout) -> RollSettings:
    """Return the values without their sources."""
    return RollSettings(
        canary_when=resolved.canary_when.value,
        canary_max_replicas=resolved.canary_max_replicas.value,
        canary_otherwise=resolved.canary_otherwise.value,
        on_no_traffic=resolved.on_no_traffic.value,
        canary_deadline_seconds=float(resolved.canary_deadline_seconds.value),
        trial=resolved.trial.value,
        requalify=resolved.requalify.value,
        deadline_seconds=float(resolved.deadline_seconds.value),
    )
