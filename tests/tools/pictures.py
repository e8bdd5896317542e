"""Draw the pictures of the page about the cost model, from the cost model.

python -m tests.tools.pictures [FOLDER]

They are written to docs/images unless a folder is named. What is drawn follows from the code and
the catalogues alone: the same code draws the same bytes on the same machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.render.cutoff_report import predicted
from ridgeline.render.plots import Chart, Mark, Series, svg
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from tests.tools.picture_facts import (
    CHAT,
    LLAMA_8B,
    LLAMA_70B,
    NONE,
    QWEN_8B,
    STEP_MILLISECONDS,
    CannotDrawError,
    arm_of,
    evenly,
    fixture_model,
    head_of,
    models_of,
    table_of,
    target_of,
)

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "images"


@dataclass(frozen=True)
class Border:
    """Where speculation stops paying on one target at one context.

    Attributes:
        context: Tokens.
        cutoff: Requests per engine; `None` where it pays up to the most that is admitted.
        admitted: Most requests that are admitted on the profile that speculates.
    """

    context: float
    cutoff: float | None
    admitted: float


def speedup_chart() -> Chart:
    """The speed-up of one profile on two GPUs, with bands and cut-offs."""
    series, marks = [], []
    for colour, (gpu, name) in enumerate((("h100-sxm", "H100"), ("a100-sxm-80gb", "A100"))):
        target = target_of(gpu, LLAMA_8B, max_num_seqs=256)
        arms = (head_of(LLAMA_8B), NONE)
        curve = predicted(target, arms, CHAT).profiles[0].curve
        series.append(
            Series(
                name=name,
                x=[each.concurrency for each in curve],
                y=[each.speedup for each in curve],
                low=[each.low for each in curve],
                high=[each.high for each in curve],
                colour=colour,
            )
        )
        row = table_of(target, arms, CHAT).rows[0]
        marks.append(Mark(x=row.up_to, label=f"cut-off: {row.up_to:.0f}", colour=colour))
    return Chart(
        title="Llama 3.1 8B, EAGLE-3 with K = 3, E[L] = 2.2, contexts of 500 tokens",
        x_label="requests in decode per engine",
        y_label="speed-up over none",
        series=series,
        marks=marks,
        level=1.0,
    )


def borders(arm: Arm, contexts: Sequence[float]) -> list[Border]:
    """Return the cut-off of a profile of Qwen3 8B on H100 by context."""
    target = target_of("h100-sxm", QWEN_8B)
    found = []
    for context in contexts:
        table = table_of(target, (arm, NONE), Workload(context_tokens=context))
        row = _row(table, arm.name)
        curve = table.curve(arm.name)
        most = curve.concurrency[-1] if curve is not None else 0.0
        found.append(Border(context=context, cutoff=row.up_to if row else None, admitted=most))
    return found


def _row(table: CutoffTable, profile: str) -> CutoffRow | None:
    index = table.index_of(profile)
    return None if index is None else table.rows[index]


def qwen_draft() -> Arm:
    """A profile whose draft model has a KV cache nearly as large as its target's."""
    rates = rates_from_length(2.6, 4)
    return arm_of("draft", Method.DRAFT_MODEL, QWEN_8B, 4, rates, "Qwen3-0.6B")


def context_chart() -> Chart:
    """The cut-off by context of a head and of a draft model."""
    contexts = evenly(100, 8000, 34)
    named = (
        ("EAGLE-3 head, K = 3", head_of(QWEN_8B)),
        ("draft model Qwen3 0.6B, K = 4", qwen_draft()),
    )
    series = []
    for colour, (name, arm) in enumerate(named):
        found = [each for each in borders(arm, contexts) if each.cutoff is not None]
        series.append(
            Series(
                name=f"cut-off, {name}",
                x=[each.context for each in found],
                y=[each.cutoff or 0.0 for each in found],
                colour=colour,
            )
        )
    room = borders(head_of(QWEN_8B), contexts)
    series.append(
        Series(
            name="requests that the GPU has room for, head",
            x=[each.context for each in room],
            y=[each.admitted for each in room],
            colour=6,
            dashed=True,
        )
    )
    return Chart(
        title="Qwen3 8B on one H100: where speculation stops paying, by context",
        x_label="mean context of a request, tokens",
        y_label="requests in decode per engine",
        series=series,
        both_logarithmic=True,
    )


@dataclass(frozen=True)
class Case:
    """A target and a profile of the picture about the three numbers."""

    name: str
    deployment: Deployment
    arm: Arm

    @property
    def cutoff_tokens(self) -> float:
        """Tokens per step at the cut-off."""
        row = table_of(self.deployment, (self.arm, NONE), CHAT).rows[0]
        if row.up_to is None:
            raise CannotDrawError(f"{self.name} has no cut-off")
        return row.up_to * (self.arm.lookahead + 1)


def knee_cases() -> tuple[Case, ...]:
    """Profiles on H100 whose break-evens lie far apart."""
    return (
        Case("8B, good head", target_of("h100-sxm", LLAMA_8B), head_of(LLAMA_8B)),
        Case("70B over four, good head", target_of("h100-sxm", LLAMA_70B, 4), head_of(LLAMA_70B)),
        Case(
            "8B, weak head (E[L] = 1.6)",
            target_of("h100-sxm", LLAMA_8B),
            head_of(LLAMA_8B, length=1.6),
        ),
    )


