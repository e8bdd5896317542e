"""Many servings as one table, one row each, and as documents for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ridgeline.render.duration import ago

Document = Mapping[str, Any]

_COLUMNS: Final = (
    ("namespace", "namespace"),
    ("serving", "serving"),
    ("profile", "activeProfile"),
    ("wanted", "desiredProfile"),
    ("cut-off", "cutoff"),
    ("acts at", "actAt"),
    ("reason", "reason"),
    ("since", "since"),
)
_WIDE: Final = (
    ("target", "target"),
    ("recommended", "recommendedProfile"),
    ("mode", "mode"),
    ("accelerator", "accelerator"),
    ("switches", "switches"),
    ("message", "message"),
)


def serving_document(namespace: str, name: str, spec: Document, status: Document) -> Document:
    """Return what a program wants to know of a serving: names as in its status, nothing unset."""
    decision, rows = status.get("lastDecision") or {}, status.get("cutoffTable") or ()
    first = rows[0] if rows else {}
    found = {
        "namespace": namespace,
        "serving": name,
        "target": (spec.get("targetRef") or {}).get("name"),
        "mode": spec.get("mode"),
        "suspended": spec.get("suspend") is True,
        "activeProfile": status.get("activeProfile"),
        "desiredProfile": status.get("desiredProfile"),
        "recommendedProfile": status.get("recommendedProfile"),
        "cutoff": first.get("upToConcurrency"),
        "actAt": first.get("actAtConcurrency"),
        "reason": decision.get("reason"),
        "since": decision.get("time"),
        "message": decision.get("message"),
        "accelerator": (status.get("accelerator") or {}).get("name"),
        "switches": len(status.get("switchHistory") or ()),
        "ready": _condition(status, "Ready"),
        "stalled": _condition(status, "Stalled") == "True",
        "rolling": _condition(status, "Reconciling") == "True",
    }
    return {key: value for key, value in found.items() if value is not None}


def servings_table(documents: Sequence[Document], *, wide: bool, now: float) -> RenderableType:
    """Return one row for each serving, the stalled ones in red, those that roll in cyan."""
    columns = (*_COLUMNS, *(_WIDE if wide else ()))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, key in columns:
        table.add_column(title, overflow="fold", justify=_justified(key))
    for document in documents:
        shown = {**document, "since": ago(document.get("since"), now)}
        row = [str(shown.get(key, "-")) for _, key in columns]
        table.add_row(*(Text(cell, style=_style(document)) for cell in row))
    return table


def _justified(key: str) -> Any:
    return "right" if key in ("cutoff", "actAt", "switches") else "left"


def _style(document: Document) -> str:
    if document.get("stalled"):
        return "red"
    if document.get("rolling"):
        return "cyan"
    return "dim" if document.get("suspended") else ""


def _condition(status: Document, kind: str) -> str | None:
    conditions = status.get("conditions") or ()
    return next((each.get("status") for each in conditions if each.get("type") == kind), None)
