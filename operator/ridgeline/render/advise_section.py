"""A titled table, lines of text, or both."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a page.

    Attributes:
        title: What it is about.
        columns: Names of the columns; empty without a table.
        rows: Cells, as many a row as there are columns.
        lines: Lines below the table.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
