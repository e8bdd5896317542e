"""Strategies side by side: the same traffic for all, the operator's own decision, the scores."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.policy.decision import Outcome as Done
from ridgeline.sim.compare.case import Case, published_case, sizes_of
from ridgeline.sim.compare.load_curve import LoadCurve
from ridgeline.sim.compare.play import HINDSIGHT, Kind, Outcome, compare, play_one
from ridgeline.sim.compare.scores import Simulated, rolls_of, scores
from ridgeline.sim.compare.setup import Options, Prepared, SetupError, prepare
from ridgeline.sim.compare.traffic import CROWD_HOURS, Shape, demand_of, peak_before, recorded
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import DAY, MIXES, WEEK, Sizes, Trace

CHAT = MIXES["chat"]


def case(**more: float) -> Case:
    return published_case("70b", sizes_of(None, CHAT), **more)


def options(**more: object) -> Options:
    known: dict[str, object] = {"mix": CHAT, "telemetry": TelemetrySettings(), "seconds": DAY / 2}
    return Options(**{**known, **more})  # type: ignore[arg-type]


def played(prepared: Prepared, name: str) -> Outcome:
    strategy = next(each for each in prepared.play.strategies if each.name.startswith(name))
    return play_one(prepared.play, strategy)


@pytest.fixture(scope="module")
def half_day() -> Simulated:
    """A weekday's morning with a plateau above the cut-off."""
    prepared = prepare(case(), options(tick_seconds=60.0))
    outcomes = compare(prepared.play)
    return Simulated(
        case=case(),
        options=options(tick_seconds=60.0),
        prepared=prepared,
        outcomes=outcomes,
        scores=scores(outcomes, "eagle"),
    )


def test_every_strategy_serves_the_same_requests(half_day: Simulated) -> None:
    names = [each.name for each in half_day.scores]
    assert names[:3] == ["stay on eagle", "stay on none", "eagle with schedule"]
    assert names[3].startswith("script at ")
    assert names[4:] == ["ridgeline, Goodput", HINDSIGHT]
    assert len({each.requests for each in half_day.scores}) == 1


def test_the_operator_leaves_speculation_before_the_crowd_fills_the_fleet(
    half_day: Simulated,
) -> None:
    operator = half_day.outcome(Kind.OPERATOR)
    assert operator is not None
    assert operator.result is not None
    (switch,) = operator.result.switches
    assert switch.profile == "none"
    (note,) = [each for each in operator.notes if each.outcome is Done.SWITCH]
    assert note.time == switch.time
    assert operator.acts_at is not None
    assert 0 < (operator.acts_at.off_concurrency or 0) < half_day.prepared.cutoff
    score, today = half_day.operator, half_day.today
    assert score is not None
    assert today is not None
    assert (score.latency_seconds or 0) < 0.7 * (today.latency_seconds or 0)


def test_nobody_does_better_than_hindsight_by_rolling(half_day: Simulated) -> None:
    best = half_day.hindsight
    assert best is not None
    assert best.regret_request_hours == 0.0
    rolling = [each for each in half_day.scores if each.kind in {Kind.STATIC, Kind.HINDSIGHT}]
    assert min(each.regret_request_hours or 0 for each in rolling) == 0.0
    assert best.share_of_gain == pytest.approx(1.0)
    better = half_day.better_static
    assert better is not None
    assert better.share_of_gain == pytest.approx(0.0)
    assert half_day.today is not None
    assert half_day.today.change == 0.0


def test_rolls_have_ends(half_day: Simulated) -> None:
    operator = half_day.outcome(Kind.OPERATOR)
    assert operator is not None
    assert operator.result is not None
    (span,) = rolls_of(operator.result)
    assert 4 * 120.0 <= span.ends - span.begins <= 4 * (300.0 + 120.0 + 60.0)
    assert operator.result.rolling[int(span.begins / 15) + 1]
    assert not operator.result.rolling[int(span.ends / 15) + 1]


def test_the_same_seed_gives_the_same_in_however_many_processes() -> None:
    short = options(seconds=3600.0, tick_seconds=60.0)
    one = scores(compare(prepare(case(), short).play), "eagle")
    assert scores(compare(prepare(case(), short).play, processes=2), "eagle") == one
    other = prepare(case(), replace(short, seed=2))
    assert scores(compare(other.play), "eagle") != one


def test_progress_is_told_for_every_strategy() -> None:
    told: list[tuple[str, int, int]] = []
    prepared = prepare(case(), options(seconds=900.0))
    compare(prepared.play, lambda *each: told.append(each))
    assert [(done, count) for _, done, count in told] == [(n, 6) for n in range(1, 7)]
    assert told[-1][0] == HINDSIGHT


