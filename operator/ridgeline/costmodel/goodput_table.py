"""The Goodput strategy: the cut-off table of the cost model.

Each range of concurrency goes to the profile that is predicted to make most tokens per second
there; one that speculates must beat none by the margin. Every border carries a band from the
uncertainty of the prediction. Whatever may not be acted on makes the table undecided, with the
reason.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from ridgeline.costmodel import goodput_reasons as words
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.border import Edges, Leads, edges
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS, Constants
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.envelope import Envelope, Run, envelope, grid
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.costmodel.uncertainty import doubts, ratio_sd, unchecked
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.verdict import Verdict

BEYOND: Final = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Multiples of the most that is admitted at which a flat curve is looked for an upper edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What a table is made from.

    Attributes:
        models: Profiles that can be predicted.
        off: Index among them of the first one without speculation.
        points: The grid of concurrency.
        goodputs: Of each profile at each point.
    """

    deployment: Deployment
    models: Sequence[ArmModel]
    off: int | None
    points: Sequence[float]
    goodputs: Sequence[Sequence[float]]
    margin: float
    z: float
    constants: Constants

    def handicap(self, lower: int, upper: int) -> float:
        """Return ln of what the lower profile must win by against the upper one."""
        if self.off is None or (lower == self.off) == (upper == self.off):
            return 0.0
        return math.log1p(self.margin) if upper == self.off else -math.log1p(self.margin)

    def leads(self, lower: int, upper: int) -> list[float]:
        """Return f of two profiles at each point."""
        handicap = self.handicap(lower, upper)
        pairs = zip(self.goodputs[lower], self.goodputs[upper], strict=True)
        return [math.log(one / other) - handicap for one, other in pairs]

    def leads_at(self, lower: int, upper: int, *, admitted: bool = True) -> Leads:
        """Return f of two profiles as a function of concurrencies."""
        one, other, handicap = self.models[lower], self.models[upper], self.handicap(lower, upper)

        def leads(concurrencies: Sequence[float]) -> list[float]:
            pairs = zip(
                one.goodputs(concurrencies, admitted=admitted),
                other.goodputs(concurrencies, admitted=admitted),
                strict=True,
            )
            return [math.log(this / that) - handicap for this, that in pairs]

        return leads

    def spread(self, one: int, other: int) -> float:
        """Return z·sd of ln of the ratio of two profiles."""
        arms = self.models[one].arm, self.models[other].arm
        return self.z * ratio_sd(self.deployment, *arms, self.constants)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Runs whose bands do not overlap, the edges between them, and who was merged away."""

    found: Envelope
    borders: tuple[Edges, ...]
    narrow: tuple[tuple[int, int], ...]


def goodput_table(
    deployment: Deployment,
    arms: Sequence[Arm],
    workload: Workload,
    *,
    margin: float = 0.03,
    z: float = 1.0,
    constants: Constants = CONSTANTS,
) -> CutoffTable | CannotSay:
    """Return the cut-off table that the cost model predicts, in requests in decode per engine.

    Args:
        deployment: The target.
        arms: Its profiles in a person's order, best 2 to 8; the first that does not speculate is
            the one to switch to when speculation stops paying.
        workload: The mean request.
        margin: Share by which a profile has to win.
        z: Width of the bands in standard deviations.
        constants: The constants of the formula.

    Returns:
        The table, or why nothing can be said of any profile.

    Raises:
        ValueError: When there is no profile, two have one name, or margin or z is not finite and
            at least 0.
    """
    _check(arms, margin, z)
    models = arm_models(deployment, arms, workload, constants)
    left_out = [each for each in models if isinstance(each, CannotSay)]
    known = [each for each in models if isinstance(each, ArmModel)]
    if not known:
        return left_out[0]
    known, aside = _trusted(deployment, known)
    points = grid(max(each.room.max_concurrency for each in known))
    task = _Task(
        deployment=deployment,
        models=known,
        off=next((i for i, each in enumerate(known) if not each.arm.method.speculates), None),
        points=points,
        goodputs=[each.goodputs(points) for each in known],
        margin=margin,
        z=z,
        constants=constants,
    )
    rows = _rows(task)
    doubted = _doubts(task, rows, left_out)
    left = (*(str(each) for each in left_out), *aside)
    return CutoffTable(
        tuple(_cutoff_rows(task, rows)),
        verdict=_verdict(task, rows, doubted=bool(doubted)),
        reasons=(*_reasons(task, rows, workload), *left, *doubted),
        doubts=tuple(doubted),
        curves=tuple(
            _curve(each, points, goodputs)
            for each, goodputs in zip(known, task.goodputs, strict=True)
        ),
    )


def _trusted(deployment: Deployment, known: Sequence[ArmModel]) -> tuple[list[ArmModel], list[str]]:
    """Return the profiles whose ranges may be acted on, and why the others are left out.

    What may not be acted on must not keep the rest from being acted on. Where none of those that
    speculate is beyond doubt, all stay, to recommend with.
    """
    none = next((each.arm for each in known if not each.arm.method.speculates), None)
    doubted = {
        each.arm.name: doubts(deployment, each.arm, none)
        for each in known
        if each.arm.method.speculates
    }
    if none is None or all(doubted.values()):
        return list(known), []
    trusted = [each for each in known if not doubted.get(each.arm.name)]
    return trusted, ["left out: " + why for found in doubted.values() for why in found]


def _check(arms: Sequence[Arm], margin: float, z: float) -> None:
    names = [each.name for each in arms]
    if not names:
        raise ValueError("a cut-off table needs at least one profile")
    if len(set(names)) != len(names):
        raise ValueError(f"two profiles have one name: {names}")
    for name, value in (("margin", margin), ("z", z)):
        if not (math.isfinite(value) and 0.0 <= value <= 10.0):
            raise ValueError(f"{name} is {value}: give 0 to 10")


def _rows(task: _Task) -> _Rows:
    """Return ranges that are wider than the bands between them."""
    alive = list(range(len(task.models)))
    narrow: list[tuple[int, int]] = []
    made: dict[tuple[int, int, int], Edges] = {}
    dense = task.deployment.model.experts is None
    while True:
        found = envelope(task.goodputs, alive, off=task.off, margin=task.margin, dense=dense)
        borders = tuple(_edges(task, *pair, made) for pair in pairwise(found.runs))
        overlap = next(
            (
                index
                for index in range(1, len(borders))
                if borders[index].low <= borders[index - 1].cutoff
            ),
            None,
        )
        if overlap is None:
            return _Rows(found, borders, tuple(narrow))
        pair = found.runs[overlap - 1].arm, found.runs[overlap].arm
        lost = _cheaper_to_lose(task, alive, pair)
        alive = [each for each in alive if each != lost]
        narrow.append((lost, pair[0] if lost == pair[1] else pair[1]))


def _cheaper_to_lose(task: _Task, alive: Sequence[int], pair: tuple[int, int]) -> int:
    """Return which of two neighbours costs less goodput when it is left out."""

    def without(lost: int) -> float:
        rows = [task.goodputs[each] for each in alive if each != lost]
        return math.fsum(math.log(max(values)) for values in zip(*rows, strict=True))

    speculating = [each for each in pair if each != task.off]
    return max(speculating, key=without)


def _edges(task: _Task, below: Run, above: Run, made: dict[tuple[int, int, int], Edges]) -> Edges:
    """Return the edges between two runs, from `made` where they stand there."""
    key = (below.arm, above.arm, below.last)
    if key not in made:
        made[key] = _new_edges(task, below, above)
    return made[key]


def _new_edges(task: _Task, below: Run, above: Run) -> Edges:
    leads_at = task.leads_at(below.arm, above.arm)
    leads = task.leads(below.arm, above.arm)
    spread = task.spread(below.arm, above.arm)
    found = edges(task.points, leads, below.last, leads_at, spread)
    if found.high is not None:
        return found
    beyond = _beyond(task, below.arm, above.arm, -spread)
    return Edges(cutoff=found.cutoff, low=found.low, high=beyond, sure_below=found.sure_below)


def _beyond(task: _Task, lower: int, upper: int, level: float) -> float | None:
    """Return where f would fall to a level if the engine admitted more requests."""
    farther = [task.points[-1] * each for each in BEYOND]
    leads = task.leads_at(lower, upper, admitted=False)(farther)
    pairs = zip(farther, leads, strict=True)
    return next((point for point, lead in pairs if lead <= level), None)


def _cutoff_rows(task: _Task, rows: _Rows) -> list[CutoffRow]:
    found = [
        CutoffRow(
            profile=task.models[run.arm].arm.name,
            up_to=border.cutoff,
            return_below=border.low,
            band=Band(cutoff=border.cutoff, low=border.low, high=border.high),
        )
        for run, border in zip(rows.found.runs, rows.borders, strict=False)
    ]
    return [*found, CutoffRow(profile=task.models[rows.found.runs[-1].arm].arm.name)]


def _verdict(task: _Task, rows: _Rows, *, doubted: bool) -> Verdict:
    if doubted:
        return Verdict.UNDECIDED
    only_off = len(rows.found.runs) == 1 and rows.found.runs[0].arm == task.off
    return Verdict.NO if only_off else Verdict.YES


def _doubts(task: _Task, rows: _Rows, left_out: Sequence[CannotSay]) -> list[str]:
    """Return why the table may be recommended only."""
    found: list[str] = []
    speculating = [run.arm for run in rows.found.runs if run.arm != task.off]
    none = task.models[task.off].arm if task.off is not None else None
    for index in speculating:
        found.extend(doubts(task.deployment, task.models[index].arm, none))
    if any(not each.impossible for each in left_out) and not speculating:
        found.append("a profile that cannot be predicted may be better than these")
    if none is None:
        found.append("no profile that can be predicted has method Disabled: add one")
    found.extend(_unsure(task, rows))
    return list(dict.fromkeys(found))


def _unsure(task: _Task, rows: _Rows) -> list[str]:
    """Return where the uncertainty is larger than what it is about."""
    found: list[str] = []
    if task.off is None:
        return found
    for run, border in zip(rows.found.runs, rows.borders, strict=False):
        name = task.models[run.arm].arm.name
        if not border.sure_below:
            found.append(words.never_sure(name))
        if border.high is None:
            found.append(words.flat(name))
    if not rows.borders:
        found.extend(_unsure_alone(task, rows.found.runs[0].arm))
    return [*found, *_losses(task, rows, task.off), *_only_when_busy(task, rows, task.off)]


def _losses(task: _Task, rows: _Rows, off: int) -> list[str]:
    """Return where a range that was given to one profile is a loss against none by the numbers.

    A profile has one range, so one that is best in two keeps the larger; what lies between them
    then goes to a neighbour, whatever it costs.
    """
    found = []
    for run in rows.found.runs:
        if run.arm == off:
            continue
        pairs = zip(task.goodputs[run.arm], task.goodputs[off], strict=True)
        ratios = [one / none for one, none in pairs][run.first : run.last + 1]
        worst = min(ratios)
        if worst < 1.0 - task.margin:
            at = task.points[run.first + ratios.index(worst)]
            found.append(words.loses(task.models[run.arm].arm.name, worst, at))
    return found


def _only_when_busy(task: _Task, rows: _Rows, off: int) -> list[str]:
    """Return which profiles would be switched on by load alone, and were not seen to pay there."""
    arms = [run.arm for run in rows.found.runs]
    after = arms[arms.index(off) + 1 :] if off in arms else []
    none = task.models[off].arm
    return [
        words.only_when_busy(task.models[each].arm.name)
        for each in after
        if not (none.calibration.seen and task.models[each].arm.calibration.seen)
    ]


def _unsure_alone(task: _Task, only: int) -> list[str]:
    """Return what is unsure about a table of one row."""
    off = task.off
    if off is None:
        return []
    if only == off:
        return [
            words.perhaps(model.arm.name)
            for index, model in enumerate(task.models)
            if model.arm.method.speculates
            and max(task.leads(index, off)) > -task.spread(index, off)
        ]
    name, spread = task.models[only].arm.name, task.spread(only, off)
    leads = task.leads(only, off)
    if max(leads) < spread:
        return [words.never_sure(name)]
    if min(leads) < spread and _beyond(task, only, off, -spread) is None:
        return [words.flat(name)]
    return []


def _reasons(task: _Task, rows: _Rows, workload: Workload) -> list[str]:
    found = [words.basis(task.deployment, workload, task.models)]
    runs = rows.found.runs
    for index, border in enumerate(rows.borders):
        lower, upper = runs[index].arm, runs[index + 1].arm
        quiet = task.goodputs[lower][0] / task.goodputs[upper][0]
        lead = math.exp(task.handicap(lower, upper))
        below, above = task.models[lower], task.models[upper]
        found.append(words.border(below, above, border, quiet=quiet, lead=lead))
    last = task.models[runs[-1].arm]
    none = task.models[task.off] if task.off is not None else None
    if none is not None:
        found.append(words.last_row(last, none, task.points, alone=len(runs) == 1))
    names = [each.arm.name for each in task.models]
    found.extend(words.narrow(names[lost], names[kept]) for lost, kept in rows.narrow)
    found.extend(
        words.torn(names[each], off=each == task.off) for each in dict.fromkeys(rows.found.torn)
    )
    merged = {lost for lost, _ in rows.narrow}
    beaten = [*rows.found.slight, *(each for each in rows.found.never if each not in merged)]
    found.extend(words.beaten(names[each], task.margin) for each in beaten if each != task.off)
    used = [task.models[run.arm].arm for run in runs]
    found.extend(unchecked(task.deployment, used))
    return found


def _curve(model: ArmModel, points: Sequence[float], goodputs: Sequence[float]) -> Curve:
    """Return a profile's goodput up to the most that it admits, never falling."""
    most = model.room.max_concurrency
    inside = bisect_left(points, most * (1.0 - 1e-9))
    # Above the most that is admitted goodput is flat, so the last point of the grid has it.
    speeds = accumulate((*goodputs[:inside], goodputs[-1]), max)
    return Curve(
        profile=model.arm.name,
        concurrency=(*points[:inside], most),
        tokens_per_second=tuple(speeds),
    )
