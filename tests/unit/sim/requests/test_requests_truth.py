"""The tables that simulations take for true, and the traffic."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from ridgeline.sim.requests.published import FAMILIES, NONE, SCHEDULE, SPECULATING, idle_tax
from ridgeline.sim.requests.traffic import (
    DAY,
    MIXES,
    Crowd,
    Demand,
    generate,
    read_trace,
)
from ridgeline.sim.requests.truth import ProfileTruth, crossing
from tests.unit.sim.requests.settings_for_tests import MIX, truth


def cutoff(family: str, other: str = SPECULATING) -> tuple[float, float, float]:
    """Return B*, and the other profile's capacity ÷ D*, and none's."""
    own = FAMILIES[family]()
    quiet = own.curve(other, prompt=500.0, output=800.0)
    busy = own.curve(NONE, prompt=500.0, output=800.0)
    at = crossing(quiet, busy)
    return at, quiet.capacity / busy.tokens_at(at), busy.capacity / busy.tokens_at(at)


@pytest.mark.parametrize(("family", "expected"), [("70b", 130.0), ("8b", 126.0), ("weak", 26.0)])
def test_profiles_cross_where_they_were_published_to(family: str, expected: float) -> None:
    at, speculating, none = cutoff(family)
    assert at == pytest.approx(expected, rel=0.03)
    assert 1.0 < speculating < 1.25 < none


@pytest.mark.parametrize("family", ["70b", "8b"])
def test_a_speculating_fleet_carries_hardly_more_than_the_cutoff_demand(family: str) -> None:
    _, speculating, _ = cutoff(family)
    assert 1.05 <= speculating <= 1.10
    assert 0.78 <= 0.75 * speculating <= 0.82


def test_an_in_engine_schedule_moves_the_crossing_up() -> None:
    assert cutoff("8b", SCHEDULE)[0] == pytest.approx(1.24 * cutoff("8b")[0], rel=0.02)


def test_an_idle_drafter_costs_what_was_measured() -> None:
    assert idle_tax(2.0) == pytest.approx(0.066)
    assert idle_tax(189.0) == pytest.approx(0.216)
    own = FAMILIES["70b"]()
    steps = {each.name: each.steps(own.max_seqs) for each in own.profiles}
    assert steps[SCHEDULE][250] / steps[NONE][250] == pytest.approx(1.0 + idle_tax(250.0))
    assert steps[SCHEDULE][10] == steps[SPECULATING][10]


def test_the_fixture_stands_as_published() -> None:
    own = FAMILIES["8b"]()
    steps = {each.name: each.steps(own.max_seqs) for each in own.profiles}
    assert steps[NONE][[1, 4, 16, 64, 256]] * 1e3 == pytest.approx(
        [6.521, 6.602, 6.899, 7.774, 14.491]
    )
    assert steps[SPECULATING][[1, 4, 16, 64, 256]] * 1e3 == pytest.approx(
        [8.841, 8.981, 9.518, 13.498, 41.848]
    )


def test_prefills_take_their_share_of_a_curve() -> None:
    own = truth(prefill=1e-4)
    speeds = own.speeds("none", prompt=200.0, output=100.0)
    alone = truth(prefill=0.0).speeds("none", prompt=200.0, output=100.0)
    # per request 100 tokens of decode and 20 ms of prefill
    assert 100.0 / speeds[4] == pytest.approx(100.0 / alone[4] + 0.02)


def test_tables_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ValueError, match="as many step times"):
        ProfileTruth(
            name="x", concurrency=(1.0, 2.0), step_seconds=(0.1,), tokens_per_step=(1.0, 1.0)
        )
    with pytest.raises(ValueError, match="takes time"):
        ProfileTruth(name="x", concurrency=(1.0,), step_seconds=(0.0,), tokens_per_step=(1.0,))
    with pytest.raises(ValueError, match="choose from"):
        truth().index_of("ngram")


def test_a_week_has_days_nights_and_a_weekend() -> None:
    demand = Demand(plateau=1.2)
    at = np.array([0.0, 3.0, 12.0, 24 + 12.0, 48 + 12.0, 72 + 12.0, 96 + 12.0]) * 3600.0
    assert demand.expected(at) == pytest.approx([0.3, 0.3, 1.2, 1.2, 0.6, 0.6, 1.2])


def test_generated_traffic_asks_for_the_demand() -> None:
    crowd = Crowd(begins=4 * 3600.0, minutes=60.0, factor=2.0)
    demand = Demand(plateau=0.8, flat=True, drift=0.0, bursts_per_day=0.0, crowds=(crowd,))
    trace = generate(
        demand,
        MIX,
        cutoff_tokens_per_second=5000.0,
        seconds=8 * 3600.0,
        rng=np.random.default_rng(1),
    )
    per_hour = trace.tokens_per_second(3600.0, 8 * 3600.0)
    assert np.delete(per_hour, 4) == pytest.approx(np.full(7, 4000.0), rel=0.02)
    assert per_hour[4] == pytest.approx(8000.0, rel=0.02)
    assert (np.diff(trace.times) >= 0).all()
    assert trace.sizes.prompts.mean() == pytest.approx(MIX.prompt, rel=0.02)


def test_bursts_and_drift_come_and_go() -> None:
    times = np.arange(0.0, 10 * DAY, 15.0)
    smooth = Demand(plateau=1.0, flat=True, drift=0.05, bursts_per_day=0.0)
    level = smooth.realised(times, np.random.default_rng(1))
    assert level.std() == pytest.approx(0.05, rel=0.2)
    bursty = Demand(plateau=1.0, flat=True, drift=0.0, bursts_per_day=6.0)
    level = bursty.realised(times, np.random.default_rng(1))
    assert 1.15 <= level.max() <= 2.0
    assert np.median(level) == 1.0


@pytest.mark.parametrize("mix", sorted(MIXES))
def test_sizes_have_the_mean_of_their_mix(mix: str) -> None:
    drawn = MIXES[mix].draw(200_000, np.random.default_rng(1))
    assert drawn.prompts.mean() == pytest.approx(MIXES[mix].prompt, rel=0.02)
    assert drawn.outputs.mean() == pytest.approx(MIXES[mix].output, rel=0.03)
    assert drawn.outputs.min() >= 1.0


def test_a_trace_is_read_and_made_busier(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    lines = [f"{30.0 * n:.3f},{100 + n},{10 + n}" for n in range(400)]
    path.write_text("arrival_s,prompt_tokens,output_tokens\n" + "\n".join(lines) + "\n")
    trace = read_trace(path)
    assert trace.seconds == 30.0 * 399
    assert trace.sizes.prompts[1] == 101.0
    busier = trace.busier(2.5, np.random.default_rng(1))
    assert len(busier.times) == pytest.approx(1000, rel=0.05)
    assert (np.diff(busier.times) >= 0).all()
    assert busier.sizes.outputs.mean() == pytest.approx(trace.sizes.outputs.mean(), rel=0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n", "at least one request"),
        ("a,b,c\n1,2\n", "line 2: give arrival"),
        ("a,b,c\n1,2,3\n2,x,3\n", "line 3: give arrival"),
        ("a,b,c\n1,nan,3\n", "finite"),
        ("a,b,c\n-1,2,3\n", "numbers from 0"),
    ],
)
def test_a_trace_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_trace(path)


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "ridgeline.sim.requests")
    with pytest.raises(ImportError, match=r"pip install '\.\[simulate\]'"):
        importlib.import_module("ridgeline.sim.requests")
