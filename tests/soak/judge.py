"""The observer of a soak: sees requests and objects, and knows nothing of the operator's reasons.

What it holds every moment to:

- nothing is written without the Lease, nothing but the operator's own fields, and never without the
  uid and the version that were read;
- no roll of a target begins before the one before it has ended, except to put back what was there;
- no roll begins that was not announced in the serving's status, and none is announced while
  telemetry tells nothing;
- never more rolls than the budget allows, no more of one serving in a day than its own bound, and
  no order that is obeyed for ever;
- every status is finite, and what the CRD allows.
"""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from tests.soak.api_server import Request
from tests.soak.bodies import wrong_with_apply, wrong_with_event, wrong_with_status

DAY: Final = 86_400.0

BLIND_AFTER_SECONDS: Final = 45.0
"""A tick, a slow call or two: what was read before that is older than the operator may act on."""

ROLLS_PER_DEED: Final = 3
"""An order is obeyed once; what fails for others' sake (a write that is lost, a template that
somebody edits meanwhile) is begun anew."""

MOST_FOUND: Final = 20

_ENV: Final = "SPECULATION_CONFIG"
_BUDGET: Final = 10
"""Switches a day that can be counted at most, whatever a serving asks for."""

Fields = tuple[str | None, str | None]
"""Label and env item of a template: what is the operator's there."""


@dataclass(slots=True, kw_only=True)
class Played:
    """A roll that was begun, as its target shows it.

    Attributes:
        uid: Target.
        name: Name of the target.
        serving: Serving that asked for it.
        before: The operator's fields before.
        written: The operator's fields that began it.
        at: Epoch seconds.
        open: Whether it has not ended.
    """

    uid: str
    name: str
    serving: str
    before: Fields
    written: Fields
    at: float
    open: bool = True


