"""What `kubectl ridgeline explain` prints: the render room's tables, one under the other."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain_fact import Fact
from ridgeline.controller.explain_facts import REPLICA
from ridgeline.controller.explain_profiles import COLUMNS
from ridgeline.policy.wording import duration, number
from ridgeline.render.serving import lines_table, serving_page
from ridgeline.render.standing import Standing, standing_rows
from ridgeline.settings.explain import ROLLOUT
from ridgeline.terms.times import epoch_seconds


def explanation_page(explanation: Explanation, *, wide: bool = False) -> RenderableType:
    """Return the whole page; a wide one has more settings, every load, and what is remembered."""
    serving = explanation.serving
    parts: list[RenderableType] = [
        serving_page(f"{serving.namespace}/{serving.name}", serving.status, explanation.events)
    ]
    if explanation.trouble is not None:
        parts += (Text(), Text(f"spec: {explanation.trouble}", style="red"))
        return Group(*parts, *_cause(explanation))
    parts += (*_standing(explanation), Text(), _facts(explanation, wide=wide))
    parts += (
        Text(),
        _settings(explanation, wide=wide),
        Text(),
    )
    if explanation.basis:
        parts.append(lines_table("What the cut-offs rest on", ("what", "value"), explanation.basis))
    if explanation.profiles:
        parts += (Text(), lines_table(_at(explanation), COLUMNS, explanation.profiles))
    if wide:
        parts += _more(explanation)
    if explanation.notes:
        parts += (Text(), lines_table("Also to know", ("about", "what"), explanation.notes))
    for each in explanation.checks:
        rows = [(check.name, check.answer.value, check.why) for check in each.checks]
        title = f"Would speculation help? ({each.profile})"
        parts += (Text(), lines_table(title, ("check", "answer", "why"), rows))
    parts += _cause(explanation)
    parts += (Text(), Text(_decision_title(explanation), style="bold"))
    parts += (Text(line) for line in explanation.decision)
    return Group(*parts, *_without(explanation))


def _settings(explanation: Explanation, *, wide: bool) -> RenderableType:
    shown = [row for row in explanation.settings if wide or not row[0].startswith(ROLLOUT)]
    return lines_table("Settings", ("field", "value", "from"), shown)


def _more(explanation: Explanation) -> Iterator[RenderableType]:
    """Give what a wide page has beyond the usual one."""
    if explanation.ladder:
        title, *rows = explanation.ladder
        about = "Speed-up by requests in decode per engine"
        yield from (Text(), lines_table(about, title, rows))
    if explanation.asked:
        asked = [(name, " ".join(promql.split())) for name, promql in explanation.asked]
        yield from (Text(), lines_table("Asked of Prometheus", ("signal", "PromQL"), asked))
    conditions = _condition_ages(explanation)
    if conditions:
        columns = ("type", "status", "reason", "age")
        table = lines_table("Conditions, and how old they are", columns, conditions)
        yield from (Text(), table)
    remembered = _fact_rows(explanation.remembered)
    if explanation.live is not None:
        table = lines_table("What the operator remembers", ("what", "value", "age"), remembered)
        yield from (Text(), table)
    else:
        yield from (Text(), Text(f"What the operator remembers: {_UNASKED}"))


_UNASKED: Final = "not known without its own answer"


def _condition_ages(explanation: Explanation) -> list[tuple[str, ...]]:
    """Return how long each condition has been as it is; none without a moment to count from."""
    at = explanation.looked_at
    found: list[tuple[str, ...]] = []
    for each in explanation.serving.status.get("conditions") or ():
        since = each.get("lastTransitionTime")
        if at is not None and isinstance(since, str):
            age = duration(max(0.0, at - epoch_seconds(since)))
            found.append((*(str(each.get(key)) for key in ("type", "status", "reason")), age))
    return found


def _decision_title(explanation: Explanation) -> str:
    live = explanation.live
    if live is None or not explanation.live_counts:
        return "A decision now"
    return f"The operator's decision, {duration(live.age_seconds)} ago, as {live.who} tells it"


def _without(explanation: Explanation) -> tuple[RenderableType, ...]:
    """Say in one line what the look went without, and why."""
    if explanation.live is not None and not explanation.live_counts:
        told = f"{explanation.live.who} answers, and not about the serving as it is now"
    elif explanation.without is not None:
        told = explanation.without
    else:
        return ()
    return (Text(), Text(f"Without the operator's own answer: {told}", style="yellow"))


def _cause(explanation: Explanation) -> tuple[RenderableType, ...]:
    cause = explanation.cause
    if cause is None:
        return ()
    title = Text(f"The cause ({cause.reason}, as {cause.known_by} tells it)", style="bold")
    return (Text(), title, Text(cause.message))


def _standing(explanation: Explanation) -> tuple[RenderableType, ...]:
    rows = standing_rows(explanation.table)
    if not rows:
        return ()
    active = explanation.serving.status.get("activeProfile")
    standing = Standing(rows=rows, here=explanation.concurrency, active=active)
    return (Text(), standing)


def _facts(explanation: Explanation, *, wide: bool) -> RenderableType:
    rows = _fact_rows(explanation.facts)
    if not wide:
        rows = _without_many(rows)
    return lines_table("Facts, and how old they are", ("what", "value", "age"), rows)


def _without_many(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows with the first replicas alone, and how many more a wide page has."""
    replicas = [index for index, row in enumerate(rows) if row[0].startswith(REPLICA)]
    left_out = set(replicas[_REPLICAS:])
    shown = [row for index, row in enumerate(rows) if index not in left_out]
    if left_out:
        more = ("and more", f"{len(left_out)} replicas: -o wide tells each", "")
        shown.insert(replicas[_REPLICAS], more)
    return shown


_REPLICAS: Final = 20
"""Replicas that the usual page tells one by one."""


def _fact_rows(facts: tuple[Fact, ...]) -> list[tuple[str, str, str]]:
    return [
        (each.what, each.value, "" if each.age_seconds is None else duration(each.age_seconds))
        for each in facts
    ]


def _at(explanation: Explanation) -> str:
    at = number(explanation.concurrency or 0.0)
    return f"Each profile at the present {at} requests in decode per engine"
