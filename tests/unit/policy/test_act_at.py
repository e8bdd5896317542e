"""Where the law acts, in the rows of the cut-off table."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.policy.act_at import with_act_at
from ridgeline.policy.law.decision import ActAt, LawDecision
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.terms import LawMode, LawReason

ROWS: list[dict[str, Any]] = [
    {"profile": "draft", "upToConcurrency": 10},
    {"profile": "eagle2", "upToConcurrency": 40},
    {"profile": "none"},
]


def lawful(level: float | None, *, quieter: str = "eagle2", busier: str = "none") -> LawDecision:
    act = ActAt(
        quieter=quieter,
        busier=busier,
        mode=LawMode.INSURED,
        peak=1.2,
        cutoff_demand=8000.0,
        cutoff_concurrency=40.0,
        safe_demand=5400.0,
        off_demand=5400.0,
        on_demand=4860.0,
        off_concurrency=level,
        on_concurrency=24.0,
        roll_cost=None,
    )
    return LawDecision(
        wish="eagle2",
        go=False,
        direction=None,
        reason=LawReason.STAYS,
        message="",
        comparisons=(),
        act_at=act,
        demand=4000.0,
        concurrency=10.0,
        regret=0.0,
        notice=None,
        memory=LawMemory(),
    )


def acts(rows: list[dict[str, Any]]) -> list[int | None]:
    return [row.get("actAtConcurrency") for row in rows]


def test_it_stands_in_the_row_beneath_the_border() -> None:
    rows = with_act_at(ROWS, lawful(23.4), ())
    assert acts(rows) == [None, 23, None]
    assert [{**row, "actAtConcurrency": None} for row in ROWS] == [
        {**row, "actAtConcurrency": None} for row in rows
    ]


def test_the_border_that_the_law_does_not_look_at_keeps_what_stands() -> None:
    one = with_act_at(ROWS, lawful(23.4), ())
    both = with_act_at(ROWS, lawful(7.7, quieter="draft", busier="eagle2"), one)
    assert acts(both) == [8, 23, None]


@pytest.mark.parametrize(("now", "told"), [(21.01, 23), (25.29, 23), (20.6, 21), (25.4, 25)])
def test_a_tenth_more_or_less_is_not_written(now: float, told: int) -> None:
    one = with_act_at(ROWS, lawful(23.4), ())
    assert acts(with_act_at(ROWS, lawful(now), one))[1] == told


def test_it_does_not_creep() -> None:
    """What stands is compared with, not what was seen last."""
    rows = with_act_at(ROWS, lawful(20.0), ())
    for step in range(100):
        rows = with_act_at(ROWS, lawful(20.0 + 0.05 * step), rows)
    assert acts(rows)[1] in (22, 24)


@pytest.mark.parametrize("blind", [None, replace(lawful(1.0), act_at=None)])
def test_while_it_cannot_be_told_it_stands(blind: LawDecision | None) -> None:
    one = with_act_at(ROWS, lawful(23.4), ())
    assert with_act_at(ROWS, blind, one) == one
    assert acts(with_act_at(ROWS, blind, ())) == [None, None, None]


def test_where_the_law_has_no_such_place_it_goes() -> None:
    one = with_act_at(ROWS, lawful(23.4), ())
    assert acts(with_act_at(ROWS, lawful(None), one)) == [None, None, None]


def test_another_pair_of_profiles_has_another() -> None:
    one = with_act_at(ROWS, lawful(23.4), ())
    fewer = [ROWS[0], ROWS[2]]
    assert acts(with_act_at(fewer, None, one)) == [None, None]


@pytest.mark.parametrize("garbage", ["23", -3, 0, 2.5, [], None])
def test_garbage_that_stands_is_replaced(garbage: object) -> None:
    standing = [ROWS[0], {**ROWS[1], "actAtConcurrency": garbage}, ROWS[2]]
    assert acts(with_act_at(ROWS, None, standing)) == [None, None, None]
    assert acts(with_act_at(ROWS, lawful(23.4), standing))[1] == 23


@pytest.mark.parametrize(("level", "told"), [(0.2, 1), (1e12, 100_000)])
def test_it_stays_within_what_status_takes(level: float, told: int) -> None:
    assert acts(with_act_at(ROWS, lawful(level), ()))[1] == told