@dataclass(slots=True, kw_only=True)
class Judge:
    """Collects what was broken.

    Attributes:
        found: What was broken, the first first.
        rolls: How many rolls were begun.
        undone: How many were put back.
        writes: Requests by kind that were taken.
        largest_status: Bytes of the largest status.
    """

    cluster: SimulatedCluster
    telemetry: SimulatedTelemetry
    max_rolls: int
    found: list[str] = field(default_factory=list)
    rolls: int = 0
    undone: int = 0
    writes: dict[str, int] = field(default_factory=dict)
    largest_status: int = 0
    by_others: dict[str, float] = field(default_factory=dict)
    _deeds: dict[str, int] = field(default_factory=dict)
    _ordered: dict[str, int] = field(default_factory=dict)
    _played: dict[str, Played] = field(default_factory=dict)
    _begun: dict[str, deque[float]] = field(default_factory=dict)
    _blind_since: float | None = None
    _jumped: float = 0.0

    # What it is told

    def asked(self, request: Request, *, held: bool) -> None:
        """Look at a request in the moment in which it is sent."""
        kind = request.kind
        if kind == "read":
            return
        if not held and kind != "rehearsal":
            self.report(f"{request.who} writes ({kind} {request.key[1]}) without the Lease")
        match kind:
            case "profile" | "rehearsal":
                self._all(request, wrong_with_apply(request.body, request.query))
            case "status":
                self._all(request, wrong_with_status(request.body))
            case "event":
                self._all(request, wrong_with_event(request.body))
            case _:
                self.report(f"{request.who} asks for {request.method} {request.path}")

    def landed(self, request: Request, before: DeploymentObject, after: DeploymentObject) -> None:
        """Look at an apply to a Deployment that was taken."""
        self._count("profile")
        old, new = _fields(before), _fields(after)
        if old == new:
            return
        played = self._played.get(after.uid)
        if played is not None and new == played.before and self._may_put_back(played, before):
            played.open, self.undone = True, self.undone + 1
            # What was put back may not be left again before it is there.
            played.before = played.written = new
            return
        if "spec" not in request.body:
            if before.ours and self._attended(after) and not self._is_undoing(after.name):
                self.report(f"the fields of {after.name} are given up while its serving goes on")
            return
        serving = str(_serving_of(request.body))
        if not complete(before):
            self.report(f"a roll of {after.name} begins while another of it is under way")
        self._begin(after, serving, old, new)

    def told(self, request: Request, serving: ServingObject) -> None:
        """Look at a status that is about to be taken."""
        self._count("status")
        status = request.body["status"]
        self.largest_status = max(self.largest_status, len(str(status)))
        rollout, before = status.get("rollout") or {}, serving.status.get("rollout") or {}
        announced = rollout.get("state") == "Intended" and (
            rollout.get("startTime") != before.get("startTime")
        )
        ordered = serving.forced_profile is not None
        blind = self.blind_for()
        if announced and not ordered and blind > BLIND_AFTER_SECONDS:
            self.report(f"a roll of {serving.name} is decided, blind for {blind:.0f} s")

    def look(self) -> None:
        """Look at what stands in the cluster now."""
        now = self.cluster.now
        faults = self.telemetry.faults
        blind = faults.error is not None or faults.empty or faults.crash is not None
        self._blind_since = (self._blind_since or now) if blind else None
        for uid in list(self._played):
            self._follow(self._played[uid])
        for name, at in list(self.by_others.items()):
            if now - at > 2 * DAY:
                del self.by_others[name]

    def interfered(self, name: str) -> None:
        """Take note that somebody else changes a target's fields on purpose."""
        self.by_others[name] = self.cluster.now
        self.asked_for(name)

    def asked_for(self, name: str) -> None:
        """Take note that a person did something from which an ordered roll may follow."""
        self._deeds[name] = self._deeds.get(name, 0) + 1

    def jumped(self, seconds: float) -> None:
        """Take note that the clock of the operators jumped."""
        self._jumped += abs(seconds)

    def blind_for(self) -> float:
        """Return for how long telemetry has told nothing, in seconds."""
        return 0.0 if self._blind_since is None else self.cluster.now - self._blind_since

    def begun_within(self, serving_uid: str, seconds: float) -> int:
        """Return how many rolls a serving began within the last seconds."""
        now = self.cluster.now
        return sum(1 for at in self._begun.get(serving_uid, ()) if now - at < seconds)

    # What it makes of it

    def _begin(self, after: DeploymentObject, serving: str, old: Fields, new: Fields) -> None:
        now = self.cluster.now
        under_way = [
            each.name for each in self._played.values() if each.open and self._follow(each)
        ]
        under_way = [each for each in under_way if each != after.name]
        if len(under_way) >= self.max_rolls:
            self.report(f"{after.name} rolls beside {', '.join(under_way)}: beyond the budget")
        self.rolls += 1
        self._played[after.uid] = Played(
            uid=after.uid, name=after.name, serving=serving, before=old, written=new, at=now
        )
        try:
            asking = self.cluster.serving(serving, after.namespace)
        except NotFoundError:
            return
        if (asking.status.get("rollout") or {}).get("way") == "Trial":
            return
        if asking.forced_profile is None:
            self._count_switch(asking)
        else:
            self._count_ordered(asking)

    def _count_ordered(self, asking: ServingObject) -> None:
        """Count an ordered roll: it may fail and be tried anew, but not for ever."""
        made = self._ordered[asking.name] = self._ordered.get(asking.name, 0) + 1
        if made > ROLLS_PER_DEED * (self._deeds.get(asking.name, 0) + 1):
            self.report(f"{asking.name} was rolled {made} times by order, again and again")

    def _count_switch(self, asking: ServingObject) -> None:
        now, begun = self.cluster.now, self._begun.setdefault(asking.uid, deque())
        begun.append(now)
        # A clock that was wrong for so long has seen so much more or less of the day.
        while begun and now - begun[0] >= DAY - min(DAY, self._jumped):
            begun.popleft()
        bound = min(_BUDGET, int(asking.spec.get("maxSwitchesPerDay", _BUDGET)))
        if len(begun) > bound:
            self.report(f"{asking.name} was switched {len(begun)} times in a day ({bound} allowed)")

    def _may_put_back(self, played: Played, before: DeploymentObject) -> bool:
        """Tell whether a write that puts the old fields back is an undoing, and no new roll."""
        if not complete(before):
            return True
        try:
            self.cluster.serving(played.serving, before.namespace)
        except NotFoundError:
            return True
        return self._is_undoing(before.name)

    def _is_undoing(self, target: str) -> bool:
        """Tell whether a serving says that it takes its profile out of a target again."""
        return any(
            (each.status.get("rollout") or {}).get("state") == "Undoing"
            for each in self.cluster._servings.values()
            if (each.spec.get("targetRef") or {}).get("name") == target
        )

    def _follow(self, played: Played) -> bool:
        """Close a roll that has ended, or that is nobody's any more; tell whether it is open."""
        if not played.open:
            return False
        try:
            target = self.cluster.deployment(played.name)
            serving = self.cluster.serving(played.serving)
        except NotFoundError:
            played.open = False
            return False
        rolls = (serving.status.get("rollout") or {}).get("targetUID") == played.uid
        theirs = target.uid == played.uid and _fields(target) == played.written
        played.open = theirs and rolls and not (complete(target) and self.cluster.now > played.at)
        return played.open

    def _attended(self, target: DeploymentObject) -> bool:
        servings = self.cluster._servings.values()
        return any(
            (each.spec.get("targetRef") or {}).get("name") == target.name and not each.deleting
            for each in servings
        )

    def _all(self, request: Request, wrong: Iterable[str]) -> None:
        for each in wrong:
            self.report(f"{request.kind} of {request.key[1]}: {each}")

    def _count(self, kind: str) -> None:
        self.writes[kind] = self.writes.get(kind, 0) + 1

    def report(self, what: str) -> None:
        """Take note of a broken promise."""
        if len(self.found) < MOST_FOUND:
            self.found.append(f"at {self.cluster.now:.0f}: {what}")


def complete(target: DeploymentObject) -> bool:
    """Tell whether every replica of a target runs its newest template, and nothing else runs."""
    counts = {target.current_replicas, target.updated_replicas, target.available_replicas}
    settled = target.observed_generation == target.generation and not target.paused
    return settled and counts == {target.replicas}


def _fields(target: DeploymentObject) -> Fields:
    items = [item for each in target.containers for item in each.env if item.name == _ENV]
    return target.template_profile, next((item.value for item in items), None)


def _serving_of(body: dict[str, Any]) -> object:
    return json.loads(body["metadata"]["annotations"]["ridgeline.dev/serving"])["serving"]
