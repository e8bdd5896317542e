"""Targets, profiles and published numbers of the pictures about the cost model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.step_time import StepModel, step_model
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

LLAMA_8B: Final = "Llama-3.1-8B"
LLAMA_70B: Final = "Llama-3.1-70B"
QWEN_8B: Final = "Qwen3-8B"

NONE: Final = Arm(name="none", method=Method.DISABLED)
CHAT: Final = Workload(context_tokens=500.0)
LENGTH: Final = 2.2
"""Acceptance length of an EAGLE-3 head with K = 3 on chat, as on the page."""

STEP_MILLISECONDS: Final[Mapping[int, Mapping[int, float]]] = {
    0: {1: 6.521, 4: 6.602, 16: 6.899, 64: 7.774, 256: 14.491},
    1: {1: 7.368, 4: 7.473, 16: 7.852, 64: 9.656, 256: 27.138},
    3: {1: 8.841, 4: 8.981, 16: 9.518, 64: 13.498, 256: 41.848},
    5: {1: 10.326, 4: 10.400, 16: 11.196, 64: 16.831, 256: 57.404},
}
"""Published step times by lookahead and batch: Llama 3.1 8B, EAGLE, one H100 (vLLM PR 32374)."""

STEP_RATES: Final = (0.68, 0.39, 0.20, 0.10, 0.06)
"""Acceptance by position that stands beside them."""

STEP_WORKLOAD: Final = Workload(context_tokens=208.0, prefill_per_token=0.3)
"""Their requests, assumed as the benchmark of predictions does."""


class CannotDrawError(ValueError):
    """The catalogues or the model do not give what a picture is about."""


def facts_of(model: str) -> ModelFacts:
    """Return a model of the catalogue."""
    found = load_models().find(model)
    if found is None:
        raise CannotDrawError(f"the catalogue has no model {model!r}")
    return found.facts


def target_of(
    gpu: str, model: str, tensor_parallel: int = 1, *, max_num_seqs: int | None = None
) -> Deployment:
    """Return a target of 16 bits on GPUs of the catalogue."""
    accelerator = load_catalogue().named(gpu)
    if accelerator is None:
        raise CannotDrawError(f"the catalogue has no GPU {gpu!r}")
    return Deployment(
        accelerator=accelerator,
        model=facts_of(model).shape(),
        precision=Precision.BF16,
        tensor_parallel=tensor_parallel,
        max_num_seqs=max_num_seqs,
    )


def arm_of(
    name: str,
    method: Method,
    model: str,
    lookahead: int,
    rates: Sequence[float],
    draft: str | None = None,
) -> Arm:
    """Return a profile of a model with a draft of the catalogue."""
    found = draft_of(method, draft, facts_of(model))
    if isinstance(found, NoDraft):
        raise CannotDrawError(found.message)
    return Arm(
        name=name,
        method=method,
        lookahead=lookahead,
        draft=found.shape if found else None,
        draft_added_params=found.added_params if found else None,
        acceptance=Acceptance(rates=tuple(rates), origin=Origin.MEASURED, relative_sd=0.02),
    )


def head_of(model: str, lookahead: int = 3, length: float = LENGTH) -> Arm:
    """Return a profile with an EAGLE-3 head."""
    rates = rates_from_length(length, lookahead)
    return arm_of("eagle3", Method.EAGLE3, model, lookahead, rates)


def table_of(deployment: Deployment, arms: Sequence[Arm], workload: Workload) -> CutoffTable:
    """Return the cut-off table; every picture is of targets that have one."""
    table = goodput_table(deployment, arms, workload)
    if isinstance(table, CannotSay):
        raise CannotDrawError(str(table))
    return table


def evenly(least: float, most: float, count: int = 60) -> list[float]:
    """Return numbers from least to most whose ratios are equal."""
    steps = count - 1
    return [least * (most / least) ** (each / steps) for each in range(count)]


def models_of(deployment: Deployment, arms: Sequence[Arm], workload: Workload) -> list[ArmModel]:
    found = arm_models(deployment, arms, workload)
    lost = next((each for each in found if isinstance(each, CannotSay)), None)
    if lost is not None:
        raise CannotDrawError(str(lost))
    return [each for each in found if isinstance(each, ArmModel)]


def fixture_model(lookahead: int) -> StepModel:
    """Return the step model of a lookahead of the published table."""
    target = target_of("h100-sxm", LLAMA_8B)
    arm = NONE
    if lookahead:
        arm = arm_of("eagle", Method.EAGLE, LLAMA_8B, lookahead, STEP_RATES[:lookahead])
    model = step_model(target, arm, STEP_WORKLOAD)
    if isinstance(model, CannotSay):
        raise CannotDrawError(str(model))
    return model
