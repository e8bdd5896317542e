"""What one pass knows of a serving before it decides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.controller.basis import Basis, Knowledge
from ridgeline.controller.kept import Kept, Part
from ridgeline.controller.observe import facts_of
from ridgeline.controller.options import Options
from ridgeline.controller.resolve import ResolvedTarget, older_claim, resolve_target
from ridgeline.engine.speculative_config import Profile, render
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision
from ridgeline.policy.engine_report import EngineReport
from ridgeline.policy.facts import Facts, Problem, TargetFacts
from ridgeline.policy.law.memory import FastMemory as LawFastMemory
from ridgeline.policy.lifecycle import abandon_switch, finish_switch
from ridgeline.policy.memory import FastMemory, Memory, SlowMemory
from ridgeline.policy.quarantine import binding, counted_from, still_concerned, without
from ridgeline.policy.roll import Roll, abandoned, fleet_runs_old, moved_on
from ridgeline.policy.roll_status import roll_of
from ridgeline.policy.roll_steps import NextStep
from ridgeline.policy.scheduled import lead_of
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.situation import Seen, see
from ridgeline.policy.status import slow_memory_of
from ridgeline.settings.resolve import profiles_of, telemetry_of
from ridgeline.settings.schedules import schedule_of
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.names import API_VERSION, SERVING_KIND
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState

Snapshots = Callable[[str], TelemetrySnapshot | Problem]
"""Gives the last reading of an endpoint by its name, or why there is none."""


_OF_A_ROLLOUT: Final = frozenset(
    {Reason.ROLLOUT_UNDER_WAY, Reason.ROLLOUT_PAUSED, Reason.ROLLOUT_STALLED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that one pass knows before it decides."""

    serving: ServingObject
    spec: SpeculativeServingSpec
    profiles: tuple[Profile, ...]
    settings: PolicySettings
    basis: Basis
    target: ResolvedTarget | Problem
    facts: Facts
    seen: Seen
    roll: Roll | None
    memory: Memory
    now: float
    drift: Problem | None = None
    step: NextStep | None = None

    @property
    def target_facts(self) -> TargetFacts | None:
        """The target as it was seen; `None` when it has a problem."""
        return None if isinstance(self.facts.target, Problem) else self.facts.target

    def profile(self, name: str | None) -> Profile | None:
        """Return the profile of that name, `None` when the serving has none."""
        return next((each for each in self.profiles if each.name == name), None)

    @property
    def rolled_target(self) -> TargetFacts | None:
        """The target with what a roll wrote, whatever the profile is called by now."""
        if isinstance(self.target, Problem):
            return None
        target = self.target.facts
        if self.roll is not None and self._still_carries(self.roll, self.target):
            return replace(target, active_profile=self.roll.to_profile)
        return target

    def with_drift(self, drift: Problem | None) -> "View":
        """Return the view with what the active profile does otherwise than it used to."""
        return self if drift == self.drift else replace(self, drift=drift)

    def with_target(self, deployment: DeploymentObject) -> "View":
        """Return the view with the target as an answer of the API server tells it."""
        target = resolve_target(self.spec, self.profiles, deployment, None)
        known = target if isinstance(target, Problem) else target.facts
        view = replace(self, target=target, facts=replace(self.facts, target=known))
        return view.with_fleet_profile()

    def with_fleet_profile(self) -> "View":
        """Return the view in which the active profile is the one that the fleet is to run.

        While a canary is judged, and while it is taken back, that is not the template's.
        """
        target, roll = self.facts.target, self.roll
        if isinstance(target, Problem) or roll is None or not fleet_runs_old(roll, target):
            return self
        target = replace(target, active_profile=roll.from_profile)
        return replace(self, facts=replace(self.facts, target=target))

    def with_roll_moved_on(self) -> "View":
        """Return the view with the roll as the target shows it, its switch closed if it ended."""
        if self.roll is None:
            return self
        roll = self._moved_on(self.roll)
        memory = self.memory
        if self.roll.open and not roll.open:
            gave_up = roll.state is RollState.ABANDONED
            memory = (abandon_switch if gave_up else finish_switch)(memory, self.now)
        memory = _with_quarantine(memory, self.roll, roll, self.now)
        undone = roll.state is RollState.UNDONE and self.roll.state is not RollState.UNDONE
        if undone and not self.settings.suspended:
            # Only an edit of the serving after this moment hands the target back. (Who suspended it
            # before has the target already, and may release it.)
            roll = replace(roll, serving_generation=self.serving.generation)
        return replace(self, roll=roll, memory=memory).with_fleet_profile()

    def _moved_on(self, roll: Roll) -> Roll:
        if isinstance(self.target, Problem):
            gone = self.target.reason is Reason.TARGET_NOT_FOUND
            return abandoned(roll, self.now) if gone and roll.open else roll
        target = self.rolled_target
        if target is None:
            raise AssertionError("a resolved target has facts")
        moved = moved_on(roll, target, self.now)
        edited = self.serving.generation > roll.serving_generation
        if moved.state is RollState.INTENDED and edited:
            # It was announced for a spec that nobody asks for any more.
            return abandoned(moved, self.now)
        return moved

    def _still_carries(self, roll: Roll, target: ResolvedTarget) -> bool:
        """Tell whether the template still has what the roll wrote, whatever it is called by now.

        A profile that was renamed, removed or edited in the serving does not describe the template
        any more; nobody took it out of there for that.
        """
        if roll.state not in (RollState.CANARY, RollState.ROLLING, RollState.FINISHED):
            return False
        if target.facts.uid != roll.target_uid:
            return False
        if target.facts.generation == roll.target_generation:
            return True
        if self.serving.generation <= roll.serving_generation:
            return False
        labelled = target.deployment.template_profile == roll.to_profile
        unnamed = self.profile(roll.to_profile) is None
        return unnamed or (labelled and target.facts.active_profile is None)


