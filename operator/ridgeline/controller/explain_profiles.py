"""What the cost model says of each profile at the present load, for `kubectl ridgeline explain`."""

import math
from collections.abc import Sequence
from typing import Final

from ridgeline.controller.basis import goodput_question, strategy_of
from ridgeline.controller.view import View
from ridgeline.costmodel.arm import Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import Estimate, estimate
from ridgeline.policy.facts import Problem
from ridgeline.policy.wording import number
from ridgeline.settings.goodput import Question
from ridgeline.terms.modes import Strategy

COLUMNS: Final = ("profile", "speed-up", "tokens/s per engine", "TPOT", "step times", "acceptance")
"""What a row of `profile_rows` holds."""

UNSEEN: Final = "not known"
"""In place of times before any step time was seen here: until then only ratios can be trusted."""

_ACCEPTANCE: Final = {
    Origin.NONE_NEEDED: "none needed",
    Origin.MEASURED: "measured here",
    Origin.STATED: "stated",
    Origin.PRIOR: "usual for its method",
}

Row = tuple[str, str, str, str, str, str]


def profile_rows(view: View, concurrency: float | None) -> tuple[Row, ...]:
    """Return a row for each profile of a serving with predicted cut-offs.

    Args:
        view: What is known of the serving.
        concurrency: Requests in decode per engine now, `None` while it is not known.

    Returns:
        Rows in a person's order; none with another strategy, without a load to predict at, or while
        a fact is missing without which nothing is predicted.
    """
    if strategy_of(view.basis) is not Strategy.GOODPUT or not concurrency:
        return ()
    question = goodput_question(view.basis, view.profiles, view.memory.slow.learned)
    if isinstance(question, Problem):
        return ()
    none = next((each for each in question.arms if not each.method.speculates), None)
    if none is None:
        return ()
    timed = any(arm.calibration.seen for arm in question.arms)
    return tuple(_row(question, arm, none, concurrency, timed=timed) for arm in question.arms)


LADDER: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Requests in decode per engine at which `-o wide` compares the profiles."""


def profile_ladder(view: View) -> tuple[tuple[str, ...], ...]:
    """Return a title row of loads, then the speed-up of each profile at each of them.

    Empty with another strategy, or while a fact is missing without which nothing is predicted.
    """
    if strategy_of(view.basis) is not Strategy.GOODPUT:
        return ()
    question = goodput_question(view.basis, view.profiles, view.memory.slow.learned)
    if isinstance(question, Problem):
        return ()
    none = next((each for each in question.arms if not each.method.speculates), None)
    if none is None:
        return ()
    rows = [
        (arm.name, *(_speed_up_at(question, arm, none, at) for at in LADDER))
        for arm in question.arms
    ]
    return (("profile", *map(number, LADDER)), *rows)


def _speed_up_at(question: Question, arm: Arm, none: Arm, at: float) -> str:
    told = estimate(question.deployment, arm, none, question.workload, at)
    return UNSEEN if isinstance(told, CannotSay) else number(told.speedup)


def _row(question: Question, arm: Arm, none: Arm, concurrency: float, *, timed: bool) -> Row:
    told = estimate(question.deployment, arm, none, question.workload, concurrency)
    origin = _ACCEPTANCE[arm.acceptance.origin] if arm.acceptance is not None else "not known"
    if isinstance(told, CannotSay):
        return (arm.name, UNSEEN, UNSEEN, UNSEEN, str(told), origin)
    speed = f"{told.tokens_per_second:.0f}" if timed else UNSEEN
    tpot = f"{1000 * told.tpot_seconds:.1f} ms" if timed else UNSEEN
    return (arm.name, _speed_up(told, arm, none), speed, tpot, _seen(told, arm), origin)


def _speed_up(told: Estimate, arm: Arm, none: Arm) -> str:
    if arm.name == none.name:
        return "1"
    edges: Sequence[float] = [
        told.speedup * math.exp(sign * told.speedup_sd) for sign in (-1.0, 1.0)
    ]
    low, high = map(number, edges)
    return f"{number(told.speedup)} ({low} to {high})"


def _seen(told: Estimate, arm: Arm) -> str:
    seen = f"seen here, {arm.calibration.windows} windows" if told.seen else "predicted"
    return seen if told.admitted else f"{seen}; full, so at the most that it admits"
