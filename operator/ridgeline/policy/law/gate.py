"""Which rule holds at a border: insurance against the peak, or regret.

Insuring a fleet whose peak never reaches the cut-off costs speculation for nothing (27–32 % of
latency at peaks of 0.7–0.8 D*, simulated); not insuring one whose peak passes it costs queues. So
the expected peak decides: P is the week's peak ÷ D*. Above 1.05 (with surge 1.2: a roll then takes
no capacity away) the border is insured, and as long as no peak is known.
"""

from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.law.terms import LawMode, Preference


def mode_at(
    *, peak_ratio: float | None, surge: bool, before: LawMode | None, settings: LawSettings
) -> LawMode:
    """Return the mode of a border.

    Args:
        peak_ratio: P, the week's peak ÷ D*; `None` while it is not known.
        surge: Whether no replica goes before its successor is ready.
        before: Mode until now: insurance ends only well below the gate.
        settings: The constants.
    """
    if peak_ratio is None or settings.objective.prefer is Preference.THROUGHPUT:
        return LawMode.INSURED
    gate = settings.gate_surge if surge else settings.gate
    if before is LawMode.INSURED:
        gate -= settings.gate_return
    return LawMode.INSURED if peak_ratio > gate else LawMode.REGRET
