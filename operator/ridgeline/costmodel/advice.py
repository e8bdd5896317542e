"""The verdict on speculation for one target, in words: what the table says, and how sure it is.

It decides nothing, and says no more than the table: a table that may not be acted on yields "cannot
say for certain", with what is missing, and with what the numbers alone would say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.table import CutoffRow, CutoffTable, upper_edge
from ridgeline.terms.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """What a profile is predicted to gain when the server is quiet.

    Attributes:
        profile: Its name.
        speedup: Tokens per second of one request, relative to none.
        low: Lower edge of the band.
        high: Upper edge.
        fewer: Lookahead below its own, and above 0, that is best with the most requests in a step
            while the drafter stays loaded; `None` where there is none.
    """

    profile: str
    speedup: float
    low: float
    high: float
    fewer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The verdict.

    Attributes:
        answer: Yes, No, or Undecided.
        headline: One sentence.
        missing: Why it is undecided; empty otherwise.
    """

    answer: Verdict
    headline: str
    missing: tuple[str, ...] = ()


def advice_of(table: CutoffTable, arms: Sequence[Arm], quiet: Sequence[Quiet]) -> Advice:
    """Return the verdict that a table makes.

    Args:
        table: The cut-off table.
        arms: The profiles.
        quiet: What each profile that speculates gains when the server is quiet.
    """
    if not quiet:
        return Advice(
            answer=Verdict.UNDECIDED,
            headline="Cannot say: no profile that speculates can be predicted",
            missing=table.doubts,
        )
    off = {each.name for each in arms if not each.method.speculates}
    numbers = _by_numbers(table, off, {each.profile: each for each in quiet})
    if table.verdict is Verdict.YES:
        return Advice(answer=table.verdict, headline=f"Yes: {numbers}")
    if table.verdict is Verdict.NO:
        return Advice(answer=table.verdict, headline=f"No: {numbers}")
    return Advice(
        answer=table.verdict,
        headline=f"Cannot say for certain. By the numbers alone: {numbers}",
        missing=table.doubts,
    )


def _by_numbers(table: CutoffTable, off: set[str], quiet: dict[str, Quiet]) -> str:
    speculating = [row for row in table.rows if row.profile not in off]
    if not speculating:
        best = max(quiet.values(), key=lambda each: each.speedup)
        return (
            "no profile that speculates wins by the margin at any concurrency "
            f"({best.profile} comes nearest with {_gain(best)} when quiet)"
        )
    told = ", ".join(_range(row, table.admitted, off, quiet) for row in table.rows)
    return told + _with_fewer([row.profile for row in table.rows], off, quiet)


def _with_fewer(profiles: Sequence[str], off: set[str], quiet: dict[str, Quiet]) -> str:
    """Say of the profile that is left for none whether it is its lookahead that is too long."""
    if profiles[-1] not in off or len(profiles) < 2:
        return ""
    left = quiet.get(profiles[-2])
    if left is None or left.fewer is None:
        return ""
    return (
        f" with its own lookahead (a drafter that stays loaded does best there with {left.fewer}: "
        "compare the in-engine schedule)"
    )


def _range(row: CutoffRow, admitted: float | None, off: set[str], quiet: dict[str, Quiet]) -> str:
    where = "above that" if row.up_to is None else f"up to {_tell(row.up_to)} requests per engine"
    if row.up_to is not None and row.band is not None:
        high = upper_edge(row.band.high, admitted, _tell)
        where += f" (band {_tell(row.band.low)} to {high})"
    if row.profile in off:
        return f"no speculation {where}"
    found = quiet.get(row.profile)
    gain = "" if found is None else f", {_gain(found)} when quiet"
    alone = row.up_to is None and found is not None
    return f"{row.profile} {'at any load' if alone else where}{gain}"


def _tell(concurrency: float) -> str:
    return f"{concurrency:.0f}" if concurrency >= 10.0 else f"{concurrency:.1f}"


def _gain(quiet: Quiet) -> str:
    return f"{quiet.speedup:.2f} times the tokens of none ({quiet.low:.2f} to {quiet.high:.2f})"
