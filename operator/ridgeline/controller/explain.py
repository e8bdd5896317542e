"""Explains one serving to a person: the same look and the same decision, with nothing written.

It reads with the person's own rights. What those do not reach (nodes, other namespaces' Pods, a
Prometheus whose address was not given) is said to be unknown.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.listing import list_within_reach
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.basis import Basis, Knowledge, strategy_of
from ridgeline.controller.explain_cause import LOOK, Cause, cause_of
from ridgeline.controller.explain_engine import engine_line, engine_notes
from ridgeline.controller.explain_facts import Fact, facts_told
from ridgeline.controller.explain_notes import Note, notes
from ridgeline.controller.explain_profiles import Row, profile_rows
from ridgeline.controller.explain_reach import events_within_reach, nodes_of_status
from ridgeline.controller.explain_schedule import schedule_notes
from ridgeline.controller.options import Options
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.view import View, look, spec_of
from ridgeline.costmodel.heuristic import Check, HeuristicInputs, heuristic
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision
from ridgeline.policy.explain import explain_lines, ways_out
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law_status import law_memory_of
from ridgeline.policy.memory import Memory
from ridgeline.policy.roll_notes import looked_into
from ridgeline.settings.explain import setting_lines
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.modes import Strategy
from ridgeline.terms.reasons import Reason

STALE_AFTER_SECONDS = 60.0
"""As the operator's default; explaining decides nothing."""


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
        decided: The decision itself; `None` where none can be made with what was read.
        would_change: What would change it, each a sentence.
        facts: What is known of target, replicas and telemetry, with ages.
        cause: What is to be read first; `None` where nobody can tell.
        table: The cut-off table as status rows: the operator's, or, where it has none, this look's.
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
    decided: Decision | None = None
    would_change: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    cause: Cause | None = None
    table: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a person's rights reach of one serving.

    Attributes:
        serving: The serving with its status.
        events: Its Events, oldest first.
        view: What a pass of the operator would know, or why the spec cannot be read.
        snapshot: The numbers read for it, `None` when no Prometheus was named.
        out_of_reach: Kinds that the person may not list, by their plural names.
    """

    serving: ServingObject
    events: tuple[dict[str, Any], ...]
    view: View | InvalidServing
    snapshot: TelemetrySnapshot | None
    out_of_reach: tuple[str, ...] = ()


async def explain(
    api: KubernetesApi,
    namespace: str,
    name: str,
    telemetry: TelemetrySource | None,
    now: float,
) -> Explanation:
    """Look at one serving and explain it; arguments and errors are those of `see`."""
    return told(await see(api, namespace, name, telemetry, now))


async def see(
    api: KubernetesApi,
    namespace: str,
    name: str,
    telemetry: TelemetrySource | None,
    now: float,
) -> Seen:
    """Look at one serving as a pass of the operator does.

    Args:
        api: The API server, with the person's credentials.
        namespace: The serving's namespace.
        name: Its name.
        telemetry: Where to read live numbers; `None` when the person named no Prometheus.
        now: Epoch seconds.

    Raises:
        NotFoundError: There is no such serving.
        ClusterError: The API server refuses, or does not answer.
    """
    looking = LookApi(api)
    serving = await looking.serving(namespace, name)
    events, missing = await events_within_reach(looking, serving)
    store, around = WatchStore(), Surroundings(sees_all_pods=False)
    missing = (*await list_within_reach(api, store, namespace, around), *missing)
    nodes_of_status(store, serving, around)
    snapshot = await telemetry.read(now) if telemetry is not None else None
    view: View | InvalidServing
    try:
        view = view_of(store, serving, around, snapshot, now)
    except InvalidServing as error:
        view = error
    return Seen(serving=serving, events=events, view=view, snapshot=snapshot, out_of_reach=missing)


def view_of(
    store: WatchStore,
    serving: ServingObject,
    around: Surroundings,
    snapshot: TelemetrySnapshot | None,
    now: float,
) -> View:
    """Return what a pass would know of a serving, with the memory that its status holds.

    Raises:
        InvalidServing: A field of its spec holds what it must not.
    """
    return look(
        store,
        serving,
        spec_of(serving),
        lambda _: snapshot or _not_asked(),
        Knowledge(around),
        remembered=Memory(law=LawMemory(slow=law_memory_of(serving.status))),
        options=Options(stale_after_seconds=STALE_AFTER_SECONDS, max_concurrent_rolls=1),
        now=now,
    ).with_roll_moved_on()


def told(seen: Seen) -> Explanation:
    """Return what `explain` shows of what was seen."""
    view = seen.view
    if isinstance(view, InvalidServing):
        cause = Cause(reason=Reason.SPEC_INVALID.value, message=str(view), known_by=LOOK)
        return Explanation(serving=seen.serving, events=seen.events, trouble=str(view), cause=cause)
    decision = decide(view.facts, view.settings, view.memory, view.now)
    concurrency = decision.diagnostics.estimates.concurrency
    common = Explanation(
        serving=seen.serving,
        events=seen.events,
        settings=setting_lines(view.basis.resolved),
        facts=facts_told(view, seen.out_of_reach),
        table=_table(view),
    )
    hidden = [each for each in NEEDED if each in seen.out_of_reach]
    if hidden:
        # Half of the facts would name a wrong cause: the operator's own words are told above.
        return replace(
            common,
            cause=cause_of(seen.serving, None),
            decision=(f"not known: your rights do not reach {' and '.join(hidden)} here",),
        )
    unasked = seen.snapshot is None and decision.reason is Reason.TELEMETRY_UNAVAILABLE
    return replace(
        common,
        basis=_basis_lines(view),
        concurrency=concurrency,
        profiles=profile_rows(view, concurrency),
        notes=(*notes(view), *engine_notes(view), *schedule_notes(view, concurrency)),
        checks=_checks(view, seen.snapshot, decision),
        decision=(_NOT_ASKED,) if unasked else explain_lines(decision, view.settings),
        decided=None if unasked else decision,
        cause=cause_of(seen.serving, None if unasked else decision),
        would_change=() if unasked else ways_out(decision, view.settings),
    )


NEEDED: Final = ("deployments", "pods")
"""Kinds without which no decision can be followed."""


def _table(view: View) -> tuple[dict[str, Any], ...]:
    """Return the table of the status, or that of this look where the operator has told none."""
    told = view.serving.status.get("cutoffTable")
    if told:
        return tuple(dict(row) for row in told)
    if isinstance(view.settings.cutoff, Problem):
        return ()
    return tuple(
        {"profile": row.profile}
        if row.up_to is None
        else {
            "profile": row.profile,
            "upToConcurrency": row.up_to,
            "returnBelowConcurrency": row.return_below,
        }
        for row in view.settings.cutoff.rows
    )


_NOT_ASKED: Final = "not asked for: name a Prometheus with --prometheus URL to compare live numbers"


def _not_asked() -> Problem:
    return Problem(reason=Reason.TELEMETRY_UNAVAILABLE, message=_NOT_ASKED)


def _basis_lines(view: View) -> tuple[tuple[str, str], ...]:
    basis, table = view.basis, view.settings.cutoff
    lines = [
        ("accelerator", _accelerator(basis)),
        *_model(basis),
        ("precision", f"{basis.precision.value} ({basis.precision_because})"),
        ("tensor parallel", str(basis.tensor_parallel)),
        engine_line(view),
        ("strategy", strategy_of(basis).value),
    ]
    if isinstance(table, Problem):
        return (*lines, ("cut-off", f"none: {table.message}"))
    lines.append(("verdict", table.verdict.value))
    lines += (("because", reason) for reason in table.reasons)
    plan = view.facts.plan
    if plan is not None:
        lines += looked_into(plan)
    return tuple(lines)


def _accelerator(basis: Basis) -> str:
    if isinstance(basis.accelerator, Problem):
        return f"not known: {basis.accelerator.message}"
    return f"{basis.accelerator.accelerator.name} (from {basis.accelerator.found_by})"


def _model(basis: Basis) -> tuple[tuple[str, str], ...]:
    """Return the served model; where no prediction needs it, only if it is known."""
    if not isinstance(basis.model, Problem):
        return (("model", f"{basis.model.shape.name} (from {basis.model.found_by})"),)
    if strategy_of(basis) is Strategy.GOODPUT:
        return (("model", f"not known: {basis.model.message}"),)
    return ()


def _checks(
    view: View, snapshot: TelemetrySnapshot | None, decision: Decision
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
                    concurrency=decision.diagnostics.estimates.concurrency,
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
