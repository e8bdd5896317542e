"""What `kubectl ridgeline explain` prints: the render room's tables, one under the other."""

from rich.console import Group, RenderableType
from rich.text import Text

from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain_profiles import COLUMNS
from ridgeline.policy.wording import duration, number
from ridgeline.render.serving import lines_table, serving_page
from ridgeline.render.standing import Standing, standing_rows


def explanation_page(explanation: Explanation) -> RenderableType:
    """Return the whole page."""
    serving = explanation.serving
    parts: list[RenderableType] = [
        serving_page(f"{serving.namespace}/{serving.name}", serving.status, explanation.events)
    ]
    if explanation.trouble is not None:
        return Group(*parts, Text(), Text(f"spec: {explanation.trouble}", style="red"))
    parts += (*_standing(explanation), Text(), _facts(explanation))
    parts += (
        Text(),
        lines_table("Settings", ("field", "value", "from"), explanation.settings),
        Text(),
    )
    if explanation.basis:
        parts.append(lines_table("What the cut-offs rest on", ("what", "value"), explanation.basis))
    if explanation.profiles:
        parts += (Text(), lines_table(_at(explanation), COLUMNS, explanation.profiles))
    if explanation.notes:
        parts += (Text(), lines_table("Also to know", ("about", "what"), explanation.notes))
    for each in explanation.checks:
        rows = [(check.name, check.answer.value, check.why) for check in each.checks]
        title = f"Would speculation help? ({each.profile})"
        parts += (Text(), lines_table(title, ("check", "answer", "why"), rows))
    parts += (*_cause(explanation), Text(), Text("A decision now", style="bold"))
    parts += (Text(line) for line in explanation.decision)
    return Group(*parts)


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


def _facts(explanation: Explanation) -> RenderableType:
    rows = [
        (each.what, each.value, "" if each.age_seconds is None else duration(each.age_seconds))
        for each in explanation.facts
    ]
    return lines_table("Facts, and how old they are", ("what", "value", "age"), rows)


def _at(explanation: Explanation) -> str:
    at = number(explanation.concurrency or 0.0)
    return f"Each profile at the present {at} requests in decode per engine"
