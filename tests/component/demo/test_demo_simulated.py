"""The demo where no cluster can be had, and what it takes for a failure."""

import io

from rich.console import Console

from tests.demo.frame import Frame
from tests.demo.scenario import Phase, Scenario
from tests.demo.screen import Screen, summary
from tests.demo.simulated import play_simulated


def test_both_rolls_happen_and_pay() -> None:
    frames: list[Frame] = []
    outcome = play_simulated(Scenario(), frames.append, speed=0)
    assert outcome.failure is None
    assert outcome.rolls == ("eagle", "none", "eagle")
    assert all(gain.percent > 20 for gain in outcome.gains)
    assert len(outcome.gains) == 3


def test_a_load_that_never_crosses_the_cutoff_fails_the_demo() -> None:
    phases = (
        Phase(title="quiet", users=20, profile="eagle"),
        Phase(title="not busy at all", users=24, profile="none", longest_s=60.0),
    )
    outcome = play_simulated(Scenario(phases=phases), lambda _: None, speed=0)
    assert outcome.failure is not None
    assert "not busy at all" in outcome.failure
    assert outcome.rolls == ("eagle",)


def test_a_roll_that_nobody_asked_for_fails_the_demo() -> None:
    phases = (Phase(title="should stay off", users=20, profile="none"),)
    outcome = play_simulated(Scenario(phases=phases), lambda _: None, speed=0)
    assert outcome.failure is not None
    assert "eagle" in outcome.failure


def test_lines_and_summary_tell_the_rolls() -> None:
    text = io.StringIO()
    with Screen(text, plain=True) as screen:
        outcome = play_simulated(Scenario(), screen.show, speed=0)
    summary(outcome, ("look here",), Console(file=text, width=200))
    assert "none → eagle → none → eagle" in text.getvalue()
    assert "RolloutUnderWay" in text.getvalue()
    assert "look here" in text.getvalue()