def knee_chart() -> Chart:
    """The knee, the published advice and break-even, on one axis of tokens per step."""
    tokens = evenly(4, 1200)
    series = [
        Series(
            name=each.name,
            x=tokens,
            y=_speedups(each, [count / (each.arm.lookahead + 1) for count in tokens]),
            colour=colour,
        )
        for colour, each in enumerate(knee_cases())
    ]
    marks = [
        Mark(
            x=each.cutoff_tokens,
            label=f"cut-off: {each.cutoff_tokens:.0f}",
            colour=colour,
            before=colour > 0,
        )
        for colour, each in enumerate(knee_cases())
    ]
    knee = target_of("h100-sxm", LLAMA_8B).accelerator.knee_tokens(Precision.BF16)
    return Chart(
        title="H100, K = 3, contexts of 500 tokens: three numbers that are not the same",
        x_label="tokens per step: requests × (K + 1)",
        y_label="speed-up over none",
        series=series,
        marks=[
            *marks,
            Mark(x=None, label="advice: 120 to 160", low=120.0, high=160.0, colour=3),
            Mark(x=knee, label=f"knee: {knee:.0f}", colour=6),
        ],
        level=1.0,
    )


def _speedups(case: Case, concurrencies: Sequence[float]) -> list[float]:
    one, none = models_of(case.deployment, (case.arm, NONE), CHAT)
    pairs = zip(one.goodputs(concurrencies), none.goodputs(concurrencies), strict=True)
    return [with_it / without for with_it, without in pairs]


def fixture_chart() -> Chart:
    """Published step times and the predicted ones."""
    batches = evenly(1, 256)
    series: list[Series] = []
    for colour, (lookahead, measured) in enumerate(STEP_MILLISECONDS.items()):
        model = fixture_model(lookahead)
        name = "none" if lookahead == 0 else f"K = {lookahead}"
        lines = [model.seconds(each) * 1e3 for each in batches]
        series.append(Series(name=name, x=batches, y=lines, colour=colour))
        points = list(measured.values())
        series.append(Series(name="", x=list(measured), y=points, colour=colour, points=True))
    return Chart(
        title="Llama 3.1 8B with EAGLE on H100: predicted (lines), published (points)",
        x_label="requests in decode",
        y_label="milliseconds per step",
        series=series,
        both_logarithmic=True,
    )


def step_chart() -> Chart:
    """The parts of a step that speculates, by concurrency."""
    (model, _) = models_of(target_of("h100-sxm", LLAMA_8B), (head_of(LLAMA_8B), NONE), CHAT)
    places = evenly(1, 256)
    parts = [model.step.parts(each) for each in places]
    named: tuple[tuple[str, list[float]], ...] = (
        ("reading weights", [each.memory for each in parts]),
        ("arithmetic beyond that", [each.compute for each in parts]),
        ("reading KV caches", [each.kv for each in parts]),
        ("drafting", [each.draft for each in parts]),
        ("host", [each.host for each in parts]),
        ("above the captured size", [each.eager for each in parts]),
    )
    return Chart(
        title="Llama 3.1 8B on H100, EAGLE-3 with K = 3: what a step is made of",
        x_label="requests in decode per engine",
        y_label="predicted milliseconds per step",
        series=[
            Series(name=name, x=places, y=[each * 1e3 for each in values], colour=colour)
            for colour, (name, values) in enumerate(named)
        ],
        stacked=True,
    )


GOODPUT_MOST: Final = 384
"""Requests that the engine of the picture about the table admits."""


def goodput_arms() -> tuple[Arm, ...]:
    """The profiles of the picture about the table: more drafts when it is quiet."""
    rates = (0.66, 0.44, 0.29, 0.19, 0.12)
    return (
        arm_of("eagle3, K = 5", Method.EAGLE3, LLAMA_8B, 5, rates),
        arm_of("eagle3, K = 1", Method.EAGLE3, LLAMA_8B, 1, rates[:1]),
        NONE,
    )


def goodput_chart() -> Chart:
    """The goodput of several profiles, with the cut-offs between them."""
    target = target_of("h100-sxm", LLAMA_8B, max_num_seqs=GOODPUT_MOST)
    arms = goodput_arms()
    models = models_of(target, arms, CHAT)
    places = evenly(1, GOODPUT_MOST)
    most = models[-1].goodput(GOODPUT_MOST)
    table = table_of(target, arms, CHAT)
    names = [each.name for each in arms]
    marks = [
        Mark(
            x=row.up_to,
            label=f"cut-off: {row.up_to:.0f}",
            low=row.band.low,
            high=row.band.high,
            colour=names.index(row.profile),
        )
        for row in table.rows
        if row.up_to is not None and row.band is not None
    ]
    return Chart(
        title="Llama 3.1 8B on H100: the best profile by concurrency",
        x_label="requests in decode per engine",
        y_label=f"tokens per second, none at {GOODPUT_MOST} = 1",
        series=[
            Series(
                name=each.arm.name,
                x=places,
                y=[rate / most for rate in each.goodputs(places)],
                colour=colour,
            )
            for colour, each in enumerate(models)
        ],
        marks=marks,
        logarithmic=False,
    )


CHARTS: Final[Mapping[str, Callable[[], Chart]]] = {
    "cost-model-step.svg": step_chart,
    "cost-model-goodput.svg": goodput_chart,
    "cost-model-speedup.svg": speedup_chart,
    "cost-model-context.svg": context_chart,
    "cost-model-fixture.svg": fixture_chart,
    "cost-model-knee.svg": knee_chart,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw every picture and return the exit status."""
    return drawn_by("python -m tests.tools.pictures", CHARTS, arguments)


def drawn_by(
    program: str, charts: Mapping[str, Callable[[], Chart]], arguments: Sequence[str] | None
) -> int:
    """Draw charts into the folder that the arguments name, and return the exit status."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        (folder / name).write_text(svg(chart()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
