"""What else a person should know of a serving: its schedules, and whether its objective shows."""

from typing import Final

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.view import View
from ridgeline.engine.latency_buckets import bucket_finding, present_bounds
from ridgeline.policy.requalify import stale, told_of
from ridgeline.policy.schedule import Window
from ridgeline.policy.situation import observe
from ridgeline.settings.schedules import findings_of

Note = tuple[str, str]


def notes(view: View) -> tuple[Note, ...]:
    """Return (what it is about, what to know) for each thing worth telling; often nothing."""
    return (*_windows(view), *_schedule_findings(view), *_buckets(view), *_stale_proof(view))


_ALWAYS: Final = ("conditions", "lastDecision")
"""What the operator writes into every status."""


def pruned_notes(serving: ServingObject) -> tuple[Note, ...]:
    """Return what to know of a status that lacks what the operator always writes into it."""
    missing = [each for each in _ALWAYS if not serving.status.get(each)]
    if not serving.status or not missing:
        return ()
    told = (
        f"it lacks {' and '.join(missing)}, which the operator always writes: the CRDs are older "
        "than the operator and cut it off, or somebody else writes the status. Apply the CRDs of "
        "the operator's release (kubectl apply --server-side -f crds/)"
    )
    return (("status", told),)


def _stale_proof(view: View) -> tuple[Note, ...]:
    shown = stale(observe(view.facts, view.settings, view.memory, view.now, view.seen))
    return (("proof", told_of(shown)),) if shown is not None else ()


def _windows(view: View) -> tuple[Note, ...]:
    state = view.settings.schedule
    if state is None:
        return ()
    opened = tuple(("open now", f"{_named(each)} {each.until}") for each in state.active)
    leading = state.leading
    lead = (("lead time", f"{_named(leading)} from {leading.starts}"),) if leading else ()
    coming = state.upcoming
    following = (("opens next", f"{_named(coming)} from {coming.starts}"),) if coming else ()
    return (*opened, *lead, *following)


def _named(window: Window) -> str:
    return f"schedule {window.schedule}, {window.asks_for},"


def _schedule_findings(view: View) -> tuple[Note, ...]:
    found = findings_of(view.basis.resolved, view.now)
    return tuple((each.reason.value, each.message) for each in found)


def _buckets(view: View) -> tuple[Note, ...]:
    limit = view.basis.resolved.p99_tpot_milliseconds.value
    if limit is None or not isinstance(view.target, ResolvedTarget):
        return ()
    bounds = present_bounds(view.target.container.words)
    found = bucket_finding(bounds, limit / 1000, engine_version=view.basis.engine_version)
    return (("latency buckets", found.message),) if found is not None else ()
