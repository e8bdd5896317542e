"""What a calibration found: the AcceleratorProfile, and a page for a person."""

from statistics import fmean
from typing import Final

import yaml

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.settings.calibration_grid import Fitted, Grid, measured_stanza, missed

_FAR: Final = 0.15
"""A cell that the fitted model misses by more than this share is named."""
_NAMED: Final = 5

_WORDS: Final = {
    "bandwidth_share": ("bandwidth reached", 1e2, "%"),
    "compute_share": ("arithmetic reached", 1e2, "%"),
    "step_seconds": ("host time of a step", 1e6, "µs"),
    "draft_pass_seconds": ("host time of a draft pass", 1e6, "µs"),
}


def profile_text(grid: Grid, fitted: Fitted, accelerator: Accelerator) -> str:
    """Return the AcceleratorProfile as YAML, with what it was measured with as a comment."""
    profile = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "AcceleratorProfile",
        "metadata": {"name": accelerator.name},
        "spec": {"measured": measured_stanza(fitted)},
    }
    error = _mean(fitted.fit.errors)
    about = (
        f"# {_one_line(grid.device)} with vLLM {_one_line(grid.engine)}: {_one_line(grid.model)}, "
        f"{grid.tensor_parallel} GPU(s), {fitted.precision.value}.\n"
        f"# {len(fitted.cells)} step times, missed by {error:.1f} % on average.\n"
    )
    return about + yaml.safe_dump(profile, sort_keys=False)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def summary(grid: Grid, fitted: Fitted, accelerator: Accelerator) -> str:
    """Return what was found, in lines."""
    told = fitted.fit.measured.told()
    lines = [
        f"{accelerator.name} ({grid.device}), vLLM {grid.engine}, {grid.model}, "
        f"{fitted.precision.value} ({fitted.because})",
    ]
    for name, (words, unit, sign) in _WORDS.items():
        usual = float(getattr(CONSTANTS, name)) * unit
        if name in told:
            lines.append(f"  {words}: {told[name] * unit:.0f} {sign} (else {usual:.0f})")
        else:
            lines.append(f"  {words}: not told by these step times ({usual:.0f} {sign} stays)")
    lines.append(
        f"  {len(fitted.cells)} step times, missed by {_mean(fitted.fit.errors):.1f} % on average; "
        f"before {_mean(fitted.fit.errors_before):.1f} %"
    )
    lines += [f"  left out: {each}" for each in fitted.left_out]
    for cell, error in missed(fitted, worse_than=_FAR)[:_NAMED]:
        lines.append(
            f"  missed by {error * 100:+.0f} %: lookahead {cell.lookahead}, batch {cell.batch}, "
            f"{cell.step_seconds * 1e3:.2f} ms"
        )
    return "\n".join(lines)


def _mean(errors: tuple[float, ...]) -> float:
    return 100.0 * fmean(map(abs, errors))
