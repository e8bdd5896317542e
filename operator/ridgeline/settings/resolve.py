"""A serving's resolved spec → the pure rooms' values."""

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.settings.cutoffs import RidgeInputs, cutoff_table
from ridgeline.settings.inherit import ResolvedSpec


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
        )
        for each in spec.profiles
    )


def settings_of(
    resolved: ResolvedSpec, profiles: tuple[Profile, ...], ridge: RidgeInputs
) -> PolicySettings:
    """Return the policy settings of a serving, apart from orders and freezes.

    Args:
        resolved: Its resolved spec.
        profiles: Its profiles, as `profiles_of` returns them.
        ridge: What the Ridge strategy rests on; not looked at by the others.
    """
    return PolicySettings(
        mode=resolved.own.mode,
        suspended=resolved.own.suspend,
        methods={each.name: each.method for each in profiles},
        cutoff=cutoff_table(resolved, profiles, ridge),
        stabilization=Stabilization(
            busier_seconds=float(resolved.busier_seconds.value),
            quieter_seconds=float(resolved.quieter_seconds.value),
        ),
        cooldown_seconds=float(resolved.cooldown_seconds.value),
        max_switches_per_day=resolved.max_switches_per_day.value,
    )


def telemetry_of(resolved: ResolvedSpec) -> str:
    """Return the name of the serving's telemetry endpoint."""
    return resolved.telemetry.value
