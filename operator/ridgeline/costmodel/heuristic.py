"""The questions that a person asks before turning speculation on, answered one by one.

They advise and decide nothing: the cut-off table does. What cannot be known says so, with what
would make it known.

Which draft positions pay. Take memory time as 1; then a step that verifies i+1 tokens for each of B
requests takes T_i = 1 + B·(i+1)/N*, with N* the knee, and yields E_i = 1 + p_1 + … + p_i tokens a
request, p_i the probability that the first i drafts are all accepted. Position i pays when it adds
more to E than its share of the step:

    p_i ÷ E_(i-1)  >  (T_i − T_(i-1)) ÷ T_(i-1)      that is      p_i·(N* + B·i)  >  B·E_(i-1)

p_i falls with i and the cost of a position does not, so the first that does not pay ends the row.
What drafting itself costs is not in it: the answer is the most that can pay.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, islice
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.ridge import number, ridge_tokens
from ridgeline.costmodel.suitability import NEVER_DRAFT_FROM_TP, crosses_pcie
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision


class Answer(StrEnum):
    """What a check says."""

    YES = "Yes"
    NO = "No"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question with its answer.

    Attributes:
        name: The question, as a statement that the answer affirms or denies.
        answer: Yes, No, or Unknown.
        why: What the answer rests on; for Unknown also what would make it known.
    """

    name: str
    answer: Answer
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicInputs:
    """What is known of one profile on one target.

    Attributes:
        accelerator: The GPU, `None` when it is not known.
        precision: Of the target model.
        tensor_parallel: GPUs that one engine spans.
        method: How the profile drafts.
        lookahead: Its lookahead K, `None` where it has no fixed one.
        concurrency: Requests in decode per engine now, `None` when not known.
        acceptance: p_1 … p_K as observed, `None` when not known. They fall; where the rates of two
            counters say otherwise by a little, the later one is taken for the earlier.

    Raises:
        ValueError: When a number is not finite or negative.
    """

    accelerator: Accelerator | None
    precision: Precision
    tensor_parallel: int
    method: Method
    lookahead: int | None = None
    concurrency: float | None = None
    acceptance: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that could not be compared."""
        if self.tensor_parallel < 1:
            raise ValueError(f"tensor_parallel is {self.tensor_parallel}: give 1 or more")
        if self.lookahead is not None and self.lookahead < 1:
            raise ValueError(f"lookahead is {self.lookahead}: give 1 or more, or None")
        if self.concurrency is not None:
            _require_concurrency(self.concurrency)
        _require_acceptance(self.acceptance or ())


BANDWIDTH_BOUND: Final = "decode is bound by memory bandwidth"
CROSSES_PCIE: Final = "tensor parallelism crosses PCIe"
OWN_WIDTH: Final = "arithmetic is as narrow as the weights"
COMPETES: Final = "the draft competes for the same GPU"
POSITIONS_PAY: Final = "every draft position pays"

_ACCELERATOR_NEEDED: Final = (
    "the accelerator is not known: label the nodes, or set spec.accelerator"
)


def heuristic(inputs: HeuristicInputs) -> tuple[Check, ...]:
    """Return the checks, always the same ones in the same order."""
    return (
        _bandwidth_bound(inputs),
        _crosses_pcie(inputs),
        _own_width(inputs),
        _competes(inputs),
        _positions_pay(inputs),
    )


def paying_positions(acceptance: Sequence[float], concurrency: float, knee_tokens: float) -> int:
    """Return how many draft positions pay, by the formula at the head of this module.

    Args:
        acceptance: p_1, p_2, …
        concurrency: Requests in decode per engine.
        knee_tokens: The knee in tokens per engine step.

    Raises:
        ValueError: When a number cannot be compared.
    """
    _require_concurrency(concurrency)
    _require_acceptance(acceptance)
    if not (math.isfinite(knee_tokens) and knee_tokens > 0):
        raise ValueError(f"knee_tokens is {knee_tokens}: give a positive number")
    expected, falling = 1.0, accumulate(acceptance, min, initial=1.0)
    for position, accepted in enumerate(islice(falling, 1, None), start=1):
        if not accepted * (knee_tokens + concurrency * position) > concurrency * expected:
            return position - 1
        expected += accepted
    return len(acceptance)


def _bandwidth_bound(inputs: HeuristicInputs) -> Check:
    if inputs.accelerator is None:
        return Check(name=BANDWIDTH_BOUND, answer=Answer.UNKNOWN, why=_ACCELERATOR_NEEDED)
    knee = inputs.accelerator.knee_tokens(inputs.precision)
    told = f"the knee of {inputs.accelerator.name} at {inputs.precision.value} is {number(knee)}"
    if inputs.concurrency is None:
        return Check(
            name=BANDWIDTH_BOUND,
            answer=Answer.UNKNOWN,
            why=f"{told} tokens per step, but concurrency is not known: it needs telemetry",
        )
    if inputs.lookahead is None and inputs.method.speculates:
        return Check(
            name=BANDWIDTH_BOUND,
            answer=Answer.UNKNOWN,
            why=f"{told} tokens per step, but {inputs.method.value} has no fixed lookahead: "
            "tokens per step would have to be measured",
        )
    each = 1 + (inputs.lookahead or 0 if inputs.method.speculates else 0)
    tokens = inputs.concurrency * each
    ridge = ridge_tokens(inputs.accelerator, inputs.precision)
    return Check(
        name=BANDWIDTH_BOUND,
        answer=Answer.YES if tokens < knee else Answer.NO,
        why=f"{number(inputs.concurrency)} requests × {each} tokens = {number(tokens)} tokens per "
        f"step; {told}, and the Ridge rule stops at {number(ridge)}",
    )


def _crosses_pcie(inputs: HeuristicInputs) -> Check:
    size = inputs.tensor_parallel
    if size == 1:
        return Check(name=CROSSES_PCIE, answer=Answer.NO, why="one engine has one GPU")
    if inputs.accelerator is None:
        return Check(
            name=CROSSES_PCIE,
            answer=Answer.UNKNOWN,
            why=f"one engine spans {size} GPUs, but {_ACCELERATOR_NEEDED}",
        )
    name, link = inputs.accelerator.name, inputs.accelerator.link
    if not crosses_pcie(inputs.accelerator, size):
        return Check(
            name=CROSSES_PCIE, answer=Answer.NO, why=f"{size} {name} talk over {link.value}"
        )
    return Check(
        name=CROSSES_PCIE,
        answer=Answer.YES,
        why=f"{size} {name} talk over PCIe; each pass of a draft model waits for it, and from "
        f"{NEVER_DRAFT_FROM_TP} GPUs on that is never worth it (NVLink bridges are on no label: "
        "say link NVLink in an AcceleratorProfile)",
    )


def _own_width(inputs: HeuristicInputs) -> Check:
    precision = inputs.precision
    if precision.weight_only:
        return Check(
            name=OWN_WIDTH,
            answer=Answer.NO,
            why=f"{precision.value} is weight-only: memory time shrinks and compute time does not, "
            "so the knee and every cut-off fall",
        )
    if precision is Precision.BF16:
        return Check(name=OWN_WIDTH, answer=Answer.YES, why="16-bit weights, 16-bit arithmetic")
    if inputs.accelerator is None:
        return Check(name=OWN_WIDTH, answer=Answer.UNKNOWN, why=_ACCELERATOR_NEEDED)
    runs_as, name = inputs.accelerator.runs_as(precision), inputs.accelerator.name
    if runs_as is precision:
        return Check(
            name=OWN_WIDTH, answer=Answer.YES, why=f"{name} has units for {precision.value}"
        )
    return Check(
        name=OWN_WIDTH,
        answer=Answer.NO,
        why=f"{name} has no units for {precision.value} and computes it as {runs_as.value}, so the "
        "knee and every cut-off fall",
    )


_COMPETES: Final[dict[Method, tuple[Answer, str]]] = {
    Method.DRAFT_MODEL: (
        Answer.YES,
        "the draft model's weights and KV cache lie in the target's memory, and its K passes come "
        "before each step",
    ),
    Method.EAGLE: (Answer.YES, "the head is small, about one layer, with K short passes a step"),
    Method.EAGLE3: (Answer.YES, "the head is small, about one layer, with K short passes a step"),
    Method.MTP: (Answer.YES, "the MTP layers are part of the model and run K times a step"),
    Method.NGRAM: (Answer.NO, "drafts are looked up in the prompt, on the host"),
    Method.SUFFIX: (Answer.NO, "drafts are looked up in earlier output, on the host"),
    Method.DISABLED: (Answer.NO, "nothing is drafted"),
}


def _competes(inputs: HeuristicInputs) -> Check:
    answer, why = _COMPETES[inputs.method]
    return Check(name=COMPETES, answer=answer, why=why)


def _positions_pay(inputs: HeuristicInputs) -> Check:
    if not inputs.method.speculates:
        return Check(name=POSITIONS_PAY, answer=Answer.NO, why="nothing is drafted")
    missing = [
        what
        for what, value in (
            ("the accelerator (node labels, or spec.accelerator)", inputs.accelerator),
            ("concurrency (telemetry)", inputs.concurrency),
            ("acceptance by position (the profile must have run here)", inputs.acceptance or None),
        )
        if value is None
    ]
    if inputs.accelerator is None or inputs.concurrency is None or not inputs.acceptance:
        return Check(
            name=POSITIONS_PAY, answer=Answer.UNKNOWN, why=f"not known: {'; '.join(missing)}"
        )
    knee = inputs.accelerator.knee_tokens(inputs.precision)
    observed = len(inputs.acceptance)
    paying = paying_positions(inputs.acceptance, inputs.concurrency, knee)
    told = ", ".join(f"{each:.2f}" for each in inputs.acceptance)
    return Check(
        name=POSITIONS_PAY,
        answer=Answer.YES if paying == observed else Answer.NO,
        why=f"{paying} of {observed} at {number(inputs.concurrency)} requests, with acceptance "
        f"{told} and a knee of {number(knee)}, before what drafting costs",
    )


def _require_concurrency(value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"concurrency is {value}: give a finite number, 0 or more")


def _require_acceptance(values: Sequence[float]) -> None:
    for value in values:
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"acceptance has {value}: give finite numbers, 0 or more")
