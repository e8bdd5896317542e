"""Where concurrency lies among the borders of the cut-off table, in numbers and in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.decision import Comparison
from ridgeline.policy.verdict import at_least
from ridgeline.policy.wording import number, number_beside

CONCURRENCY = "concurrency per engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The border between two neighbouring rows, with its band.

    Attributes:
        quieter: Profile of the row beneath.
        busier: Profile of the row above.
        up_to: Cut-off, in requests in decode per engine.
        return_below: Lower edge of the band.
    """

    quieter: str
    busier: str
    up_to: float
    return_below: float

    def holds(self, concurrency: float) -> bool:
        """Whether concurrency lies in the band, where the active profile stays."""
        return self.return_below <= concurrency < self.up_to


def borders(table: CutoffTable) -> tuple[Border, ...]:
    """Return the borders from the quietest to the busiest; number i lies above row i."""
    return tuple(
        Border(
            quieter=below.profile,
            busier=above.profile,
            up_to=below.up_to,
            return_below=below.return_below,
        )
        for below, above in zip(table.rows, table.rows[1:], strict=False)
        if below.up_to is not None and below.return_below is not None
    )


def compare_with_borders(
    table: CutoffTable, row: int, concurrency: float
) -> tuple[Comparison, ...]:
    """Return the comparisons that `CutoffTable.next_row` makes on its way from a row."""
    return (*_upwards(table, row, concurrency), *_downwards(table, row, concurrency))


def _upwards(table: CutoffTable, row: int, concurrency: float) -> Iterator[Comparison]:
    for border in borders(table)[row:]:
        yield at_least(
            CONCURRENCY,
            concurrency,
            border.up_to,
            met=f"at or above the cut-off of {border.quieter}: {border.busier} applies",
            missed=f"below the cut-off of {border.quieter}: {border.busier} does not apply",
        )
        if concurrency < border.up_to:
            return


def _downwards(table: CutoffTable, row: int, concurrency: float) -> Iterator[Comparison]:
    for border in reversed(borders(table)[:row]):
        yield at_least(
            CONCURRENCY,
            concurrency,
            border.return_below,
            met=f"not below the band's lower edge: {border.busier} stays",
            missed=f"below the band's lower edge: {border.quieter} applies again",
        )
        if concurrency >= border.return_below:
            return


def stays_because(table: CutoffTable, row: int, concurrency: float) -> tuple[bool, str]:
    """Return whether concurrency lies in a band beside the row, and the sentence for a person."""
    active = table.rows[row].profile
    beside = borders(table)[max(0, row - 1) : row + 1]
    for border in beside:
        if border.holds(concurrency):
            band = f"{number(border.return_below)} to {number(border.up_to)}"
            seen = number_beside(concurrency, border.up_to)
            return True, (
                f"{CONCURRENCY} is {seen}, inside the band {band} between {border.quieter} and "
                f"{border.busier}: {active} stays"
            )
    lower = [border.up_to for border in beside if border.busier == active]
    upper = [border.up_to for border in beside if border.quieter == active]
    ranges = [f"from {number(each)} up" for each in lower]
    ranges += [f"below {number(each)}" for each in upper]
    told = f" ({' and '.join(ranges)})" if ranges else ", the only one in the table"
    seen = number_beside(concurrency, [*upper, *lower, concurrency][0])
    return False, f"{CONCURRENCY} is {seen}: {active} is the profile for it{told}"


def asks_because(table: CutoffTable, row: int, towards: int, concurrency: float) -> str:
    """Return why the table asks for another row, as the first half of a sentence."""
    if towards > row:
        border = borders(table)[towards - 1]
        return (
            f"{CONCURRENCY} is {number_beside(concurrency, border.up_to)}, at or above the "
            f"cut-off {number(border.up_to)} of {border.quieter}"
        )
    border = borders(table)[towards]
    return (
        f"{CONCURRENCY} is {number_beside(concurrency, border.return_below)}, below "
        f"the lower edge {number(border.return_below)} of the band of {border.quieter}"
    )
