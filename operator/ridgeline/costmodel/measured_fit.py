"""The constants of one GPU and host from step times that were measured there.

Four constants of the step-time formula differ between machines: the shares of bandwidth and of
arithmetic that are reached, and the host's time for a step and for a draft pass. They are fitted to
a grid of step times by batch and lookahead, in logarithms, by damped least squares:

    minimise  Σ (ln T measured − ln T modelled)² ÷ s²  +  Σ (ln c − ln c₀)² ÷ r²

with s the error of one measurement, c₀ the constant that the model takes else, and r how far
machines differ (a prior: it only decides where the grid tells nothing). A constant that the grid
does not tell to within a tenth or so is left at c₀ and not reported: step times of batches that
never meet the knee say nothing of arithmetic.

With one model the host's time for a step cannot be told from the time of reading weights: both are
the same in every step. A second, shallower model (fewer layers of the same) tells them apart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.costmodel.accelerator import Measured
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS, Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.step_time import StepModel, step_model
from ridgeline.costmodel.workload import Workload

NAMES: Final = ("bandwidth_share", "compute_share", "step_seconds", "draft_pass_seconds")
"""What is fitted: fields of `Constants` and of `Measured`."""

_PRIOR: Final = {
    "bandwidth_share": 0.3,
    "compute_share": 0.4,
    "step_seconds": 1.0,
    "draft_pass_seconds": 1.0,
}
"""How far machines differ: standard deviation of ln c (assumed, and weak by intent)."""
_NOISE: Final = 0.03
"""Error of one measured step time, as it is mostly."""
_STEADY_NOISE: Final = 0.01
"""The same on a quiet machine: nothing is held to be measured better than so."""
_LEAST_NOISE: Final = 1e-3
_NEAR: Final = 1e-2
_STILL: Final = 1e-5
"""Moves of ln c at which the error of measuring is taken anew, and at which the fit has ended."""
_TOLD: Final = 0.12
"""Standard deviation of ln c up to which a constant counts as measured."""
FEWEST: Final = 6
"""Fewest step times to fit to."""
_ROUNDS: Final = 60
_WHOLE: Final = 1.05
_MOVE: Final = 0.5
"""Most that ln c moves in one round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured step time.

    Attributes:
        arm: The profile: none, or a method with its lookahead; one name, one profile.
        context_tokens: Mean context of a request while it was measured.
        concurrency: Requests in the step.
        seconds: Measured.
        model: The model that made the step, where it was not the deployment's own.
    """

    arm: Arm
    context_tokens: float
    concurrency: float
    seconds: float
    model: ModelShape | None = None

    def __post_init__(self) -> None:
        """Refuse what no step takes."""
        if not (math.isfinite(self.seconds) and 1e-6 <= self.seconds <= 1e3):
            raise ValueError(f"a step of {self.seconds} s: give 1e-6 to 1e3")
        if not (math.isfinite(self.concurrency) and 0 < self.concurrency <= 1e6):
            raise ValueError(f"a concurrency of {self.concurrency}: give a number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What a grid tells.

    Attributes:
        measured: The constants that it tells.
        not_told: Names of those that it does not.
        errors: Modelled ÷ measured − 1 of each cell, with what was measured in place.
        errors_before: The same with the model's own constants.
    """

    measured: Measured
    not_told: tuple[str, ...]
    errors: tuple[float, ...]
    errors_before: tuple[float, ...]


def fit_measured(deployment: Deployment, cells: Sequence[Cell]) -> Fit | CannotSay:
    """Return the constants that a grid of step times tells.

    Args:
        deployment: What was measured, on a GPU without measured constants.
        cells: The grid.
    """
    if len(cells) < FEWEST:
        return CannotSay(
            reason=f"{len(cells)} step times are too few for four constants",
            way_out=f"measure {FEWEST} or more, from small batches to large ones",
        )
    plain = replace(deployment, accelerator=replace(deployment.accelerator, measured=None))
    before = _errors(plain, cells, {})
    if isinstance(before, CannotSay):
        return before
    free = list(NAMES)
    while free:
        found = _least_squares(plain, cells, free)
        impossible = _impossible(found)
        if impossible is not None:
            return impossible
        doubt = _doubt(plain, cells, free, found)
        worst = max(free, key=lambda name: doubt[name])
        if doubt[worst] <= _TOLD:
            break
        free.remove(worst)
    if not free:
        return CannotSay(
            reason="the grid tells none of the constants: its step times hardly differ, or scatter",
            way_out="measure more batches and lookaheads, on a GPU that does nothing else",
        )
    return _fit(plain, cells, found, before)


def _impossible(found: dict[str, float]) -> CannotSay | None:
    """Return that a share is more than the whole; a hair above is the error of measuring."""
    for name in ("bandwidth_share", "compute_share"):
        if found.get(name, 0.0) > _WHOLE:
            return CannotSay(
                reason=f"the step times ask for a {name.replace('_', ' ')} of {found[name]:.2f}, "
                "more than the whole of the data sheet's",
                way_out="check which GPU, how many of them, which model and precision it was",
            )
    return None


def _fit(
    deployment: Deployment,
    cells: Sequence[Cell],
    found: dict[str, float],
    before: tuple[float, ...],
) -> Fit | CannotSay:
    shares = ("bandwidth_share", "compute_share")
    found = {name: min(c, 1.0) if name in shares else c for name, c in found.items()}
    after = _errors(deployment, cells, found)
    if isinstance(after, CannotSay):
        return after
    return Fit(
        measured=Measured(**found),
        not_told=tuple(name for name in NAMES if name not in found),
        errors=after,
        errors_before=before,
    )


