"""Bands, dwell, daily budget, cooldown and mode: from a wish to a switch."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.memory import Crossing, Memory, Switch
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from tests.unit.policy.moments import (
    NOW,
    THREE_ROWS,
    about_to_return,
    about_to_switch,
    endpoint,
    engine,
    facts,
    memory,
    replica,
    settings,
    switch,
)

DAY = 86_400.0


class TestKeep:
    @pytest.mark.parametrize(
        ("active", "concurrency", "reason"),
        [
            ("eagle2", 15.9, Reason.BEST_PROFILE_ACTIVE),
            ("eagle2", 16.0, Reason.INSIDE_BAND),
            ("eagle2", 19.9, Reason.INSIDE_BAND),
            ("none", 16.0, Reason.INSIDE_BAND),
            ("none", 19.9, Reason.INSIDE_BAND),
            ("none", 20.0, Reason.BEST_PROFILE_ACTIVE),
            ("none", 500.0, Reason.BEST_PROFILE_ACTIVE),
        ],
    )
    def test_stays(self, active: str, concurrency: float, reason: Reason) -> None:
        crossed = memory(towards="none" if active == "eagle2" else "eagle2")
        decision = decide(facts(concurrency, active=active), settings(), crossed, NOW)
        assert (decision.outcome, decision.reason) == (Outcome.KEEP, reason)
        assert decision.profile == decision.recommended == active
        assert decision.memory.fast.crossing is None, "coming back ends the dwell"
        assert decision.diagnostics.decided_by == "cutoffs"

    def test_messages_have_the_numbers(self) -> None:
        inside = decide(facts(17.0), settings(), Memory(), NOW)
        assert inside.message == (
            "concurrency per engine is 17, inside the band 16 to 20 between eagle2 and none: "
            "eagle2 stays"
        )
        middle = decide(facts(12.0), settings(cutoff=THREE_ROWS), Memory(), NOW)
        assert middle.message == (
            "concurrency per engine is 12: eagle2 is the profile for it (from 8 up and below 20)"
        )

    def test_a_table_of_one_row_asks_for_nothing_else(self) -> None:
        table = CutoffTable((CutoffRow(profile="eagle2"),))
        decision = decide(facts(1e6), settings(cutoff=table), Memory(), NOW)
        assert (decision.outcome, decision.reason) == (Outcome.KEEP, Reason.BEST_PROFILE_ACTIVE)
        assert "the only one" in decision.message

    def test_every_border_beside_the_row_is_compared(self) -> None:
        decision = decide(facts(12.0), settings(cutoff=THREE_ROWS), Memory(), NOW)
        borders = [
            (each.value, each.relation, each.limit)
            for each in decision.diagnostics.comparisons
            if each.name == "concurrency per engine"
        ]
        assert borders == [(12.0, "<", 20.0), (12.0, ">=", 6.0)]


class TestSwitch:
    def test_towards_off(self) -> None:
        decision = about_to_switch(31.2, memory=memory(towards="none", crossed_ago=74.0))
        assert decision.outcome is Outcome.SWITCH
        assert decision.reason is Reason.ABOVE_CUTOFF
        assert decision.profile == decision.recommended == "none"
        assert decision.message == (
            "concurrency per engine is 31.2, at or above the cut-off 20 of eagle2 for 74 s "
            "(needs 60 s): none is better"
        )
        assert decision.diagnostics.passed[-15:] == (
            "cutoffs",
            "evidence",
            "dwell",
            "daily_budget",
            "oscillation",
            "cooldown",
            "verdict",
            "engine",
            "quarantine",
            "schedule",
            "short_crowd",
            "mode",
            "release",
            "roll_can_finish",
            "canary",
        )

    def test_towards_speculation(self) -> None:
        decision = about_to_return(9.4, memory=memory(towards="eagle2", crossed_ago=610.0))
        assert decision.reason is Reason.BELOW_CUTOFF
        assert decision.message == (
            "concurrency per engine is 9.4, below the lower edge 16 of the band of eagle2 "
            "for 610 s (needs 600 s): eagle2 is better"
        )

    def test_it_is_remembered(self) -> None:
        before = memory(*(switch(1000.0 * n) for n in range(30, 20, -1)), towards="none")
        decision = about_to_switch(memory=before, settings=settings(max_switches_per_day=20))
        assert decision.reason is Reason.DAILY_BUDGET_SPENT, "ten is what history can count"
        old = memory(*(switch(DAY + n) for n in range(10, 0, -1)), towards="none")
        after = about_to_switch(memory=old).memory
        assert len(after.slow.switches) == 10
        assert after.slow.switches[:9] == old.slow.switches[1:]
        assert after.slow.switches[9] == Switch(
            started_at=NOW,
            finished_at=None,
            from_profile="eagle2",
            to_profile="none",
            reason=Reason.ABOVE_CUTOFF,
            concurrency=30.0,
        )
        assert after.fast.crossing is None

    def test_every_number_on_the_way_is_told(self) -> None:
        decision = about_to_return(memory=memory(switch(4000.0), towards="eagle2"))
        assert decision.outcome is Outcome.SWITCH
        told = [
            (each.name, each.value, each.relation, each.limit)
            for each in decision.diagnostics.comparisons
        ]
        assert told == [
            ("age of the endpoint's answer, seconds", 0.0, "<=", 60.0),
            ("seconds since the last roll ended", 4000.0, ">=", 120.0),
            ("share of expected replicas joined", 1.0, ">=", 0.8),
            ("age of the oldest sample used, seconds", 5.0, "<=", 60.0),
            ("concurrency per engine", 5.0, "<", 16.0),
            ("share of expected replicas joined", 1.0, ">=", 1.0),
            ("seconds beyond the border", 1000.0, ">=", 600.0),
            ("decisions that saw it (2 or more count as 2)", 2.0, ">=", 2.0),
            ("switches left in 24 hours", 5, ">=", 2),
            ("seconds since the last roll ended", 4000.0, ">=", 1800.0),
        ]

    def test_numbers_are_not_rounded_onto_the_border(self) -> None:
        decision = about_to_return(15.9999)
        assert "is 15.9999, below the lower edge 16" in decision.message


class TestDwell:
    @pytest.mark.parametrize(("ago", "outcome"), [(59.9, Outcome.HOLD), (60.0, Outcome.SWITCH)])
    def test_towards_off(self, ago: float, outcome: Outcome) -> None:
        decision = about_to_switch(memory=memory(towards="none", crossed_ago=ago))
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert decision.reason is Reason.DWELLING
            assert decision.recommended == "none"
            assert "for 59.9 s (needs 60 s)" in decision.message
            assert decision.memory.fast.crossing == Crossing(towards="none", since=NOW - 59.9)

    @pytest.mark.parametrize(("ago", "outcome"), [(599.0, Outcome.HOLD), (600.0, Outcome.SWITCH)])
    def test_towards_speculation(self, ago: float, outcome: Outcome) -> None:
        decision = about_to_return(memory=memory(towards="eagle2", crossed_ago=ago))
        assert decision.outcome is outcome

    def test_begins_when_first_seen(self) -> None:
        decision = about_to_switch(memory=Memory())
        assert decision.reason is Reason.DWELLING
        assert decision.memory.fast.crossing == Crossing(towards="none", since=NOW)

    def test_one_sight_is_never_enough(self) -> None:
        at_once = settings(stabilization=Stabilization(busier_seconds=0.0, quieter_seconds=0.0))
        first = about_to_switch(memory=Memory(), settings=at_once)
        assert (first.outcome, first.reason) == (Outcome.HOLD, Reason.DWELLING)
        assert "the next decision confirms it" in first.message
        sights = first.diagnostics.comparisons[-1]
        assert (sights.value, sights.relation, sights.limit) == (1.0, "<", 2.0)
        second = about_to_switch(memory=first.memory, settings=at_once)
        assert second.outcome is Outcome.SWITCH

    def test_starts_again_when_the_direction_turns(self) -> None:
        three = settings(cutoff=THREE_ROWS)
        decision = about_to_switch(2.0, settings=three, memory=memory(towards="none"))
        assert decision.reason is Reason.DWELLING
        assert decision.memory.fast.crossing == Crossing(towards="draft-1b", since=NOW)

    @pytest.mark.parametrize(("seen", "concurrency"), [("eagle2", 30.0), ("none", 12.0)])
    def test_another_row_on_the_same_side_keeps_it(self, seen: str, concurrency: float) -> None:
        three = settings(cutoff=THREE_ROWS)
        now_at = facts(concurrency, active="draft-1b")
        early = decide(now_at, three, memory(towards=seen, crossed_ago=30.0), NOW)
        wanted = "none" if concurrency == 30.0 else "eagle2"
        assert early.memory.fast.crossing == Crossing(towards=wanted, since=NOW - 30.0)
        ripe = decide(now_at, three, memory(towards=seen, crossed_ago=60.0), NOW)
        assert (ripe.outcome, ripe.profile) == (Outcome.SWITCH, wanted)

    @pytest.mark.parametrize("towards", ["eagle2", "gone"])
    def test_a_crossing_that_no_longer_makes_sense_starts_again(self, towards: str) -> None:
        decision = about_to_switch(memory=memory(towards=towards))
        assert decision.memory.fast.crossing == Crossing(towards="none", since=NOW)

    def test_a_clock_that_steps_back_delays(self) -> None:
        decision = about_to_switch(memory=memory(towards="none", crossed_ago=-100.0))
        assert decision.reason is Reason.DWELLING
        assert "for 0 s" in decision.message
        assert decision.memory.fast.crossing == Crossing(towards="none", since=NOW + 100.0)

    def test_a_clock_that_was_wrong_by_hours_does_not_block(self) -> None:
        decision = about_to_switch(memory=memory(towards="none", crossed_ago=-7200.0))
        assert decision.memory.fast.crossing == Crossing(towards="none", since=NOW)


class TestDailyBudget:
    @staticmethod
    def spent(times: int) -> tuple[Switch, ...]:
        return tuple(switch(7000.0 + 1000.0 * n) for n in range(times, 0, -1))

    @pytest.mark.parametrize(("used", "outcome"), [(5, Outcome.SWITCH), (6, Outcome.HOLD)])
    def test_busier_may_use_the_last(self, used: int, outcome: Outcome) -> None:
        decision = about_to_switch(memory=memory(*self.spent(used), towards="none"))
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert decision.reason is Reason.DAILY_BUDGET_SPENT
            assert decision.recommended == "none"
            assert "0 of 6 switches in 24 hours are left (" in decision.message
            assert decision.diagnostics.comparisons[-1].consequence == "used up"
            assert decision.memory.fast.crossing is not None, "the dwell has passed already"

    @pytest.mark.parametrize(("used", "outcome"), [(4, Outcome.SWITCH), (5, Outcome.HOLD)])
    def test_quieter_leaves_the_last(self, used: int, outcome: Outcome) -> None:
        decision = about_to_return(memory=memory(*self.spent(used), towards="eagle2"))
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert decision.reason is Reason.DAILY_BUDGET_SPENT
            assert "1 of 6 switches in 24 hours is left, which is kept for" in decision.message
            assert "kept for a busier row" in decision.diagnostics.comparisons[-1].consequence

    @pytest.mark.parametrize(("ago", "outcome"), [(DAY - 1, Outcome.HOLD), (DAY, Outcome.SWITCH)])
    def test_a_switch_counts_for_24_hours_from_its_start(
        self, ago: float, outcome: Outcome
    ) -> None:
        one = switch(10_000.0, began_ago=ago)
        once = settings(max_switches_per_day=1)
        decision = about_to_switch(memory=memory(one, towards="none"), settings=once)
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert "(1 s to wait)" in decision.message

    def test_a_budget_of_one_never_switches_on_and_says_so(self) -> None:
        decision = about_to_return(settings=settings(max_switches_per_day=1))
        assert decision.reason is Reason.DAILY_BUDGET_SPENT
        assert "spec.maxSwitchesPerDay must be at least 2" in decision.message

    def test_it_speaks_before_the_cooldown(self) -> None:
        spent = (*self.spent(4), switch(1000.0))
        decision = about_to_return(memory=memory(*spent, towards="eagle2"))
        assert decision.reason is Reason.DAILY_BUDGET_SPENT


class TestCooldown:
    @pytest.mark.parametrize(("ago", "outcome"), [(1799.0, Outcome.HOLD), (1800.0, Outcome.SWITCH)])
    def test_binds_switching_on(self, ago: float, outcome: Outcome) -> None:
        decision = about_to_return(memory=memory(switch(ago), towards="eagle2"))
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert decision.reason is Reason.COOLDOWN
            assert decision.recommended == "eagle2"
            assert "30 min after the last roll has 1 s left" in decision.message
            told = decision.diagnostics.comparisons[-1]
            assert (told.value, told.relation, told.limit) == (1799.0, "<", 1800.0)
            assert decision.memory.fast.crossing == Crossing(towards="eagle2", since=NOW - 1000.0)

    def test_counts_from_the_end_of_the_roll(self) -> None:
        long_roll = switch(1000.0, began_ago=9000.0)
        decision = about_to_return(memory=memory(long_roll, towards="eagle2"))
        assert decision.reason is Reason.COOLDOWN

    def test_a_roll_that_ended_ahead_of_the_clock_has_all_of_it_left(self) -> None:
        ahead = settings(cooldown_seconds=1800.0)
        no_window = facts(5.0, active="none", telemetry=endpoint(window_seconds=0.0))
        decision = about_to_return(
            facts=no_window, settings=ahead, memory=memory(switch(-60.0), towards="eagle2")
        )
        assert decision.reason is Reason.COOLDOWN
        assert decision.diagnostics.comparisons[-1].value == 0.0
        assert "30 min left" in decision.message

    def test_does_not_bind_switching_off(self) -> None:
        decision = about_to_switch(memory=memory(switch(121.0, to="eagle2"), towards="none"))
        assert decision.outcome is Outcome.SWITCH


class TestMode:
    @staticmethod
    def looking(**other: float) -> PolicySettings:
        return settings(mode=Mode.RECOMMEND_ONLY)

    def test_recommends_after_the_same_dwell(self) -> None:
        early = about_to_switch(
            settings=self.looking(), memory=memory(towards="none", crossed_ago=9)
        )
        assert early.reason is Reason.DWELLING
        ripe = about_to_switch(settings=self.looking())
        assert (ripe.outcome, ripe.reason) == (Outcome.HOLD, Reason.RECOMMEND_ONLY)
        assert (ripe.profile, ripe.recommended) == ("eagle2", "none")
        assert "set spec.mode to Automatic" in ripe.message
        again = about_to_switch(settings=self.looking(), memory=ripe.memory, now=NOW + 1)
        assert again.reason is Reason.RECOMMEND_ONLY

    def test_comes_after_the_cooldown(self) -> None:
        cooling = memory(switch(500.0), towards="eagle2")
        assert about_to_return(settings=self.looking(), memory=cooling).reason is Reason.COOLDOWN


def test_the_gauge_of_running_requests_is_never_decided_on() -> None:
    busy = [replica("pod-0", engine(10.0, drafts_per_second=1.0, running=400.0, waiting=90.0))]
    assert about_to_switch(facts=facts(replicas=busy)).outcome is Outcome.KEEP


@pytest.mark.parametrize("now", [float("nan"), float("inf")])
def test_now_must_be_finite(now: float) -> None:
    with pytest.raises(ValueError, match="now must be finite"):
        decide(facts(), settings(), Memory(), now)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_settings_refuse_times_that_cannot_be_compared(value: float) -> None:
    with pytest.raises(ValueError, match="cooldownSeconds"):
        settings(cooldown_seconds=value)
    with pytest.raises(ValueError, match="busierSeconds"):
        Stabilization(busier_seconds=value, quieter_seconds=1.0)
    with pytest.raises(ValueError, match="quieterSeconds"):
        Stabilization(busier_seconds=1.0, quieter_seconds=value)


def test_a_pure_function_changes_none_of_its_arguments() -> None:
    given = (facts(30.0), settings(), memory(switch(9000.0), towards="none"))
    copies = tuple(replace(each) for each in given)
    answers: list[Decision] = [decide(*given, NOW) for _ in range(2)]
    assert answers[0] == answers[1]
    assert given == copies
