"""The detector of oscillation for cut-offs that a person or a rule gave.

The opposite of the last decision, within six hours and at a concurrency within 15 % of the one that
led to it, means that the two profiles disagree about where the border is. Going busier is always
allowed, since speculating too long costs queues; switching on is held

    until six hours after a switch to a busier row, at a concurrency within 15 % of that switch's
    until six hours after it at any concurrency, when it undid a switch to a quieter row that was
        made less than six hours before, at a concurrency within 15 %

It is reckoned from the history of switches in status, so a restart forgets nothing. A switch that a
person or a schedule ordered says nothing about the load. (Predicted cut-offs have the law's own
detector, which also looks at demand.)
"""

from typing import Final

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.memory import Switch
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import Hold
from ridgeline.policy.wording import duration, number
from ridgeline.terms.reasons import Reason

DETECTOR_SECONDS: Final = 21_600.0
"""Time in which the opposite of a decision counts as oscillation."""

ALIKE: Final = 0.85
"""Two concurrencies are the same load when the lower is at least this share of the higher."""


def oscillation_hold(situation: Situation, table: CutoffTable) -> Hold | None:
    """Return why nothing is switched on although the table asks for it, `None` when it may be."""
    concurrency, now = situation.estimates.concurrency, situation.now
    switches = situation.memory.slow.switches
    last = switches[-1] if switches else None
    if concurrency is None or last is None or _went_busier(table, last) is not True:
        return None
    since = max(0.0, now - last.started_at)
    if last.concurrency is None or since >= DETECTOR_SECONDS:
        return None
    undid = len(switches) > 1 and _undid(table, switches[-2], last)
    if not undid and not _alike(concurrency, last.concurrency):
        return None
    why = "and it undid a switch at the same load" if undid else "at the same load"
    return Hold(
        reason=Reason.OSCILLATION_LOCKED,
        message=f"{last.to_profile} was chosen {duration(since)} ago at a concurrency of "
        f"{number(last.concurrency)}, {why}: nothing is switched on for "
        f"{duration(DETECTOR_SECONDS - since)} more; widen the band (returnBelowConcurrency), or "
        "correct the cut-off",
    )


def _undid(table: CutoffTable, before: Switch, last: Switch) -> bool:
    """Tell whether the last switch, to a busier row, undid the one before it at the same load."""
    if before.concurrency is None or last.concurrency is None:
        return False
    soon = last.started_at - before.started_at < DETECTOR_SECONDS
    went_on = _went_busier(table, before) is False
    return soon and went_on and _alike(before.concurrency, last.concurrency)


def _went_busier(table: CutoffTable, switch: Switch) -> bool | None:
    """Tell whether a switch went to a busier row; `None` when that cannot be said of this table.

    It cannot when a profile has no row any more, or when the rows have been turned round since:
    what was busier when it was decided must still be.
    """
    before = table.index_of(switch.from_profile) if switch.from_profile is not None else None
    after = table.index_of(switch.to_profile)
    if before is None or after is None:
        return None
    decided = Reason.ABOVE_CUTOFF if after > before else Reason.BELOW_CUTOFF
    return after > before if switch.reason is decided else None


def _alike(one: float, other: float) -> bool:
    low, high = sorted((one, other))
    return low >= ALIKE * high