def test_a_fleet_that_cannot_carry_its_load_has_lost() -> None:
    prepared = prepare(case(), options(load=100.0, seconds=7200.0))
    outcome = played(prepared, "stay on eagle")
    assert outcome.result is None
    (score, *_) = scores((outcome,), "eagle")
    assert score.latency_seconds is None


def test_a_wrong_cut_off_is_believed_and_not_true() -> None:
    right, wrong = case(), case(cutoff_error=0.5)
    assert wrong.cutoff() > 1.3 * right.cutoff()
    assert wrong.truth == right.truth


def test_an_operator_without_a_week_before_remembers_nothing() -> None:
    assert prepare(case(), options(seconds=900.0)).play.peak.days
    assert not prepare(case(), options(seconds=900.0, remembers=False)).play.peak.days


def test_single_requests_and_the_fluid_have_the_same_mean_demand() -> None:
    fluid = prepare(case(), options(seconds=7200.0))
    single = prepare(case(), options(seconds=7200.0, requests=True))
    assert single.play.setting.flow is None
    assert single.play.setting.trace is not None
    means = [float(each.traffic.flow.tokens_per_second.mean()) for each in (fluid, single)]
    assert means[0] == pytest.approx(means[1], rel=0.05)


@pytest.mark.parametrize("shape", list(Shape))
def test_a_shape_reaches_the_level_that_it_is_asked_for(shape: Shape) -> None:
    demand = replace(demand_of(shape, 1.2, 2 * DAY), drift=0.0, bursts_per_day=0.0)
    times = np.arange(0.0, 2 * DAY, 15.0)
    assert demand.realised(times, np.random.default_rng(1)).max() == pytest.approx(1.2)


def test_a_flash_crowd_comes_each_day() -> None:
    demand = demand_of(Shape.FLASH_CROWD, 1.0, 3 * DAY)
    assert len(demand.crowds) == 3 * len(CROWD_HOURS)


def test_levels_can_be_told_in_requests_per_second() -> None:
    share = prepare(case(), options(seconds=3600.0, load=0.5))
    wanted = 0.5 * share.cutoff_demand / CHAT.output
    told = prepare(case(), options(seconds=3600.0, requests_per_second=wanted))
    assert told.traffic.flow.tokens_per_second.tolist() == pytest.approx(
        share.traffic.flow.tokens_per_second.tolist()
    )
    with pytest.raises(SetupError, match="--load and --requests-per-second tell the same"):
        prepare(case(), options(load=1.0, requests_per_second=1.0))


def test_a_recorded_load_is_scaled_to_a_level() -> None:
    curve = LoadCurve(requests_per_second=np.full(240, 2.0))
    as_it_was = prepare(case(), options(source=curve))
    assert as_it_was.traffic.flow.tokens_per_second.mean() == pytest.approx(1600.0, rel=0.1)
    scaled = prepare(case(), options(source=curve, load=0.5))
    mean = float(scaled.traffic.flow.tokens_per_second.mean())
    assert mean == pytest.approx(0.5 * scaled.cutoff_demand, rel=0.05)
    silent = LoadCurve(requests_per_second=np.zeros(240))
    with pytest.raises(SetupError, match="nothing arrives in the file"):
        prepare(case(), options(source=silent, load=0.5))


def test_recorded_requests_are_played_as_they_came() -> None:
    count = 400
    trace = Trace(
        times=np.arange(count, dtype=np.float64) * 3.0,
        sizes=Sizes(prompts=np.full(count, 100.0), outputs=np.full(count, 50.0)),
    )
    found = recorded(trace, CHAT, factor=1.0, seed=1, requests=True)
    assert found.trace is trace
    assert found.flow.output == 50.0
    assert found.seconds >= trace.seconds
    assert recorded(trace, CHAT, factor=1.0, seed=1, requests=False).trace is None
    sizes = sizes_of(trace, CHAT)
    assert (sizes.context_tokens, sizes.prefill_per_token) == (125.0, 2.0)


def test_what_is_known_of_the_week_before_is_its_peak() -> None:
    before = np.full(int(WEEK / 15), 1000.0)
    before[5000:5020] = 9000.0
    sketch = peak_before(before, 4)
    assert max(each.highest[0] for each in sketch.days) == pytest.approx(2250.0)
    assert not peak_before(np.zeros(3), 4).days


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"replicas": 40}, "--replicas 40: at most 33 are simulated"),
        ({"starts": (300.0, 100.0)}, "exchange the two"),
        ({"requests": True, "seconds": 100 * DAY}, "leave out --single-requests"),
    ],
)
def test_options_that_do_not_go_together_are_refused(more: dict[str, object], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        prepare(case(), options(**more))