def _modelled(
    deployment: Deployment, cells: Sequence[Cell], constants: Constants
) -> list[float] | CannotSay:
    models: dict[tuple[str, float, ModelShape | None], StepModel] = {}
    found = []
    for cell in cells:
        key = (cell.arm.name, cell.context_tokens, cell.model)
        if key not in models:
            workload = Workload(context_tokens=cell.context_tokens)
            at = replace(deployment, model=cell.model or deployment.model)
            model = step_model(at, cell.arm, workload, constants)
            if isinstance(model, CannotSay):
                return model
            models[key] = model
        found.append(models[key].seconds(cell.concurrency))
    return found


def _errors(
    deployment: Deployment, cells: Sequence[Cell], found: dict[str, float]
) -> tuple[float, ...] | CannotSay:
    modelled = _modelled(deployment, cells, replace(CONSTANTS, **found))
    if isinstance(modelled, CannotSay):
        return modelled
    return tuple(model / cell.seconds - 1.0 for model, cell in zip(modelled, cells, strict=True))


def _residuals(
    deployment: Deployment, cells: Sequence[Cell], found: dict[str, float]
) -> list[float]:
    errors = _errors(deployment, cells, found)
    assert not isinstance(errors, CannotSay)  # noqa: S101 (the same cells could be modelled before)
    return [-math.log1p(error) for error in errors]


def _slopes(
    deployment: Deployment,
    cells: Sequence[Cell],
    found: dict[str, float],
    here: Sequence[float],
) -> list[list[float]]:
    """Return by cell how ln T modelled changes with each ln c."""
    step = 1e-4
    columns = []
    for name in found:
        moved = {**found, name: found[name] * math.exp(step)}
        there = _residuals(deployment, cells, moved)
        columns.append([(one - other) / step for one, other in zip(here, there, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


def _least_squares(
    deployment: Deployment, cells: Sequence[Cell], free: Sequence[str]
) -> dict[str, float]:
    """Return the constants that fit best; the error of measuring is taken from what is left."""
    found = {name: float(getattr(CONSTANTS, name)) for name in free}
    noise = _NOISE
    for _ in range(_ROUNDS):
        residuals = _residuals(deployment, cells, found)
        slopes = _slopes(deployment, cells, found, residuals)
        matrix, right = _normal(slopes, residuals, noise)
        for index, name in enumerate(free):
            matrix[index][index] += 1.0 / _PRIOR[name] ** 2
            away = math.log(found[name] / float(getattr(CONSTANTS, name)))
            right[index] -= away / _PRIOR[name] ** 2
        moves = [min(max(each, -_MOVE), _MOVE) for each in _solved(matrix, right)]
        found = {
            name: value * math.exp(move)
            for (name, value), move in zip(found.items(), moves, strict=True)
        }
        if max(map(abs, moves)) < _STILL:
            return found
        if max(map(abs, moves)) < _NEAR:
            noise = _noise(residuals, len(free))
    return found


def _noise(residuals: Sequence[float], free: int) -> float:
    spare = max(len(residuals) - free, 1)
    return max(_LEAST_NOISE, math.sqrt(math.fsum(each**2 for each in residuals) / spare))


def _doubt(
    deployment: Deployment, cells: Sequence[Cell], free: Sequence[str], found: dict[str, float]
) -> dict[str, float]:
    """Return the standard deviation of each ln c by the grid alone, without the prior."""
    residuals = _residuals(deployment, cells, found)
    noise = max(_STEADY_NOISE, _noise(residuals, len(free)))
    slopes = _slopes(deployment, cells, found, residuals)
    matrix, _ = _normal(slopes, residuals, noise)
    for index in range(len(free)):
        matrix[index][index] += 1e-6  # what is not told at all gets a large deviation, not infinity
    doubt = {}
    for index, name in enumerate(free):
        unit = [1.0 if each == index else 0.0 for each in range(len(free))]
        doubt[name] = math.sqrt(max(_solved(matrix, unit)[index], 0.0))
    return doubt


def _normal(
    slopes: Sequence[Sequence[float]], residuals: Sequence[float], noise: float
) -> tuple[list[list[float]], list[float]]:
    """Return the normal equations of least squares."""
    width = len(slopes[0])
    matrix = [
        [math.fsum(row[i] * row[j] for row in slopes) / noise**2 for j in range(width)]
        for i in range(width)
    ]
    right = [
        math.fsum(row[i] * each for row, each in zip(slopes, residuals, strict=True)) / noise**2
        for i in range(width)
    ]
    return matrix, right


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a few symmetric, positive equations by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda each: abs(rows[each][pivot]))
        rows[pivot], rows[best] = rows[best], rows[pivot]
        for below in range(pivot + 1, size):
            factor = rows[below][pivot] / rows[pivot][pivot]
            rows[below] = [
                one - factor * other for one, other in zip(rows[below], rows[pivot], strict=True)
            ]
    found = [0.0] * size
    for index in reversed(range(size)):
        known = math.fsum(rows[index][each] * found[each] for each in range(index + 1, size))
        found[index] = (rows[index][size] - known) / rows[index][index]
    return found
