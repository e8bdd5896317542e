"""The load of before in a report: gaps stay gaps, and switches stand where they were made."""

from typing import Any

from ridgeline.render.report import Chart
from ridgeline.render.report_page import report_page
from ridgeline.render.serving_past import Past, PastPoint, past_charts
from ridgeline.render.serving_report import ServingReport, servings_report
from ridgeline.terms.times import epoch_seconds
from tests.unit.render.test_serving_report import STATUS

ENDS = epoch_seconds("2026-01-01T00:00:00Z")
BEGINS = ENDS - 3 * 3600


def past(*missing: int, **more: Any) -> Past:
    points = tuple(
        PastPoint(at=BEGINS + 300.0 * i, concurrency=float(i), tokens_per_second=100.0 * i)
        for i in range(36)
        if i not in missing
    )
    return Past(**{"begins": BEGINS, "ends": ENDS, "points": points, "step": 300.0, **more})


def charts(known: Past, status: dict[str, Any] = STATUS) -> list[Chart]:
    return list(past_charts(known, status))


def test_load_cut_off_act_at_and_switches_are_drawn() -> None:
    concurrency, output = charts(past())
    names = [each.name for each in concurrency.lines]
    assert names == [
        "requests in decode per engine",
        "cut-off of eagle",
        "acts at the end of eagle",
    ]
    assert concurrency.lines[1].y == (24.0, 24.0)
    assert concurrency.lines[2].y == (18.0, 18.0)
    assert [each.label for each in concurrency.marks] == ["to eagle", "to none"]
    first = concurrency.marks[0]
    assert (first.x, first.until) == (
        epoch_seconds("2025-12-31T22:00:00Z"),
        epoch_seconds("2025-12-31T22:10:00Z"),
    )
    assert output.lines[0].y[-1] == 3500.0


def test_what_was_not_measured_is_a_gap_and_no_line_across_it() -> None:
    (line, *_) = charts(past(5, 6, 7))[0].lines
    gap = line.y.index(None)
    assert line.x[gap] == BEGINS + 5 * 300.0
    assert None not in charts(past())[0].lines[0].y


def test_switches_of_another_time_are_left_out() -> None:
    early = past(begins=BEGINS, ends=BEGINS + 60.0)
    assert charts(early)[0].marks == ()


def test_nothing_measured_draws_nothing_and_says_why() -> None:
    nothing = past(points=(), error="no sample of the Pods of llama in that time")
    assert charts(nothing) == []
    serving = ServingReport(name="a/llama", status=STATUS, cutoffs="-", past=nothing)
    made = servings_report([serving], "a", "now")
    assert any("no sample of the Pods of llama" in each for each in made.cautions)


def test_the_page_holds_the_past() -> None:
    serving = ServingReport(name="a/llama", status=STATUS, cutoffs="-", past=past())
    page = report_page(servings_report([serving], "a", "now"))
    assert "Concurrency over time" in page
    assert "Output over time" in page


def test_a_serving_without_a_status_has_a_past_too() -> None:
    serving = ServingReport(name="a/llama", status={}, cutoffs="-", past=past())
    page = report_page(servings_report([serving], "a", "now"))
    assert "has no status yet" in page
    assert "Concurrency over time" in page
