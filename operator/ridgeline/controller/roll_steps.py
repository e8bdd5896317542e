"""Carries out the steps of a roll that is under way (`policy.roll_steps`).

    decide the step ─▶ announce in status, where it is a decision ─▶ write

Pausing and giving `spec.paused` back are no decisions: they follow from what is seen, so a
successor of a killed process takes them by itself.
"""

import logging
from dataclasses import replace

from ridgeline.cluster.store import WatchStore
from ridgeline.controller.intent import with_comparison
from ridgeline.controller.judging import watch_new_pods
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.mind import Mind
from ridgeline.controller.ports import Leader, Targets
from ridgeline.controller.reporter import NotLeaderError, Reporter, reference
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.roll_writes import Rewrite, held_back, let_go, put_back, rewrite
from ridgeline.controller.rolling import Refusal, TargetMovedError
from ridgeline.controller.view import View, hold_while_rolling
from ridgeline.policy.facts import Problem
from ridgeline.policy.proof import Proof, basis_of, with_proof
from ridgeline.policy.quarantine import quarantined
from ridgeline.policy.roll import Roll, promoted, undoing
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.roll_steps import Asked, NextStep, Step, next_step
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult, RollState, RollWay

log = logging.getLogger(__name__)


class RollSteps:
    """Takes the next step of a serving's roll, if there is one."""

    def __init__(
        self,
        *,
        store: WatchStore,
        targets: Targets,
        reporter: Reporter,
        leader: Leader,
        metrics: OperatorMetrics,
    ) -> None:
        self._store = store
        self._targets = targets
        self._reporter = reporter
        self._leader = leader
        self._metrics = metrics

    async def advance(self, view: View, mind: Mind) -> View:
        """Take the next step; return the view with what it changed.

        Raises:
            NotLeaderError: The Lease was lost between the decision and its write.
            ClusterError: A call failed; the next pass finds the roll where it stands.
        """
        roll, settings, target = view.roll, view.settings.rolls, view.target
        if roll is None or settings is None or isinstance(target, Problem):
            return view
        step = _step(view, mind, roll, settings)
        view = _with_verification(view, mind, roll)
        if step is None:
            return view
        view = replace(view, step=step)
        if step.step is Step.WAIT or not self._leader.held:
            return view
        try:
            return await self._take(view, mind, target, roll, step)
        except TargetMovedError as error:
            log.info("step of a roll put off: %s", error, extra=reference(view.serving))
            return view

    async def _take(
        self, view: View, mind: Mind, target: ResolvedTarget, roll: Roll, step: NextStep
    ) -> View:
        serving, on_delete = view.serving.name, view.spec.on_delete
        match step.step:
            case Step.PAUSE:
                return await self._write(view, held_back(target, roll, serving, on_delete))
            case Step.GIVE_BACK:
                return await self._write(view, let_go(target, serving, on_delete))
            case Step.PROMOTE:
                view = await self._announce(_promoted(view, mind, roll, step))
                return await self._write(view, let_go(target, serving, on_delete))
            case Step.UNDO:
                if roll.state is not RollState.UNDOING:
                    self._count_undone(view, roll, step)
                    view = await self._announce(_undone(view, mind, roll, step))
                return await self._write(view, put_back(target, roll, serving, on_delete))
        return view

    def _count_undone(self, view: View, roll: Roll, step: NextStep) -> None:
        key = (view.serving.namespace, view.serving.name)
        self._metrics.roll.undone.labels(*key, roll.to_profile, step.why.reason.value).inc()

    async def _announce(self, view: View) -> View:
        serving = await self._reporter.report(view, hold_while_rolling(view), obliged=True)
        return replace(view, serving=serving)

    async def _write(self, view: View, asked: Rewrite) -> View:
        if not self._leader.held:
            raise NotLeaderError("the Lease was lost before a step of the roll was written")
        outcome = await rewrite(self._targets, asked)
        if isinstance(outcome, Refusal):
            log.warning("%s", outcome.problem.message, extra=reference(view.serving))
            return replace(view, step=_refused(view, outcome.problem))
        self._metrics.writes.labels("profile").inc()
        self._store.put_deployment(outcome)
        roll = view.roll
        if roll is not None:
            view = replace(view, roll=replace(roll, target_generation=outcome.generation))
        told = view.step.step.value if view.step else ""
        log.info("step of the roll taken", extra={**reference(view.serving), "step": told})
        return view.with_target(outcome)


