"""The benchmark of control laws: what it tells controllers, and how it scores them."""

from dataclasses import replace

import pytest

from benchmarks import control, control_run
from benchmarks.control_rivals import RIVALS
from benchmarks.control_run import BOUND, CellOfSeed, Outcome, rows, run_cell
from benchmarks.control_scenarios import further, headline, prepare
from ridgeline.sim.compare.case import stretched
from ridgeline.sim.requests import bound
from ridgeline.sim.requests.controller import Observation
from ridgeline.sim.requests.rivals import Threshold, Windows
from ridgeline.sim.requests.traffic import DAY, Demand
from ridgeline.sim.requests.truth import crossing
from tests.unit.sim.requests.settings_for_tests import truth
from tests.unit.sim.requests.test_requests_fleet import seen_with

pytestmark = pytest.mark.slow


FEW = ("fixed-20",)


def cell(seed: int, **latencies: float) -> CellOfSeed:
    return CellOfSeed(
        scenario="70b/surge",
        seed=seed,
        peak=1.2,
        outcomes={
            name.replace("_", "-"): Outcome(
                latency=latency, rolls_per_day=float(seed), most_rolls_in_a_day=seed, shed=seed
            )
            for name, latency in latencies.items()
        },
    )


def test_a_law_is_scored_against_the_better_static_and_the_bound() -> None:
    table = rows(
        [
            cell(1, always_eagle=60.0, always_none=20.0, law=18.0, bound=16.0),
            cell(2, always_eagle=60.0, always_none=20.0, law=21.0, bound=18.0),
        ]
    )
    law = table["law"]
    assert law.share_of_bound == pytest.approx((0.5 - 0.5) / 2)
    assert law.worst_share_of_bound == pytest.approx(-0.5)
    assert law.loss_vs_better_static_percent == pytest.approx((-10.0 + 5.0) / 2)
    assert law.worst_loss_vs_better_static_percent == pytest.approx(5.0)
    assert (law.rolls_per_day, law.most_rolls_in_a_day, law.shed) == (1.5, 2, 3)
    assert table[BOUND].share_of_bound == pytest.approx(1.0)


def test_where_nothing_can_be_gained_there_is_no_share() -> None:
    one = cell(1, always_eagle=15.0, always_none=20.0, law=15.1, bound=14.99)
    assert rows([one])["law"].share_of_bound is None
    unbound = cell(1, always_eagle=15.0, always_none=20.0, law=15.1)
    assert rows([unbound])["law"].share_of_bound is None


def test_the_bound_is_no_worse_than_any_static_choice() -> None:
    """On a day too quiet for any roll, and on one that begins busy."""
    scenario = replace(headline(3.0)[0], replicas=2)
    for demand in (Demand(plateau=0.5), Demand(plateau=1.3, flat=True)):
        found = run_cell((replace(scenario, demand=demand), 1, FEW)).outcomes
        better = min(found["always-eagle"].latency, found["always-none"].latency)
        assert found[BOUND].latency <= better
        assert set(found) == {"always-eagle", "always-none", *FEW, BOUND}


def test_the_same_seed_gives_the_same_cell() -> None:
    scenario = replace(headline(2.0)[0], replicas=2, demand=Demand(plateau=1.1, flat=True))
    one, again = (run_cell((scenario, 3, FEW)) for _ in range(2))
    assert one == again
    assert one != replace(run_cell((scenario, 4, FEW)), seed=3)


def test_scenarios_have_the_names_that_people_look_for() -> None:
    names = [each.name for each in headline(24.0)]
    assert names == [f"{a}/{b}" for a in ("70b", "8b", "weak") for b in ("no-surge", "surge")]
    more = [each.name for each in further(24.0)]
    assert len(set(names + more)) == len(names) + len(more)
    for part in ("replicas-16", "plateau-0.5", "cutoff+100%", "cutoff-50%", "crowd-240min"):
        assert f"70b/surge/{part}" in more


