"""A serving's status as tables for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Document = Mapping[str, Any]

_STYLES = {"True": "green", "False": "red", "Unknown": "yellow"}
_GOOD_WHEN_FALSE = frozenset({"Suspended", "Stalled", "Reconciling"})


def serving_page(name: str, status: Document, events: Sequence[Document]) -> RenderableType:
    """Return what `explain` shows of a serving."""
    if not status:
        return Text(f"{name} has no status yet: is the operator running, and does it watch here?")
    learned = status.get("learned")
    return Group(
        _head(name, status),
        Text(),
        _cutoffs(status),
        Text(),
        *((_learned(learned), Text()) if learned else ()),
        _conditions(status),
        Text(),
        _history(status),
        Text(),
        _events(events),
    )


def lines_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> RenderableType:
    """Return a table of plain lines."""
    table = _table(title, *columns)
    for row in rows:
        table.add_row(*row)
    return table


def _head(name: str, status: Document) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    decision = status.get("lastDecision") or {}
    for label, value in (
        ("serving", name),
        ("active profile", status.get("activeProfile", "unknown")),
        ("desired profile", status.get("desiredProfile", "unknown")),
        ("recommended profile", status.get("recommendedProfile", "cannot tell")),
        ("decision", f"{decision.get('reason', 'none yet')} since {decision.get('time', '-')}"),
        ("because", decision.get("message", "-")),
    ):
        grid.add_row(Text(label, style="bold"), Text(str(value)))
    return grid


def _cutoffs(status: Document) -> RenderableType:
    rows = status.get("cutoffTable") or ()
    columns = [("profile", "profile"), ("up to", "upToConcurrency")]
    columns.append(("back below", "returnBelowConcurrency"))
    if any("actAtConcurrency" in row for row in rows):
        columns.append(("acts at", "actAtConcurrency"))
    table = _table(
        "Cut-offs (requests in decode per engine)",
        *(title for title, _ in columns),
        "predicted within",
    )
    for row in rows:
        shown = {"upToConcurrency": "and above", **row}
        table.add_row(*(str(shown.get(key, "")) for _, key in columns), _band(row))
    return table


def _band(row: Document) -> str:
    """Return where the true cut-off may lie; empty where nothing was predicted."""
    if "bandLow" not in row:
        return ""
    return (
        f"{row['bandLow']} to {row['bandHigh']}" if "bandHigh" in row else f"from {row['bandLow']}"
    )


def _learned(learned: Document) -> RenderableType:
    """Return what telemetry taught of the profiles, and of the requests."""
    table = _table(
        f"Learned from telemetry ({learned.get('basis', 'basis not known')})",
        *("what", "accepted up to each position", "request-steps that drafted"),
        *("step time", "windows"),
    )
    table.add_row(_requests(learned), "", "", "", "")
    for each in learned.get("profiles") or ():
        rates, drafted = each.get("acceptancePercent") or (), each.get("draftedPercent")
        table.add_row(
            str(each["profile"]),
            ", ".join(f"{rate} %" for rate in rates),
            "" if drafted is None else f"{drafted} %",
            f"{each['stepTimePercent']} % of predicted" if each.get("windows") else "not seen",
            str(each.get("windows", 0)),
        )
    return table


def _requests(learned: Document) -> str:
    context, prefill = learned.get("contextTokens"), learned.get("prefillPercent")
    told = "context not known" if context is None else f"context of {context} tokens"
    return told if prefill is None else f"{told}, {prefill} prompt tokens per 100 answered"


def _conditions(status: Document) -> RenderableType:
    table = _table("Conditions", "type", "status", "reason", "since", "message")
    for each in status.get("conditions") or ():
        shown = each["status"]
        if each["type"] in _GOOD_WHEN_FALSE:
            shown = {"True": "False", "False": "True"}.get(shown, shown)
        table.add_row(
            each["type"],
            Text(each["status"], style=_STYLES.get(shown, "")),
            each["reason"],
            each["lastTransitionTime"],
            each["message"],
        )
    return table


def _history(status: Document) -> RenderableType:
    table = _table("Switches", "decided", "ended", "from", "to", "reason")
    for each in status.get("switchHistory") or ():
        table.add_row(
            each["startTime"],
            each.get("finishTime", "running"),
            each.get("from", "unknown"),
            each["to"],
            each["reason"],
        )
    return table


def _events(events: Sequence[Document]) -> RenderableType:
    table = _table("Events", "time", "type", "reason", "note")
    for each in events:
        table.add_row(
            str(each.get("eventTime", ""))[:19],
            str(each.get("type", "")),
            str(each.get("reason", "")),
            str(each.get("note", "")),
        )
    return table


class _PlainTable(Table):
    """A table whose cells are words from outside: `[name]` in a message is no style."""

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """Add a row; texts are shown as they are."""
        super().add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), **how)


def _table(title: str, *columns: str) -> Table:
    table = _PlainTable(
        title=Text(title), title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