def _step(view: View, mind: Mind, roll: Roll, settings: RollSettings) -> NextStep | None:
    target = view.rolled_target
    if target is None:
        return None
    watched = watch_new_pods(view, mind, roll)
    return next_step(roll, target, watched, _asked(view, roll), settings, view.now)


def _asked(view: View, roll: Roll) -> Asked:
    settings = view.settings
    return Asked(
        forced=settings.forced if settings.forced in settings.methods else None,
        withdrawn=_withdrawn(view, roll),
        idle=settings.suspended or settings.frozen,
    )


def _withdrawn(view: View, roll: Roll) -> Problem | None:
    """Return why the operator may not finish what it had begun, `None` when it may."""
    settings, profile = view.settings, roll.to_profile
    if settings.frozen:
        reason, told = Reason.FROZEN, "the operator was frozen"
    elif settings.suspended:
        reason, told = Reason.SUSPENDED, "the serving was suspended"
    elif settings.mode is not Mode.AUTOMATIC and settings.forced != profile:
        reason, told = Reason.RECOMMEND_ONLY, "spec.mode is not Automatic any more"
    elif settings.configs.get(profile) != roll.config:
        reason, told = Reason.SPEC_CHANGED, f"spec.profiles changed what {profile} is"
    else:
        return None
    return Problem(reason=reason, message=f"{told} while the canary of {profile} was judged")


def _promoted(view: View, mind: Mind, roll: Roll, step: NextStep) -> View:
    view = replace(view, roll=promoted(roll, step.why, view.now))
    judged = step.why.reason in (Reason.CANARY_BETTER, Reason.CANARY_ALIKE)
    result = ProofResult.CANARY_PASSED if judged else ProofResult.UNCLEAR
    return _with_proof(view, roll, result, _gain(mind) if judged else None)


def _gain(mind: Mind) -> int | None:
    return mind.judgement.gain_percent if mind.judgement is not None else None


def _undone(view: View, mind: Mind, roll: Roll, step: NextStep) -> View:
    view = replace(view, roll=undoing(roll, step.why, view.now))
    if roll.compares:
        return with_comparison(view, roll, step.why, mind.judgement)
    if step.quarantines:
        slow = view.memory.slow
        entries = quarantined(
            slow.quarantine,
            roll.to_profile,
            reason=step.why.reason,
            message=step.why.message,
            config=roll.config,
            template=roll.template,
            now=view.now,
        )
        slow = replace(slow, quarantine=entries)
        return replace(view, memory=replace(view.memory, slow=slow))
    if roll.way is RollWay.TRIAL and step.why.reason is Reason.TRIAL_ENDED:
        return _with_proof(view, roll, ProofResult.TRIED, _gain(mind))
    return view


def _with_verification(view: View, mind: Mind, roll: Roll) -> View:
    """Return the view in which it stands what the fleet gains since its roll."""
    found = mind.verification
    if roll.state is not RollState.FINISHED or found is None:
        return view
    mind.verification = None
    return _with_proof(view, roll, found.result, found.gain_percent)


def _with_proof(
    view: View, roll: Roll, result: ProofResult, gain_percent: int | None = None
) -> View:
    proof = Proof(
        profile=roll.to_profile,
        result=result,
        at=view.now,
        config=roll.config,
        template=roll.template,
        basis=basis_of(view.settings),
        gain_percent=gain_percent,
        promised_percent=roll.promised_percent,
    )
    slow = replace(view.memory.slow, proofs=with_proof(view.memory.slow.proofs, proof))
    return replace(view, memory=replace(view.memory, slow=slow))


def _refused(view: View, problem: Problem) -> NextStep:
    step = view.step.step if view.step else Step.WAIT
    return NextStep(step=step, why=problem)
