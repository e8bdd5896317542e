"""Step times by batch and lookahead: a table that tells step time, speed-up and best K at once.

Llama 3.1 8B with EAGLE on one H100, vLLM, published with PR 32374 (dynamic speculative decoding).
The acceptance by position stands beside such a table there; the data set is taken for MT-Bench,
with prompts of about 80 tokens and answers of 256, which is assumed.
"""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.prediction_cells import NONE, Cell, Skipped, number
from benchmarks.prediction_names import gpu_of, target_of
from benchmarks.prediction_score import Scored, best_lookahead_of, speedup
from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.step_time import step_model
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

RATES = (0.68, 0.39, 0.20, 0.10, 0.06, 0.03, 0.02)
"""Acceptance by position of EAGLE on MT-Bench (vLLM PR 32374)."""
WORKLOAD = Workload(context_tokens=208.0, prefill_per_token=0.3)
SCOPES = ("fixture", "dense-chain-current", "method-Eagle", "data-mt-bench")


@dataclass(frozen=True)
class Fixture:
    """A table of step times.

    Attributes:
        cells: One for each batch and lookahead above 0.
        steps: Relative error of each step time.
        best: Batch, the best K by the model, and by the table.
    """

    cells: tuple[Cell, ...]
    steps: tuple[float, ...]
    best: tuple[tuple[float, int, int], ...]

    @property
    def step_mape_percent(self) -> float:
        """Mean absolute error of the step times."""
        return statistics.fmean(abs(each) for each in self.steps) * 100.0


def is_fixture(path: Path) -> bool:
    """Tell whether a file is such a table, by its first line."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline().replace(" ", "")
    return first.startswith("batch,") and "k0_ms" in first


def read_fixture(path: Path) -> tuple[Fixture, list[Skipped]]:
    """Return the table of a file, and the rows that cannot be read."""
    cells: list[Cell] = []
    steps: list[float] = []
    best: list[tuple[float, int, int]] = []
    skipped: list[Skipped] = []
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            batch = number(row.get("batch") or "")
            times = _times(row)
            if batch is None or batch <= 0 or len(times) < 2 or 0 not in times:
                skipped.append(Skipped(f"batch {row.get('batch')}", "no step times"))
                continue
            made = _cells(batch, times)
            cells.extend(made)
            steps.extend(_step_errors(made, times))
            chosen = made[0].chosen
            measured = max(chosen.items(), key=lambda each: each[1])[0]
            best.append((batch, best_lookahead_of(made[0]), measured))
    return Fixture(tuple(cells), tuple(steps), tuple(best)), skipped


def score_fixture(fixture: Fixture) -> list[Scored]:
    """Return the cells with what is predicted of them."""
    found = [(cell, speedup(cell)) for cell in fixture.cells]
    return [Scored(cell, predicted) for cell, predicted in found if predicted is not None]


def _times(row: dict[str, str]) -> dict[int, float]:
    found = {}
    for lookahead in range(len(RATES) + 1):
        value = number(row.get(f"k{lookahead}_ms") or "")
        if value is not None and value > 0:
            found[lookahead] = value / 1e3
    return found


def _cells(batch: float, times: dict[int, float]) -> list[Cell]:
    gpu, target = gpu_of("H100"), target_of("Llama-3.1-8B")
    assert gpu is not None
    assert target is not None
    head = draft_of(Method.EAGLE, None, target)
    assert head is not None
    assert not isinstance(head, NoDraft)
    length = {k: 1.0 + sum(RATES[:k]) for k in times}
    chosen = {k: length[k] * times[0] / seconds for k, seconds in times.items()}
    deployment = Deployment(accelerator=gpu, model=target.shape(), precision=Precision.BF16)
    return [
        Cell(
            name=f"batch {batch:g}, K={k}",
            deployment=deployment,
            arm=Arm(
                name="profile",
                method=Method.EAGLE,
                lookahead=k,
                draft=head.shape,
                draft_added_params=head.added_params,
                acceptance=Acceptance(rates=RATES, origin=Origin.MEASURED),
            ),
            workload=WORKLOAD,
            load=batch,
            observed=chosen[k],
            baseline=batch / times[0],
            scopes=SCOPES,
            chosen=chosen,
        )
        for k in sorted(times)
        if k > 0
    ]


def _step_errors(cells: list[Cell], times: dict[int, float]) -> list[float]:
    errors = []
    for lookahead, arm in ((0, NONE), *((each.arm.lookahead, each.arm) for each in cells)):
        one = replace(cells[0], arm=arm)
        model = step_model(one.deployment, one.arm, one.workload)
        assert not isinstance(model, CannotSay)
        errors.append(model.seconds(one.load) / times[lookahead] - 1.0)
    return errors
