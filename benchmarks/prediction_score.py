"""Scores of predictions against cells."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.prediction_cells import NONE, Cell
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.step_time import StepModel, step_model
from ridgeline.costmodel.uncertainty import ratio_sd

MARGIN = 0.03
"""What a profile must win by: the operator's default. Smaller gains count as neither."""


@dataclass(frozen=True)
class Scored:
    """A cell with what was predicted of it."""

    cell: Cell
    predicted: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.predicted / self.cell.observed - 1.0


def _models(cell: Cell) -> tuple[StepModel, StepModel] | None:
    # Step times alone: how many requests the memory admits is no part of these measurements.
    none = step_model(cell.deployment, NONE, cell.workload)
    arm = step_model(cell.deployment, cell.arm, cell.workload)
    if isinstance(none, CannotSay) or isinstance(arm, CannotSay):
        return None
    return none, arm


def speedup(cell: Cell) -> float | None:
    """Return the predicted speed-up of a cell, `None` when the model cannot say."""
    models = _models(cell)
    if models is None:
        return None
    none, arm = models
    return arm.length * none.seconds(cell.load) / arm.seconds(cell.load)


def tokens_per_second(cell: Cell) -> float:
    """Return tokens per second without speculation: measured, else modelled."""
    if cell.baseline is not None:
        return cell.baseline
    none = step_model(cell.deployment, NONE, cell.workload)
    return 1.0 if isinstance(none, CannotSay) else cell.load / none.seconds(cell.load)


def best_lookahead_of(cell: Cell) -> int:
    """Return the lookahead that the cost model would run among those that can be chosen."""
    lookaheads = [each for each in cell.chosen if each > 0] or [cell.arm.lookahead]
    best, most = 0, 1.0 + MARGIN
    for lookahead in sorted(lookaheads):
        predicted = speedup(replace(cell, arm=replace(cell.arm, lookahead=lookahead)))
        if predicted is not None and predicted > most:
            best, most = lookahead, predicted
    return best


def summary(scored: Sequence[Scored], skipped: int) -> dict[str, Any]:
    """Return the scores of some cells; errors are `None` where there is no cell."""
    errors = sorted(abs(each.error) * 100.0 for each in scored)
    losses = [each for each in scored if each.cell.observed < 1.0]
    gains = [each for each in scored if each.cell.observed > 1.0 + MARGIN]
    return {
        "n": len(scored),
        "skipped": skipped,
        "mape_percent": round(statistics.fmean(errors), 2) if errors else None,
        "p90_percent": round(_quantile(errors, 0.9), 2) if errors else None,
        "max_percent": round(errors[-1], 2) if errors else None,
        "bias_percent": round(statistics.fmean(each.error for each in scored) * 100.0, 2)
        if errors
        else None,
        "losses": len(losses),
        "losses_found": sum(each.predicted < 1.0 + MARGIN for each in losses),
        **_outside(scored),
        "gains": len(gains),
        "gains_turned_off": sum(each.predicted < 1.0 + MARGIN for each in gains),
    }


def _outside(scored: Sequence[Scored]) -> dict[str, int]:
    """Return how many predictions are clear of the border, and how many of those decide wrongly."""
    sure = [each for each in scored if abs(math.log(each.predicted / (1.0 + MARGIN))) > _sd(each)]
    wrong = [
        each
        for each in sure
        if (each.cell.observed < 1.0 and each.predicted > 1.0 + MARGIN)
        or (each.cell.observed > 1.0 + MARGIN and each.predicted < 1.0 + MARGIN)
    ]
    return {"outside_band": len(sure), "outside_band_wrong": len(wrong)}


def _sd(scored: Scored) -> float:
    return ratio_sd(scored.cell.deployment, scored.cell.arm, NONE, CONSTANTS)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