def _left_out(
    slow: SlowMemory,
    profiles: tuple[Profile, ...],
    target: ResolvedTarget | Problem,
    engine: EngineReport | None,
    now: float,
) -> frozenset[str]:
    """Return the profiles that others can be chosen instead of: quarantined, or refused.

    With two profiles the check of a move itself holds it, and says so; with more, the table is
    that of the others. The active one is never left out: it must have its row.
    """
    active = None if isinstance(target, Problem) else target.facts.active_profile
    refused = frozenset(engine.refused) if engine is not None else frozenset[str]()
    bound = ({each.profile for each in binding(slow.quarantine, now)} | refused) - {active}
    left = [each for each in profiles if each.method.speculates and each.name not in bound]
    return frozenset(bound) if left else frozenset()


def _with_quarantine(memory: Memory, before: Roll, after: Roll, now: float) -> Memory:
    """Return memory with a quarantine counted from the end of its undoing, or ended by success."""
    if before.state is after.state:
        return memory
    entries = memory.slow.quarantine
    if after.state is RollState.RESTORED:
        entries = counted_from(entries, after.to_profile, before.stage_at, now)
    elif after.state is RollState.FINISHED:
        entries = without(entries, after.to_profile)
    return replace(memory, slow=replace(memory.slow, quarantine=entries))


def spec_of(serving: ServingObject) -> SpeculativeServingSpec:
    """Parse the spec of a serving.

    Raises:
        InvalidServing: A field holds what it must not.
    """
    body = {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": {"name": serving.name, "namespace": serving.namespace},
        "spec": serving.spec,
    }
    return parse_serving(body).spec


def known_spec(serving: ServingObject, knowledge: Knowledge) -> SpeculativeServingSpec:
    """Return the spec of a serving, parsed anew only when it is another.

    Raises:
        InvalidServing: A field holds what it must not.
    """
    return knowledge.kept.of(
        (serving.namespace, serving.name),
        Part.SPEC,
        (serving.uid, serving.generation, serving.spec),
        lambda: spec_of(serving),
    )


