"""Rows of published measurements, read as cells that the cost model can be asked about."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.prediction_names import (
    Context,
    context_of,
    engine_is_legacy,
    gpu_of,
    method_of,
    precision_of,
    target_of,
)
from ridgeline.costmodel.acceptance import rates_from_one
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.terms.methods import Method

NONE = Arm(name="none", method=Method.DISABLED)
LOADS = ("batch", "concurren", "client", "user", "sessions", "in flight", "max_num_seqs", "streams")
"""Kinds of load that are a number of requests at a time."""

ASSUMED_DRAFTS = {"meta-llama/Meta-Llama-3-70B": "Llama-3.2-1B"}
"""Draft models where the source names none: an assumption of this benchmark."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measured speed-up.

    Attributes:
        name: The row's id.
        deployment, arm, workload: What the cost model is asked about.
        load: Requests at a time.
        observed: The measured speed-up.
        baseline: Tokens per second without speculation, where the row has it.
        scopes: What the cell counts for.
        chosen: Lookaheads that can be chosen between, with their speed-ups; 0 is none.
    """

    name: str
    deployment: Deployment
    arm: Arm
    workload: Workload
    load: float
    observed: float
    baseline: float | None = None
    scopes: tuple[str, ...] = ()
    chosen: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Skipped:
    """A row that cannot be scored, why, and what it would have counted for where that is known."""

    name: str
    reason: str
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A cell without acceptance yet; the length that its row tells; what makes one run; the hit."""

    cell: Cell
    length: float | None
    run: tuple[str, ...]
    hit: float


