"""The cut-off table: which profile is best in which range of concurrency.

Every strategy yields this type, and the policy acts on it alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ridgeline.costmodel.curve import Curve
from ridgeline.terms.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where the true cut-off may lie, one standard deviation to either side.

    Attributes:
        cutoff: Its best estimate, in requests in decode per engine.
        low: Lower edge.
        high: Upper edge; `None` when the curve is so flat that there is none.

    Raises:
        ValueError: When an edge is not finite, not positive, or on the wrong side.
    """

    cutoff: float
    low: float
    high: float | None

    def __post_init__(self) -> None:
        """Refuse a band that is turned round."""
        high = self.cutoff if self.high is None else self.high
        if not (0.0 < self.low <= self.cutoff <= high and math.isfinite(high)):
            raise ValueError(f"band {self.low}…{self.high} does not hold {self.cutoff}")


def upper_edge(high: float | None, admitted: float | None, told: Callable[[float], str]) -> str:
    """Return the upper edge of a band in words.

    Args:
        high: The edge; `None` where there is none.
        admitted: Most requests that the engine admits: no load reaches an edge beyond; `None` while
            that is not known.
        told: How a concurrency is written.
    """
    if high is None:
        return "no upper edge"
    if admitted is not None and high > admitted:
        return f"beyond the {told(admitted)} admitted"
    return told(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffRow:
    """One range of concurrency per engine and the profile that is best in it.

    Attributes:
        profile: Name of the profile.
        up_to: Cut-off: at this concurrency per engine (requests in decode) and above, the next
            row applies. `None` in the last row.
        return_below: Lower edge of the band at that cut-off: below it this row applies again.
            At most `up_to`. `None` in the last row.
        band: How sure a predicted cut-off is; `None` where a person or a rule gave it, and in the
            last row.
    """

    profile: str
    up_to: float | None = None
    return_below: float | None = None
    band: Band | None = None


@dataclass(frozen=True, slots=True)
class CutoffTable:
    """Rows from the quietest range to the busiest.

    Attributes:
        rows: The ranges.
        verdict: Whether speculation is worth having; only a table that says Yes may be acted on.
            A table that a person wrote says Yes.
        reasons: What the rows and the verdict rest on, as sentences for a person.
        doubts: Those of the reasons that make it undecided, where the strategy tells them apart.
        curves: Throughput by concurrency of each profile that a cost model predicted; empty where
            no model did.

    Raises:
        ValueError: When there is no row, a border is missing, not finite or not positive, a band
            is turned round, two bands overlap, a profile stands in two rows, or a verdict of No
            leaves more than the one row without speculation.
    """

    rows: tuple[CutoffRow, ...]
    verdict: Verdict = Verdict.YES
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a table that could not be followed without chasing itself."""
        if not self.rows:
            raise ValueError("a cut-off table needs at least one row")
        names = [row.profile for row in self.rows]
        if len(set(names)) != len(names):
            raise ValueError(f"a profile stands in two rows of the cut-off table: {names}")
        previous = 0.0
        for row in self.rows[:-1]:
            if row.up_to is None or row.return_below is None:
                raise ValueError(f"row {row.profile!r} has no border to the next one")
            if not (math.isfinite(row.up_to) and math.isfinite(row.return_below)):
                raise ValueError(f"row {row.profile!r} has a border that is not finite")
            if not previous < row.return_below <= row.up_to:
                raise ValueError(
                    f"row {row.profile!r}: its band {row.return_below}…{row.up_to} must lie above "
                    f"{previous} and not be turned round"
                )
            previous = row.up_to
        if self.rows[-1].up_to is not None or self.rows[-1].return_below is not None:
            raise ValueError(f"the last row {self.rows[-1].profile!r} must have no upper border")
        if self.verdict is Verdict.NO and len(self.rows) > 1:
            raise ValueError(f"a table that says No has one row, not {len(self.rows)}: {names}")

    def qualified(self, *reasons: str, undecided: bool = False) -> "CutoffTable":
        """Return the table with further reasons.

        Args:
            reasons: Sentences to add.
            undecided: Whether they make a Yes undecided. A No stays a No.
        """
        doubted = undecided and self.verdict is Verdict.YES
        return replace(
            self,
            verdict=Verdict.UNDECIDED if doubted else self.verdict,
            reasons=self.reasons + reasons,
            doubts=self.doubts + (reasons if undecided else ()),
        )

    def curve(self, profile: str) -> Curve | None:
        """Return the throughput curve of a profile, `None` when the table has none of it."""
        return next((each for each in self.curves if each.profile == profile), None)

    @property
    def admitted(self) -> float | None:
        """Most requests that an engine admits on any profile; `None` where no model predicted."""
        return max((each.concurrency[-1] for each in self.curves), default=None)

    def index_of(self, profile: str) -> int | None:
        """Return the row of a profile, or `None` when no row names it."""
        return next((i for i, row in enumerate(self.rows) if row.profile == profile), None)

    def row_at(self, concurrency: float) -> int:
        """Return the row that applies at a concurrency for a target without history."""
        for index, row in enumerate(self.rows[:-1]):
            if row.up_to is not None and concurrency < row.up_to:
                return index
        return len(self.rows) - 1

    def next_row(self, current: int, concurrency: float) -> int:
        """Return the row to be in, coming from row `current`: bands keep the current one.

        A row is left upwards at its own `up_to`, and downwards only below the `return_below` of
        the row beneath.
        """
        index = current
        while index < len(self.rows) - 1:
            up_to = self.rows[index].up_to
            if up_to is None or concurrency < up_to:
                break
            index += 1
        while index > 0:
            return_below = self.rows[index - 1].return_below
            if return_below is None or concurrency >= return_below:
                break
            index -= 1
        return index
