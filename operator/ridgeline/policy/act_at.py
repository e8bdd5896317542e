"""Where the law really switches, as it stands in the rows of status.cutoffTable.

It moves with the expected peak and with the replicas that serve, so the standing value is kept
while the new one differs by less than a tenth: a steady state writes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ridgeline.policy.law.decision import ActAt, LawDecision

KEPT_WITHIN: Final = 0.1
"""The standing value is kept while the new one differs from it by less than this share."""

MOST: Final = 100_000
"""No engine admits more requests."""

_KEY: Final = "actAtConcurrency"

Document = Mapping[str, Any]


def with_act_at(
    rows: list[dict[str, Any]], lawful: LawDecision | None, standing: Sequence[Document]
) -> list[dict[str, Any]]:
    """Return the rows with the concurrency at which the law leaves each upwards.

    The law tells it of the border beside the active profile; of the others, and while it cannot be
    told, what stands is kept as long as the same two profiles meet there.

    Args:
        rows: The rows of the table, from the quietest.
        lawful: What the law said, `None` when it was not asked.
        standing: The rows that status holds.
    """
    told = lawful.act_at if lawful is not None else None
    before = {_border(standing, index): row.get(_KEY) for index, row in enumerate(standing[:-1])}
    found = []
    for index, row in enumerate(rows):
        border = _border(rows, index)
        value = _value(border, told, before.get(border)) if index + 1 < len(rows) else None
        found.append(row if value is None else {**row, _KEY: value})
    return found


def _value(border: tuple[Any, Any], told: ActAt | None, standing: Any) -> int | None:
    known = standing if isinstance(standing, int) and standing > 0 else None
    if told is None or border != (told.quieter, told.busier):
        return known
    if told.off_concurrency is None:
        return None
    now = min(max(1, round(told.off_concurrency)), MOST)
    if known is not None and abs(told.off_concurrency - known) < KEPT_WITHIN * known:
        return known
    return now


def _border(rows: Sequence[Document], index: int) -> tuple[Any, Any]:
    above = rows[index + 1].get("profile") if index + 1 < len(rows) else None
    return rows[index].get("profile"), above
