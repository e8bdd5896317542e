"""Whole simulations: nothing gets lost, rolls keep their promise, the seed tells all."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.requests.engines import ClosedLoop
from ridgeline.sim.requests.simulate import Setting, simulate
from ridgeline.sim.requests.telemetry import TelemetrySettings
from tests.unit.sim.requests.settings_for_tests import (
    MIX,
    Flaps,
    RollsAt,
    Still,
    setting,
    surging,
)


def test_littles_law_holds_at_rest() -> None:
    base = setting(level=900.0, seconds=4 * 3600.0)
    result = simulate(base, Still())
    settled = result.in_system[40:]
    rate = result.arrived / result.seconds
    assert settled.mean() == pytest.approx(rate * result.mean_latency_seconds, rel=0.02)
    assert settled.mean() > 10.0


def test_without_speculation_a_quiet_fleet_is_slower_and_a_busy_one_faster() -> None:
    for level, speculating_wins in ((600.0, True), (1500.0, False)):
        base = setting(level=level)
        eagle = simulate(base, Still()).mean_latency_seconds
        none = simulate(replace(base, first_profile="none"), Still()).mean_latency_seconds
        assert (eagle < none) is speculating_wins


@pytest.mark.parametrize("spare", [False, True])
def test_a_roll_takes_exactly_one_replica_or_none_with_surge(spare: bool) -> None:
    base = surging(setting()) if spare else setting()
    law = RollsAt(600.0)
    result = simulate(base, law)
    before, after = result.serving[:39], result.serving[-20:]
    rolling = np.array([each.rolling for each in law.seen])
    assert set(before) == set(after) == {4.0}
    assert min(result.serving) == (4.0 if spare else 3.0)
    # four starts of 60 to 90 s, one after the other, and four drains of at most 60 s
    assert 4 * 60.0 <= 15.0 * rolling.sum() <= 4 * (90.0 + 60.0 + 3 * 15.0)
    assert {each.profile for each in law.seen[-1].engines} == {"none"}
    assert [each.profile for each in result.switches] == ["none"]


def test_a_rolling_fleet_is_mixed_and_says_so() -> None:
    law = RollsAt(600.0)
    simulate(setting(), law)
    mixed = [each for each in law.seen if len({e.profile for e in each.engines}) == 2]
    assert mixed
    assert all(each.rolling and each.active_profile == "none" for each in mixed)


def test_an_answer_during_a_roll_is_not_acted_on() -> None:
    result = simulate(setting(), Flaps())
    gaps = np.diff([each.time for each in result.switches])
    assert len(result.switches) >= 3
    assert min(gaps) >= 4 * 60.0


@pytest.mark.parametrize("closed", [False, True])
def test_no_request_gets_lost_however_often_it_rolls(closed: bool) -> None:
    base = _closed_loop() if closed else setting(level=1800.0)
    result = simulate(surging(base), Flaps())
    assert result.arrived == result.completed + result.shed + result.waiting
    assert result.completed > 1000
    assert (result.waiting > 0) is closed


def test_a_closed_loop_slows_with_its_servers() -> None:
    base = _closed_loop()
    few = simulate(base, Still())
    many = simulate(replace(base, replicas=8), Still())
    assert few.completed < 0.8 * many.completed
    # interactive law: users = rate · (latency + think)
    rate = few.completed / few.seconds
    assert rate * (few.mean_latency_seconds + 5.0) == pytest.approx(120.0, rel=0.05)


def test_the_seed_alone_tells_what_happens() -> None:
    base = replace(setting(), telemetry=TelemetrySettings(noise=0.1, loss=0.1))
    one, again, other = Still(), Still(), Still()
    first = simulate(base, one)
    second = simulate(base, again)
    simulate(replace(base, seed=2), other)
    assert one.seen == again.seen
    assert first.mean_latency_seconds == second.mean_latency_seconds
    assert one.seen != other.seen


def test_an_autoscaler_follows_the_load() -> None:
    quiet, busy = Still(), Still()
    for level, law in ((200.0, quiet), (1500.0, busy)):
        simulate(replace(setting(level=level), most_replicas=8, scale_target=6.0), law)
    assert quiet.seen[-1].replicas == 2
    assert busy.seen[-1].replicas > 5
    assert busy.seen[-1].serving == busy.seen[-1].replicas


def test_what_a_queue_costs_at_the_end_is_counted() -> None:
    cut = simulate(setting(level=2400.0, seconds=600.0), Still())
    assert cut.waiting == 0
    assert cut.completed == cut.arrived
    assert cut.in_system[-1] > 200.0
    # the last to arrive waits for all before it
    assert cut.mean_latency_seconds > 20.0


def _closed_loop() -> Setting:
    rng = np.random.default_rng(3)
    return replace(
        setting(),
        trace=None,
        loop=ClosedLoop(users=120, thinks=rng.exponential(1.0, 8192), sizes=MIX.draw(8192, rng)),
        loop_think_seconds=5.0,
    )
