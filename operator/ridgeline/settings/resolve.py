"""A serving's spec → the pure rooms' values, with every default put in where nobody spoke."""

from ridgeline.api import defaults
from ridgeline.api.cutoff import Cutoff
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.terms.reasons import Reason


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


def settings_of(spec: SpeculativeServingSpec, *, frozen: bool = False) -> PolicySettings:
    """Return the resolved policy settings.

    Args:
        spec: What a person asked for.
        frozen: Whether the operator's own freeze switch is on; it suspends every serving.
    """
    stabilization = spec.stabilization
    busier = stabilization.busier_seconds if stabilization else None
    quieter = stabilization.quieter_seconds if stabilization else None
    return PolicySettings(
        mode=spec.mode,
        suspended=spec.suspend or frozen,
        methods={each.name: each.method for each in spec.profiles},
        cutoff=cutoff_table(spec.cutoff),
        stabilization=Stabilization(
            busier_seconds=_or(busier, defaults.BUSIER_SECONDS),
            quieter_seconds=_or(quieter, defaults.QUIETER_SECONDS),
        ),
        cooldown_seconds=_or(spec.cooldown_seconds, defaults.COOLDOWN_SECONDS),
        max_switches_per_day=int(_or(spec.max_switches_per_day, defaults.MAX_SWITCHES_PER_DAY)),
    )


def telemetry_of(spec: SpeculativeServingSpec) -> str:
    """Return the name of the serving's telemetry endpoint."""
    return spec.telemetry or defaults.TELEMETRY


def cutoff_table(cutoff: Cutoff | None) -> CutoffTable | Problem:
    """Return the cut-off table that a serving follows, or why there is none."""
    if cutoff is None:
        return Problem(
            reason=Reason.CUTOFF_NOT_SET,
            message="spec.cutoff is not set, so there is nothing to compare concurrency with; "
            "set spec.cutoff.ranges",
        )
    try:
        return CutoffTable(
            tuple(
                CutoffRow(
                    profile=row.profile,
                    up_to=_float(row.up_to_concurrency),
                    return_below=_float(row.lower_edge),
                )
                for row in cutoff.ranges
            )
        )
    except ValueError as error:
        return Problem(reason=Reason.SPEC_INVALID, message=f"spec.cutoff.ranges: {error}")


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _or(value: int | None, default: int) -> float:
    return float(default if value is None else value)
