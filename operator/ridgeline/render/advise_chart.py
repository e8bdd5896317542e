"""Advice as charts: speed-up by concurrency, by context, and cost by load."""

from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.cutoff_chart import speedup_chart
from ridgeline.render.cutoff_report import Predicted, ProfileReport
from ridgeline.render.plots import Chart, Mark, Series


def advice_charts(report: AdviceReport, told: Predicted) -> tuple[Chart, ...]:
    """Return the charts, the most telling one first.

    Args:
        report: What is shown.
        told: Its predictions, with something to draw.
    """
    found = [speedup_chart(report.cutoff, told)]
    by_context = context_chart(report, told)
    found += [each for each in (by_context, cost_chart(report)) if each is not None]
    return tuple(found)


def context_chart(report: AdviceReport, told: Predicted) -> Chart | None:
    """Return the speed-up of the best profile at each length of context; `None` without others."""
    best = _best(told)
    if best is None or not report.contexts:
        return None
    everything = sorted((told, *report.contexts), key=lambda each: each.workload.context_tokens)
    series = []
    for index, each in enumerate(everything):
        profile = next((one for one in each.profiles if one.arm.name == best.arm.name), None)
        if profile is not None and profile.curve:
            series.append(
                Series(
                    name=f"{each.workload.context_tokens:.0f} tokens",
                    x=[point.concurrency for point in profile.curve],
                    y=[point.speedup for point in profile.curve],
                    colour=index,
                )
            )
    return Chart(
        title=f"{best.arm.name} by length of context",
        x_label="requests in decode per engine",
        y_label=f"tokens per second, relative to {told.baseline}",
        series=series,
        level=1.0,
    )


def _best(told: Predicted) -> ProfileReport | None:
    drawn = [each for each in told.profiles if each.arm.method.speculates and each.curve]
    return max(drawn, key=lambda each: each.curve[0].speedup, default=None)


def cost_chart(report: AdviceReport) -> Chart | None:
    """Return the cost of a million tokens by load; `None` without a price."""
    if not report.cost_curves:
        return None
    demand = report.asked.demand
    marks = []
    if demand is not None:
        marks = [Mark(x=demand.tokens_per_second, label="your load", colour=6)]
    return Chart(
        title="Cost of a million output tokens, as predicted",
        x_label="output tokens per second of all replicas",
        y_label="cost, in the currency of the price",
        series=[
            Series(name=each.profile, x=each.loads, y=each.costs, colour=index)
            for index, each in enumerate(report.cost_curves)
        ],
        marks=marks,
        both_logarithmic=True,
    )
