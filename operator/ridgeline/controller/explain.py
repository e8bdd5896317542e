"""Explains one serving to a person: the same look and the same decision, with nothing written.

It reads with the person's own rights. What those do not reach (nodes, other namespaces' Pods, a
Prometheus whose address was not given) is said to be unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.explain_basis import basis_lines, table_rows
from ridgeline.controller.explain_cause import LOOK, Cause, cause_of
from ridgeline.controller.explain_decision import decision_document
from ridgeline.controller.explain_engine import engine_notes
from ridgeline.controller.explain_fact import Fact
from ridgeline.controller.explain_facts import facts_told
from ridgeline.controller.explain_live import Live
from ridgeline.controller.explain_notes import Note, notes, pruned_notes
from ridgeline.controller.explain_operator import OperatorPlace
from ridgeline.controller.explain_profiles import Row, profile_ladder, profile_rows
from ridgeline.controller.explain_schedule import schedule_notes
from ridgeline.controller.explain_seen import NOT_ASKED, Seen, see, view_of
from ridgeline.controller.explain_state import State, leaving, unattended
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.view import View
from ridgeline.costmodel.heuristic import Check, HeuristicInputs, heuristic
from ridgeline.policy.decide import decide
from ridgeline.policy.explain import explain_lines, ways_out
from ridgeline.policy.facts import Problem
from ridgeline.settings.explain import all_setting_lines
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

__all__ = ["Explanation", "ProfileChecks", "Seen", "explain", "see", "told", "view_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChecks:
    """The heuristic's answers for one speculating profile."""

    profile: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that `explain` shows.

    Attributes:
        serving: The serving with its status.
        events: Its Events, oldest first.
        trouble: Why no more can be told, `None` when all of it could.
        settings: Field, value and source of every tuning field.
        basis: Name and value of what the cut-offs rest on.
        concurrency: Requests in decode per engine now, `None` while not known.
        profiles: What the cost model says of each profile at it, by `explain_profiles.COLUMNS`.
        notes: Schedules and findings: what it is about, and what to know.
        checks: The heuristic's answers by profile.
        decision: How a decision would come about now, line by line.
        decided: The decision as plain values; `None` where none can be made with what was read.
        facts: What is known of target, replicas and telemetry, with ages.
        cause: What is to be read first; `None` where nobody can tell.
        table: The cut-off table as status rows: the operator's, or, where it has none, this look's.
        ladder: The speed-up of each profile at several loads: a title row, then one for each.
        remembered: What the operator remembers, where it answered.
        live: The operator's own answer, `None` where it was not asked or could not be.
        without: Why there is none, where it was asked.
        looked_at: Epoch seconds of the look.
        asked: Name and PromQL of the signals that this look asked a Prometheus for.
    """

    serving: ServingObject
    events: tuple[dict[str, Any], ...]
    trouble: str | None = None
    settings: tuple[tuple[str, str, str], ...] = ()
    basis: tuple[tuple[str, str], ...] = ()
    concurrency: float | None = None
    profiles: tuple[Row, ...] = ()
    notes: tuple[Note, ...] = ()
    checks: tuple[ProfileChecks, ...] = ()
    decision: tuple[str, ...] = ()
    decided: Mapping[str, Any] | None = None
    facts: tuple[Fact, ...] = ()
    cause: Cause | None = None
    table: tuple[dict[str, Any], ...] = ()
    ladder: tuple[tuple[str, ...], ...] = ()
    remembered: tuple[Fact, ...] = ()
    live: Live | None = None
    without: str | None = None
    looked_at: float | None = None
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def live_counts(self) -> bool:
        """Whether the operator's own answer is about the serving as it is now, and is shown."""
        return self.live is not None and self.live.knows(self.serving)


async def explain(
    api: KubernetesApi,
    namespace: str,
    name: str,
    telemetry: TelemetrySource | None,
    now: float,
    operator: OperatorPlace | None = None,
) -> Explanation:
    """Look at one serving and explain it; arguments and errors are those of `see`."""
    return told(await see(api, namespace, name, telemetry, now, operator))


def told(seen: Seen) -> Explanation:
    """Return what `explain` shows of what was seen."""
    view, serving = seen.view, seen.serving
    common = Explanation(
        serving=serving,
        events=seen.events,
        live=seen.live,
        without=seen.without,
        looked_at=seen.now,
    )
    if isinstance(view, InvalidServing):
        cause = Cause(reason=Reason.SPEC_INVALID.value, message=str(view), known_by=LOOK)
        return _by_state(seen, replace(common, trouble=str(view), cause=cause))
    common = replace(
        common,
        settings=all_setting_lines(view.basis.resolved),
        facts=facts_told(view, seen.out_of_reach),
        table=table_rows(view),
        notes=pruned_notes(serving),
    )
    if any(each in seen.out_of_reach for each in NEEDED):
        return _by_state(seen, _by_operator(seen, _with_few_rights(seen, common)))
    return _by_state(seen, _by_operator(seen, _followed(seen, view, common)))


