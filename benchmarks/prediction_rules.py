"""What rules in use would do in a cell: the lookahead they run, 0 for none.

Sources: SGLang 0.5.23 `srt/speculative/adaptive_spec_params.py` (its default table);
TensorRT-LLM `auto_heuristic.py` (AUTO: n-gram, off from 32 requests) and its documented
`draft_len_schedule`; vLLM's page on dynamic speculative decoding (its example schedules).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.prediction_cells import Cell
from benchmarks.prediction_score import best_lookahead_of
from ridgeline.costmodel.ridge import ridge_tokens

Rule = Callable[[Cell], int]


def _up_to(limit: float) -> Rule:
    return lambda cell: cell.arm.lookahead if cell.load < limit else 0


def _ridge(cell: Cell) -> int:
    tokens = ridge_tokens(cell.deployment.accelerator, cell.deployment.precision)
    lookahead = cell.arm.lookahead
    return lookahead if cell.load * (lookahead + 1) < tokens else 0


def _schedule(rows: Sequence[tuple[int, int]]) -> Rule:
    """Return a rule of (last number of requests, lookahead); 0 beyond the last."""

    def rule(cell: Cell) -> int:
        return next((k for last, k in rows if cell.load <= last), 0)

    return rule


RULES: Mapping[str, Rule] = {
    "goodput": best_lookahead_of,
    "always on": lambda cell: cell.arm.lookahead,
    "always off": lambda cell: 0,
    "fixed 20": _up_to(20),
    "fixed 32": _up_to(32),
    "ridge": _ridge,
    "sglang default table": _schedule(((7, 7), (31, 3), (63, 1))),
    "tensorrt-llm auto": _schedule(((4, 5), (31, 3))),
    "tensorrt-llm documented schedule": _schedule(((4, 4), (8, 2), (32, 1))),
    "vllm example, eagle 8b": _schedule(((64, 3), (128, 1))),
    "vllm example, eagle3 8b": _schedule(((16, 5), (32, 4), (64, 3), (128, 1))),
    "vllm example, dspark": _schedule(((32, 7), (128, 5), (10**9, 3))),
}
"""Rules by name. SGLang's adapts within its candidates: it is given the largest of them."""


def achieved(cell: Cell, lookahead: int) -> float:
    """Return the measured speed-up of what a rule runs.

    Where several lookaheads were measured the largest that is not above the rule's; else the
    cell's own stands for any lookahead above 0.
    """
    if lookahead <= 0:
        return 1.0
    if not cell.chosen:
        return cell.observed
    measured = [each for each in cell.chosen if 0 < each <= lookahead]
    return cell.chosen[max(measured, default=min(each for each in cell.chosen if each > 0))]


def best(cell: Cell) -> float:
    """Return the measured speed-up of the best choice."""
    return max(1.0, cell.observed, *cell.chosen.values())
