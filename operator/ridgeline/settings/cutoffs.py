"""The cut-off table of a serving: predicted, from its ranges, a preset, or the ridge."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ridgeline.api.cutoff import CutoffRange
from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.ridge import Speculation, ridge_table
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.settings.presets import preset_table
from ridgeline.settings.sources import Source
from ridgeline.terms.modes import Strategy
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeInputs:
    """What the Ridge strategy rests on beside the profiles.

    Attributes:
        accelerator: The GPU that the target runs on, or why it is not known.
        precision: What the target's weights and arithmetic are made of.
        tensor_parallel: GPUs that one engine is spread over; at least 1.
    """

    accelerator: Accelerator | Problem
    precision: Precision
    tensor_parallel: int


def cutoff_table(
    resolved: ResolvedSpec,
    profiles: tuple[Profile, ...],
    ridge: RidgeInputs,
    goodput: Callable[[], CutoffTable | Problem],
) -> CutoffTable | Problem:
    """Return the cut-off table that a serving follows, or why there is none.

    Args:
        resolved: The resolved spec.
        profiles: The serving's profiles in a person's order.
        ridge: What the Ridge strategy rests on; not looked at by the others.
        goodput: Gives the answer of the Goodput strategy; not asked by the others.
    """
    if resolved.problem is not None:
        return resolved.problem
    cutoff = resolved.cutoff.value
    if cutoff.ranges is not None:
        return _fixed(cutoff.ranges, resolved.cutoff.source)
    known = tuple(
        Speculation(name=each.name, method=each.method, lookahead=each.num_speculative_tokens)
        for each in profiles
    )
    if cutoff.preset is not None:
        return _preset(cutoff.preset, known, resolved.cutoff.source)
    if cutoff.resolved_strategy is Strategy.GOODPUT:
        return goodput()
    return _ridge(known, ridge)


def _fixed(ranges: tuple[CutoffRange, ...], source: Source) -> CutoffTable | Problem:
    rows = tuple(
        CutoffRow(
            profile=row.profile,
            up_to=_float(row.up_to_concurrency),
            return_below=_float(row.lower_edge),
        )
        for row in ranges
    )
    try:
        return CutoffTable(rows)
    except ValueError as error:
        return Problem(
            reason=Reason.SPEC_INVALID, message=f"spec.cutoff.ranges of the {source}: {error}"
        )


def _preset(name: str, profiles: tuple[Speculation, ...], source: Source) -> CutoffTable | Problem:
    table = preset_table(name, profiles)
    if isinstance(table, Problem) and source.policy:
        return replace(table, message=f"{table.message} (the preset is that of {source})")
    return table


def _ridge(profiles: tuple[Speculation, ...], ridge: RidgeInputs) -> CutoffTable | Problem:
    if isinstance(ridge.accelerator, Problem):
        return ridge.accelerator
    return ridge_table(
        profiles,
        ridge.accelerator,
        precision=ridge.precision,
        tensor_parallel=ridge.tensor_parallel,
    )


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)
