"""One pass over one serving: observe, decide, act, report. The same pass for every cadence.

A pass starts from what is known (the store, the last telemetry, the status, fast memory) and needs
nothing that happened before it. Only the holder of the Lease acts and reports; a standby decides
all the same, so that its metrics and its fast memory are ready when it takes over.
"""

import logging
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.ports import Leader, Reports, Targets
from ridgeline.controller.reporter import Reporter, reference
from ridgeline.controller.resolve import resolve_target
from ridgeline.controller.rolling import Order, Refusal, TargetMovedError, begin, rehearse
from ridgeline.controller.view import Snapshots, View, look, spec_of
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.lifecycle import abandon_switch
from ridgeline.policy.memory import FastMemory
from ridgeline.policy.roll import (
    Roll,
    abandoned,
    begun,
    must_begin,
    seen_is_older,
    undone_by_others,
)
from ridgeline.policy.status import roll_of
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState

log = logging.getLogger(__name__)

BLOCK_SECONDS: Final = 600.0
"""A refused write is tried again after this time, or at once when serving or target changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator's configuration says to the reconciler.

    Attributes:
        stale_after_seconds: Samples older than this are not acted on.
        max_concurrent_rolls: Rolls under way at a time, over all servings.
        frozen: The operator's own freeze switch.
    """

    stale_after_seconds: float
    max_concurrent_rolls: int
    frozen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A refusal that is not asked for again while nothing changes."""

    problem: Problem
    serving_generation: int
    target_generation: int
    until: float


@dataclass(slots=True)
class Mind:
    """What the process remembers of one serving; lost with it."""

    uid: str
    fast: FastMemory
    block: Block | None = None


class Reconciler:
    """Passes over servings; holds the fast memory of each."""

    def __init__(
        self,
        *,
        store: WatchStore,
        targets: Targets,
        reports: Reports,
        leader: Leader,
        options: Options,
        metrics: OperatorMetrics,
    ) -> None:
        self._store = store
        self._targets = targets
        self._reporter = Reporter(store, reports, leader, metrics)
        self._leader = leader
        self._options = options
        self._metrics = metrics
        self._minds: dict[Key, Mind] = {}
        self._beginning: set[Key] = set()

    async def reconcile(self, key: Key, snapshots: Snapshots, now: float) -> None:
        """Make one pass over a serving.

        Raises:
            ClusterError: A call failed in a way that the next pass mends.
        """
        serving = self._store.servings.get(key)
        if serving is None or serving.deleting:
            self._forget(key)
            return
        mind = self._mind(serving)
        try:
            spec = spec_of(serving)
        except InvalidServing as error:
            await self._reporter.report_invalid(serving, str(error), now)
            return
        view = look(
            self._store,
            serving,
            spec,
            snapshots,
            fast=mind.fast,
            stale_after_seconds=self._options.stale_after_seconds,
            frozen=self._options.frozen,
            now=now,
        )
        target = view.target_facts
        if target is not None and seen_is_older(view.roll, target):
            return  # the watch stream is still behind our own write; it will wake us
        view = view.with_roll_moved_on()
        if self._must_resume(view):
            await self._resume(view, mind)
        else:
            await self._decide(view, mind)

    def _must_resume(self, view: View) -> bool:
        """Tell whether a roll was announced by a process that did not live to begin it."""
        target = view.target_facts
        return (
            view.roll is not None
            and target is not None
            and must_begin(view.roll, target, view.now)
            and self._leader.held
            and not view.settings.suspended
        )

    async def _resume(self, view: View, mind: Mind) -> None:
        roll = view.roll
        profile = view.profile(roll.to_profile) if roll is not None else None
        if roll is None or profile is None:
            await self._abandon(view, mind)
            return
        await self._begin(view, mind, profile, roll, decision=None)

    async def _decide(self, view: View, mind: Mind) -> None:
        problem = self._obstacle(view, mind)
        # Nobody acts on a serving with an obstacle; what would be best is still worth telling.
        settings = replace(view.settings, suspended=True) if problem else view.settings
        decision = decide(view.facts, settings, view.memory, view.now)
        if decision.outcome is Outcome.SWITCH and not self._roll_budget_left(view):
            decision = _held_for_budget(decision, view, self._options.max_concurrent_rolls)
        self._observe(view, decision)
        if decision.outcome is not Outcome.SWITCH:
            mind.fast = decision.memory.fast
            await self._reporter.report(replace(view, memory=decision.memory), decision, problem)
        elif self._leader.held:
            await self._switch(view, mind, decision)

    def _obstacle(self, view: View, mind: Mind) -> Problem | None:
        """Return what keeps us from acting, apart from what the facts of the moment say."""
        target = view.target_facts
        if target is None:
            mind.block = None
            return None
        if undone_by_others(view.roll, target, view.serving.generation):
            return _undone(view, target)
        block = mind.block
        if block is None:
            return None
        stands = (
            block.serving_generation == view.serving.generation
            and block.target_generation == target.generation
            and view.now < block.until
        )
        if not stands:
            mind.block = None
            return None
        return block.problem

    def _roll_budget_left(self, view: View) -> bool:
        key = (view.serving.namespace, view.serving.name)
        rolling = set(self._beginning)
        for serving in self._store.servings.all():
            roll = roll_of(serving.status)
            if roll is not None and roll.open and not serving.deleting:
                rolling.add((serving.namespace, serving.name))
        return len(rolling - {key}) < self._options.max_concurrent_rolls

    async def _switch(self, view: View, mind: Mind, decision: Decision) -> None:
        target, profile = view.target_facts, view.profile(decision.profile)
        if target is None or profile is None:
            raise AssertionError("a switch was decided without a target or to no profile")
        intent = Roll(
            from_profile=target.active_profile,
            to_profile=profile.name,
            started_at=view.now,
            state=RollState.INTENDED,
            target_uid=target.uid,
            target_generation=target.generation,
            serving_generation=view.serving.generation,
        )
        key = (view.serving.namespace, view.serving.name)
        self._beginning.add(key)
        try:
            refusal = await rehearse(self._targets, _order(view, profile, target))
            if refusal is not None:
                await self._refused(view, mind, refusal)
                return
            announced = replace(view, roll=intent, memory=decision.memory)
            serving = await self._reporter.report(announced, decision, obliged=True)
            mind.fast = FastMemory()
            await self._begin(replace(announced, serving=serving), mind, profile, intent, decision)
        except TargetMovedError as error:
            log.info("roll put off: %s", error, extra=reference(view.serving))
        finally:
            self._beginning.discard(key)

    async def _begin(
        self, view: View, mind: Mind, profile: Profile, intent: Roll, decision: Decision | None
    ) -> None:
        target = view.target_facts
        if target is None:
            raise AssertionError("a roll can only begin on a known target")
        try:
            outcome = await begin(self._targets, _order(view, profile, target))
        except TargetMovedError as error:
            log.info("roll abandoned: %s", error, extra=reference(view.serving))
            await self._abandon(view, mind)
            return
        if isinstance(outcome, Refusal):
            await self._refused(await self._abandon(view, mind), mind, outcome)
            return
        self._metrics.rolls.labels(view.serving.namespace, view.serving.name, profile.name).inc()
        self._metrics.writes.labels("profile").inc()
        self._store.put_deployment(outcome)
        log.info("roll begun", extra={**reference(view.serving), "profile": profile.name})
        resolved = resolve_target(view.spec, view.profiles, outcome, None)
        facts = replace(
            view.facts, target=resolved if isinstance(resolved, Problem) else resolved.facts
        )
        view = replace(view, facts=facts, roll=begun(intent, outcome.generation))
        if decision is None:
            decision = decide(view.facts, view.settings, view.memory, view.now)
        await self._reporter.report(view, decision)

    async def _abandon(self, view: View, mind: Mind) -> View:
        """Close an announced roll that will not begin; return the view with the serving as it is.

        The switch leaves the history: it cost nothing and binds nothing.
        """
        if view.roll is None:
            return view
        memory = abandon_switch(view.memory, view.now)
        view = replace(view, roll=abandoned(view.roll, view.now), memory=memory)
        mind.fast = FastMemory()
        return replace(view, serving=await self._reporter.report(view, _watching(view)))

    async def _refused(self, view: View, mind: Mind, refusal: Refusal) -> None:
        target = view.target_facts
        mind.fast = FastMemory()
        if target is not None:
            mind.block = Block(
                problem=refusal.problem,
                serving_generation=view.serving.generation,
                target_generation=target.generation,
                until=view.now + BLOCK_SECONDS,
            )
        await self._reporter.report(view, _watching(view), refusal.problem)

    def _observe(self, view: View, decision: Decision) -> None:
        namespace, name = view.serving.namespace, view.serving.name
        self._metrics.observe_decision(namespace, name, decision)
        if not isinstance(view.settings.cutoff, Problem):
            rows = view.settings.cutoff.rows
            cutoffs = {row.profile: row.up_to for row in rows if row.up_to is not None}
            self._metrics.set_cutoffs(namespace, name, cutoffs)
        log.debug("decided: %s", decision.message, extra=reference(view.serving))

    def _mind(self, serving: ServingObject) -> Mind:
        key = (serving.namespace, serving.name)
        mind = self._minds.get(key)
        if mind is None or mind.uid != serving.uid:
            mind = self._minds[key] = Mind(uid=serving.uid, fast=FastMemory())
        return mind

    def _forget(self, key: Key) -> None:
        if self._minds.pop(key, None) is not None:
            self._metrics.forget(*key)


def _watching(view: View) -> Decision:
    """Decide without acting: what would be best, and why nothing is done."""
    return decide(view.facts, replace(view.settings, suspended=True), view.memory, view.now)


def _order(view: View, profile: Profile, target: TargetFacts) -> Order:
    return Order(
        namespace=view.serving.namespace,
        serving=view.serving.name,
        spec=view.spec,
        profiles=view.profiles,
        profile=profile,
        uid=target.uid,
        generation=target.generation,
    )


def _undone(view: View, target: TargetFacts) -> Problem:
    applied = view.roll.to_profile if view.roll else "a profile"
    who = f" (last written by {target.last_writer!r})" if target.last_writer else ""
    return Problem(
        reason=Reason.UNDONE_BY_OTHERS,
        message=f"the operator had set {applied}, and somebody else put "
        f"{target.active_profile or 'another config'} in its place{who}; it is left alone. "
        "To hand the target back, edit the serving's spec (set suspend to true and to false again)",
    )


def _held_for_budget(decision: Decision, view: View, limit: int) -> Decision:
    target = view.target_facts
    return replace(
        decision,
        outcome=Outcome.HOLD,
        profile=target.active_profile if target else None,
        reason=Reason.WAITING_FOR_ROLL_BUDGET,
        message=f"as many rolls are under way as maxConcurrentRolls allows ({limit}); "
        f"{decision.recommended} waits for one of them to end",
        memory=view.memory,
    )
