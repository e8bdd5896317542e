"""A serving's cut-offs as one JSON object, with keys that stay."""

import math
from typing import Any, Final

from ridgeline.costmodel.memory import GIB
from ridgeline.costmodel.table import CutoffTable
from ridgeline.render.cutoff_report import CutoffReport, Point, Predicted, ProfileReport

VERSION: Final = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


def cutoff_document(report: CutoffReport) -> dict[str, Any]:
    """Return everything that the page shows. `null` stands for what is not known."""
    table, predicted = report.table, report.predicted
    known = isinstance(table, CutoffTable)
    return {
        "version": VERSION,
        "subject": report.subject,
        "strategy": report.strategy,
        "facts": dict(report.facts),
        "problem": None if known else table,
        "verdict": table.verdict.value if isinstance(table, CutoffTable) else None,
        "reasons": list(table.reasons) if isinstance(table, CutoffTable) else [],
        "wayOut": report.way_out or None,
        "ranges": _ranges(table) if isinstance(table, CutoffTable) else [],
        "prediction": None if isinstance(predicted, str) else _prediction(predicted),
        "predictionProblem": predicted if isinstance(predicted, str) else None,
    }


def _ranges(table: CutoffTable) -> list[dict[str, Any]]:
    return [
        {
            "profile": row.profile,
            "upToConcurrency": _number(row.up_to),
            "returnBelowConcurrency": _number(row.return_below),
            "bandLow": _number(row.band.low) if row.band else None,
            "bandHigh": _number(row.band.high) if row.band else None,
        }
        for row in table.rows
    ]


def _prediction(told: Predicted) -> dict[str, Any]:
    deployment = told.deployment
    return {
        "model": deployment.model.name,
        "precision": deployment.precision.value,
        "accelerator": deployment.accelerator.name,
        "tensorParallel": deployment.tensor_parallel,
        "pipelineParallel": deployment.pipeline_parallel,
        "dataParallel": deployment.data_parallel,
        "contextTokens": _number(told.workload.context_tokens),
        "prefillPerToken": _number(told.workload.prefill_per_token),
        "baseline": told.baseline,
        "profiles": [_profile(each) for each in told.profiles],
    }


def _profile(profile: ProfileReport) -> dict[str, Any]:
    arm, room = profile.arm, profile.room
    acceptance = arm.acceptance
    return {
        "profile": arm.name,
        "method": arm.method.value,
        "lookahead": arm.lookahead,
        "problem": profile.trouble,
        "acceptanceLength": _number(acceptance.length) if acceptance else None,
        "acceptanceFrom": acceptance.origin.value if acceptance else None,
        "calibrated": profile.calibrated,
        "windowsSeen": arm.calibration.windows,
        "maxConcurrency": _number(room.max_concurrency) if room else None,
        "limitedBy": (("Memory" if room.by_memory else "MaxNumSeqs") if room else None),
        "draftWeightsGiB": _number(room.draft_bytes / GIB) if room else None,
        "kvMiBPerRequest": _number(room.kv_bytes / GIB * 1024) if room else None,
        "speedups": [_point(each) for each in profile.points],
        "curve": [_point(each) for each in profile.curve],
        "bestLookahead": [
            {"fromRequests": each.first, "toRequests": each.last, "lookahead": each.lookahead}
            for each in profile.tiers
        ],
    }


def _point(point: Point) -> dict[str, Any]:
    tpot = point.tpot_seconds
    return {
        "concurrency": _number(point.concurrency),
        "speedup": _number(point.speedup),
        "low": _number(point.low),
        "high": _number(point.high),
        "admitted": point.admitted,
        "tokensPerSecond": _number(point.tokens_per_second),
        "tpotMilliseconds": None if tpot is None else _number(tpot * 1e3),
    }


def _number(value: float | None) -> float | None:
    """Return a number in five digits; JSON has none that is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")
