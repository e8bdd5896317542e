"""Advice as one JSON object, with keys that stay."""

import math
from typing import Any, Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import Capacity
from ridgeline.costmodel.cost import Plan
from ridgeline.costmodel.memory import GIB
from ridgeline.costmodel.profile_advice import ProfileAdvice, Spread
from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.cutoff_document import cutoff_document
from ridgeline.render.cutoff_report import Predicted

VERSION: Final = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


def advice_document(report: AdviceReport) -> dict[str, Any]:
    """Return everything that the page shows. `null` stands for what is not known."""
    roll = report.roll
    return {
        "version": VERSION,
        "subject": report.cutoff.subject,
        "answer": report.advice.answer.value,
        "headline": report.advice.headline,
        "missing": list(report.advice.missing),
        "cutoff": cutoff_document(report.cutoff),
        "contexts": [_context(each) for each in report.contexts],
        "concurrency": _number(report.asked.concurrency),
        "promptTokens": _number(report.asked.prompt_tokens),
        "load": _load(report),
        "profiles": [_profile(each) for each in report.profiles],
        "inEngine": [
            {"profile": each.profile, "config": each.config, "why": each.why}
            for each in report.in_engine
        ],
        "roll": None
        if isinstance(roll, CannotSay)
        else {"gpuHours": _number(roll.gpu_hours), "price": _number(roll.price)},
        "rollProblem": str(roll) if isinstance(roll, CannotSay) else None,
        "notes": list(report.notes),
    }


def _context(told: Predicted) -> dict[str, Any]:
    return {
        "contextTokens": _number(told.workload.context_tokens),
        "profiles": [
            {
                "profile": each.arm.name,
                "problem": each.trouble,
                "speedups": [
                    {
                        "concurrency": _number(point.concurrency),
                        "speedup": _number(point.speedup),
                        "low": _number(point.low),
                        "high": _number(point.high),
                        "admitted": point.admitted,
                    }
                    for point in each.points
                ],
            }
            for each in told.profiles
            if each.arm.method.speculates
        ],
    }


def _load(report: AdviceReport) -> dict[str, Any] | None:
    demand = report.asked.demand
    if demand is None:
        return None
    return {
        "tokensPerSecond": _number(demand.tokens_per_second),
        "gpusPerReplica": demand.gpus,
        "gpuHourPrice": _number(demand.gpu_hour),
        "replicas": demand.replicas,
        "headroom": _number(demand.headroom),
    }


def _profile(profile: ProfileAdvice) -> dict[str, Any]:
    taken, first = profile.memory, profile.first_token
    return {
        "profile": profile.model.arm.name,
        "timesOffBy": _number(profile.factor),
        "kvCacheShareTaken": None if taken is None else _number(taken.share),
        "requestsInMemory": None if taken is None else _number(taken.requests),
        "weightsGiB": _number(profile.start_up.target_bytes / GIB),
        "draftWeightsGiB": _number(profile.start_up.draft_bytes / GIB),
        "firstTokenMilliseconds": None if isinstance(first, CannotSay) else _number(first * 1e3),
        "firstTokenProblem": str(first) if isinstance(first, CannotSay) else None,
        "capacity": _capacity(profile.capacity),
        "carriesLoad": None if profile.load is None else _spread(profile.load),
        "positions": [
            {"position": each.number, "paysUpToRequests": each.up_to, "paysAlways": each.always}
            for each in profile.positions
        ],
        "checks": [
            {"check": each.name, "answer": each.answer.value, "why": each.why}
            for each in profile.checks
        ],
    }


def _capacity(found: Capacity | CannotSay) -> dict[str, Any]:
    if isinstance(found, CannotSay):
        return {"problem": str(found)}
    return {
        "problem": None,
        "tokensPerSecond": _number(found.tokens_per_second),
        "concurrency": _number(found.concurrency),
        "tpotMilliseconds": _number(found.tpot_seconds * 1e3),
        "setBy": found.bound.value,
    }


def _spread(load: Spread) -> dict[str, Any]:
    return {"likely": _plan(load.likely), "fast": _plan(load.fast), "slow": _plan(load.slow)}


def _plan(found: Plan | CannotSay) -> dict[str, Any]:
    if isinstance(found, CannotSay):
        return {"problem": str(found)}
    return {
        "problem": None,
        "replicas": found.replicas,
        "concurrency": _number(found.concurrency),
        "capacityUsed": _number(found.used),
        "tpotMilliseconds": _number(found.tpot_seconds * 1e3),
        "costPerHour": _number(found.per_hour),
        "costPerMillionTokens": _number(found.per_million),
        "costPerMillionTokensAtFullLoad": _number(found.per_million_full),
    }


def _number(value: float | None) -> float | None:
    """Return a number in five digits; JSON has none that is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")
