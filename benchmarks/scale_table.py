"""What benchmarks/scale.py tells: growth over sizes, the table of goals, the plot, the document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ridgeline.render.plots import Chart, Series

GOAL_CPU_SECONDS: Final = 1.0
GOAL_RATIO: Final = 3.0
GOAL_EXPONENT: Final = 1.05
GOAL_BYTES: Final = 25_000.0
GOAL_FIRST_DECISION_TICKS: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One size of the fleet; means over the ticks that were looked at.

    Attributes:
        servings: How many.
        replicas: Of each serving.
        ticks: How many ticks were looked at.
        cpu_seconds_per_tick: Of the operator's process, all threads.
        wall_seconds_per_tick: All phases of a tick, waiting for answers included.
        phase_seconds: The same by phase.
        bare_decoding_seconds_per_tick: CPU of decoding the same answers and doing nothing.
        decoder: Library that decoded them in the least time.
        queries_per_tick: Queries to Prometheus.
        bytes_read_per_tick: Of their answers, uncompressed.
        wire_bytes_per_tick: Of their answers, as they were sent.
        api_calls_per_tick: Calls to the API server, those for the Lease aside.
        writes_at_steady_state: Writes in all ticks together, those to the Lease aside.
        first_decision_ticks: From the operator's start to the last first status, in ticks.
        start_cpu_seconds: CPU from the operator's start to the last first status.
        peak_concurrent_requests: Most calls under way at a time, from the start on.
        throttled_requests: Calls that were answered with 429.
        resident_bytes: Of the operator at rest.
        peak_bytes: The most that it ever held.
        reasons: How many servings were at rest for which reason.
    """

    servings: int
    replicas: int
    ticks: int
    cpu_seconds_per_tick: float
    wall_seconds_per_tick: float
    phase_seconds: Mapping[str, float]
    bare_decoding_seconds_per_tick: float
    decoder: str
    queries_per_tick: float
    bytes_read_per_tick: float
    wire_bytes_per_tick: float
    api_calls_per_tick: float
    writes_at_steady_state: int
    first_decision_ticks: float
    start_cpu_seconds: float
    peak_concurrent_requests: int
    throttled_requests: int
    resident_bytes: int
    peak_bytes: int
    reasons: Mapping[str, int]

    @property
    def all_replicas(self) -> int:
        """Pods of all servings."""
        return self.servings * self.replicas

    @property
    def ratio_to_bare_decoding(self) -> float:
        """How many times as much a tick costs as decoding its answers."""
        return self.cpu_seconds_per_tick / self.bare_decoding_seconds_per_tick


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope of the line that fits points with the least squares.

    Raises:
        ValueError: There are no two different x.
    """
    middle_x, middle_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((each - middle_x) ** 2 for each in x)
    if spread == 0.0:
        raise ValueError("a slope needs points with two different x")
    both = ((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return math.fsum(both) / spread


def growth_exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent e of y ~ x^e: 1 is linear.

    Raises:
        ValueError: There are no two different x, or a number is not above 0.
    """
    return slope([math.log(each) for each in x], [math.log(each) for each in y])


def document(sizes: Sequence[Measured], surroundings: dict[str, Any]) -> dict[str, Any]:
    """Everything as JSON: numbers of the largest size and of the growth, then each size.

    Raises:
        ValueError: There are fewer than two sizes.
    """
    largest = sizes[-1]
    servings = [float(each.servings) for each in sizes]
    pods = [float(each.all_replicas) for each in sizes]
    cpu = [each.cpu_seconds_per_tick for each in sizes]
    held = [float(each.resident_bytes) for each in sizes]
    return {
        **asdict(largest),
        "ratio_to_bare_decoding": largest.ratio_to_bare_decoding,
        "growth_exponent": growth_exponent(servings, cpu),
        "bytes_per_replica": slope(pods, held),
        **surroundings,
        "sizes": [
            {**asdict(each), "ratio_to_bare_decoding": each.ratio_to_bare_decoding}
            for each in sizes
        ],
    }


