"""A grid of measured step times: the file that a calibration writes, as what can be fitted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.measured_fit import Cell, Fit, fit_measured
from ridgeline.costmodel.shape import ModelShape
from ridgeline.engine.flags import precision_hint
from ridgeline.engine.speculative_config import VLLM_METHOD
from ridgeline.settings.model_config import UnreadableConfig, facts_of_config
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

FULL: Final = 0.8
"""Least share of a batch that was there on average; with fewer it was the time of another batch."""


class GridError(ValueError):
    """The file is no grid, or one that cannot be fitted; the message names what and the way out."""


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="ignore", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )


class GridCell(_Model):
    """One measured step time, as the file has it."""

    lookahead: Annotated[int, Field(ge=0, le=128)]
    shallow: bool = False
    batch: Annotated[int, Field(ge=1, le=100_000)]
    step_seconds: Annotated[float, Field(gt=0, le=1000)]
    steps: Annotated[int, Field(ge=1)]
    mean_batch: Annotated[float, Field(gt=0)]
    context_tokens: Annotated[float, Field(ge=0, le=1e8)]
    preemptions: Annotated[int, Field(ge=0)] = 0


class Grid(_Model):
    """The whole file; further fields are left to later versions."""

    version: Literal[1]
    engine: Annotated[str, Field(max_length=100)]
    device: Annotated[str, Field(max_length=200)]
    model: Annotated[str, Field(min_length=1, max_length=500)]
    draft: str | None = None
    method: str | None = None
    model_config_: Annotated[dict[str, Any], Field(alias="modelConfig")]
    draft_config: dict[str, Any] | None = None
    shallow_config: dict[str, Any] | None = None
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    tensor_parallel: Annotated[int, Field(ge=1, le=1024)]
    captured_tokens: Annotated[int, Field(ge=0, le=1_000_000)]
    cells: Annotated[tuple[GridCell, ...], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a grid tells of a GPU.

    Attributes:
        fit: The constants.
        cells: The cells that were fitted to, in the order of the fit's errors.
        left_out: What was not, and why.
        precision: Of the weights.
        because: How the precision is known.
    """

    fit: Fit
    cells: tuple[GridCell, ...]
    left_out: tuple[str, ...]
    precision: Precision
    because: str


