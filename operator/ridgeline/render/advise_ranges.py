"""Why a profile that is faster than none somewhere has no range in the cut-off table."""

from ridgeline.costmodel import goodput_reasons as words
from ridgeline.costmodel.table import CutoffTable
from ridgeline.render.cutoff_report import Predicted, ProfileReport

_MARGIN = 0.03
"""Share by which a profile has to win in the table (`goodput_table`)."""


def without_range(table: CutoffTable, told: Predicted) -> tuple[str, ...]:
    """Return one line for each profile whose speed-up is above 1 and that has no range."""
    return tuple(
        f"{each.arm.name} has no range, though it is faster than {told.baseline} at "
        f"B = {', '.join(_faster(each))}: {_why(each.arm.name, table, told)}"
        for each in told.profiles
        if each.arm.method.speculates and table.index_of(each.arm.name) is None and _faster(each)
    )


def _faster(profile: ProfileReport) -> list[str]:
    """Return the concurrencies shown at which the page tells a speed-up above 1."""
    return [
        f"{each.concurrency:.0f}"
        for each in profile.points
        if each.admitted and round(each.speedup, 2) > 1.0
    ]


def _why(name: str, table: CutoffTable, told: Predicted) -> str:
    """Return what the table says of a profile that it gave no range."""
    names = [each.arm.name for each in told.profiles]
    possible = [
        *(words.narrow(name, each) for each in names),
        *(words.torn(name, off=off) for off in (False, True)),
        words.beaten(name, _MARGIN),
    ]
    said = [each for each in table.reasons if each in possible]
    said += [each for each in table.reasons if each.startswith(f"left out: {name}:")]
    return "; ".join(said) or (
        f"another profile is better there, or it wins by less than the margin of {_MARGIN:.0%}"
    )
