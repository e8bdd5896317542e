"""What a comparison comes to, in plain words."""

from collections.abc import Iterator
from typing import Final

from ridgeline.sim.compare.play import Kind
from ridgeline.sim.compare.scores import Score, Simulated

WORTH: Final = 0.03
"""A difference in mean latency that is worth speaking of."""

_DROWNED: Final = 10.0
"""A mean latency so many times the best one is that of a queue that does not end."""


def summary(simulated: Simulated) -> tuple[str, ...]:
    """Return the paragraphs that come first: what it comes to, and how."""
    operator, static, today = simulated.operator, simulated.better_static, simulated.today
    if operator is None or operator.latency_seconds is None:
        return (
            "With ridgeline the queue outgrows the simulation: the fleet cannot carry this load on "
            "any profile that it chose. Simulate more replicas, or less load.",
        )
    return tuple(
        each
        for each in (
            _headline(operator, static),
            _against_today(operator, today, static),
            _rolls(operator, simulated),
            _hindsight(operator, simulated),
            *_in_engine(operator, simulated),
        )
        if each
    )


def cautions(simulated: Simulated) -> tuple[str, ...]:
    """Return what limits the comparison."""
    options = simulated.options
    grain = (
        "Requests were simulated one by one."
        if options.requests
        else "Requests were simulated as a fluid: below capacity its mean latency is within a few "
        "per cent of that of single requests, near and above capacity it is too low."
    )
    return (
        *(each[:1].upper() + each[1:] + "." for each in simulated.case.cautions),
        grain,
        "The operator learns nothing on the way here: real telemetry would correct a wrong "
        "acceptance or step time within hours.",
        "Canaries and trials are rolled as a whole, and nothing fails.",
    )


def drowns(score: Score, simulated: Simulated) -> bool:
    """Tell whether a strategy's queue does not end."""
    best = simulated.hindsight
    if score.latency_seconds is None:
        return True
    if best is None or best.latency_seconds is None:
        return False
    return score.latency_seconds > _DROWNED * best.latency_seconds


def seconds(value: float) -> str:
    """Return a time with three digits."""
    if value >= 7200:
        return f"{value / 3600:.3g} h"
    if value >= 600:
        return f"{value / 60:.0f} min"
    if value >= 100:
        return f"{value:.0f} s"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def lasting(length: float) -> str:
    """Return a length of time as a person says it."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0)):
        if length >= 1.5 * size:
            return f"{length / size:.3g} {unit}"
    return f"{length / 60:.3g} minutes"


def _headline(operator: Score, static: Score | None) -> str:
    own = operator.latency_seconds or 0.0
    told = f"With ridgeline a request takes {seconds(own)} on average, from arrival to its end."
    if static is None or static.latency_seconds is None:
        return f"{told} No fixed choice carries this load."
    change = own / static.latency_seconds - 1.0
    if change <= -WORTH:
        return (
            f"ridgeline pays here: a request takes {seconds(own)} on average, {_percent(-change)} "
            f"less than with the best fixed choice ({static.name}: "
            f"{seconds(static.latency_seconds)})."
        )
    if change < WORTH:
        return (
            f"ridgeline changes little here: a request takes {seconds(own)} on average, and "
            f"{seconds(static.latency_seconds)} with the best fixed choice ({static.name})."
        )
    return (
        f"ridgeline loses here: a request takes {seconds(own)} on average, {_percent(change)} more "
        f"than with the best fixed choice ({static.name}: {seconds(static.latency_seconds)}). "
        "Where that choice is known beforehand, keep it."
    )


def _against_today(operator: Score, today: Score | None, static: Score | None) -> str:
    if today is None or (static is not None and today.name == static.name):
        return "What runs today is the best fixed choice." if today is not None else ""
    if today.latency_seconds is None or operator.latency_seconds is None:
        return f"What runs today ({today.name}) does not carry this load: its queue does not end."
    ratio = today.latency_seconds / operator.latency_seconds
    if ratio > _DROWNED:
        return (
            f"What runs today ({today.name}) does not carry this load: requests wait "
            f"{seconds(today.latency_seconds)} on average."
        )
    word = "less" if ratio > 1 else "more"
    return (
        f"Against what runs today ({today.name}: {seconds(today.latency_seconds)}) that is "
        f"{_percent(abs(1.0 / ratio - 1.0))} {word}."
    )


def _rolls(operator: Score, simulated: Simulated) -> str:
    span = lasting(simulated.prepared.traffic.seconds)
    if not operator.rolls:
        return f"In {span} it rolled the fleet not once."
    times = "once" if operator.rolls == 1 else f"{operator.rolls} times"
    return (
        f"In {span} it rolled the fleet {times}, at most "
        f"{operator.most_rolls_in_a_day} in 24 hours; a roll was under way "
        f"{_percent(operator.rolling_share or 0.0)} of the time."
    )


def _hindsight(operator: Score, simulated: Simulated) -> str:
    best = simulated.hindsight
    if best is None or best.latency_seconds is None:
        return ""
    if operator.share_of_gain is None:
        return (
            "Even with the whole traffic known beforehand, no roll would have gained much "
            "over the best fixed choice."
        )
    share = operator.share_of_gain
    has = (
        f"ridgeline has {_percent(share)} of that gain over the best fixed choice"
        if share > 0
        else "ridgeline has none of that gain"
    )
    return (
        f"With the whole traffic known beforehand it could have been "
        f"{seconds(best.latency_seconds)}: {has}."
    )


def _in_engine(operator: Score, simulated: Simulated) -> Iterator[str]:
    known = [each for each in simulated.scores if each.kind is Kind.SCHEDULE]
    served = [each for each in known if each.latency_seconds is not None]
    best = min(served, key=lambda each: each.latency_seconds or 0.0, default=None)
    own = operator.latency_seconds
    if best is None or best.latency_seconds is None or own is None:
        return
    if best.latency_seconds < (1.0 - WORTH) * own:
        yield (
            f"An in-engine schedule does better than any roll between these profiles "
            f"({best.name}: {seconds(best.latency_seconds)}): give it to the profile, if your vLLM "
            "has it (0.24 or newer), and let ridgeline roll between that and none."
        )


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"
