"""A decision in lines of text, for `kubectl ridgeline explain`."""

from ridgeline.policy.borders import borders
from ridgeline.policy.decision import Comparison, Decision, Estimates, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.wording import duration, number, number_beside
from ridgeline.terms.explanations import EXPLANATIONS
from ridgeline.terms.modes import Mode


def explain_lines(decision: Decision, settings: PolicySettings) -> tuple[str, ...]:
    """Return which check decided, every number compared, and what would change the decision."""
    return (
        *_heading(decision),
        "",
        "Compared:",
        *([f"  {_compared(each)}" for each in decision.diagnostics.comparisons] or ["  nothing"]),
        "",
        "Seen:",
        *(f"  {line}" for line in _seen(decision.diagnostics.estimates)),
        *_law_lines(decision.diagnostics.law),
        "",
        "What would change it:",
        *(f"  {line}" for line in ways_out(decision, settings)),
    )


def _heading(decision: Decision) -> tuple[str, ...]:
    told = decision.diagnostics
    recommended = decision.recommended or "none can be given"
    if decision.recommended is not None and decision.recommended == decision.profile:
        recommended += " (the same)"
    return (
        f"{decision.outcome} ({decision.reason}): {decision.message}",
        f"Profile: {decision.profile or 'unknown'}; recommended: {recommended}",
        f"Decided by: {told.decided_by}",
        f"Passed before: {', '.join(told.passed) or 'nothing'}",
    )


def _compared(each: Comparison) -> str:
    value, limit = number_beside(each.value, each.limit), number_beside(each.limit, each.value)
    return f"{each.name}: {value} {each.relation} {limit}, {each.consequence}"


def _seen(estimates: Estimates) -> tuple[str, ...]:
    joined = (
        f"replicas: {estimates.joined_replicas} of {estimates.expected_replicas} seen, "
        f"{estimates.pending_replicas} too young to count"
    )
    known = (
        ("concurrency per engine", estimates.concurrency, ""),
        ("tokens per second", estimates.tokens_per_second, ""),
        ("time per output token", _milli(estimates.tpot_seconds), " ms"),
        ("acceptance length", estimates.acceptance_length, ""),
        ("oldest sample", estimates.oldest_age_seconds, " s"),
    )
    return (
        joined,
        *(
            f"{name}: {'not known' if value is None else number(value) + unit}"
            for name, value, unit in known
        ),
    )


def _law_lines(lawful: LawDecision | None) -> tuple[str, ...]:
    """Return where the law acts, with the words of its formulas."""
    if lawful is None:
        return ()
    lines = [f"demand D: {_told(lawful.demand, 'tokens/s')}"]
    act = lawful.act_at
    if act is None:
        lines.append("where it acts cannot be told now")
    else:
        lines += (
            f"border: {act.quieter} to {act.busier}, mode {act.mode.value}",
            f"cut-off D*: {_told(act.cutoff_demand, 'tokens/s')} "
            f"(B* {_told(act.cutoff_concurrency, 'requests per engine')})",
            f"roll-safe demand D_safe: {_told(act.safe_demand, 'tokens/s')}",
            f"off above D_off: {_told(act.off_demand, 'tokens/s')} "
            f"(B_off {_told(act.off_concurrency, 'requests per engine')})",
            f"on below D_on: {_told(act.on_demand, 'tokens/s')} "
            f"(B_on {_told(act.on_concurrency, 'requests per engine')})",
            f"expected peak P: {_told(act.peak, 'times D*')}",
        )
        if act.roll_cost is not None:
            lines.append(
                f"staying has cost {number(lawful.regret)} request-seconds, a roll costs "
                f"{number(act.roll_cost)}"
            )
    return ("", "The control law:", *(f"  {line}" for line in lines))


def _told(value: float | None, unit: str) -> str:
    return "not known" if value is None else f"{number(value)} {unit}"


def _milli(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def ways_out(decision: Decision, settings: PolicySettings) -> tuple[str, ...]:
    """Return what would change a decision, each a sentence for a person."""
    explained = EXPLANATIONS[decision.reason]
    lines = [explained.way_out] if decision.outcome is Outcome.HOLD else []
    if settings.forced is not None:
        return tuple(lines) or (explained.way_out,)
    if isinstance(settings.cutoff, Problem):
        return tuple(lines)
    lines += _border_lines(decision.profile, settings)
    if decision.outcome is not Outcome.SWITCH and settings.mode is Mode.RECOMMEND_ONLY:
        lines.append("Whatever is recommended, spec.mode RecommendOnly changes nothing.")
    return tuple(lines) or (explained.way_out,)


def _border_lines(active: str | None, settings: PolicySettings) -> list[str]:
    """Say at which concurrency the active profile would be left, and after how long."""
    if isinstance(settings.cutoff, Problem):
        return []
    times = settings.stabilization
    lines = []
    for border in borders(settings.cutoff):
        if border.quieter == active:
            lines.append(
                f"To {border.busier}: concurrency per engine at {number(border.up_to)} or above "
                f"for {duration(times.busier_seconds)}."
            )
        if border.busier == active:
            lines.append(
                f"To {border.quieter}: concurrency per engine below {number(border.return_below)} "
                f"for {duration(times.quieter_seconds)}, every replica seen, and "
                f"{duration(settings.cooldown_seconds)} after the last roll."
            )
    return lines