def _followed(seen: Seen, view: View, common: Explanation) -> Explanation:
    """Add what a decision of this look comes to."""
    decision = decide(view.facts, view.settings, view.memory, view.now)
    concurrency = decision.diagnostics.estimates.concurrency
    if concurrency is None and seen.counts:
        concurrency = seen.live.concurrency if seen.live is not None else None
    unasked = seen.snapshot is None and decision.reason is Reason.TELEMETRY_UNAVAILABLE
    ways = ways_out(decision, view.settings)
    return replace(
        common,
        basis=basis_lines(view),
        concurrency=concurrency,
        profiles=profile_rows(view, concurrency),
        ladder=profile_ladder(view),
        notes=(
            *common.notes,
            *notes(view),
            *engine_notes(view),
            *schedule_notes(view, concurrency),
        ),
        checks=_checks(view, seen.snapshot, concurrency),
        decision=(NOT_ASKED,) if unasked else explain_lines(decision, view.settings),
        decided=None if unasked else decision_document(decision, ways),
        cause=cause_of(seen.serving, None if unasked else decision),
    )


def _with_few_rights(seen: Seen, common: Explanation) -> Explanation:
    """Add the operator's own words alone: half of the facts would name a wrong cause."""
    hidden = [each for each in NEEDED if each in seen.out_of_reach]
    return replace(
        common,
        cause=cause_of(seen.serving, None),
        decision=(f"not known: your rights do not reach {' and '.join(hidden)} here",),
    )


def _by_operator(seen: Seen, found: Explanation) -> Explanation:
    """Let the operator's own answer win over what this look made up, where it counts."""
    live = seen.live
    if live is None or not seen.counts:
        return found
    return replace(
        found,
        cause=cause_of(seen.serving, None, live),
        decision=live.lines,
        decided=live.decision,
        facts=live.facts,
        remembered=live.remembered,
        settings=live.settings,
        basis=live.basis,
        table=live.table or found.table,
        concurrency=live.concurrency,
    )


def _by_state(seen: Seen, found: Explanation) -> Explanation:
    """Name the state of a serving in which no decision counts."""
    going = leaving(seen.serving, seen.traces, seen.now)
    if going is not None:
        cause = Cause(reason=State.BEING_DELETED.value, message=going, known_by=LOOK)
        return replace(found, cause=cause)
    if found.trouble is not None:
        return found
    alone = unattended(seen.serving, seen.traces, seen.lease, seen.live, seen.now)
    if alone is None:
        return found
    state, message = alone
    return replace(found, cause=Cause(reason=state.value, message=message, known_by=LOOK))


NEEDED: Final = ("deployments", "pods")
"""Kinds without which no decision can be followed."""


def _checks(
    view: View, snapshot: TelemetrySnapshot | None, concurrency: float | None
) -> tuple[ProfileChecks, ...]:
    basis = view.basis
    known = None if isinstance(basis.accelerator, Problem) else basis.accelerator.accelerator
    target = view.target_facts
    acceptance = _acceptance(view, snapshot)
    return tuple(
        ProfileChecks(
            profile=profile.name,
            checks=heuristic(
                HeuristicInputs(
                    accelerator=known,
                    precision=basis.precision,
                    tensor_parallel=basis.tensor_parallel,
                    method=profile.method,
                    lookahead=profile.num_speculative_tokens,
                    concurrency=concurrency,
                    acceptance=acceptance
                    if target is not None and target.active_profile == profile.name
                    else None,
                )
            ),
        )
        for profile in view.profiles
        if profile.method.speculates
    )


def _acceptance(view: View, snapshot: TelemetrySnapshot | None) -> tuple[float, ...] | None:
    """Return the mean acceptance per position over the target's engines, `None` without any."""
    if snapshot is None:
        return None
    pods = {replica.name for replica in view.facts.replicas}
    rates = [
        rate
        for key, rate in snapshot.acceptance.items()
        if key.namespace == view.serving.namespace and key.pod in pods
    ]
    if not rates:
        return None
    depth = min(len(rate) for rate in rates)
    return tuple(sum(rate[i] for rate in rates) / len(rates) for i in range(depth))
