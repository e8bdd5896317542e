"""The pictures of the control law: what they show holds, and the page shows them as they are."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.control_scenarios import Scenario
from ridgeline.render.plots import Chart, svg
from tests.tools import control_picture_facts, control_pictures
from tests.tools.control_picture_facts import capacities, off_share, safe_share, worth
from tests.tools.control_pictures import CHARTS, REASONED, SIMULATED, within
from tests.tools.picture_check import alike
from tests.tools.pictures import FOLDER

PAGE = (FOLDER.parent / "concepts" / "control-law.md").read_text(encoding="utf-8")
MOST_BYTES = 60_000


def committed(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def alt_text(name: str) -> str:
    found = re.search(rf"!\[([^\]]*)\]\(\.\./images/{re.escape(name)}\)", PAGE)
    assert found is not None, f"the page does not show {name}"
    return found[1]


@pytest.mark.parametrize("name", CHARTS)
def test_the_page_shows_each_picture_and_says_in_words_what_is_on_it(name: str) -> None:
    assert len(alt_text(name)) > 80
    assert len(committed(name).encode()) < MOST_BYTES


@pytest.mark.parametrize("name", REASONED)
def test_the_committed_picture_is_what_the_law_tells_now(name: str) -> None:
    now = svg(REASONED[name]())
    assert alike(committed(name), now), (
        f"{name} is out of date: python -m tests.tools.control_pictures"
    )


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few short days, with what is drawn from them forgotten before and after."""
    whole = control_picture_facts.scenario

    def shortened(**asked: object) -> Scenario:
        return replace(whole(**asked), hours=2.5)  # type: ignore[arg-type]

    monkeypatch.setattr(control_picture_facts, "scenario", shortened)
    monkeypatch.setattr(control_pictures, "PLATEAUS", (0.6, 1.0))
    monkeypatch.setattr(control_picture_facts, "GATE_SEEDS", (1,))
    monkeypatch.setattr(control_pictures, "CROWD_MINUTES", (5.0, 15.0))
    kept = (control_picture_facts.days, control_picture_facts.losses, control_picture_facts.crowd)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


def names(chart: Chart) -> list[str]:
    return [each.name for each in chart.series if each.name]


@pytest.mark.usefixtures("short")
def test_a_simulated_picture_has_the_lines_that_the_committed_one_names() -> None:
    """The simulation itself is too long for a test; its words and its axes are not."""
    for name, draw in SIMULATED.items():
        chart = draw()
        told = committed(name)
        for text in (*names(chart), chart.title, chart.x_label, chart.y_label):
            assert f"{text}</text>" in told.replace("&#x27;", "'"), f"{name} is out of date: {text}"


def test_at_the_cut_off_a_roll_without_surge_gains_nothing_and_is_at_its_dearest() -> None:
    found = worth()
    at = min(range(len(found.demand)), key=lambda each: abs(found.demand[each] - 1.0))
    rolls = found.roll_without_surge
    assert abs(found.an_hour_off[at]) < 0.01 * rolls[at]
    assert all(before < after for before, after in pairwise(rolls))
    before = min(
        range(len(found.demand)), key=lambda each: abs(found.demand[each] - off_share(surge=False))
    )
    assert rolls[at] > 10 * rolls[before]
    assert max(found.roll_with_surge) < 0.1 * max(rolls)
    told = alt_text("control-cutoff.svg")
    for each in (rolls[at], rolls[before]):
        assert f"{each:.0f}" in told
    assert f"{off_share(surge=False):.2f}" in told


def test_only_with_surge_a_roll_never_carries_less_than_before() -> None:
    told = alt_text("control-phases.svg")
    _, kept = capacities(surge=True, replicas=4)
    assert min(kept) == kept[0]
    for replicas in (4, 2):
        minutes, shares = capacities(surge=False, replicas=replicas)
        assert len(minutes) == len(shares)
        assert minutes == sorted(minutes)
        assert min(shares) < 0.85
        assert f"{min(shares):.2f}" in told
    for each in (kept[0], kept[-1]):
        assert f"{each:.2f}" in told


def test_the_page_tells_where_small_fleets_act() -> None:
    for replicas in (2, 4, 8, 16):
        safe, off = (f(surge=False, replicas=replicas) for f in (safe_share, off_share))
        assert re.search(rf"^\| {replicas} \| {safe:.2f} \| {off:.2f} \|", PAGE, re.MULTILINE)


def test_a_line_that_leaves_the_picture_comes_back_as_the_same_line() -> None:
    pieces = list(within("line", [1, 2, 3, 4], [5.0, 50.0, 6.0, 7.0], 2, high=10.0))
    assert [(each.name, each.x, each.y) for each in pieces] == [
        ("line", (1,), (5.0,)),
        ("", (3, 4), (6.0, 7.0)),
    ]
    assert {each.colour for each in pieces} == {2}
