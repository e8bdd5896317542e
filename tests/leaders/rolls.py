"""Rolls as the Deployments themselves show them, whatever the operators say of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.leaders.allowed import DEPLOYMENTS, SERVING_STATUS
from tests.leaders.audit import Entry, Object
from tests.leaders.blindness import Blindness
from tests.leaders.rules import Kind, Rules, Violation, broken

_LABEL = "ridgeline.dev/profile"
_ENV = "SPECULATION_CONFIG"
_ANNOTATION = "ridgeline.dev/serving"
_STATUS_OF_TARGET = f"{DEPLOYMENTS}/status"

Part = tuple[str | None, str | None]
"""Label and config of a Pod template."""


@dataclass(frozen=True, kw_only=True)
class _Told:
    """A roll as a serving's status tells it; `at` is when that was first told."""

    start: str
    to: str
    state: str
    at: float


@dataclass(kw_only=True)
class _Rolling:
    """A roll that has begun and not ended."""

    before: Part | None
    start: str
    undoing: bool = False


@dataclass(kw_only=True)
class _Target:
    """One Deployment, as it was last stored."""

    uid: str
    part: Part | None = None
    generation: int = 0
    rolling: _Rolling | None = None
    last_body: Object = field(default_factory=dict)


class Rolls:
    """Follows Deployments and statuses; entries must come in the order of the store."""

    def __init__(self, rules: Rules, blindness: Blindness) -> None:
        self._rules = rules
        self._blindness = blindness
        self._targets: dict[tuple[str, str], _Target] = {}
        self._told: dict[tuple[str, str], _Told] = {}
        self._begun: set[tuple[str, str]] = set()

    @property
    def begun(self) -> int:
        """How many rolls were begun."""
        return len(self._begun)

    @property
    def under_way(self) -> int:
        """How many targets are being rolled."""
        return sum(each.rolling is not None for each in self._targets.values())

    def see(self, entry: Entry) -> Iterator[Violation]:
        """Follow a write of a Deployment or of a status, and judge it if the operators made it."""
        if not entry.stored:
            return
        if entry.resource == SERVING_STATUS:
            self._hear(entry)
        elif entry.resource == DEPLOYMENTS and entry.verb == "delete":
            self._targets.pop(entry.key, None)
        elif entry.resource in (DEPLOYMENTS, _STATUS_OF_TARGET) and entry.answer.get("spec"):
            target = self._known(entry)
            if entry.resource == DEPLOYMENTS and self._rules.ours(entry):
                yield from self._judge(entry, target)
            _follow(target, entry, ours=self._rules.ours(entry))

    def _known(self, entry: Entry) -> _Target:
        uid = str(entry.answer["metadata"].get("uid"))
        target = self._targets.get(entry.key)
        if target is None or target.uid != uid:
            target = self._targets[entry.key] = _Target(uid=uid)
        return target

    def _hear(self, entry: Entry) -> None:
        rollout = (entry.answer.get("status") or {}).get("rollout") or {}
        if not rollout:
            self._told.pop(entry.key, None)
            return
        start, before = str(rollout.get("startTime")), self._told.get(entry.key)
        at = before.at if before is not None and before.start == start else entry.at
        self._told[entry.key] = _Told(
            start=start, to=str(rollout.get("to")), state=str(rollout.get("state")), at=at
        )

    def _judge(self, entry: Entry, target: _Target) -> Iterator[Violation]:
        told = self._told.get((entry.namespace, _serving_of(entry)))
        yield from self._blind(entry, told)
        part = part_of(entry.answer)
        if part == target.part:
            if _content(entry.body) == target.last_body:
                yield broken(Kind.TWICE, entry, "it holds what the last write held")
        elif target.rolling is not None:
            roll = target.rolling
            if roll.undoing or part != roll.before:
                yield broken(Kind.TWO_ROLLS, entry, f"{target.part} is being rolled, now to {part}")
            roll.undoing = True
        else:
            yield from self._begin(entry, target, told, part)

    def _begin(
        self, entry: Entry, target: _Target, told: _Told | None, part: Part
    ) -> Iterator[Violation]:
        undoing = told is not None and told.state == "Undoing"
        start = told.start if told is not None else ""
        target.rolling = _Rolling(before=target.part, start=start, undoing=undoing)
        if self.under_way > self._rules.max_rolls:
            yield broken(Kind.OVER_BUDGET, entry, f"{self.under_way} are under way")
        if undoing:
            return
        if told is None or told.state != "Intended" or told.to != part[0]:
            yield broken(Kind.UNANNOUNCED, entry, f"to {part[0]}; the status tells {told}")
        elif (target.uid, told.start) in self._begun:
            yield broken(Kind.TWICE, entry, f"the roll of {told.start} had begun before")
        self._begun.add((target.uid, start))

    def _blind(self, entry: Entry, told: _Told | None) -> Iterator[Violation]:
        since = self._blindness.since(entry.at)
        if since is None or entry.at <= since + self._rules.blind_after_s:
            return
        if told is None or told.at > since + self._rules.blind_after_s:
            yield broken(Kind.BLIND, entry, f"blind for {entry.at - since:.1f} s")


def part_of(deployment: Object) -> Part:
    """Label and config of a Deployment's Pod template; None for what is not there."""
    template = deployment["spec"]["template"]
    items = [each for one in template["spec"]["containers"] for each in one.get("env") or ()]
    config = next((str(each.get("value") or "") for each in items if each["name"] == _ENV), None)
    label = ((template.get("metadata") or {}).get("labels") or {}).get(_LABEL)
    return label, config


def settled(deployment: Object) -> bool:
    """Whether every replica is of the newest template and available, and nobody holds it back."""
    status, spec = deployment.get("status") or {}, deployment["spec"]
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    seen = int(status.get("observedGeneration", 0)) >= int(deployment["metadata"]["generation"])
    wanted = spec.get("replicas", 1)
    whole = all(status.get(each, 0) == wanted for each in counts)
    return seen and whole and not spec.get("paused")


def _follow(target: _Target, entry: Entry, *, ours: bool) -> None:
    target.part = part_of(entry.answer)
    generation = int(entry.answer["metadata"]["generation"])
    if ours and entry.resource == DEPLOYMENTS:
        target.last_body = _content(entry.body)
    elif generation != target.generation:
        target.last_body = {}  # what somebody else has changed may be written anew
    target.generation = generation
    if settled(entry.answer):
        target.rolling = None


def _content(body: Object) -> Object:
    content = copy.deepcopy(body)
    (content.get("metadata") or {}).pop("resourceVersion", None)
    return content


def _serving_of(entry: Entry) -> str:
    """The serving that a write names, or else the one that the target named before."""
    for each in (entry.body, entry.answer):
        annotations = (each.get("metadata") or {}).get("annotations") or {}
        try:
            return str(json.loads(annotations[_ANNOTATION])["serving"])
        except (KeyError, TypeError, ValueError):
            continue
    return entry.name
