"""A comparison on a terminal and as one JSON object."""

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ridgeline.render.serving import lines_table
from ridgeline.render.simulation_words import cautions, drowns, lasting, seconds, summary
from ridgeline.sim.compare.play import Kind
from ridgeline.sim.compare.scores import Score, Simulated, rolls_of
from ridgeline.sim.compare.setup import Prepared

VERSION: Final = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""

COLUMNS: Final = (
    "strategy",
    "mean latency",
    "per token",
    "against today",
    "of the gain",
    "regret",
    "rolls",
    "most a day",
)


def simulation_page(simulated: Simulated) -> RenderableType:
    """Return the whole page."""
    table = Table(
        title=f"{simulated.case.subject}: strategies side by side",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    for index, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if index else "left", overflow="fold")
    for score in simulated.scores:
        style = "bold" if score == simulated.operator else ""
        table.add_row(*cells(score, simulated), style=style)
    return Group(
        lines_table("What is simulated", ("what", "value"), facts(simulated)),
        Text(),
        table,
        Text(),
        *(Text(each) for each in summary(simulated)),
        Text(),
        *(Text(f"note: {each}", style="dim") for each in cautions(simulated)),
    )


def facts(simulated: Simulated) -> tuple[tuple[str, str], ...]:
    """Return what is simulated, as name and text."""
    options, prepared, case = simulated.options, simulated.prepared, simulated.case
    requests = prepared.cutoff_demand / case.sizes.output
    flow = prepared.traffic.flow
    mean = float(flow.tokens_per_second.mean())
    return (
        *case.facts,
        ("fleet", f"{options.replicas} replicas, {options.surge or 'no'} spare for a roll"),
        (
            "requests",
            f"{case.sizes.prompt:.0f} prompt and {case.sizes.output:.0f} output tokens on average",
        ),
        (
            "cut-off, as believed",
            f"{prepared.cutoff:.0f} requests in decode per engine; the fleet reaches it at "
            f"{requests:.3g} requests/s ({prepared.cutoff_demand:.0f} tokens/s)",
        ),
        (
            "traffic",
            f"{lasting(prepared.traffic.seconds)}, "
            f"{mean / case.sizes.output:.3g} requests/s on average, "
            f"{mean / prepared.cutoff_demand:.2f} of the cut-off; "
            f"{float(flow.means(300.0).max(initial=mean)) / prepared.cutoff_demand:.2f} in the "
            "busiest five minutes",
        ),
        ("what the fleet carries", _carries(prepared)),
        ("seed", str(options.seed)),
    )


def _carries(prepared: Prepared) -> str:
    """Say how many tokens a second the fleet yields at most, and whether more are asked for."""
    fluid, flow = prepared.play.fluid, prepared.traffic.flow
    most = {name: fluid.replicas * float(max(speeds)) for name, speeds in fluid.speeds.items()}
    told = ", ".join(f"{value:.0f} on {name}" for name, value in most.items())
    busiest = float(flow.means(300.0).max(initial=0.0))
    least, highest = min(most.values()), max(most.values())
    if busiest <= least:
        return f"{told} (tokens/s)"
    whichever = "whatever the profile" if busiest > highest else "on some of them"
    return (
        f"{told} (tokens/s); {busiest:.0f} are asked for in the busiest five minutes, so that "
        f"requests queue then, {whichever}; to compare speeds alone take more --replicas or less "
        "--load"
    )


def cells(score: Score, simulated: Simulated) -> tuple[str, ...]:
    """Return a strategy's row, by `COLUMNS`."""
    if score.latency_seconds is None:
        return (score.name, "queue outgrows it", "", "", "", "", "", "")
    mark = ", queue grows" if drowns(score, simulated) else ""
    per_token = score.seconds_per_token
    regret = score.regret_request_hours
    return (
        score.name,
        seconds(score.latency_seconds) + mark,
        "" if per_token is None else seconds(per_token),
        "" if score.change is None else f"{100 * score.change:+.3g} %",
        _share(score.share_of_gain),
        "" if regret is None else f"{regret:,.0f} req·h",
        "" if score.rolls is None else str(score.rolls),
        "" if score.most_rolls_in_a_day is None else str(score.most_rolls_in_a_day),
    )


def _share(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share > -1 else "< −100 %"


def simulation_document(simulated: Simulated) -> dict[str, Any]:
    """Return everything that the page shows. `null` stands for what is not known."""
    options, prepared = simulated.options, simulated.prepared
    return {
        "version": VERSION,
        "subject": simulated.case.subject,
        "facts": dict(facts(simulated)),
        "seed": options.seed,
        "singleRequests": options.requests,
        "days": prepared.traffic.seconds / 86_400.0,
        "cutoffConcurrency": prepared.cutoff,
        "cutoffTokensPerSecond": prepared.cutoff_demand,
        "strategies": [_strategy(each, simulated) for each in simulated.scores],
        "summary": list(summary(simulated)),
        "cautions": list(cautions(simulated)),
    }


def _strategy(score: Score, simulated: Simulated) -> dict[str, Any]:
    outcome = next(each for each in simulated.outcomes if each.strategy.name == score.name)
    result = outcome.result
    return {
        "name": score.name,
        "kind": score.kind.value,
        "about": score.about,
        "runsToday": score.kind is Kind.STATIC and outcome.strategy.first == simulated.case.today,
        "meanLatencySeconds": score.latency_seconds,
        "secondsPerToken": score.seconds_per_token,
        "requests": score.requests,
        "changeAgainstToday": score.change,
        "shareOfHindsightGain": score.share_of_gain,
        "regretRequestHours": score.regret_request_hours,
        "rolls": [
            {"beginsSeconds": each.begins, "endsSeconds": each.ends, "to": each.profile}
            for each in (rolls_of(result) if result is not None else ())
        ],
        "mostRollsInADay": score.most_rolls_in_a_day,
        "rollingShare": score.rolling_share,
    }
