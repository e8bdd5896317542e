"""One pass over one serving: observe, decide, act, report. The same pass for every cadence.

A pass starts from what is known (the store, the last telemetry, the status, fast memory) and needs
nothing that happened before it. Only the holder of the Lease acts and reports; a standby decides
all the same, so that its metrics and its fast memory are ready when it takes over.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.basis import Knowledge
from ridgeline.controller.block import blocked, told_block
from ridgeline.controller.budget import RollBudget
from ridgeline.controller.history import Past
from ridgeline.controller.intent import (
    intended,
    order_of,
    with_comparison,
    with_served,
)
from ridgeline.controller.leaving import Leaving
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.mind import Mind, fresh_mind
from ridgeline.controller.obstacle import obstacle
from ridgeline.controller.options import Options
from ridgeline.controller.ports import Leader, Reports, Targets
from ridgeline.controller.recorder import PassSink
from ridgeline.controller.reporter import NotLeaderError, Reporter, reference
from ridgeline.controller.roll_steps import RollSteps
from ridgeline.controller.rolling import (
    Refusal,
    TargetMovedError,
    begin,
    cannot_pause,
    rehearse,
)
from ridgeline.controller.time_metrics import Phase
from ridgeline.controller.timed_targets import TimedTargets
from ridgeline.controller.view import (
    Snapshots,
    View,
    hold_while_rolling,
    known_spec,
    look,
    with_step,
)
from ridgeline.controller.wish import Wish
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.lifecycle import abandon_switch
from ridgeline.policy.memory import FastMemory, Memory
from ridgeline.policy.roll import (
    Roll,
    abandoned,
    begun,
    must_begin,
    seen_is_older,
)
from ridgeline.terms.rolls import CanaryOtherwise, RollState, RollWay

log = logging.getLogger(__name__)


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
        around: Surroundings | None = None,
        sink: PassSink | None = None,
    ) -> None:
        targets = TimedTargets(targets, metrics.time)
        self._sink = sink
        self._past: Past | None = None
        self._budget = RollBudget(store, options, around)
        self._store = store
        self._knowledge = Knowledge(around, remember=options.remember)
        self._targets = targets
        self._reporter = Reporter(store, reports, leader, metrics)
        self._leader = leader
        self._options = options
        self._metrics = metrics
        self._leaving = Leaving(store=store, targets=targets, leader=leader, metrics=metrics)
        self._steps = RollSteps(
            store=store, targets=targets, reporter=self._reporter, leader=leader, metrics=metrics
        )
        self._minds: dict[Key, Mind] = {}

    def recall_from(self, past: Past) -> None:
        """Let servings take their past over, each the first time that it is known."""
        self._past = past

    def freeze(self, frozen: bool) -> None:
        """Turn the operator's freeze switch; it holds from the next pass on."""
        if frozen != self._options.frozen:
            log.warning("the freeze switch is %s", "on" if frozen else "off")
            self._options = replace(self._options, frozen=frozen)

    async def reconcile(self, key: Key, snapshots: Snapshots, now: float) -> Wish | None:
        """Make one pass over a serving; return the roll that it wants.

        A wish changes nothing yet: those of all passes at one time are put in line (`line_up`), and
        then each is granted or held (`settle`).

        Raises:
            ClusterError: A call failed in a way that the next pass mends.
        """
        serving = self._store.servings.get(key)
        if serving is None or serving.deleting:
            self._forget(key)
            return None
        mind = self._mind(serving)
        try:
            spec = known_spec(serving, self._knowledge)
        except InvalidServing as error:
            self._budget.drop(key)
            await self._reporter.report_invalid(serving, str(error), now)
            return None
        with self._metrics.time.phase(Phase.JOIN):
            view = look(
                self._store,
                serving,
                spec,
                snapshots,
                self._knowledge,
                remembered=Memory(fast=mind.fast, law=mind.law_with(serving)),
                options=self._options,
                now=now,
            )
        view = view.with_drift(mind.learning.drift.problem())
        self._leaving.remember(key, spec.on_delete)
        target = view.target_facts
        named = (serving.namespace, spec.target_ref.name)
        self._leaving.attend(named, attended=target is not None)
        if target is not None and seen_is_older(view.roll, target):
            return None  # the watch stream is still behind our own write; it will wake us
        view = (await self._with_live_target(view)).with_roll_moved_on()
        if self._past is not None:
            view = self._past.recall(view)
            mind.law = view.memory.law
        if self._must_resume(view):
            await self._resume(view, mind)
            return None
        return await self._decide(await self._steps.advance(view, mind), mind)

    async def see_off(self, now: float) -> None:
        """Do what is due for targets whose serving is gone."""
        await self._leaving.see_off(now, frozen=self._options.frozen)

    def line_up(self, wishes: Iterable[Wish], now: float) -> list[Wish]:
        """Return wishes in the order in which they are to be settled."""
        place = {key: index for index, key in enumerate(self._budget.line_up(now))}
        return sorted(wishes, key=lambda wish: (place.get(wish.key, len(place)), wish.key))

    async def settle(self, wish: Wish) -> None:
        """Roll as a serving wishes, or hold it for those that go first.

        Whether it may is decided, and its place taken, before anything is waited for: of wishes
        that are settled at the same time, the one that was begun first goes first.

        Raises:
            ClusterError: A call failed in a way that the next pass mends.
        """
        if wish.outdated_by(self._store.servings.get(wish.key)):
            return  # the stream that told it has woken the serving
        told = self._budget.judged(wish.view, wish.decision)
        await self._conclude(wish.view, wish.mind, wish.decision, told, problem=None)

    async def _with_live_target(self, view: View) -> View:
        """Return the view with the target as it is now, where a roll was announced.

        Whether it was begun is not known while the answer to its write is lost, and the watch
        stream may be behind that write: an announced roll is judged by a read alone.
        """
        announced = view.roll is not None and view.roll.state is RollState.INTENDED
        if not announced or view.target_facts is None or not self._leader.held:
            return view
        try:
            live = await self._targets.read(view.serving.namespace, view.spec.target_ref.name)
        except NotFoundError:
            return view  # the watch stream will tell; until then nothing can be written either
        self._store.put_deployment(live)
        return view.with_target(live)

    def _must_resume(self, view: View) -> bool:
        """Tell whether a roll was announced by a process that did not live to begin it."""
        target = view.target_facts
        return (
            view.roll is not None
            and target is not None
            and must_begin(view.roll, target, view.now)
            and obstacle(view, target, self._options) is None
            and self._leader.held
            and not (view.settings.suspended or view.settings.frozen)
        )

    async def _resume(self, view: View, mind: Mind) -> None:
        roll = view.roll
        profile = view.profile(roll.to_profile) if roll is not None else None
        if roll is None or profile is None:
            await self._abandon(view, mind)
            return
        await self._begin(view, mind, profile, roll, decision=None)

    async def _decide(self, view: View, mind: Mind) -> Wish | None:
        with self._metrics.time.phase(Phase.DECIDE):
            view = mind.learn_from(view, may_write=self._leader.held)
        problem = await self._obstacle(view, mind)
        # Nobody acts on a serving with an obstacle; what would be best is still worth telling.
        settings = replace(view.settings, suspended=True) if problem else view.settings
        with self._metrics.time.phase(Phase.DECIDE):
            decided = decide(view.facts, settings, view.memory, view.now, view.seen)
        decision = with_step(view, decided)
        if problem is not None:
            self._budget.drop((view.serving.namespace, view.serving.name))
            decision = replace(decision, reason=problem.reason, message=problem.message)
        elif self._budget.wishes(view, decision):
            return Wish(view=view, mind=mind, decision=decision)
        await self._conclude(view, mind, decided, decision, problem)
        return None

    async def _conclude(
        self, view: View, mind: Mind, decided: Decision, told: Decision, problem: Problem | None
    ) -> None:
        """Do and report what was decided.

        Args:
            view: What was seen.
            mind: What is remembered.
            decided: What the facts led to.
            told: What the operator makes of it.
            problem: What keeps us from acting.
        """
        self._observe(view, told)
        mind.law = told.memory.law
        if self._sink is not None:
            # Where nothing may be done, it was decided as if suspended.
            settings = replace(view.settings, suspended=True) if problem else view.settings
            self._sink.saw(replace(view, settings=settings), decided, told)
        if told.outcome is not Outcome.SWITCH:
            mind.fast = told.memory.fast
            await self._reporter.report(replace(view, memory=told.memory), told, problem)
        elif self._leader.held:
            await self._switch(view, mind, told)

    async def _obstacle(self, view: View, mind: Mind) -> Problem | None:
        """Return what keeps us from acting, apart from what the facts of the moment say."""
        target = view.target_facts
        if target is None:
            mind.block = None
            return None
        found = obstacle(view, target, self._options)
        return found or await self._standing_refusal(view, mind, target)

    async def _standing_refusal(
        self, view: View, mind: Mind, target: TargetFacts
    ) -> Problem | None:
        """Return why our write was refused, as long as a dry run would still be."""
        block = mind.block or told_block(view, target)
        mind.block = block if block is not None and block.concerns(view, target) else None
        profile = view.profile(block.profile) if block is not None else None
        if mind.block is None or profile is None:
            return None
        may_try = self._leader.held and not view.settings.suspended and target.rollout is None
        if not may_try or not mind.block.due(view, target):
            return mind.block.problem
        try:
            way = RollWay.CANARY if cannot_pause(mind.block.problem) else RollWay.WHOLE
            refusal = await rehearse(self._targets, order_of(view, profile, target, way))
        except TargetMovedError:
            return mind.block.problem
        if refusal is None:
            mind.block = None
            return None
        mind.block = blocked(view, target, profile.name, refusal.problem)
        return refusal.problem

    async def _switch(self, view: View, mind: Mind, decision: Decision) -> None:
        target, profile = view.target_facts, view.profile(decision.profile)
        if target is None or profile is None:
            raise AssertionError("a switch was decided without a target or to no profile")
        intent = intended(view, target, profile, decision.way)
        self._budget.take(view)
        began = False
        try:
            refusal = await rehearse(self._targets, order_of(view, profile, target, intent.way))
            if refusal is not None and _may_do_without(view, intent, refusal.problem):
                intent = replace(intent, way=RollWay.WHOLE)
                order = order_of(view, profile, target, intent.way)
                refusal = await rehearse(self._targets, order)
            if refusal is not None and intent.compares and cannot_pause(refusal.problem):
                view = with_comparison(view, intent, refusal.problem)
                await self._reporter.report(view, hold_while_rolling(view))
                return
            if refusal is not None:
                await self._refused(view, mind, refusal, profile)
                return
            memory = with_served(decision.memory, view, target, intent)
            announced = replace(view, roll=intent, memory=memory)
            serving = await self._reporter.report(announced, decision, obliged=True)
            mind.fast = FastMemory()
            announced = replace(announced, serving=serving)
            began = await self._begin(announced, mind, profile, intent, decision)
        except TargetMovedError as error:
            log.info("roll put off: %s", error, extra=reference(view.serving))
        finally:
            self._budget.tried(view, began=began)

    async def _begin(
        self, view: View, mind: Mind, profile: Profile, intent: Roll, decision: Decision | None
    ) -> bool:
        """Write the profile; return whether the roll has begun."""
        target = view.target_facts
        if target is None:
            raise AssertionError("a roll can only begin on a known target")
        if not self._leader.held:
            raise NotLeaderError("the Lease was lost before the roll began; its holder goes on")
        try:
            outcome = await begin(self._targets, order_of(view, profile, target, intent.way))
        except TargetMovedError as error:
            log.info("roll abandoned: %s", error, extra=reference(view.serving))
            await self._abandon(view, mind)
            return False
        if isinstance(outcome, Refusal):
            await self._refused(await self._abandon(view, mind), mind, outcome, profile)
            return False
        self._metrics.rolls.labels(view.serving.namespace, view.serving.name, profile.name).inc()
        self._metrics.writes.labels("profile").inc()
        self._store.put_deployment(outcome)
        log.info("roll begun", extra={**reference(view.serving), "profile": profile.name})
        view = replace(view, roll=begun(intent, outcome.generation, view.now)).with_target(outcome)
        if decision is None:
            decision = decide(view.facts, view.settings, view.memory, view.now, view.seen)
        await self._reporter.report(view, decision)
        return True

    async def _abandon(self, view: View, mind: Mind) -> View:
        """Close an announced roll that will not begin; return the view with the serving as it is.

        The switch leaves the history: it cost nothing and binds nothing.
        """
        if view.roll is None:
            return view
        memory = abandon_switch(view.memory, view.now)
        view = replace(view, roll=abandoned(view.roll, view.now), memory=memory)
        mind.fast = FastMemory()
        return replace(view, serving=await self._reporter.report(view, hold_while_rolling(view)))

    async def _refused(self, view: View, mind: Mind, refusal: Refusal, profile: Profile) -> None:
        mind.fast = FastMemory()
        if view.target_facts is not None:
            mind.block = blocked(view, view.target_facts, profile.name, refusal.problem)
        await self._reporter.report(view, hold_while_rolling(view), refusal.problem)

    def _observe(self, view: View, decision: Decision) -> None:
        namespace, name = view.serving.namespace, view.serving.name
        self._metrics.observe_decision(namespace, name, decision, view.profiles)
        if not isinstance(view.settings.cutoff, Problem):
            rows = view.settings.cutoff.rows
            cutoffs = {row.profile: row.up_to for row in rows if row.up_to is not None}
            self._metrics.set_cutoffs(namespace, name, cutoffs)
        predicts = view.settings.prediction is not None
        self._metrics.set_drift(namespace, name, view.drift, predicts=predicts)
        log.debug("decided: %s", decision.message, extra=reference(view.serving))

    def _mind(self, serving: ServingObject) -> Mind:
        key = (serving.namespace, serving.name)
        mind = self._minds.get(key)
        if mind is None or mind.uid != serving.uid:
            mind = self._minds[key] = fresh_mind(serving)
        return mind

    def _forget(self, key: Key) -> None:
        self._budget.drop(key)
        self._knowledge.forget(key)
        if self._minds.pop(key, None) is not None:
            self._metrics.forget(*key)


def _may_do_without(view: View, intent: Roll, problem: Problem) -> bool:
    """Tell whether a roll whose canary cannot be held back is made without one."""
    rolls = view.settings.rolls
    wanted = rolls is not None and rolls.canary_otherwise is CanaryOtherwise.ROLL
    return wanted and intent.way is RollWay.CANARY and cannot_pause(problem)
