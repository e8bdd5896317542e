"""Schedules of a serving that follows a table: what they ask for, and what they hold."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.edges import edges
from ridgeline.policy.facts import Facts, Problem
from ridgeline.policy.memory import SlowMemory, Switch
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.policy.scheduled import crowd_hold, lead_of, scheduled_wish
from ridgeline.policy.situation import observe
from ridgeline.policy.status import status_document
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction
from tests.unit.policy.moments import (
    NOW,
    TWO_ROWS,
    about_to_return,
    about_to_switch,
    engine,
    facts,
    memory,
    replica,
    settings,
)
from tests.unit.policy.reports import report

LEAVES_CAPACITY = RollPlan(
    replicas=4, max_surge=1, max_unavailable=0, room=Room(pods=2, why="2 GPUs are free")
)
TAKES_ONE_AWAY = replace(LEAVES_CAPACITY, max_unavailable=1)


def window(action: ScheduleAction, profile: str | None = None) -> Window:
    return Window(
        schedule="rush", order=0, action=action, profile=profile, ends="12:00 Europe/Berlin"
    )


def opened(action: ScheduleAction, profile: str | None = None) -> ScheduleState:
    return ScheduleState(active=(window(action, profile),))


FREEZE = opened(ScheduleAction.FREEZE)
NO_SWITCH_ON = opened(ScheduleAction.FORBID_SWITCH_ON)
SHORT = opened(ScheduleAction.SHORT_CROWD)


def crowd(plan: RollPlan | None = TAKES_ONE_AWAY, **signals: Any) -> Facts:
    """Far more than the cut-off, and requests that wait for capacity."""
    full = {"waiting_for_capacity": 9.0, "drafts_per_second": 30.0, **signals}
    pods = [replica(f"pod-{n}", engine(40.0, **full)) for n in range(4)]
    return replace(facts(replicas=pods), plan=plan)


def in_a_crowd(seen: Facts | None = None, **changed: Any) -> Decision:
    wanted = settings(**{"schedule": SHORT, **changed})
    return about_to_switch(facts=crowd() if seen is None else seen, settings=wanted)


class TestShortCrowd:
    def test_full_servers_are_not_rolled_where_the_roll_takes_capacity_away(self) -> None:
        decision = in_a_crowd()
        assert decision.outcome is Outcome.HOLD
        assert decision.reason is Reason.SHORT_CROWD_SCHEDULED
        assert decision.recommended == "none"
        assert "schedule rush tells of a short crowd until 12:00 Europe/Berlin" in decision.message
        assert decision.diagnostics.decided_by == "short_crowd"

    def test_the_dwell_goes_on_through_it(self) -> None:
        held = in_a_crowd()
        assert held.memory.fast == memory(towards="none").fast
        after = about_to_switch(facts=crowd(), memory=held.memory)
        assert after.outcome is Outcome.SWITCH

    @pytest.mark.parametrize(
        "seen",
        [
            crowd(LEAVES_CAPACITY),
            crowd(waiting_for_capacity=0.0),
            crowd(waiting_for_capacity=None),
            facts(40.0),
        ],
        ids=["the roll keeps capacity", "nothing waits", "not known", "no such signal"],
    )
    def test_else_the_roll_is_begun(self, seen: Facts) -> None:
        assert in_a_crowd(seen).outcome is Outcome.SWITCH

    def test_without_a_schedule_the_same_crowd_is_rolled(self) -> None:
        assert in_a_crowd(schedule=None).outcome is Outcome.SWITCH
        assert in_a_crowd(schedule=NO_SWITCH_ON).outcome is Outcome.SWITCH

    def test_a_plan_that_is_not_known_may_take_capacity_away(self) -> None:
        assert in_a_crowd(crowd(None)).reason is Reason.SHORT_CROWD_SCHEDULED

    def test_preemptions_are_full_servers_too(self) -> None:
        losing = crowd(waiting_for_capacity=0.0, preemptions_per_second=2.0)
        assert in_a_crowd(losing).reason is Reason.SHORT_CROWD_SCHEDULED

    def test_a_person_who_orders_it_is_obeyed(self) -> None:
        assert in_a_crowd(forced="none").reason is Reason.FORCED

    def test_a_fleet_that_is_not_seen_is_not_called_full(self) -> None:
        blind = facts(replicas=[replica("blind")])
        moment = observe(blind, settings(schedule=SHORT), memory(), NOW)
        assert crowd_hold(moment) is None


class TestFreeze:
    def test_nothing_is_rolled_and_the_recommendation_stands(self) -> None:
        for decision, wished in (
            (about_to_switch(settings=settings(schedule=FREEZE)), "none"),
            (about_to_return(settings=settings(schedule=FREEZE)), "eagle2"),
        ):
            assert decision.reason is Reason.FROZEN_BY_SCHEDULE
            assert decision.recommended == wished

    def test_an_order_is_obeyed_in_it(self) -> None:
        forced = about_to_switch(settings=settings(schedule=FREEZE, forced="none"))
        assert forced.outcome is Outcome.SWITCH


class TestNoSwitchingOn:
    def test_it_binds_switching_on_alone(self) -> None:
        on = about_to_return(settings=settings(schedule=NO_SWITCH_ON))
        off = about_to_switch(settings=settings(schedule=NO_SWITCH_ON))
        assert on.reason is Reason.SWITCH_ON_FORBIDDEN_BY_SCHEDULE
        assert on.recommended == "eagle2"
        assert off.outcome is Outcome.SWITCH


class TestProfile:
    def wish(self, profile: str, level: float, active: str = "eagle2") -> str | None:
        moment = observe(
            facts(level, active=active),
            settings(schedule=opened(ScheduleAction.PROFILE, profile)),
            memory(),
            NOW,
        )
        found = scheduled_wish(moment, TWO_ROWS, level)
        return found.profile if found else None

    @pytest.mark.parametrize(
        ("profile", "level", "active", "wished"),
        [
            ("none", 5.0, "eagle2", "none"),
            ("eagle2", 15.9, "none", "eagle2"),
            ("eagle2", 16.1, "none", None),
            ("eagle2", 19.9, "eagle2", "eagle2"),
            ("eagle2", 20.1, "eagle2", None),
            ("none", 5.0, "none", "none"),
            ("stranger", 5.0, "none", None),
        ],
    )
    def test_it_is_wished_unless_the_load_forbids_it(
        self, profile: str, level: float, active: str, wished: str | None
    ) -> None:
        assert self.wish(profile, level, active) == wished

    def test_without_one_nothing_is_wished(self) -> None:
        assert scheduled_wish(observe(facts(), settings(), memory(), NOW), TWO_ROWS, 5.0) is None
        moment = observe(facts(), settings(schedule=FREEZE), memory(), NOW)
        assert scheduled_wish(moment, TWO_ROWS, 5.0) is None

    def test_it_needs_no_dwell(self) -> None:
        wanted = settings(schedule=opened(ScheduleAction.PROFILE, "none"))
        decision = about_to_switch(5.0, settings=wanted, memory=memory())
        assert decision.outcome is Outcome.SWITCH
        assert decision.reason is Reason.SCHEDULED


WRONG = (
    Problem(reason=Reason.SCHEDULE_INVALID, message="spec.schedules[0] (a): no such zone"),
    Problem(reason=Reason.SCHEDULES_OVERLAP, message="spec.schedules: b and c overlap"),
)


def condition(**changed: Any) -> tuple[str, str, str] | None:
    document = status_document(report(**changed), {})
    for each in document["conditions"]:
        if each["type"] == "SchedulesValid":
            return each["status"], each["reason"], each["message"]
    return None


def rolled(ago: float, lasted: float | None, reason: Reason = Reason.SCHEDULED) -> Switch:
    began = NOW - ago
    return Switch(
        started_at=began,
        finished_at=None if lasted is None else began + lasted,
        from_profile="eagle2",
        to_profile="none",
        reason=reason,
    )


class TestLead:
    @pytest.mark.parametrize(
        ("switches", "lead"),
        [
            ((), 1200.0),
            ((rolled(9000.0, 400.0, Reason.ABOVE_CUTOFF),), 500.0),
            ((rolled(900.0, None),), 1200.0),
            ((rolled(900.0, 400.0),), 1200.0),
            ((rolled(3599.0, 400.0),), 1200.0),
            ((rolled(3600.0, 400.0),), 500.0),
            ((rolled(9000.0, 800.0, Reason.FORCED), rolled(900.0, 400.0)), 1000.0),
            ((rolled(9000.0, 400.0), rolled(900.0, 800.0)), 1000.0),
            ((rolled(900.0, 440.0, Reason.ABOVE_CUTOFF),), 550.0),
        ],
    )
    def test_it_follows_rolls_and_does_not_shrink_under_the_one_that_it_led_to(
        self, switches: tuple[Switch, ...], lead: float
    ) -> None:
        assert lead_of(SlowMemory(switches=switches), NOW) == pytest.approx(lead)


class TestCondition:
    def test_it_stands_only_where_there_are_schedules(self) -> None:
        assert condition() is None
        valid = condition(schedule=ScheduleState())
        assert valid is not None
        assert valid[:2] == ("True", "SchedulesResolved")

    def test_it_says_all_that_is_wrong_and_why_first(self) -> None:
        found = condition(schedule=ScheduleState(), schedule_problems=WRONG)
        assert found is not None
        assert found[:2] == ("False", "ScheduleInvalid")
        assert found[2] == f"{WRONG[0].message}; {WRONG[1].message}"
        overlap = condition(schedule=ScheduleState(), schedule_problems=WRONG[1:])
        assert overlap is not None
        assert overlap[:2] == ("False", "SchedulesOverlap")

    def test_it_does_not_stop_the_serving(self) -> None:
        made = report(schedule=ScheduleState(), schedule_problems=WRONG)
        assert made.decision == report(schedule=ScheduleState()).decision
        kinds = {each["type"]: each["status"] for each in status_document(made, {})["conditions"]}
        assert kinds["Ready"] == "True"
        assert "Stalled" not in kinds

    def test_a_message_follows_what_is_wrong_now(self) -> None:
        first = report(schedule=ScheduleState(), schedule_problems=WRONG[:1])
        other = replace(WRONG[0], message="spec.schedules[1] (b): no such zone")
        second = report(schedule=ScheduleState(), schedule_problems=(other,))
        document = status_document(second, status_document(first, {}))
        assert other.message in [each["message"] for each in document["conditions"]]


def test_what_is_wrong_is_one_event_and_its_repair_another() -> None:
    wrong = report(schedule=ScheduleState(), schedule_problems=WRONG[1:])
    well = report(schedule=ScheduleState())
    document: dict[str, Any] = {}
    told = []
    for made in (well, wrong, wrong, well, well):
        following = status_document(made, document)
        told.append([(each.reason, each.warning) for each in edges(document, following)])
        document = following
    assert told == [
        [],
        [(Reason.SCHEDULES_OVERLAP, True)],
        [],
        [(Reason.RECOVERED, False)],
        [],
    ]
