"""A serving's spec → the pure rooms' values, with every default put in where nobody spoke."""

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.settings.cutoffs import RidgeInputs, cutoff_table
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec


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
    resolved: ResolvedSpec | SpeculativeServingSpec,
    profiles: tuple[Profile, ...] | None = None,
    ridge: RidgeInputs | None = None,
    *,
    frozen: bool = False,
    forced: str | None = None,
) -> PolicySettings:
    """Return the policy settings of a serving.

    Args:
        resolved: The resolved spec; a bare spec stands for one without a policy.
        profiles: The serving's profiles, as `profiles_of` returns them; made when not given.
        ridge: What the Ridge strategy rests on; `None` when nobody looked at the nodes.
        frozen: Whether the operator's own freeze switch is on; it suspends every serving.
        forced: Profile that a person ordered by annotation, `None` for none.
    """
    whole = _resolved(resolved)
    known = profiles_of(whole.own) if profiles is None else profiles
    return PolicySettings(
        mode=whole.own.mode,
        suspended=whole.own.suspend or frozen,
        methods={each.name: each.method for each in known},
        cutoff=cutoff_table(whole, known, ridge),
        stabilization=Stabilization(
            busier_seconds=float(whole.busier_seconds.value),
            quieter_seconds=float(whole.quieter_seconds.value),
        ),
        cooldown_seconds=float(whole.cooldown_seconds.value),
        max_switches_per_day=whole.max_switches_per_day.value,
        frozen=frozen,
        forced=forced,
    )


def telemetry_of(resolved: ResolvedSpec | SpeculativeServingSpec) -> str:
    """Return the name of the serving's telemetry endpoint."""
    return _resolved(resolved).telemetry.value


def _resolved(spec: ResolvedSpec | SpeculativeServingSpec) -> ResolvedSpec:
    return spec if isinstance(spec, ResolvedSpec) else resolve_spec(spec, None)