def look(
    store: WatchStore,
    serving: ServingObject,
    spec: SpeculativeServingSpec,
    snapshots: Snapshots,
    knowledge: Knowledge,
    *,
    remembered: Memory,
    options: Options,
    now: float,
) -> View:
    """Gather what store, telemetry, status and fast memory tell of a serving."""
    namespace, name = serving.namespace, spec.target_ref.name
    key, kept = (namespace, serving.name), knowledge.kept
    profiles = kept.of(key, Part.PROFILES, (spec,), lambda: profiles_of(spec))
    pods = store.pods_of(namespace, name)
    target = _known_target(store, serving, spec, profiles, kept)
    basis = knowledge.basis(serving, spec, target, pods)
    status = serving.status
    slow = kept.of(key, Part.MEMORY, (status,), lambda: slow_memory_of(status))
    facts = facts_of(
        target,
        pods,
        snapshots(telemetry_of(basis.resolved)),
        stale_after_seconds=options.stale_after_seconds,
        now=now,
        around=knowledge.around,
        learned_starts=dict(remembered.law.slow.starts),
        parents=options.parents,
    )
    facts = _with_configs(facts, profiles)
    engine = knowledge.engine(key, spec, basis, target, profiles)
    settings = knowledge.settings(
        key,
        basis,
        profiles,
        learned=slow.learned,
        frozen=options.frozen,
        forced=serving.forced_profile,
        left_out=_left_out(slow, profiles, target, engine, now),
        engine=engine,
    )
    if slow.quarantine and isinstance(target, ResolvedTarget):
        template = target.facts.template
        entries = still_concerned(slow.quarantine, settings.configs.get, template)
        slow = replace(slow, quarantine=entries)
    lead = lead_of(slow, now)
    return View(
        serving=serving,
        spec=spec,
        profiles=profiles,
        settings=_with_schedules(settings, knowledge, key, basis, lead=lead, now=now),
        basis=basis,
        target=target,
        facts=facts,
        seen=see(facts),
        roll=kept.of(key, Part.ROLL, (status,), lambda: roll_of(status)),
        memory=replace(remembered, slow=slow),
        now=now,
    )


def _known_target(
    store: WatchStore,
    serving: ServingObject,
    spec: SpeculativeServingSpec,
    profiles: tuple[Profile, ...],
    kept: Kept,
) -> ResolvedTarget | Problem:
    """Return the target of a serving, resolved anew only when it is another."""
    namespace, name = serving.namespace, spec.target_ref.name
    deployment = store.deployments.get((namespace, name))
    claim = older_claim(serving, name, store.servings_of(namespace, name))
    return kept.of(
        (namespace, serving.name),
        Part.TARGET,
        (spec, profiles, deployment, claim),
        lambda: resolve_target(spec, profiles, deployment, claim),
    )


def _with_schedules(
    settings: PolicySettings,
    knowledge: Knowledge,
    key: Key,
    basis: Basis,
    *,
    lead: float,
    now: float,
) -> PolicySettings:
    """Return the settings with what schedules ask for at a moment."""
    schedule = schedule_of(basis.resolved, now, lead)
    problems = knowledge.schedule_problems(key, basis, now)
    if schedule is None and not problems:
        return settings
    return replace(settings, schedule=schedule, schedule_problems=problems)


def _with_configs(facts: Facts, profiles: tuple[Profile, ...]) -> Facts:
    """Return the facts with each profile's config, where a person must set it in the owner."""
    plan = facts.plan
    if plan is None or not plan.owner or plan.through_owner:
        return facts
    configs = {profile.name: render(profile) for profile in profiles}
    return replace(facts, plan=replace(plan, configs=configs))


def hold_while_rolling(view: View) -> Decision:
    """Decide as if nothing had been seen before: never a switch, since nobody has dwelled yet."""
    law = replace(view.memory.law, fast=LawFastMemory())
    memory = replace(view.memory, fast=FastMemory(), law=law)
    return with_step(view, decide(view.facts, view.settings, memory, view.now, view.seen))


def with_step(view: View, decision: Decision) -> Decision:
    """Return a decision that holds for the rollout with what the roll itself is waiting for."""
    if view.step is None or decision.reason not in _OF_A_ROLLOUT:
        return decision
    return replace(decision, reason=view.step.why.reason, message=view.step.why.message)