def sizes_of(told: dict[str, Any]) -> tuple[Measured, ...]:
    """The sizes of a document."""
    fields = Measured.__dataclass_fields__
    return tuple(Measured(**{name: each[name] for name in fields}) for each in told["sizes"])


def goals(told: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, goal, measured, and whether it is met."""
    queries = sorted({each["queries_per_tick"] for each in told["sizes"]})
    constant = queries[-1] - queries[0] < 0.5
    return [
        _at_most("CPU per tick, s", told["cpu_seconds_per_tick"], GOAL_CPU_SECONDS, "{:.2f}"),
        _at_most(
            "÷ bare decoding of the same answers",
            told["ratio_to_bare_decoding"],
            GOAL_RATIO,
            "{:.1f}",
        ),
        _at_most("growth exponent", told["growth_exponent"], GOAL_EXPONENT, "{:.2f}"),
        _at_most(
            "memory per replica, kB", told["bytes_per_replica"] / 1e3, GOAL_BYTES / 1e3, "{:.1f}"
        ),
        (
            "queries per tick",
            "constant",
            f"{queries[0]:.1f} to {queries[-1]:.1f}",
            "met" if constant else "not met: they grow with the fleet",
        ),
        _at_most(
            "writes at rest, the Lease aside", float(told["writes_at_steady_state"]), 0.0, "{:.0f}"
        ),
        _at_most(
            "first decisions after the start, ticks",
            told["first_decision_ticks"],
            GOAL_FIRST_DECISION_TICKS,
            "{:.1f}",
        ),
    ]


def _at_most(what: str, value: float, goal: float, form: str) -> tuple[str, str, str, str]:
    if value <= goal:
        verdict = "met"
    elif goal:
        verdict = f"not met: {value / goal:.1f} × the goal"
    else:
        verdict = "not met"
    return what, f"≤ {goal:g}", form.format(value), verdict


def table(told: dict[str, Any]) -> str:
    """The table of goals, and the sizes below it, in Markdown."""
    rows = [
        "| | goal | measured | |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in goals(told)),
        "",
        "| servings | Pods | CPU s a tick | ÷ decoding | wall s a tick | queries | MB read | "
        "API calls | start, ticks | start, CPU s | calls at once | 429 | memory MB (peak) |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        *(_row(each) for each in sizes_of(told)),
    ]
    return "\n".join(rows)


def _row(each: Measured) -> str:
    cells = (
        f"{each.servings}",
        f"{each.all_replicas}",
        f"{each.cpu_seconds_per_tick:.2f}",
        f"{each.ratio_to_bare_decoding:.1f}",
        f"{each.wall_seconds_per_tick:.2f}",
        f"{each.queries_per_tick:.1f}",
        f"{each.bytes_read_per_tick / 1e6:.1f}",
        f"{each.api_calls_per_tick:.1f}",
        f"{each.first_decision_ticks:.1f}",
        f"{each.start_cpu_seconds:.1f}",
        f"{each.peak_concurrent_requests}",
        f"{each.throttled_requests}",
        f"{each.resident_bytes / 1e6:.0f} ({each.peak_bytes / 1e6:.0f})",
    )
    return f"| {' | '.join(cells)} |"


def chart(told: dict[str, Any]) -> Chart:
    """CPU of a tick by size, beside decoding alone and what the goal allows."""
    sizes = sizes_of(told)
    servings = [float(each.servings) for each in sizes]
    bare = [each.bare_decoding_seconds_per_tick for each in sizes]
    return Chart(
        title=f"A tick of the operator, {sizes[-1].replicas} replicas each",
        x_label="servings",
        y_label="CPU seconds per tick",
        series=[
            Series(
                name="the operator", x=servings, y=[each.cpu_seconds_per_tick for each in sizes]
            ),
            Series(name="decoding its answers alone", x=servings, y=bare, colour=1),
            Series(
                name=f"{GOAL_RATIO:g} × decoding",
                x=servings,
                y=[GOAL_RATIO * each for each in bare],
                colour=1,
                dashed=True,
            ),
        ],
        level=GOAL_CPU_SECONDS,
        logarithmic=False,
    )
