"""States of a serving in which no decision counts: it goes, or no operator looks after it.

The names are `explain`'s own: no operator writes them, since there is none that could, or it has
nothing to do with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.explain_live import Live
from ridgeline.policy.wording import duration, names
from ridgeline.terms.times import epoch_seconds

EDIT_PATIENCE_SECONDS: Final = 60.0
"""An edit is taken up within seconds: by an event pass, at the latest at the next tick."""

LEASE_PATIENCE: Final = 2.0
"""A Lease that was not renewed for so many of its durations is nobody's."""


class State(StrEnum):
    """Names of such states."""

    BEING_DELETED = "BeingDeleted"
    NEVER_LOOKED_AT = "NeverLookedAt"
    EDIT_NOT_TAKEN_UP = "EditNotTakenUp"
    OPERATOR_SILENT = "OperatorSilent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What an object's metadata tells of its life.

    Attributes:
        deleting_since: Epoch seconds since it is being deleted, `None` while it is not.
        finalizers: What holds it then.
        edited_at: Epoch seconds of the last write other than that of its status; `None` if unknown.
        edited_by: Who wrote then.
        told_at: Epoch seconds of the last write of its status; `None` if unknown.
    """

    deleting_since: float | None = None
    finalizers: tuple[str, ...] = ()
    edited_at: float | None = None
    edited_by: str = ""
    told_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSeen:
    """The operator's Lease.

    Attributes:
        where: Its namespace and name.
        holder: Who holds it; empty for nobody.
        renewed_seconds_ago: How old its last renewal is; `None` if unknown.
        duration_seconds: After this others may take it.
    """

    where: str
    holder: str
    renewed_seconds_ago: float | None
    duration_seconds: float

    @property
    def dead(self) -> bool:
        """Whether nobody holds it any more."""
        ago = self.renewed_seconds_ago
        return not self.holder or (ago is not None and ago > LEASE_PATIENCE * self.duration_seconds)


def traces_of(body: Mapping[str, Any]) -> Traces:
    """Read an object's metadata; what cannot be read is unknown."""
    metadata = body.get("metadata") or {}
    writes = []
    for entry in metadata.get("managedFields") or ():
        at = _moment(entry.get("time"))
        if at is not None:
            writes.append((at, entry.get("subresource") == "status", str(entry.get("manager"))))
    edits = [(at, manager) for at, of_status, manager in writes if not of_status]
    edited_at, edited_by = max(edits, default=(None, ""))
    return Traces(
        deleting_since=_moment(metadata.get("deletionTimestamp")),
        finalizers=tuple(map(str, metadata.get("finalizers") or ())),
        edited_at=edited_at,
        edited_by=edited_by,
        told_at=max((at for at, of_status, _ in writes if of_status), default=None),
    )


def lease_seen(body: Mapping[str, Any], where: str, now: float) -> LeaseSeen:
    """Read a Lease."""
    spec = body.get("spec") or {}
    renewed = _moment(spec.get("renewTime"))
    return LeaseSeen(
        where=where,
        holder=str(spec.get("holderIdentity") or ""),
        renewed_seconds_ago=None if renewed is None else max(0.0, now - renewed),
        duration_seconds=float(spec.get("leaseDurationSeconds") or 15.0),
    )


def leaving(serving: ServingObject, traces: Traces, now: float) -> str | None:
    """Return why a serving that is being deleted is still there; `None` for any other."""
    if not serving.deleting:
        return None
    since = "" if traces.deleting_since is None else f" for {_ago(now, traces.deleting_since)}"
    if not traces.finalizers:
        return f"it is being deleted{since}, and nothing holds it: no profile is chosen any more"
    return (
        f"it is being deleted{since}, and the finalizer {names(traces.finalizers)} holds it. "
        "ridgeline sets none and waits for nothing: whoever set it must remove it. No profile is "
        "chosen any more"
    )


def unattended(
    serving: ServingObject,
    traces: Traces,
    lease: LeaseSeen | None,
    live: Live | None,
    now: float,
) -> tuple[State, str] | None:
    """Return why no operator's word about a serving counts; `None` where one looks after it.

    Args:
        serving: The serving with its status.
        traces: What its metadata tells.
        lease: The operator's Lease, `None` where it is out of reach.
        live: The operator's own answer, `None` where it is out of reach.
        now: Epoch seconds.
    """
    if live is not None and live.knows(serving):
        return None
    if live is not None and live.silent:
        told = f"the operator {live.who} answers and has made no pass over it for "
        return State.OPERATOR_SILENT, f"{told}{duration(live.age_seconds)}: {_LOOK_AT_LOG}"
    if live is None and lease is not None and lease.dead:
        return State.OPERATOR_SILENT, f"{_of_lease(lease)}; {_last_word(serving, traces, now)}"
    if not serving.status:
        made = f"it was made {_ago(now, serving.created_at)} ago and has no status: "
        return State.NEVER_LOOKED_AT, f"{made}is an operator running, and does it watch here?"
    return _behind(serving, traces, live, now)


_LOOK_AT_LOG: Final = "look at its log for `pass put off`, and at the runbook passes-failing"


def _behind(
    serving: ServingObject, traces: Traces, live: Live | None, now: float
) -> tuple[State, str] | None:
    known = live.generation if live is not None else serving.status.get("observedGeneration")
    if known == serving.generation:
        return None
    edited = traces.edited_at
    if edited is not None and now - edited < EDIT_PATIENCE_SECONDS:
        return None  # it is being taken up
    by = f" by {traces.edited_by}" if traces.edited_by else ""
    when = "" if edited is None else f" {_ago(now, edited)} ago{by}"
    told = (
        f"the serving was edited{when} (generation {serving.generation}), and the operator knows "
        f"generation {known if known is not None else 'none'} of it: is it running, and does its "
        "watch of servings live? See the runbook watch-silent"
    )
    if live is not None and live.watch_heard_seconds_ago is not None:
        told += f"; a watch of {live.who} has brought nothing for "
        told += duration(live.watch_heard_seconds_ago)
    return State.EDIT_NOT_TAKEN_UP, told


def _of_lease(lease: LeaseSeen) -> str:
    if not lease.holder:
        return f"nobody holds the Lease {lease.where}: no operator runs, or none is the leader"
    ago = duration(lease.renewed_seconds_ago or 0.0)
    return (
        f"the Lease {lease.where} of {lease.holder} was last renewed {ago} ago: the operator does "
        "not run, or does not reach the API server"
    )


def _last_word(serving: ServingObject, traces: Traces, now: float) -> str:
    """Say how old the operator's last word is; a status that stays right is not written again."""
    if not serving.status:
        return "it never wrote a status here"
    if traces.told_at is None:
        return "how old the status is cannot be told"
    return f"the status was last written {_ago(now, traces.told_at)} ago"


def _ago(now: float, at: float) -> str:
    return duration(max(0.0, now - at))


def _moment(text: object) -> float | None:
    try:
        return epoch_seconds(text) if isinstance(text, str) else None
    except ValueError:
        return None