def read_rows(path: Path) -> tuple[list[Row], list[Skipped]]:
    """Return the rows of a file that can be asked about, and those that cannot."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        rows = list(csv.DictReader(lines))
    read = [_read({key: value.strip() for key, value in _plain(row)}) for row in rows]
    skipped = [each for each in read if isinstance(each, Skipped)]
    return [each for each in read if isinstance(each, Row)], skipped


def _plain(row: Mapping[str | None, str | list[str] | None]) -> Iterable[tuple[str, str]]:
    """Yield the named columns; a row that is too long has more under no name."""
    for key, value in row.items():
        if isinstance(key, str) and not isinstance(value, list):
            yield key.strip(), value or ""


def number(text: str) -> float | None:
    """Return the number in a field, `None` when there is none that is finite."""
    try:
        value = float(text.replace("%", "").replace("x", "").replace("~", "").strip())
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _read(row: Mapping[str, str]) -> Row | Skipped:
    name = row.get("id") or "?"
    observed, load = _speedup(row), _load(row)
    if isinstance(observed, str):
        return Skipped(name, observed)
    if isinstance(load, str):
        return Skipped(name, load)
    deployment = _deployment(row)
    if isinstance(deployment, str):
        return Skipped(name, deployment)
    context = context_of(row.get("dataset", ""), row.get("notes", ""))
    online = not row.get("load_kind", "").lower().startswith("batch")
    arm = _arm(row, context)
    if isinstance(arm, str):
        return Skipped(name, arm)
    cell = Cell(
        name=name,
        deployment=deployment,
        arm=arm,
        workload=Workload(
            context_tokens=context.tokens, prefill_per_token=context.prefill if online else 0.0
        ),
        load=load,
        observed=observed,
        baseline=_baseline(row),
        scopes=_scopes(deployment, arm, row),
    )
    hit = context.hit if arm.method in (Method.NGRAM, Method.SUFFIX) else 1.0
    columns = ("source", "gpu", "n_gpu", "tp", "model", "precision", "engine", "method", "draft")
    run = tuple(row.get(each, "") for each in (*columns, "k", "tree_nodes", "dataset", "metric"))
    return Row(cell, _length(row, arm.lookahead), run, hit)


def _speedup(row: Mapping[str, str]) -> float | str:
    metric = row.get("metric", "").lower()
    if "accept" in metric or "ttft" in metric or "first token" in metric:
        return "not a measure of decode speed"
    told = number(row.get("speedup", ""))
    low, high = number(row.get("speedup_lo", "")), number(row.get("speedup_hi", ""))
    base, spec = number(row.get("baseline", "")), number(row.get("spec", ""))
    if told is None and base and spec:
        told = base / spec if row.get("better", "").lower().startswith("low") else spec / base
    if told is None and low and high:
        told = math.sqrt(low * high) if low > 0 and high > 0 else None
    if told is None:
        return "no speed-up"
    return told if 0.02 < told < 50 else "a speed-up that cannot be"


def _baseline(row: Mapping[str, str]) -> float | None:
    unit = row.get("unit", "").lower()
    value = number(row.get("baseline", ""))
    return value if value and value > 0 and re.search(r"tok\w*\s*/\s*s", unit) else None


def _load(row: Mapping[str, str]) -> float | str:
    kind, value = row.get("load_kind", "").lower(), number(row.get("load", ""))
    if re.search(r"qps|rps|rate|req(uest)?s? ?(/|per)", kind):
        return "load is a rate of requests, not a concurrency"
    if kind and not any(each in kind for each in LOADS):
        return "load is not a number of requests at a time"
    if value is None:
        return "no load"
    return value if 0.5 <= value <= 1e5 else "a load that cannot be"


def _deployment(row: Mapping[str, str]) -> Deployment | str:
    gpu = gpu_of(row.get("gpu", ""))
    if gpu is None:
        return "GPU is not in the catalogue"
    target = target_of(row.get("model", ""))
    if target is None:
        return "model is not in the catalogue"
    size = number(row.get("tp", "")) or number(row.get("n_gpu", "")) or 1.0
    if not (1 <= size <= 1024 and size == int(size)):
        return "tensor parallelism that cannot be"
    return Deployment(
        accelerator=gpu,
        model=target.shape(),
        precision=precision_of(row.get("precision", "")),
        tensor_parallel=int(size),
        legacy_engine=engine_is_legacy(row.get("engine", "")),
        gpu_memory_utilization=1.0,
    )


def _arm(row: Mapping[str, str], context: Context) -> Arm | str:
    method = method_of(row.get("method", ""))
    if method is None:
        return "method is not one of vLLM's"
    lookahead, nodes = number(row.get("k", "")), number(row.get("tree_nodes", ""))
    if method is Method.SUFFIX:
        return "suffix decoding has no fixed lookahead"
    if lookahead is None or not 1 <= lookahead <= 64:
        return "no lookahead"
    target = target_of(row.get("model", ""))
    assert target is not None
    told = re.sub(r"\(.*?\)", "", row.get("draft", "")).strip()
    if method is Method.DRAFT_MODEL and target_of(told) is None:
        told = ASSUMED_DRAFTS.get(target.name, "")
        if not told:
            return "draft model is not named, or not in the catalogue"
    draft = draft_of(method, told or None, target)
    if isinstance(draft, NoDraft):
        return "draft does not fit the model, by the catalogue"
    tree = int(nodes) if nodes is not None and nodes > lookahead else None
    return Arm(
        name="profile",
        method=method,
        lookahead=int(lookahead),
        draft=draft.shape if draft else None,
        draft_added_params=draft.added_params if draft else None,
        tree_nodes=tree,
        tree_width=4 if tree else 1,
    )


def _length(row: Mapping[str, str], lookahead: int) -> float | None:
    """Return the acceptance length that a row tells, whatever form it takes."""
    value, kind = number(row.get("acc", "")), row.get("acc_kind", "").lower()
    if value is None or value <= 0:
        return None
    percent = "%" in row.get("acc", "") or "percent" in kind or "%" in kind
    if re.search(r"len|tau|tokens|al\b|mean", kind) and not percent:
        length = value
    else:
        share = value / 100.0 if percent or value > 1.0 else value
        if not 0.0 < share <= 1.0:
            return None
        by_draft = re.search(r"draft|accepted|overall|rate", kind) and "token" not in kind
        alone = 1.0 + sum(rates_from_one(share, lookahead))
        length = 1.0 + share * lookahead if by_draft else alone
    return length if 1.0 <= length <= lookahead + 1.0 else None


def _scopes(deployment: Deployment, arm: Arm, row: Mapping[str, str]) -> tuple[str, ...]:
    engine = "legacy" if deployment.legacy_engine else "current"
    kind = "moe" if deployment.model.experts else "dense"
    shape = "trees" if arm.tree_nodes else "chain"
    found = [f"{kind}-{shape}-{engine}", f"method-{arm.method.value}"]
    if deployment.legacy_engine:
        found.append("legacy")
    if deployment.model.experts:
        found.append("moe")
    if arm.tree_nodes:
        found.append("trees")
    dataset = re.sub(r"[^a-z0-9]+", "-", row.get("dataset", "").lower()).strip("-")
    return (*found, f"data-{dataset or 'not-told'}")
