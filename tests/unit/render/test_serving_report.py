"""Servings of a cluster as a report: what is told first, and what is told of each."""

from typing import Any

import pytest

from ridgeline.render.report import Chart, Facts, Lanes, Report, Section, Table
from ridgeline.render.report_page import report_page
from ridgeline.render.serving_report import ServingReport, servings_report
from tests.component.report.report_values import HOSTILE

STATUS: dict[str, Any] = {
    "activeProfile": "none",
    "desiredProfile": "none",
    "recommendedProfile": "eagle",
    "cutoffTable": [
        {"profile": "eagle", "upToConcurrency": 24, "actAtConcurrency": 18},
        {"profile": "none"},
    ],
    "accelerator": {"name": "h100-sxm", "source": "spec.accelerator"},
    "lastDecision": {
        "time": "2026-01-01T00:00:00Z",
        "reason": "RecommendOnly",
        "message": "eagle is better",
    },
    "switchHistory": [
        {
            "startTime": "2025-12-31T22:00:00Z",
            "finishTime": "2025-12-31T22:10:00Z",
            "from": "none",
            "to": "eagle",
            "reason": "AllQuiet",
        },
        {
            "startTime": "2025-12-31T23:00:00Z",
            "finishTime": "2025-12-31T23:05:00Z",
            "from": "eagle",
            "to": "none",
            "reason": "DemandHigh",
        },
    ],
    "conditions": [
        {
            "type": "Stalled",
            "status": "True",
            "reason": "FieldConflict",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "argocd owns the item",
        }
    ],
}


def made(status: dict[str, Any] = STATUS, **more: Any) -> Report:
    known = {"name": "inference/llama", "status": status, "cutoffs": "the model is not known"}
    serving = ServingReport(**{**known, **more})
    return servings_report([serving], "namespace inference", "2026-01-01 00:00:00 UTC")


def blocks(section: Section, kind: type) -> list[Any]:
    return [each for each in section.blocks if isinstance(each, kind)]


def test_what_runs_and_what_would_be_better_is_told_first() -> None:
    (told,) = made().summary
    assert told == (
        "inference/llama runs none, and eagle would be better (RecommendOnly): eagle is better."
    )


def test_what_waits_for_a_person_is_a_caution() -> None:
    (caution,) = made().cautions
    assert "inference/llama waits for a person (FieldConflict): argocd owns the item" in caution
    assert made({**STATUS, "conditions": []}).cautions == ()


def test_a_serving_without_status_is_told_as_such() -> None:
    report = made({})
    assert "has no status yet" in report.summary[0]
    assert report.sections[0].blocks == ()
    nothing = servings_report([], "namespace x", "now")
    assert nothing.summary == ("There is no serving here.",)


def test_switches_are_a_table_and_a_lane() -> None:
    (section,) = made().sections
    (lanes,) = blocks(section, Lanes)
    labels = [each.label for each in lanes.lanes[0].spans]
    assert labels == ["rolling to eagle", "eagle", "rolling to none"]
    first, stays, _ = lanes.lanes[0].spans
    assert first.ends - first.begins == 600.0
    assert stays.ends - stays.begins == 3000.0
    (table,) = [each for each in blocks(section, Table) if each.title == "Switches"]
    assert len(table.rows) == 2
    one = made({**STATUS, "switchHistory": STATUS["switchHistory"][:1]})
    assert blocks(one.sections[0], Lanes) == []


def test_what_cannot_be_told_is_said() -> None:
    (section,) = made().sections
    facts = [row for each in blocks(section, Facts) for row in each.rows]
    assert ("not known", "the model is not known") in facts
    assert ("requests in decode per engine", "not looked at (--prometheus)") in facts
    assert blocks(section, Chart) == []
    seen = made(concurrency=12.345)
    told = dict(blocks(seen.sections[0], Facts)[0].rows)
    assert told["requests in decode per engine"] == "12.3"


@pytest.mark.parametrize("odd", [{}, {"startTime": 5}, {"startTime": "yesterday", "to": None}])
def test_an_odd_history_is_shown_all_the_same(odd: dict[str, Any]) -> None:
    report_page(made({**STATUS, "switchHistory": [odd, odd]}))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_status_stays_text(text: str) -> None:
    status = {**STATUS, "activeProfile": text, "lastDecision": {"reason": text, "message": text}}
    events = [{"eventTime": text, "type": text, "reason": text, "note": text}]
    page = report_page(made(status, name=text, events=events, decision=(text,), cutoffs=text))
    assert "<script" not in page
    assert "<img" not in page
