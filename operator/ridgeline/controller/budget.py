"""The fleet-wide roll budget: which servings are rolling now, and whether one more may begin.

One more begins when the limits leave it a place, when nobody in the queue goes first, and when the
GPU that it counts on is not the one that another roll's surge Pod is on its way to.
"""

from dataclasses import replace

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.options import Options
from ridgeline.controller.queue import Limits, RollQueue
from ridgeline.controller.resolve import ResolvedTarget, rollout_of
from ridgeline.controller.spare import asked_by, claimed_slots
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.gain import worth_of
from ridgeline.policy.roll import INTENT_VALID_SECONDS
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_status import roll_of
from ridgeline.policy.situation import observe
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState


class RollBudget:
    """Grants places for rolls, one round of wishes at a time."""

    def __init__(
        self, store: WatchStore, options: Options, around: Surroundings | None = None
    ) -> None:
        self._store = store
        self._around = around
        limits = Limits(
            in_all=options.max_concurrent_rolls, per_pool=options.max_concurrent_rolls_per_pool
        )
        self._queue = RollQueue(limits, options.tick_seconds)
        self._beginning: dict[Key, str | None] = {}
        self._rolling: dict[Key, str | None] = {}
        self._draining: dict[Key, str | None] = {}

    def wishes(self, view: View, decision: Decision) -> bool:
        """Tell whether a decision is a wish to roll, and take note of it.

        A roll that nothing but a free GPU is missing for may be one, too: that is told when it is
        known who rolls (`judged`).
        """
        if decision.outcome is Outcome.SWITCH:
            self._want(view, decision)
            return True
        if decision.reason is Reason.NO_ROOM_FOR_SURGE and decision.recommended is not None:
            return True
        self.drop(_key(view))
        return False

    def drop(self, key: Key) -> None:
        """Take note that a serving wants no roll."""
        self._queue.drop(key)

    def line_up(self, now: float) -> tuple[Key, ...]:
        """Begin a round: see which rolls are under way; return who wants one, the first first."""
        before = self._rolling | self._draining
        self._rolling = {key: self._pool_of(key) for key in rolling(self._store, now)}
        self._draining = {
            key: pool
            for key, pool in before.items()
            if key not in self._rolling and self._drains(key)
        }
        return tuple(claim.key for claim in self._queue.in_line(now))

    def judged(self, view: View, decision: Decision) -> Decision:
        """Return what becomes of a wish: the roll, or the wait for its turn or for a GPU."""
        under_way, pool = self._rolling | self._beginning, view.basis.pool
        refusal = self._queue.refusal(_key(view), pool, under_way, view.now)
        if decision.outcome is Outcome.SWITCH:
            refusal = refusal or self._spare_gpu_refusal(view, under_way)
            return decision if refusal is None else _held(decision, view, refusal)
        others = self._others(view, under_way | self._draining)
        plan = view.facts.plan
        if not others or (plan is not None and not plan.room.gpu_helps):
            self.drop(_key(view))
            return decision
        self._want(view, decision, has_room=False)
        lacks = f"the roll of {'/'.join(others[0])} has the free GPU"
        return _held(decision, view, refusal or lacks)

    def take(self, view: View) -> None:
        """Take a place for a roll that is about to begin."""
        self._beginning[_key(view)] = view.basis.pool

    def tried(self, view: View, *, began: bool) -> None:
        """Give the place back: from here on the status tells whether the roll has one."""
        key = _key(view)
        self._beginning.pop(key, None)
        if began:
            self._rolling[key] = view.basis.pool
            self._queue.began(key)
        else:
            self._queue.stumbled(key, view.now)

    def _want(self, view: View, decision: Decision, *, has_room: bool = True) -> None:
        situation = observe(view.facts, view.settings, view.memory, view.now, view.seen)
        worth = worth_of(situation, replace(decision, profile=decision.recommended))
        self._queue.want(_key(view), view.basis.pool, worth, view.now, has_room=has_room)

    def _spare_gpu_refusal(self, view: View, under_way: dict[Key, str | None]) -> str | None:
        """Return whose surge Pod is on its way to the free GPU that this roll counts on."""
        target, plan = view.target, view.facts.plan
        if not isinstance(target, ResolvedTarget) or plan is None:
            return None
        wanted = _surge_pods(plan)
        if wanted == 0:
            return None
        requests, claimed, whose = asked_by(target.deployment, self._around), 0, ""
        for key in self._others(view, under_way):
            serving = self._store.servings.get(key)
            if serving is None:
                continue
            written = key not in self._beginning
            slots = claimed_slots(
                self._store, serving, requests, written=written, around=self._around
            )
            claimed, whose = claimed + slots, "/".join(key) if slots else whose
        free = plan.room.pods
        if claimed == 0 or (free is not None and free - claimed >= wanted):
            return None
        left = "free GPUs cannot be counted" if free is None else f"there is room for {free} Pods"
        return f"a new Pod of {whose} is not on a node yet and will take a free GPU ({left})"

    def _others(self, view: View, under_way: dict[Key, str | None]) -> list[Key]:
        """Return the other servings whose rolls may want the same GPUs."""
        pool = view.basis.pool
        return [
            key
            for key, other in sorted(under_way.items())
            if key != _key(view) and (pool is None or other is None or pool == other)
        ]

    def _drains(self, key: Key) -> bool:
        """Tell whether Pods of a target that was rolled still keep their GPUs while they go."""
        serving = self._store.servings.get(key)
        name = (serving.spec.get("targetRef") or {}).get("name") if serving else None
        return any(pod.deleting for pod in self._store.pods_of(key[0], str(name)))

    def _pool_of(self, key: Key) -> str | None:
        """Return the GPU type that a serving rolls on, as its status tells it."""
        serving = self._store.servings.get(key)
        return (serving.status.get("accelerator") or {}).get("name") if serving else None


