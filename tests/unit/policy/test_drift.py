"""The alarm of drift: when it stands, when it ends, and that it never acts."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.calibration import SETTLED, Window
from ridgeline.policy.drift import SEVERAL, Alarm, DriftWatch, watch_of, watched
from ridgeline.policy.facts import Facts
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.learning import Learning, learn
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason
from tests.unit.policy import moments
from tests.unit.policy.predicted import NOW, RATES, WINDOW, arm, facts, learned, situation

KNOWN = learned(arm(windows=SETTLED, log_scale=0.0))
STALE = (0.35, 0.1, 0.02)
"""Acceptance length 1.47 where 2.0 is usual."""


def windows(
    *seen: Facts, known: Learned | None = KNOWN, learning: Learning | None = None, **changed: Any
) -> list[Learning]:
    """Learn from one window after the other."""
    made: list[Learning] = []
    learning = learning or Learning()
    for index, each in enumerate(seen):
        now = NOW + (len(made) + index) * WINDOW
        given = replace(each, telemetry=moments.endpoint(now=now))
        learning = learn(situation(given, now=now, **changed), known, learning)
        learning = replace(learning, next_at=0.0)
        made.append(learning)
    return made


def standing(made: list[Learning]) -> list[str]:
    problems = [each.drift.problem() for each in made]
    return ["" if each is None else each.reason.value for each in problems]


WELL = facts()
LESS = facts(engines={"acceptance": STALE})
SLOW = facts(engines={"slower": 1.4})


class TestAcceptance:
    def test_a_stale_head_is_told_after_several_windows(self) -> None:
        told = standing(windows(WELL, *[LESS] * SEVERAL))
        assert told == [""] * SEVERAL + ["AcceptanceDrifted"]

    def test_it_says_what_is_and_what_is_usual(self) -> None:
        problem = windows(*[LESS] * SEVERAL)[-1].drift.problem()
        assert problem is not None
        assert "eagle2 is 1.47, and 1.97 is usual here" in problem.message

    def test_it_ends_after_as_many_windows_and_not_before(self) -> None:
        told = standing(windows(*[LESS] * SEVERAL, *[WELL] * SEVERAL))
        assert told[SEVERAL - 1 : -1] == ["AcceptanceDrifted"] * SEVERAL
        assert told[-1] == ""

    def test_to_and_fro_at_the_edge_is_one_alarm(self) -> None:
        told = standing(windows(*[LESS] * SEVERAL, *[WELL, LESS] * 20))
        assert set(told[SEVERAL:]) == {"AcceptanceDrifted"}
        calm = standing(windows(*[WELL, LESS] * 20))
        assert set(calm) == {""}

    def test_what_is_usual_follows_slowly(self) -> None:
        told = standing(windows(*[LESS] * 500))
        first = told.index("AcceptanceDrifted")
        assert all(each for each in told[first : first + 90]), "for three hours at least"
        assert told[-1] == "", "in the end it is the usual one"

    def test_more_than_usual_is_told_too(self) -> None:
        better = facts(engines={"acceptance": (0.8, 0.6, 0.4)})
        assert standing(windows(*[better] * SEVERAL))[-1] == "AcceptanceDrifted"

    def test_within_a_tenth_nothing_is_told(self) -> None:
        near = facts(engines={"acceptance": (0.55, 0.22, 0.06)})
        assert set(standing(windows(*[near] * 50))) == {""}

    def test_a_smaller_share_of_drafting_steps_counts_too(self) -> None:
        steps = 500.0
        seldom = facts(engines={"drafts_per_second": 0.5 * steps})
        assert standing(windows(*[seldom] * SEVERAL))[-1] == "AcceptanceDrifted"

    @pytest.mark.parametrize("method", [Method.NGRAM, Method.SUFFIX])
    def test_methods_that_live_from_repetition_have_no_usual_acceptance(
        self, method: Method
    ) -> None:
        methods = {**moments.METHODS, "eagle2": method}
        assert set(standing(windows(WELL, *[LESS] * 30, methods=methods))) == {""}

    def test_before_enough_was_seen_nothing_is_told(self) -> None:
        made = windows(*[WELL] * (SETTLED - SEVERAL), *[LESS] * SEVERAL, known=None)
        assert set(standing(made)) == {""}
        made = windows(*[WELL] * SETTLED, *[LESS] * SEVERAL, known=None)
        assert standing(made)[-1] == "AcceptanceDrifted"

    def test_another_lookahead_has_no_usual_acceptance_yet(self) -> None:
        other = facts(engines={"acceptance": (0.3, 0.1)})
        assert set(standing(windows(WELL, *[other] * SEVERAL))) == {""}


class TestStepTime:
    def test_slowness_is_told_once_the_step_time_was_learned(self) -> None:
        told = standing(windows(WELL, *[SLOW] * SEVERAL))
        assert told == [""] * SEVERAL + ["StepTimeDrifted"]
        fresh = learned(arm(windows=SETTLED - SEVERAL - 2))
        assert set(standing(windows(WELL, *[SLOW] * SEVERAL, known=fresh))) == {""}

    def test_it_says_by_how_much(self) -> None:
        problem = windows(WELL, *[SLOW] * SEVERAL)[-1].drift.problem()
        assert problem is not None
        assert "step time of eagle2 is 132 %" in problem.message

    def test_a_known_scale_is_no_drift(self) -> None:
        known = learned(arm(windows=SETTLED, log_scale=math.log(1.4)))
        assert set(standing(windows(*[SLOW] * 20, known=known))) == {""}

    def test_only_windows_of_one_concurrency_count(self) -> None:
        slow = [facts(level, engines={"slower": 1.4}) for level in (10.0, 20.0) * 10]
        assert set(standing(windows(*slow))) == {""}

    def test_acceptance_is_told_first(self) -> None:
        both = facts(engines={"slower": 1.4, "acceptance": STALE})
        assert standing(windows(WELL, *[both] * SEVERAL))[-1] == "AcceptanceDrifted"


class TestWhatItForgets:
    DRIFTED = windows(*[LESS] * SEVERAL)[-1]

    def test_another_active_profile_begins_anew(self) -> None:
        none = facts(active="none")
        assert standing(windows(none, learning=self.DRIFTED)) == [""]
        both = learned(arm(windows=SETTLED), arm("none", windows=SETTLED))
        told = replace(self.DRIFTED, learned=both)
        assert standing(windows(none, known=both, learning=told)) == [""]

    def test_what_a_person_took_out_of_status_begins_anew(self) -> None:
        told = replace(self.DRIFTED, learned=learned(arm(), written_at=NOW))
        assert standing(windows(LESS, known=None, learning=told)) == [""]

    def test_a_moment_that_teaches_nothing_changes_nothing(self) -> None:
        blind = facts(replicas=[moments.replica("blind")], desired=1)
        (made,) = windows(blind, learning=self.DRIFTED)
        assert made.drift == self.DRIFTED.drift

    @pytest.mark.parametrize("reason", [Reason.ACCEPTANCE_DRIFTED, Reason.STEP_TIME_DRIFTED])
    def test_an_alarm_that_stands_in_status_goes_on_after_a_restart(self, reason: Reason) -> None:
        condition = {"type": "PredictionFits", "status": "False", "reason": reason.value}
        watch = watch_of({"conditions": [{"type": "Ready"}, condition]})
        problem = watch.problem()
        assert problem is not None
        assert problem.reason is reason
        assert problem.message
        made = windows(*[WELL] * (SEVERAL + 1), learning=Learning(drift=watch))
        assert standing(made)[0] == reason.value
        assert standing(made)[-1] == ""

    @pytest.mark.parametrize(
        "status",
        [{}, {"conditions": None}, {"conditions": [{"type": "PredictionFits", "reason": "X"}]}],
    )
    def test_without_one_nothing_stands(self, status: dict[str, Any]) -> None:
        assert watch_of(status) == DriftWatch()


def test_the_alarm_counts_up_and_down_within_bounds() -> None:
    alarm = Alarm()
    for _ in range(3 * SEVERAL):
        alarm = alarm.after(outside=False)
    assert alarm == Alarm()
    for index in range(3 * SEVERAL):
        alarm = alarm.after(outside=True)
        assert alarm.stands is (index + 1 >= SEVERAL)
    assert alarm == Alarm(count=SEVERAL, stands=True)


@pytest.mark.parametrize("broken", [math.nan, math.inf, 0.0])
def test_numbers_that_are_none_raise_nothing(broken: float) -> None:
    window = Window(step_seconds=broken, modelled_seconds=broken)
    before = LearnedArm(profile="eagle2", acceptance=RATES, windows=SETTLED)
    watch = DriftWatch()
    for _ in range(2 * SEVERAL):
        watch = watched(watch, before, before, window)
    assert watch.problem() is None
    assert watch.slower is None