@pytest.mark.parametrize("error", [-0.5, -0.25, 0.0, 0.5])
def test_a_wrong_cutoff_is_told_as_wrong_as_asked(error: float) -> None:
    scenario = replace(headline(1.0)[2], cutoff_error=error)
    right = prepare(replace(scenario, cutoff_error=0.0), 1).knowledge
    told = prepare(scenario, 1).knowledge
    assert told.cutoff == pytest.approx(right.cutoff * (1.0 + error), rel=0.02)
    assert told.true_cutoff_tokens_per_second == right.true_cutoff_tokens_per_second


def test_a_stretched_curve_can_still_be_read_backwards() -> None:
    own = truth()
    quiet = own.curve("eagle", prompt=200.0, output=100.0)
    busy = own.curve("none", prompt=200.0, output=100.0)
    wrong = stretched(quiet, busy, 1.0)
    assert crossing(wrong, busy) > crossing(quiet, busy)
    assert list(wrong.tokens_per_second) == sorted(wrong.tokens_per_second)


def test_traffic_of_a_scenario_peaks_near_its_plateau() -> None:
    busy = prepare(replace(headline(14.0)[0], demand=Demand(plateau=1.0)), 1)
    assert 0.95 < busy.peak < 1.35


def on(profile: str, load: float) -> Observation:
    return replace(seen_with(load, 4), active_profile=profile)


def test_a_threshold_keeps_what_is_within_its_band() -> None:
    law = Threshold(off=24.0, on=16.0)
    assert law.decide(on("eagle", 23.0), 0.0) is None
    assert law.decide(on("eagle", 24.0), 0.0) == "none"
    assert law.decide(on("none", 16.0), 0.0) is None
    assert law.decide(on("none", 15.0), 0.0) == "eagle"
    assert law.decide(replace(on("none", 1.0), engines=()), 0.0) is None


def test_cron_windows_leave_the_weekend_alone() -> None:
    law = Windows(begins=8 * 3600.0, ends=18 * 3600.0)
    noon = 12 * 3600.0
    answers = [law.decide(on("eagle", 1.0), day * DAY + noon) for day in range(7)]
    assert answers == ["none", "none", "eagle", "eagle", "none", "none", "none"]
    assert law.decide(on("none", 1.0), 19 * 3600.0) == "eagle"


def test_every_rival_can_be_built() -> None:
    known = prepare(headline(1.0)[0], 1).knowledge
    levels = {each.name: each.build(known) for each in RIVALS}
    ridge = levels["ridge"]
    assert isinstance(ridge, Threshold)
    assert ridge.off == pytest.approx(295.0 / 4)
    windows = levels["cron-windows"]
    assert isinstance(windows, Windows)
    assert windows.begins < 10 * 3600.0 < 18 * 3600.0 < windows.ends


def test_the_table_and_the_document_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"70b/surge": [cell(1, always_eagle=60.0, always_none=20.0, law=18.0, bound=16.0)]}
    control.print_tables(found)
    text = capsys.readouterr().out
    assert "P by seed: 1.20" in text
    assert "    0.50" in text
    document = control.document(found)
    assert document["scenarios"]["70b/surge"]["law"]["share_of_bound"] == pytest.approx(0.5)
    assert document["seeds"] == [1]


def test_an_unknown_law_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        control.main(["--only", "nonsense"])
    assert "--only nonsense: choose from always-eagle" in capsys.readouterr().err


def test_a_law_whose_queue_outgrows_the_simulator_has_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def overflowing(setting: object, controller: object) -> object:
        raise OverflowError("too many requests are open at once")

    monkeypatch.setattr(control_run, "simulate", overflowing)
    monkeypatch.setattr(bound, "simulate", overflowing)
    (scenario, *_) = headline(1.0)
    found = run_cell((scenario, 1, FEW))
    assert {each.latency for each in found.outcomes.values()} == {3600.0}
