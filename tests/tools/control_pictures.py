"""Draw the pictures of the page about the control law, from the law and the simulator.

python -m tests.tools.control_pictures [FOLDER]

They are written to docs/images unless a folder is named, in two to three minutes of CPU time. What
is drawn follows from the code alone: the same code draws the same bytes on the same machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np

from benchmarks.control_run import STATIC
from ridgeline.render.plots import Chart, Mark, Series
from ridgeline.sim.requests.traffic import TICK_SECONDS
from tests.tools.control_picture_facts import (
    ALWAYS_NONE,
    ALWAYS_SPECULATING,
    DAY_LAWS,
    DAY_PLATEAU,
    GATES,
    SCHEDULED,
    capacities,
    crowd,
    days,
    losses,
    off_share,
    worth,
)
from tests.tools.pictures import drawn_by

DEPLOYMENT: Final = "70B with EAGLE, four replicas"


def cutoff_chart() -> Chart:
    """The gain of switching off and the cost of its roll, by demand."""
    found = worth()
    lines = (
        ("gain of an hour without speculation", found.an_hour_off, False),
        ("cost of the roll, no surge", found.roll_without_surge, True),
        ("cost of the roll, surge", found.roll_with_surge, True),
    )
    series = [
        each
        for colour, (name, values, dashed) in enumerate(lines)
        for each in within(
            name, found.demand, values, colour, low=-200.0, high=950.0, dashed=dashed
        )
    ]
    off = off_share(surge=False)
    return Chart(
        title=f"{DEPLOYMENT}: where a roll to none is worth it",
        x_label="demand ÷ D*",
        y_label="request-hours",
        series=series,
        marks=[
            Mark(x=1.0, label="D*", colour=6),
            Mark(x=off, label=f"D_off, no surge: {off:.2f} D*", colour=1),
        ],
        level=0.0,
        logarithmic=False,
    )


def phases_chart() -> Chart:
    """What a fleet can carry before, during and after a roll to none."""
    fleets = (
        ("four replicas, surge", True, 4),
        ("four replicas, no surge", False, 4),
        ("two replicas, no surge", False, 2),
    )
    series = []
    for colour, (name, surge, replicas) in enumerate(fleets):
        x, y = capacities(surge=surge, replicas=replicas)
        series.append(Series(name=name, x=x, y=y, colour=colour))
    return Chart(
        title="70B with EAGLE: capacity through a roll to none",
        x_label="minutes since the roll began",
        y_label="tokens per second that can be carried ÷ D*",
        series=series,
        level=1.0,
        logarithmic=False,
    )


MOST_SHOWN: Final = 950.0


def day_chart() -> Chart:
    """Requests in the fleet through a day, by law, with the rolls."""
    series: list[Series] = []
    marks: list[Mark] = []
    for colour, day in enumerate(days()):
        inside = _means(day.result.in_system, 600.0)
        hours = [(each + 0.5) / 6.0 for each in range(len(inside))]
        dashed = day.law in STATIC
        series += within(DAY_LAWS[day.law], hours, inside, colour, high=MOST_SHOWN, dashed=dashed)
        for (begin, end), switch in zip(day.spans, day.result.switches, strict=True):
            marks.append(
                Mark(x=begin, low=begin, high=end, label=f"to {switch.profile}", colour=colour)
            )
    return Chart(
        title=f"{DEPLOYMENT}, no surge: a weekday with a plateau of {DAY_PLATEAU} D*",
        x_label="hour",
        y_label="requests in the fleet, mean of ten minutes",
        # The dashed lines last: they show on the others where they coincide.
        series=sorted(series, key=lambda each: each.dashed),
        marks=marks,
        logarithmic=False,
    )


def _means(values: np.ndarray, seconds: float) -> list[float]:
    each = int(seconds / TICK_SECONDS)
    whole = len(values) // each * each
    return [float(mean) for mean in values[:whole].reshape(-1, each).mean(axis=1)]


PLATEAUS: Final = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4)


def gate_chart() -> Chart:
    """What insuring and regret give up, by how high the day goes."""
    names = {**{each: each for each in GATES}, **{each: DAY_LAWS[each] for each in STATIC}}
    series: list[Series] = []
    for colour, (name, label) in enumerate(names.items()):
        shown = [each for each in PLATEAUS if name in losses(each)]
        values = [losses(each)[name] for each in shown]
        dashed = name in STATIC
        series += within(label, shown, values, colour, high=80.0, dashed=dashed)
    return Chart(
        title=f"{DEPLOYMENT}, no surge: what the gate is for",
        x_label="plateau of the day ÷ D*",
        y_label="latency above the better static choice, %",
        series=series,
        level=0.0,
        logarithmic=False,
    )


CROWD_MINUTES: Final = (5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 240.0)


CROWD_LAWS: Final = (
    ALWAYS_SPECULATING,
    ALWAYS_NONE,
    "ridgeline's law, no surge",
    "ridgeline's law, surge",
    "rolled at once, no surge",
    "rolled at once, surge",
    SCHEDULED,
)


def crowd_chart() -> Chart:
    """What a flash crowd costs, by how long it lasts."""
    return Chart(
        title=f"{DEPLOYMENT}: a flash crowd from 0.6 to 1.2 D*",
        x_label="minutes that the crowd lasts",
        y_label="mean latency of the half day, s",
        series=[
            Series(
                name=DAY_LAWS.get(name, name),
                x=CROWD_MINUTES,
                y=[crowd(each)[name] for each in CROWD_MINUTES],
                colour=colour,
                dashed=name.startswith("rolled"),
            )
            for colour, name in enumerate(CROWD_LAWS)
        ],
        both_logarithmic=True,
    )


def within(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    colour: int,
    *,
    low: float = -np.inf,
    high: float,
    dashed: bool = False,
) -> Iterator[Series]:
    """Yield a line without what lies beyond the picture: one series for each piece of it."""
    points = zip(x, y, strict=True)
    for inside, piece in groupby(points, key=lambda point: low <= point[1] <= high):
        if inside:
            across, up = zip(*piece, strict=True)
            yield Series(name=name, x=across, y=up, colour=colour, dashed=dashed)
            name = ""


REASONED: Final[Mapping[str, Callable[[], Chart]]] = {
    "control-cutoff.svg": cutoff_chart,
    "control-phases.svg": phases_chart,
}
"""Pictures that follow from the curves."""


SIMULATED: Final[Mapping[str, Callable[[], Chart]]] = {
    "control-day.svg": day_chart,
    "control-gate.svg": gate_chart,
    "control-crowds.svg": crowd_chart,
}
"""Pictures that take a minute of simulation each."""


CHARTS: Final = {**REASONED, **SIMULATED}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw every picture and return the exit status."""
    return drawn_by("python -m tests.tools.control_pictures", CHARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
