"""A decision in lines of text, for `kubectl ridgeline explain`."""

from typing import Final

from ridgeline.policy.borders import borders
from ridgeline.policy.decision import Comparison, Decision, Estimates, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.decision import ActAt, LawDecision
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.wording import duration, number, number_beside
from ridgeline.terms.explanations import EXPLANATIONS
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason


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
    lines += _of_what_failed(decision)
    if settings.forced is not None:
        return tuple(lines) or (explained.way_out,)
    if isinstance(settings.cutoff, Problem):
        return tuple(lines)
    lawful = decision.diagnostics.law
    if lawful is None:
        lines += _border_lines(decision.profile, settings)
    elif lawful.act_at is not None:
        lines += _act_lines(decision.profile, lawful.act_at, settings)
    lines += filter(None, (not_worth_it(decision),))
    if decision.outcome is not Outcome.SWITCH and settings.mode is Mode.RECOMMEND_ONLY:
        lines.append("Whatever is recommended, spec.mode RecommendOnly changes nothing.")
    return tuple(lines) or (explained.way_out,)


def _act_lines(active: str | None, act: ActAt, settings: PolicySettings) -> list[str]:
    """Say at which demand or concurrency the law leaves the active profile, and after how long."""
    times = settings.stabilization
    if active == act.quieter:
        off = _either(act.off_demand, act.off_concurrency, "at", "or", "or above")
        return [f"To {act.busier}: {off} for {duration(times.busier_seconds)}."] if off else []
    if active == act.busier:
        on = _either(act.on_demand, act.on_concurrency, "below", "and", "")
        wait = duration(settings.cooldown_seconds)
        return (
            [
                f"To {act.quieter}: {on} for {duration(times.quieter_seconds)}, nothing waiting, "
                f"every replica seen, and {wait} after the last roll."
            ]
            if on
            else []
        )
    return []


def _either(
    demand: float | None, concurrency: float | None, where: str, joined: str, then: str
) -> str:
    told = []
    if demand is not None:
        told.append(f"demand {where} {number(demand)} tokens/s")
    if concurrency is not None:
        told.append(f"concurrency per engine {where} {number(concurrency)}")
    return " ".join([f" {joined} ".join(told), then]).strip() if told else ""


def _of_what_failed(decision: Decision) -> list[str]:
    """Say what would have kept the recommended profile from failing, where it is left alone."""
    if decision.reason is not Reason.PROFILE_QUARANTINED:
        return []
    entries = decision.memory.slow.quarantine
    failed = [each.reason for each in entries if each.profile == decision.recommended]
    return [f"Of {failed[-1].value}: {EXPLANATIONS[failed[-1]].way_out}"] if failed else []


_STAYS: Final = frozenset({Reason.BEST_PROFILE_ACTIVE, Reason.INSIDE_BAND})
"""Of these reasons alone the costs of a roll are the cause."""


def not_worth_it(decision: Decision) -> str | None:
    """Say which profile is faster at the present load and is not rolled to, for what that costs."""
    lawful, concurrency = decision.diagnostics.law, decision.diagnostics.estimates.concurrency
    act = lawful.act_at if lawful is not None else None
    if lawful is None or act is None or act.cutoff_concurrency is None or concurrency is None:
        return None
    if decision.reason not in _STAYS:
        return None
    if decision.profile != act.busier or concurrency >= act.cutoff_concurrency:
        return None
    if lawful.demand is None or lawful.demand < act.on_demand:
        return None
    cost = ""
    if act.roll_cost is not None:
        cost = (
            f" (a roll costs {number(act.roll_cost)} request-seconds, staying has cost "
            f"{number(lawful.regret)})"
        )
    return (
        f"{act.quieter} is faster at this load, which is below the cut-off of "
        f"{number(act.cutoff_concurrency)} requests per engine, and not worth its roll{cost}: it "
        f"is rolled to below {number(act.on_demand)} tokens/s of demand "
        f"(now {number(lawful.demand)})."
    )


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