def _held(decision: Decision, view: View, refusal: str) -> Decision:
    """Return the decision to wait with a roll; what was not begun is not remembered."""
    target, memory, wished = view.target_facts, decision.memory, decision.recommended
    if decision.outcome is Outcome.SWITCH:
        wished = decision.profile
        memory = replace(view.memory, law=memory.law)
    return replace(
        decision,
        outcome=Outcome.HOLD,
        profile=target.active_profile if target else None,
        reason=Reason.WAITING_FOR_ROLL_BUDGET,
        message=f"{wished} waits: {refusal}",
        memory=memory,
    )


def rolling(store: WatchStore, now: float) -> set[Key]:
    """Return the servings whose roll takes a place in the budget at `now`.

    A status that cannot be brought up to date (its target is gone, its spec unreadable) keeps no
    place: what counts besides the status is that the target is there and really being rolled.
    """
    return {
        (serving.namespace, serving.name)
        for serving in store.servings.all()
        if not serving.deleting and _is_rolling(store, serving, now)
    }


def _is_rolling(store: WatchStore, serving: ServingObject, now: float) -> bool:
    roll = roll_of(serving.status)
    if roll is None or not roll.open:
        return False
    name = (serving.spec.get("targetRef") or {}).get("name")
    deployment = store.deployments.get((serving.namespace, str(name)))
    if deployment is None or deployment.uid != roll.target_uid:
        return False
    if roll.state is RollState.INTENDED:
        return now - roll.started_at <= INTENT_VALID_SECONDS
    not_seen_yet = deployment.generation < roll.target_generation
    return not_seen_yet or rollout_of(deployment) is not None


def _key(view: View) -> Key:
    return view.serving.namespace, view.serving.name


def _surge_pods(plan: RollPlan) -> int:
    """Return the surge Pods that a roll counts on finding a node for.

    Where Pods may be taken away, it counts on none that is not known to find one.
    """
    if plan.recreate:
        return 0
    if plan.unavailable == 0:
        return max(1, min(plan.surge, plan.room.pods or 1)) if plan.surge else 0
    return min(plan.surge, plan.room.pods or 0)
