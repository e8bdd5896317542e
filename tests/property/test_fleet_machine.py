"""A fleet played at random: rolls, restarts, missing data, Pods that die, a bad clock."""

import math
from dataclasses import replace

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import ReplicaFacts
from ridgeline.policy.settings import Stabilization
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from tests.property.fleet_play import TICK, WINDOW, FleetPlay
from tests.unit.policy import moments as well

ROWS = {row.profile: n for n, row in enumerate(well.THREE_ROWS.rows)}
DAY = 86_400.0


def silent(replica: ReplicaFacts) -> ReplicaFacts:
    return replace(replica, engines=())


def broken(replica: ReplicaFacts) -> ReplicaFacts:
    engine = replace(replica.engines[0], decode_concurrency=math.nan)
    return replace(replica, engines=(engine,))


def stale(replica: ReplicaFacts) -> ReplicaFacts:
    return replace(replica, engines=(replace(replica.engines[0], age_seconds=500.0),))


class FleetMachine(RuleBasedStateMachine):
    """Rules are what can happen to a fleet; invariants are what must never happen."""

    play: FleetPlay

    @initialize(
        active=st.sampled_from(sorted(ROWS)),
        count=st.sampled_from([1, 2, 5, 10]),
        busier=st.sampled_from([0.0, 60.0]),
        quieter=st.sampled_from([0.0, 120.0]),
        cooldown=st.sampled_from([0.0, 600.0, 1800.0]),
        budget=st.integers(1, 6),
        roll=st.sampled_from([60.0, 600.0]),
    )
    def begin(
        self,
        active: str,
        count: int,
        busier: float,
        quieter: float,
        cooldown: float,
        budget: int,
        roll: float,
    ) -> None:
        chosen = well.settings(
            cutoff=well.THREE_ROWS,
            stabilization=Stabilization(busier_seconds=busier, quieter_seconds=quieter),
            cooldown_seconds=cooldown,
            max_switches_per_day=budget,
        )
        # With one replica a roll with surge leaves it in place; the level stays.
        self.play = FleetPlay(
            settings=chosen, active=active, count=max(2, count), roll_seconds=roll
        )
        self.judged = 0

    @rule(load=st.floats(0.0, 60.0), ticks=st.sampled_from([1, 8, 30]))
    def serve(self, load: float, ticks: int) -> None:
        for _ in range(ticks):
            self.play.tick(load)
            self.judge()

    @rule(ticks=st.sampled_from([4, 20]), low=st.floats(0.0, 30.0), high=st.floats(0.0, 60.0))
    def swing(self, ticks: int, low: float, high: float) -> None:
        for n in range(ticks):
            self.play.tick(low if n % 2 else high)
            self.judge()

    @rule(
        load=st.floats(0.0, 60.0),
        how=st.sampled_from([silent, broken, stale]),
        share=st.sampled_from([0.1, 0.2, 0.5, 1.0]),
        ticks=st.sampled_from([1, 10]),
    )
    def serve_unseen(self, load: float, how: object, share: float, ticks: int) -> None:
        assert callable(how)
        spoiled = max(1, round(share * self.play.count))

        def spoil(replicas: list[ReplicaFacts]) -> list[ReplicaFacts]:
            return [how(each) if n < spoiled else each for n, each in enumerate(replicas)]

        for _ in range(ticks):
            before = self.play.active
            decision = self.play.tick(load, spoil=spoil)
            self.judge()
            if decision.outcome is Outcome.SWITCH:
                old = [
                    n
                    for n, since in enumerate(self.play.ready_since)
                    if self.play.time - since >= WINDOW
                ]
                unseen = sum(1 for n in old if n < spoiled)
                if unseen:
                    assert how is not broken
                    assert ROWS[decision.profile or ""] > ROWS[before]
                    assert len(old) - unseen >= 0.8 * len(old)

    @rule()
    def restart(self) -> None:
        outcome_before = len(self.play.made)
        self.play.restart()
        self.play.tick(self.play.levels[-1][1] if self.play.levels else 1.0)
        assert len(self.play.made) == outcome_before
        self.judge()

    @rule(index=st.integers(0, 9))
    def pod_dies(self, index: int) -> None:
        if not self.play.rolling:
            self.play.replace_pod(index % self.play.count)

    @rule(error=st.floats(-40.0, 40.0))
    def clock_jitters(self, error: float) -> None:
        self.play.clock_error = error

    @rule(hours=st.sampled_from([1, 7, 23]))
    def quiet_hours(self, hours: int) -> None:
        load = self.play.levels[-1][1] if self.play.levels else 1.0
        for _ in range(2 * hours):
            self.play.tick(load, seconds=1800.0)
            self.judge()

    @rule(load=st.floats(0.0, 60.0), suspended=st.booleans())
    def nobody_may_act(self, load: float, suspended: bool) -> None:
        acting = self.play.settings
        self.play.settings = (
            replace(acting, suspended=True)
            if suspended
            else replace(acting, mode=Mode.RECOMMEND_ONLY)
        )
        for _ in range(12):
            assert self.play.tick(load).outcome is not Outcome.SWITCH
        self.play.settings = acting

    def judge(self) -> None:
        """Judge the switches that were made since the last time, one by one."""
        while self.judged < len(self.play.made):
            self._judge(self.judged)
            self.judged += 1

    def _judge(self, number: int) -> None:
        play, made = self.play, self.play.made[number]
        asked = play.settings
        on = made.decision.reason is Reason.BELOW_CUTOFF
        ended = play.roll_ends[-1] if play.roll_ends else -math.inf
        assert made.clock - ended >= WINDOW, "a look-back spans the roll before"
        if on:
            assert made.clock - ended >= asked.cooldown_seconds
        day = [each for each in play.made[: number + 1] if made.clock - each.clock < DAY]
        assert len(day) <= asked.max_switches_per_day - on
        times = asked.stabilization
        dwell = times.quieter_seconds if on else times.busier_seconds
        assert len(made.dwelled_on) >= 2, "one sight is not enough"
        assert made.clock - made.dwelled_on[0][0] >= dwell
        origin = made.decision.memory.slow.switches[-1].from_profile
        row = ROWS[origin or ""]
        for _, level in made.dwelled_on[-2:]:
            assert well.THREE_ROWS.next_row(row, level) != row

    @precondition(lambda self: hasattr(self, "play"))
    @invariant()
    def memory_is_bounded_and_finite(self) -> None:
        memory = self.play.memory
        assert len(memory.slow.switches) <= 10
        crossing = memory.fast.crossing
        assert crossing is None or crossing.since <= self.play.clock + 300.0
        assert crossing is None or crossing.towards != self.play.active

    @precondition(lambda self: hasattr(self, "play"))
    @invariant()
    def nothing_is_decided_about_a_fleet_that_rolls(self) -> None:
        last = self.play.last
        if last is not None and self.play.rolling and last.outcome is not Outcome.SWITCH:
            assert last.reason in (Reason.ROLLOUT_UNDER_WAY, Reason.SUSPENDED)

    def teardown(self) -> None:
        """No stuck state: seen well and long enough, the fleet comes to rest on the right row."""
        if not hasattr(self, "play"):
            return
        self.play.settings = replace(self.play.settings, max_switches_per_day=10)
        self.play.clock_error = 0.0
        for _ in range(int(DAY / 1800.0) + 2):
            self.play.tick(60.0, seconds=1800.0)
        for _ in range(8 * int(600.0 / TICK)):
            self.play.tick(60.0)
        assert self.play.active == "none"


TestFleetMachine = FleetMachine.TestCase
TestFleetMachine.settings = hypothesis_settings(max_examples=60, stateful_step_count=25)
