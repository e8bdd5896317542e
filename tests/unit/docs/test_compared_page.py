"""The page that compares ways: it is in step, and what it says in words holds for its numbers."""

import json
from pathlib import Path

import pytest

from tests.tools import compared

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "compared.md"


def test_it_is_in_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared.main(["--check", str(PAGE)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("case", compared.CASES, ids=lambda case: case.title[:30])
def test_a_schedule_is_never_worse_than_the_static_k(case: compared.Case) -> None:
    for concurrency in (1.0, 4.0, 16.0, 48.0, 100.0, 200.0):
        found = compared.ratios(case, concurrency)
        static, schedule, none = found.values()
        assert schedule >= static * 0.99
        assert none == 1.0


def test_small_heads_that_fit_always_pay_and_draft_models_do_not() -> None:
    for case in compared.CASES[:2]:
        assert compared.ratios(case, 256.0)["schedule"] > 1.0
    assert compared.ratios(compared.CASES[2], 256.0)["schedule"] < 1.0


def test_the_week_ranks_as_the_page_says() -> None:
    week = json.loads(compared.WEEK.read_text())
    latency = {each["name"]: each["latency"] for each in week["strategies"]}
    assert latency["best in hindsight"] <= latency["ridgeline, Goodput"] < latency["stay on none"]
    assert latency["ridgeline, Goodput"] < latency["eagle with schedule"]
    assert latency["eagle with schedule"] < latency["stay on eagle"]


def test_what_is_kept_of_a_simulation_is_what_it_prints() -> None:
    told = {
        "facts": {"deployment": "d", "fleet": "f", "traffic": "t"},
        "strategies": [
            {
                "name": "x",
                "meanLatencySeconds": 1.26,
                "changeAgainstToday": -0.1234,
                "regretRequestHours": 9.6,
                "rolls": [{}, {}],
            }
        ],
    }
    (kept,) = compared.summary(told)["strategies"]
    assert kept == {"name": "x", "latency": 1.3, "change": -0.123, "regret": 10, "rolls": 2}