def read_grid(text: str) -> Grid:
    """Return the grid of a file, or of a log whose last line of JSON is one.

    Raises:
        GridError: It is none.
    """
    try:
        return Grid.model_validate(_object(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        said = "it is missing" if first["type"] == "missing" else first["msg"]
        raise GridError(
            f"{where}: {said}; give the file that `ridgeline calibrate measure` wrote"
        ) from error


def _object(text: str) -> object:
    lines = [text, *(line for line in reversed(text.splitlines()) if line.startswith("{"))]
    for each in lines:
        try:
            found = json.loads(each)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise GridError(
        "it holds no JSON object; give the file that `ridgeline calibrate measure` wrote, or the "
        "log of a Job that ended"
    )


def fit_grid(grid: Grid, accelerator: Accelerator, precision: Precision | None = None) -> Fitted:
    """Return the constants of a GPU that a grid tells.

    Args:
        grid: The measurements.
        accelerator: The GPU, by its data sheet.
        precision: Of the weights, where neither quantization nor name of the model tells it.

    Raises:
        GridError: The model's shape cannot be read, or the step times tell nothing.
    """
    facts = _facts(grid.model_config_, grid.model)
    shallow = _facts(grid.shallow_config, grid.model).shape() if grid.shallow_config else None
    hint = precision_hint(("--model", grid.model, "--quantization", grid.quantization or ""))
    deployment = Deployment(
        accelerator=accelerator,
        model=facts.shape(),
        precision=precision or hint.precision,
        kv_bytes=1.0 if "fp8" in grid.kv_cache_dtype else 2.0,
        tensor_parallel=grid.tensor_parallel,
        captured_tokens=grid.captured_tokens,
    )
    kept, left_out = _sound(grid, shallow)
    arms = {each.lookahead: _arm(grid, facts, each.lookahead) for each in kept}
    cells = [
        Cell(
            arm=arms[each.lookahead],
            context_tokens=each.context_tokens,
            concurrency=float(each.batch),
            seconds=each.step_seconds,
            model=shallow if each.shallow else None,
        )
        for each in kept
    ]
    fit = fit_measured(deployment, cells)
    if isinstance(fit, CannotSay):
        raise GridError(f"{fit.reason}: {fit.way_out}")
    return Fitted(
        fit=fit,
        cells=tuple(kept),
        left_out=tuple(left_out),
        precision=deployment.precision,
        because="--precision" if precision else hint.because,
    )


def _facts(config: Mapping[str, Any], name: str) -> ModelFacts:
    facts = facts_of_config(config, name)
    if isinstance(facts, UnreadableConfig):
        raise GridError(f"modelConfig: {facts.message}")
    return facts


def _sound(grid: Grid, shallow: ModelShape | None) -> tuple[list[GridCell], list[str]]:
    """Return the cells that were what they say, and what the others were."""
    kept, left_out = [], []
    for each in grid.cells:
        what = f"lookahead {each.lookahead}, batch {each.batch}"
        if each.preemptions:
            left_out.append(f"{what}: requests were preempted, so it was another batch")
        elif each.mean_batch < FULL * each.batch:
            left_out.append(f"{what}: {each.mean_batch:.1f} requests on average")
        elif each.shallow and shallow is None:
            left_out.append(f"{what}: the shallow model's configuration is not told")
        else:
            kept.append(each)
    return kept, left_out


def _arm(grid: Grid, facts: ModelFacts, lookahead: int) -> Arm:
    if not lookahead:
        return Arm(name="none", method=Method.DISABLED)
    method = next((each for each, name in VLLM_METHOD.items() if name == grid.method), None)
    if method is None:
        raise GridError(
            f"method: {grid.method!r} is none that a profile can have; measure with one of "
            f"{', '.join(VLLM_METHOD.values())}"
        )
    return Arm(
        name=f"lookahead {lookahead}",
        method=method,
        lookahead=lookahead,
        draft=_draft(grid, method, facts),
        # How many drafts are right does not change the time of a step that only decodes.
        acceptance=Acceptance(rates=(0.5,) * lookahead, origin=Origin.MEASURED),
    )


def _draft(grid: Grid, method: Method, facts: ModelFacts) -> ModelShape | None:
    if method is Method.DRAFT_MODEL:
        if grid.draft_config is None:
            raise GridError("draftConfig: it is not told, and the draft model's shape is needed")
        return _facts(grid.draft_config, grid.draft or "the draft model").shape()
    drafts = draft_of(method, grid.draft, facts)
    if isinstance(drafts, NoDraft):
        raise GridError(f"draft: {drafts.message}")
    return None if drafts is None else drafts.shape


def measured_stanza(fitted: Fitted) -> dict[str, int]:
    """Return `spec.measured` of an AcceleratorProfile."""
    told = fitted.fit.measured.told()
    units = {
        "memoryBandwidthPercent": ("bandwidth_share", 1e2),
        "computePercent": ("compute_share", 1e2),
        "stepMicroseconds": ("step_seconds", 1e6),
        "draftPassMicroseconds": ("draft_pass_seconds", 1e6),
    }
    return {
        field: max(round(told[name] * unit), 1)
        for field, (name, unit) in units.items()
        if name in told
    }


def missed(fitted: Fitted, *, worse_than: float) -> tuple[tuple[GridCell, float], ...]:
    """Return cells that the fitted model misses by more than a share, the worst first."""
    pairs = zip(fitted.cells, fitted.fit.errors, strict=True)
    far = [(cell, error) for cell, error in pairs if abs(error) > worse_than]
    return tuple(sorted(far, key=lambda each: -abs(each[1])))
