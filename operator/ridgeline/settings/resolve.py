"""A serving's resolved spec → the pure rooms' values."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.fingerprint import fingerprint
from ridgeline.engine.speculative_config import Profile, render
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.settings import Objective
from ridgeline.policy.law.terms import Preference as LawPreference
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.settings.config_keys import extra_values, schedule_rows
from ridgeline.settings.cutoffs import RidgeInputs, cutoff_table
from ridgeline.settings.goodput import Answer
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.settings.rollout import roll_settings
from ridgeline.terms.objective import Preference


def profiles_of(spec: SpeculativeServingSpec) -> tuple[Profile, ...]:
    """Return the serving's profiles as the engine room knows them."""
    return tuple(
        Profile(
            name=each.name,
            method=each.method,
            model=each.model,
            num_speculative_tokens=each.num_speculative_tokens,
            prompt_lookup_max=each.prompt_lookup_max,
            prompt_lookup_min=each.prompt_lookup_min,
            acceptance=None
            if each.acceptance_percent is None
            else tuple(percent / 100 for percent in each.acceptance_percent),
            schedule=schedule_rows(each.schedule),
            extra=extra_values(each.extra),
        )
        for each in spec.profiles
    )


@lru_cache(maxsize=4096)
def config_fingerprint(profile: Profile) -> str:
    """Return a fingerprint of what a profile writes into a target."""
    return fingerprint(render(profile))


def settings_of(
    resolved: ResolvedSpec,
    profiles: tuple[Profile, ...],
    ridge: RidgeInputs,
    goodput: Callable[[], Answer],
) -> PolicySettings:
    """Return the policy settings of a serving, apart from orders and freezes.

    Args:
        resolved: Its resolved spec.
        profiles: Its profiles, as `profiles_of` returns them.
        ridge: What the Ridge strategy rests on; not looked at by the others.
        goodput: Gives the answer of the Goodput strategy; not asked by the others.
    """
    answered: list[Answer] = []

    def predicted() -> CutoffTable | Problem:
        answered.append(goodput())
        return answered[0].cutoff

    table = cutoff_table(resolved, profiles, ridge, predicted)
    return PolicySettings(
        mode=resolved.own.mode,
        suspended=resolved.own.suspend,
        methods={each.name: each.method for each in profiles},
        cutoff=table,
        objective=_objective(resolved),
        rolls=roll_settings(resolved.rollout),
        configs={each.name: config_fingerprint(each) for each in profiles},
        prediction=answered[0].prediction if answered else None,
        stabilization=Stabilization(
            busier_seconds=float(resolved.busier_seconds.value),
            quieter_seconds=float(resolved.quieter_seconds.value),
        ),
        cooldown_seconds=float(resolved.cooldown_seconds.value),
        max_switches_per_day=resolved.max_switches_per_day.value,
    )


_PREFERENCES: Final = {
    Preference.LATENCY: LawPreference.LATENCY,
    Preference.THROUGHPUT: LawPreference.THROUGHPUT,
}


def _objective(resolved: ResolvedSpec) -> Objective:
    limit = resolved.p99_tpot_milliseconds.value
    return Objective(
        tpot_limit_seconds=None if limit is None else limit / 1000.0,
        prefer=_PREFERENCES[resolved.prefer.value],
    )


def telemetry_of(resolved: ResolvedSpec) -> str:
    """Return the name of the serving's telemetry endpoint."""
    return resolved.telemetry.value
