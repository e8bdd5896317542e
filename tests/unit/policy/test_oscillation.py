"""The detector of oscillation for cut-offs that a person or a rule gave."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.memory import Memory, Switch
from ridgeline.policy.oscillation import DETECTOR_SECONDS
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.policy.status import slow_memory_of, status_document
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction
from tests.unit.policy.moments import (
    NOW,
    about_to_return,
    about_to_switch,
    facts,
    memory,
    settings,
)
from tests.unit.policy.reports import report

NARROW = CutoffTable(
    (CutoffRow(profile="eagle2", up_to=20.0, return_below=19.5), CutoffRow(profile="none"))
)
HOUR = 3600.0


def made(hours_ago: float, level: float | None, to: str = "none") -> Switch:
    """A switch that was decided so many hours ago, and took five minutes."""
    began = NOW - hours_ago * HOUR
    return Switch(
        started_at=began,
        finished_at=began + 300.0,
        from_profile="eagle2" if to == "none" else "none",
        to_profile=to,
        reason=Reason.ABOVE_CUTOFF if to == "none" else Reason.BELOW_CUTOFF,
        concurrency=level,
    )


def returning(level: float, *switches: Switch, **changed: object) -> Decision:
    remembered = memory(*switches, towards="eagle2")
    return about_to_return(level, settings=settings(cutoff=NARROW, **changed), memory=remembered)


def test_the_opposite_at_the_same_load_is_held_and_says_until_when() -> None:
    decision = returning(18.0, made(2.0, 20.4))
    assert decision.outcome is Outcome.HOLD
    assert decision.reason is Reason.OSCILLATION_LOCKED
    assert decision.recommended == "eagle2"
    assert "none was chosen 2 h ago at a concurrency of 20.4" in decision.message
    assert "for 4 h more" in decision.message
    assert decision.diagnostics.decided_by == "oscillation"


@pytest.mark.parametrize(
    ("level", "before", "held"),
    [(17.1, 20.0, True), (16.9, 20.0, False), (19.4, 22.7, True), (19.4, 22.9, False)],
)
def test_the_same_load_is_within_fifteen_percent(level: float, before: float, held: bool) -> None:
    decision = returning(level, made(1.0, before))
    assert (decision.reason is Reason.OSCILLATION_LOCKED) is held


@pytest.mark.parametrize(("past", "held"), [(-1.0, True), (0.0, False)])
def test_it_ends_after_six_hours(past: float, held: bool) -> None:
    decision = returning(18.0, made((DETECTOR_SECONDS + past) / HOUR, 20.0))
    assert (decision.reason is Reason.OSCILLATION_LOCKED) is held


def test_a_switch_that_undid_another_locks_whatever_the_load() -> None:
    there_and_back = (made(5.0, 19.0, to="eagle2"), made(3.0, 20.5))
    decision = returning(3.0, *there_and_back)
    assert decision.reason is Reason.OSCILLATION_LOCKED
    assert "it undid a switch" in decision.message
    assert returning(3.0, made(3.0, 20.5)).outcome is Outcome.SWITCH


@pytest.mark.parametrize(
    "before",
    [
        made(9.5, 19.0, to="eagle2"),
        made(5.0, 12.0, to="eagle2"),
        made(5.0, None, to="eagle2"),
        made(5.0, 19.0, to="none"),
        replace(made(5.0, 19.0, to="eagle2"), from_profile=None),
        replace(made(5.0, 19.0, to="eagle2"), from_profile="gone"),
    ],
    ids=["long ago", "at another load", "ordered", "busier too", "from nowhere", "from a row gone"],
)
def test_a_switch_that_undid_nothing_locks_its_own_load_alone(before: Switch) -> None:
    assert returning(3.0, before, made(3.0, 20.5)).outcome is Outcome.SWITCH
    assert returning(18.0, before, made(3.0, 20.5)).reason is Reason.OSCILLATION_LOCKED


def test_rows_that_a_person_turned_round_since_then_are_no_oscillation() -> None:
    # It was switched to none as the quieter profile; by the table of now that went busier.
    turned = replace(made(2.0, 18.0), reason=Reason.BELOW_CUTOFF)
    assert returning(18.0, turned).outcome is Outcome.SWITCH


def test_going_busier_is_never_held() -> None:
    remembered = memory(made(1.0, 20.4, to="eagle2"), towards="none")
    decision = about_to_switch(20.4, settings=settings(cutoff=NARROW), memory=remembered)
    assert decision.outcome is Outcome.SWITCH


def test_going_on_to_a_busier_row_is_not_the_opposite() -> None:
    close = CutoffTable(
        (
            CutoffRow(profile="draft-1b", up_to=19.0, return_below=18.0),
            *NARROW.rows,
        )
    )
    last = replace(made(1.0, 19.2, to="eagle2"), from_profile="draft-1b")
    decision = about_to_switch(
        20.5, settings=settings(cutoff=close), memory=memory(last, towards="none")
    )
    assert decision.outcome is Outcome.SWITCH


@pytest.mark.parametrize(
    "last",
    [
        made(1.0, None),
        made(1.0, 20.0, to="eagle2"),
        replace(made(1.0, 20.0), from_profile=None),
        replace(made(1.0, 20.0), to_profile="gone"),
    ],
    ids=["ordered", "quieter", "from nowhere", "to a row gone"],
)
def test_what_says_nothing_of_the_border_does_not_count(last: Switch) -> None:
    assert returning(18.0, last).outcome is Outcome.SWITCH


def test_only_the_last_switch_counts() -> None:
    forced = made(1.0, None, to="none")
    assert returning(18.0, made(2.0, 20.0), forced).outcome is Outcome.SWITCH


def test_a_schedule_is_a_persons_word_and_is_followed() -> None:
    window = Window(
        schedule="night", order=0, action=ScheduleAction.PROFILE, profile="eagle2", ends="06:00 UTC"
    )
    decision = returning(18.0, made(2.0, 20.4), schedule=ScheduleState(active=(window,)))
    assert decision.outcome is Outcome.SWITCH
    assert decision.reason is Reason.SCHEDULED
    assert decision.memory.slow.switches[-1].concurrency is None


def test_a_switch_remembers_the_load_that_led_to_it_through_status() -> None:
    decision = about_to_switch(30.4)
    (switch,) = decision.memory.slow.switches
    assert switch.concurrency == 30.4
    document = status_document(report(facts(30.4), remembered=decision.memory), {})
    assert document["switchHistory"][0]["concurrency"] == 30
    read = slow_memory_of(document)
    assert read.switches[0].concurrency == 30.0
    ended = tuple(replace(each, finished_at=each.started_at) for each in read.switches)
    later = Memory(slow=replace(read, switches=ended))
    assert status_document(report(remembered=later), document)["switchHistory"][0]["concurrency"]


@pytest.mark.parametrize("stands", [-1, 10**9, "20", 20.5, None, [20]])
def test_a_load_that_cannot_be_read_is_not_known(stands: object) -> None:
    document = status_document(report(remembered=memory(made(1.0, 20.0))), {})
    document["switchHistory"][0]["concurrency"] = stands
    (read,) = slow_memory_of(document).switches
    assert read.concurrency is None
    assert read.to_profile == "none"
