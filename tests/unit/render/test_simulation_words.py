"""What a comparison is said to come to: it pays, changes little, or loses; and why."""

from dataclasses import replace

import pytest

from ridgeline.render.simulation import cells
from ridgeline.render.simulation_words import cautions, drowns, lasting, seconds, summary
from ridgeline.sim.compare.case import published_case, sizes_of
from ridgeline.sim.compare.play import Kind, Outcome, Strategy
from ridgeline.sim.compare.scores import Score, Simulated
from ridgeline.sim.compare.setup import Options, prepare
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import MIXES

CASE = published_case("70b", sizes_of(None, MIXES["chat"]))
OPTIONS = Options(mix=MIXES["chat"], telemetry=TelemetrySettings(), seconds=2 * 86_400.0)
PREPARED = prepare(CASE, replace(OPTIONS, seconds=900.0))


def score(name: str, kind: Kind, latency: float | None, share: float | None = None) -> Score:
    return Score(
        name=name,
        kind=kind,
        about="",
        latency_seconds=latency,
        seconds_per_token=None if latency is None else latency / 800,
        requests=1000,
        rolls=3,
        most_rolls_in_a_day=2,
        rolling_share=0.025,
        regret_request_hours=5.0,
        change=None,
        share_of_gain=share,
    )


def simulated(
    today: float | None,
    none: float | None,
    operator: float | None,
    *,
    best: float | None = 10.0,
    schedule: float | None = None,
    share: float | None = 0.5,
) -> Simulated:
    known = [
        (score("stay on eagle", Kind.STATIC, today), "eagle"),
        (score("stay on none", Kind.STATIC, none), "none"),
        (score("ridgeline, Goodput", Kind.OPERATOR, operator, share), "eagle"),
        (score("best in hindsight", Kind.HINDSIGHT, best), "eagle"),
    ]
    if schedule is not None:
        known.append((score("eagle with schedule", Kind.SCHEDULE, schedule), "schedule"))
    return Simulated(
        case=CASE,
        options=OPTIONS,
        prepared=PREPARED,
        outcomes=tuple(
            Outcome(strategy=Strategy(name=each.name, kind=each.kind, first=first), result=None)
            for each, first in known
        ),
        scores=tuple(each for each, _ in known),
    )


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        (15.0, "ridgeline pays here: a request takes 15 s on average, 25 % less than with the "),
        (20.1, "ridgeline changes little here: a request takes 20.1 s on average, and 20 s with"),
        (25.0, "ridgeline loses here: a request takes 25 s on average, 25 % more than with the "),
    ],
)
def test_the_first_sentence_is_the_verdict(operator: float, said: str) -> None:
    first = summary(simulated(30.0, 20.0, operator))[0]
    assert first.startswith(said)
    assert "stay on none" in first


def test_what_runs_today_is_named_when_another_choice_is_better() -> None:
    told = " ".join(summary(simulated(30.0, 20.0, 15.0)))
    assert "Against what runs today (stay on eagle: 30 s) that is 50 % less." in told
    best = " ".join(summary(simulated(18.0, 20.0, 15.0)))
    assert "What runs today is the best fixed choice." in best


@pytest.mark.parametrize(
    ("today", "said"),
    [(None, "its queue does not end"), (400.0, "requests wait 400 s on average")],
)
def test_a_fleet_that_drowns_today_is_said_to(today: float | None, said: str) -> None:
    told = " ".join(summary(simulated(today, 20.0, 15.0)))
    assert "What runs today (stay on eagle) does not carry this load" in told
    assert said in told


def test_rolls_and_hindsight_are_told() -> None:
    told = " ".join(summary(simulated(30.0, 20.0, 15.0)))
    assert "rolled the fleet 3 times, at most 2 in 24 hours; a roll was under way 2.5 % of" in told
    assert "could have been 10 s: ridgeline has 50 % of that gain" in told
    none = " ".join(summary(simulated(30.0, 20.0, 15.0, share=None)))
    assert "no roll would have gained much over the best fixed choice" in none
    lost = " ".join(summary(simulated(30.0, 20.0, 25.0, share=-0.5)))
    assert "ridgeline has none of that gain" in lost


def test_a_better_schedule_of_the_engine_is_recommended() -> None:
    assert "give it to the profile" in " ".join(summary(simulated(30.0, 20.0, 15.0, schedule=12.0)))
    assert "in-engine" not in " ".join(summary(simulated(30.0, 20.0, 15.0, schedule=16.0)))


def test_no_strategy_that_serves_leaves_words_all_the_same() -> None:
    (told,) = summary(simulated(None, None, None, best=None))
    assert "Simulate more replicas, or less load." in told
    lost = simulated(None, None, 15.0, best=None)
    assert "No fixed choice carries this load." in summary(lost)[0]


def test_a_queue_that_grows_is_marked() -> None:
    known = simulated(400.0, None, 15.0)
    assert [drowns(each, known) for each in known.scores] == [True, True, False, False]
    assert cells(known.scores[0], known)[1] == "400 s, queue grows"
    assert cells(known.scores[1], known)[1] == "queue outgrows it"


def test_the_limits_are_those_of_the_mode() -> None:
    fluid = simulated(30.0, 20.0, 15.0)
    assert any("simulated as a fluid" in each for each in cautions(fluid))
    single = replace(fluid, options=replace(OPTIONS, requests=True))
    assert any("one by one" in each for each in cautions(single))


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0123, "12.3 ms"), (1.5, "1.5 s"), (123.4, "123 s"), (900.0, "15 min"), (9000.0, "2.5 h")],
)
def test_times_have_a_unit_that_fits(value: float, told: str) -> None:
    assert seconds(value) == told


@pytest.mark.parametrize(
    ("length", "told"),
    [(3480.0, "58 minutes"), (7200.0, "2 hours"), (86_400.0, "24 hours"), (604_800.0, "7 days")],
)
def test_lengths_are_told_as_a_person_says_them(length: float, told: str) -> None:
    assert lasting(length) == told
