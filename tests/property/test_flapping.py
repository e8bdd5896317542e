"""Scripted load: what must not make the fleet roll, or not more often than it pays."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy import oscillation
from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import ReplicaFacts
from ridgeline.policy.settings import Stabilization
from ridgeline.terms.reasons import Reason
from tests.property.fleet_play import TICK, WINDOW, FleetPlay
from tests.unit.policy import moments as well

HOUR_OF_TICKS = int(3600 / TICK)
EAGER = well.settings(
    stabilization=Stabilization(busier_seconds=0.0, quieter_seconds=0.0),
    cooldown_seconds=0.0,
    max_switches_per_day=10,
)


def narrow(lower: float) -> CutoffTable:
    return CutoffTable(
        (
            CutoffRow(profile="eagle2", up_to=20.0, return_below=lower),
            CutoffRow(profile="none"),
        )
    )


@pytest.mark.parametrize("period_ticks", [2, 4, 8, 40, 120])
@pytest.mark.parametrize("eager", [False, True])
def test_an_hour_of_ten_percent_round_the_cutoff_switches_once(
    period_ticks: int, eager: bool
) -> None:
    """Even without dwell, cooldown and look-back to speak of: the band alone sees to it."""
    play = FleetPlay(settings=EAGER if eager else well.settings(), roll_seconds=60.0)
    for n in range(HOUR_OF_TICKS):
        play.tick(20.0 * (1.0 + 0.1 * math.sin(2 * math.pi * n / period_ticks)))
    assert len(play.made) <= 1


def test_without_a_band_and_a_detector_the_same_hour_would_flap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bound above is the band's doing: the test can fail."""
    monkeypatch.setattr(oscillation, "DETECTOR_SECONDS", 0.0)
    play = FleetPlay(settings=replace(EAGER, cutoff=narrow(20.0)), roll_seconds=60.0)
    for n in range(HOUR_OF_TICKS):
        play.tick(20.0 * (1.0 + 0.1 * math.sin(2 * math.pi * n / 120)))
    assert len(play.made) > 1


def test_without_a_band_the_detector_ends_the_flapping() -> None:
    play = FleetPlay(settings=replace(EAGER, cutoff=narrow(20.0)), roll_seconds=60.0)
    locked = 0
    for n in range(5 * HOUR_OF_TICKS):
        decision = play.tick(20.0 * (1.0 + 0.1 * math.sin(2 * math.pi * n / 120)))
        locked += decision.reason is Reason.OSCILLATION_LOCKED
        if n % 100 == 0:
            play.restart()
    assert [each.decision.profile for each in play.made] == ["none"]
    assert locked > HOUR_OF_TICKS


@pytest.mark.parametrize(("count", "load"), [(2, 13.0), (2, 15.5), (4, 15.5)])
def test_the_roll_itself_moves_no_profile(count: int, load: float) -> None:
    """Towards speculation, with a level that the roll lifts over the cut-off and back."""
    play = FleetPlay(settings=EAGER, active="none", count=count)
    while not play.made:
        play.tick(load)
    assert play.made[0].decision.reason is Reason.BELOW_CUTOFF
    assert load * count / (count - 1) > 20.0
    for _ in range(2 * HOUR_OF_TICKS):
        play.tick(load)
    assert len(play.made) == 1
    assert play.active == "eagle2"


def burst(play: FleetPlay, level: float, ticks: int) -> None:
    for n in range(60):
        play.tick(level if 20 <= n < 20 + ticks else 0.0)


@hypothesis_settings(max_examples=40)
@given(st.integers(1, 7), st.floats(20.0, 2000.0))
def test_a_burst_shorter_than_the_window_moves_nothing_given_two_windows_of_dwell(
    ticks: int, level: float
) -> None:
    """A window that looks back shows a burst for at most the window and the burst together."""
    patient = Stabilization(busier_seconds=2 * WINDOW, quieter_seconds=600.0)
    play = FleetPlay(settings=well.settings(stabilization=patient))
    burst(play, level, ticks)
    assert not play.made


@hypothesis_settings(max_examples=40)
@given(st.integers(1, 7))
def test_a_burst_that_leaves_the_mean_below_the_cutoff_moves_nothing(ticks: int) -> None:
    play = FleetPlay(settings=EAGER)
    burst(play, 0.99 * 20.0 * WINDOW / TICK / ticks, ticks)
    assert not play.made


def test_a_real_crowd_and_its_end_switch_off_and_on() -> None:
    play = FleetPlay(settings=well.settings())
    for n in range(3 * HOUR_OF_TICKS):
        play.tick(40.0 if 100 <= n < 340 else 4.0)
    assert [each.decision.profile for each in play.made] == ["none", "eagle2"]


def test_three_rows_are_not_chased() -> None:
    """A ramp through all rows and back takes the fewest rolls, never back and forth."""
    play = FleetPlay(
        settings=replace(EAGER, cutoff=well.THREE_ROWS), active="draft-1b", roll_seconds=120.0
    )
    ramp = [n / 4.0 for n in range(160)]
    for load in [*ramp, *reversed(ramp)]:
        play.tick(load)
    rows = {"draft-1b": 0, "eagle2": 1, "none": 2}
    path = [0, *(rows[each.decision.profile or ""] for each in play.made)]
    top = path.index(2)
    assert path[: top + 1] == sorted(path[: top + 1])
    assert path[top:] == sorted(path[top:], reverse=True)
    assert path[-1] == 0
    assert len(play.made) <= 4


def test_swinging_round_a_far_border_does_not_hold_the_fleet_on_a_third_row() -> None:
    three = well.settings(cutoff=well.THREE_ROWS)
    play = FleetPlay(settings=three, active="draft-1b")
    for n in range(20):
        play.tick(28.0 if n % 16 < 8 else 12.0)
    assert len(play.made) == 1


def test_load_out_of_sight_is_no_dwell() -> None:
    """Blindness between two sights starts the dwell again."""
    play = FleetPlay(settings=well.settings())

    def blind(replicas: list[ReplicaFacts]) -> list[ReplicaFacts]:
        return [replace(each, engines=()) for each in replicas]

    for _ in range(10):
        play.tick(4.0)
    for _ in range(60):
        assert play.tick(40.0, spoil=blind).outcome is Outcome.HOLD
    first = play.tick(40.0)
    assert first.reason is Reason.DWELLING
    assert "for 0 s" in first.message


@hypothesis_settings(max_examples=40)
@given(st.lists(st.floats(16.0, 19.99), min_size=30, max_size=60), st.booleans())
def test_nothing_switches_inside_the_band(loads: list[float], off: bool) -> None:
    play = FleetPlay(settings=EAGER, active="none" if off else "eagle2")
    for load in loads:
        assert play.tick(load).outcome is Outcome.KEEP


@hypothesis_settings(max_examples=40)
@given(st.sampled_from(["draft-1b", "eagle2", "none"]), st.floats(0.0, 1.0))
def test_nothing_switches_on_constant_load_inside_the_active_row(active: str, at: float) -> None:
    lower, upper = {"draft-1b": (0.0, 7.99), "eagle2": (6.0, 19.99), "none": (16.0, 400.0)}[active]
    play = FleetPlay(settings=replace(EAGER, cutoff=well.THREE_ROWS), active=active)
    for _ in range(30):
        assert play.tick(lower + at * (upper - lower)).outcome is Outcome.KEEP
