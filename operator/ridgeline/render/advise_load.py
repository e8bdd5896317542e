"""Capacity and cost in cells: as predicted, with what they may be in brackets."""

from collections.abc import Callable
from typing import Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import Bound, Capacity
from ridgeline.costmodel.cost import Demand, Plan
from ridgeline.costmodel.profile_advice import ProfileAdvice, Spread
from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.advise_section import Section
from ridgeline.render.cutoff import tell

_BOUNDS: Final = {
    Bound.MEMORY: "KV memory",
    Bound.REQUESTS: "--max-num-seqs",
    Bound.LATENCY: "the limit on TPOT",
}


def capacity_section(report: AdviceReport) -> Section | None:
    """Return what one engine delivers at most; `None` without any profile."""
    if not report.profiles:
        return None
    limit = report.asked.tpot_limit
    where = "" if limit is None else f" with a TPOT of at most {limit * 1e3:g} ms"
    return Section(
        title=f"Capacity of one engine{where}",
        columns=("profile", "tokens per second", "at requests", "set by", "TPOT there"),
        rows=tuple((each.model.arm.name, *_capacity(each)) for each in report.profiles),
        lines=(_how_sure(report),),
    )


def _capacity(profile: ProfileAdvice) -> tuple[str, ...]:
    found = profile.capacity
    if isinstance(found, CannotSay):
        return (f"cannot say: {found}", "", "", "")
    return (
        _between(found.tokens_per_second, profile.factor, "{:.0f}"),
        tell(found.concurrency),
        _BOUNDS[found.bound],
        _tpot(found, profile.factor),
    )


def _tpot(capacity: Capacity, factor: float) -> str:
    if capacity.bound is Bound.LATENCY:
        return f"{capacity.tpot_seconds * 1e3:.1f} ms"
    return f"{_between(capacity.tpot_seconds * 1e3, factor, '{:.1f}')} ms"


def _between(value: float, factor: float, form: str) -> str:
    low, high = form.format(value / factor), form.format(value * factor)
    return f"{form.format(value)} ({low} to {high})"


def _how_sure(report: AdviceReport) -> str:
    factor = max(each.factor for each in report.profiles)
    if any(each.model.arm.calibration.seen for each in report.profiles):
        return f"from the TPOT that you measured; up to {factor - 1.0:.0%} off either way"
    return (
        f"predicted, not measured here: off by up to {factor:.2f} times either way, for all "
        "profiles alike; --measured-tpot narrows it"
    )


_ENGINES: Final[tuple[tuple[str, Callable[[Spread], Plan | CannotSay]], ...]] = (
    ("as predicted", lambda load: load.likely),
    ("a fast engine", lambda load: load.fast),
    ("a slow engine", lambda load: load.slow),
)
"""What a load is planned for: the error that all times share lies between the last two."""


def load_section(report: AdviceReport) -> Section | None:
    """Return how each profile carries the load; `None` when no load was told."""
    demand = report.asked.demand
    if demand is None:
        return None
    priced = demand.gpu_hour is not None
    columns = ("profile", "engine", "replicas", "requests per engine", "capacity in use", "TPOT")
    costs = ("per hour", "per million tokens", "against none", "at full load")
    none = next((each for each in report.profiles if _is_none(each)), None)
    rows, troubles = [], []
    for each in report.profiles:
        for engine, of in _ENGINES:
            if each.load is not None:
                found = of(each.load)
                base = None if none is None or none.load is None else of(none.load)
                cells = _carried(found, base)
                shown = cells if priced else cells[: len(columns) - 2]
                rows.append((each.model.arm.name, engine, *shown))
                if isinstance(found, CannotSay):
                    troubles.append(f"{engine}: {found}")
    price = f", {demand.gpu_hour:g} per GPU-hour" if priced else ""
    return Section(
        title=f"Carrying {demand.tokens_per_second:.0f} output tokens per second on replicas of "
        f"{_gpus(demand.gpus)}{price}",
        columns=(*columns, *costs) if priced else columns,
        rows=tuple(rows),
        lines=(_counted(demand), *troubles),
    )


def _is_none(profile: ProfileAdvice) -> bool:
    return not profile.model.arm.method.speculates


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _counted(demand: Demand) -> str:
    if demand.replicas is not None:
        return "with as many replicas as you told"
    return f"with as few replicas as leave {demand.headroom:.0%} free for peaks"


def _carried(plan: Plan | CannotSay, none: Plan | CannotSay | None) -> tuple[str, ...]:
    if isinstance(plan, CannotSay):
        return ("not carried", *([""] * 7))
    against = ""
    if isinstance(none, Plan) and none is not plan and plan.per_million and none.per_million:
        against = f"{plan.per_million / none.per_million - 1.0:+.0%}"
    return (
        str(plan.replicas),
        tell(plan.concurrency),
        f"{plan.used:.0%}",
        f"{plan.tpot_seconds * 1e3:.1f} ms",
        "" if plan.per_hour is None else f"{plan.per_hour:.2f}",
        _cost(plan.per_million),
        against,
        _cost(plan.per_million_full),
    )


def _cost(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
