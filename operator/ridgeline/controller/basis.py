"""What a serving's cut-offs rest on: its policy, its accelerator, its precision and parallelism."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from zlib import crc32

from ridgeline.api.spec import Model, SpeculativeServingSpec
from ridgeline.cluster.objects import PodObject, ServingObject
from ridgeline.cluster.store import Key
from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.controller.catalogue import ClusterCatalogue
from ridgeline.controller.kept import Kept, Part
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.flags import PrecisionHint, precision_hint, tensor_parallel_size
from ridgeline.engine.served_model import ServedModel, served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.engine.version import released, version_of_image
from ridgeline.policy.engine_report import EngineReport
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.status import AcceleratorReport, PolicyReport
from ridgeline.settings.accelerators import (
    Catalogue,
    ResolvedAccelerator,
    resolve_accelerator,
)
from ridgeline.settings.cutoffs import RidgeInputs
from ridgeline.settings.engine_report import engine_report
from ridgeline.settings.goodput import Answer, GoodputInputs, Question, answer, ask
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.policies import named_policy
from ridgeline.settings.preflight import Around
from ridgeline.settings.preflight_room import Hardware
from ridgeline.settings.resolve import settings_of
from ridgeline.settings.schedules import findings_of
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.modes import Strategy, UnverifiedEngine
from ridgeline.terms.precision import Precision

_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the cut-offs of one serving rest on.

    Attributes:
        resolved: Every tuning field with its source.
        policy: The policy in use, for status.
        accelerator: The GPU, or why it is not known.
        labels: Node labels that told it, as `key=value`.
        precision: Precision of the target.
        precision_because: What told it.
        tensor_parallel: GPUs that one engine spans.
        served: What the container's command line tells of the model.
        model: The served model, or why it is not known; only the Goodput strategy needs it.
        engine_version: Version of the engine, `None` while it is not known.
        engine_from_image: Whether the image's tag told it.
    """

    resolved: ResolvedSpec
    policy: PolicyReport | None
    accelerator: ResolvedAccelerator | Problem
    labels: tuple[str, ...]
    precision: Precision
    precision_because: str
    tensor_parallel: int
    served: ServedModel
    model: TargetModel | Problem
    engine_version: str | None
    engine_from_image: bool = False

    @property
    def pool(self) -> str | None:
        """The type of GPU that a roll wants spare ones of; `None` while it is not known."""
        if isinstance(self.accelerator, Problem):
            return None
        return self.accelerator.accelerator.name

    def accelerator_report(self) -> AcceleratorReport | None:
        """Return what status tells of the GPU; `None` while it is not known."""
        if isinstance(self.accelerator, Problem):
            return None
        return AcceleratorReport(
            name=self.accelerator.accelerator.name,
            found_by=self.accelerator.found_by,
            labels=self.labels,
        )


@lru_cache(maxsize=4096)
def _read(words: tuple[str, ...]) -> tuple[PrecisionHint, int, ServedModel]:
    """Return what a command line tells; the same one is met in every pass."""
    return precision_hint(words), tensor_parallel_size(words), served_model(words)


@lru_cache(maxsize=4096)
def _model_of(told: Model | None, served: ServedModel) -> TargetModel | Problem:
    return target_model(told, served)


class Knowledge:
    """Everything beyond the serving itself that its settings depend on."""

    def __init__(self, around: Surroundings | None = None, *, remember: bool = True) -> None:
        self.around = around
        self.kept = Kept(remember=remember)
        self._catalogue = ClusterCatalogue(around)

    def catalogue(self) -> Catalogue:
        """Return the catalogue with the cluster's AcceleratorProfiles laid over it."""
        return self._catalogue.now()

    def basis(
        self,
        serving: ServingObject,
        spec: SpeculativeServingSpec,
        target: ResolvedTarget | Problem,
        pods: tuple[PodObject, ...],
    ) -> Basis:
        """Return what a serving's cut-offs rest on; gathered anew only when that is another."""
        policy, catalogue = self._policy(serving, spec), self.catalogue()
        nodes = self.around.nodes_version if self.around is not None else 0
        return self.kept.of(
            (serving.namespace, serving.name),
            Part.BASIS,
            (spec, policy, catalogue, target, pods, nodes),
            lambda: self._gathered(spec, policy, catalogue, target, pods),
        )

    def _gathered(
        self,
        spec: SpeculativeServingSpec,
        policy: SpecObject | None,
        catalogue: Catalogue,
        target: ResolvedTarget | Problem,
        pods: tuple[PodObject, ...],
    ) -> Basis:
        resolved = resolve_spec(
            spec, named_policy(policy.name, policy.spec) if policy is not None else None
        )
        labels = self._node_labels(target, pods)
        accelerator = resolve_accelerator(
            labels,
            catalogue,
            spec.accelerator,
            # The cost model knows what a slice has; the ridge was measured on whole GPUs.
            scale_slices=resolved.cutoff.value.resolved_strategy is Strategy.GOODPUT,
        )
        words = target.container.words if isinstance(target, ResolvedTarget) else ()
        hint, tensor_parallel, served = _read(words)
        told = spec.model.precision if spec.model is not None else None
        # The image's tag knows it best: what a person wrote may be from before an upgrade.
        from_image = _version_of_image(target)
        return Basis(
            resolved=resolved,
            policy=PolicyReport(name=policy.name, generation=policy.generation)
            if policy is not None and resolved.policy is not None
            else None,
            accelerator=accelerator,
            labels=_telling_labels(accelerator, labels),
            precision=told or hint.precision,
            precision_because="spec.model.precision" if told else hint.because,
            tensor_parallel=tensor_parallel,
            served=served,
            model=_model_of(spec.model, served),
            engine_version=from_image or _stated_version(spec, target),
            engine_from_image=from_image is not None,
        )

    def answer(self, key: Key, question: Question) -> Answer:
        """Return what the cost model says of a serving; asked again only when it is another."""
        return self.kept.of(key, Part.ANSWER, (question,), lambda: answer(question))

    def settings(
        self,
        key: Key,
        basis: Basis,
        profiles: tuple[Profile, ...],
        *,
        learned: Learned | None,
        frozen: bool,
        forced: str | None,
        left_out: frozenset[str],
        engine: EngineReport | None,
    ) -> PolicySettings:
        """Return the settings of a serving's policy; made anew only when something is another.

        What schedules ask for changes with time, and is not in it.
        """
        return self.kept.of(
            key,
            Part.SETTINGS,
            (basis, profiles, learned, frozen, forced, left_out, engine),
            lambda: replace(
                policy_settings(
                    basis,
                    profiles,
                    lambda question: self.answer(key, question),
                    learned=learned,
                    frozen=frozen,
                    forced=forced,
                    left_out=left_out,
                ),
                engine=engine,
            ),
        )

    def engine(
        self,
        key: Key,
        spec: SpeculativeServingSpec,
        basis: Basis,
        target: ResolvedTarget | Problem,
        profiles: tuple[Profile, ...],
    ) -> EngineReport | None:
        """Return what a target's engine would serve; looked into again only when it is another."""
        if isinstance(target, Problem):
            return None
        container = target.container
        hold = UnverifiedEngine.HOLD
        unverified = spec.engine.unverified if spec.engine is not None else hold
        known = (basis.engine_version, basis.model, basis.accelerator)
        asked = (container, profiles, *known, unverified)
        return self.kept.of(
            key,
            Part.ENGINE,
            asked,
            lambda: engine_report(
                container,
                profiles,
                basis.engine_version,
                around=_around(basis),
                unverified=unverified,
            ),
        )

    def schedule_problems(self, key: Key, basis: Basis, now: float) -> tuple[Problem, ...]:
        """Return what is wrong with a serving's schedules; looked into anew once a day.

        The hour of it differs from serving to serving: calendars of hundreds of days are gone
        through for it, and a thousand servings at once would hold the tick up.
        """
        resolved = basis.resolved
        if not resolved.schedules.value:
            return ()
        day = (now + crc32("/".join(key).encode()) % _DAY) // _DAY
        names = tuple(each.name for each in resolved.own.profiles)
        asked = (resolved.schedules, names, day)
        return self.kept.of(key, Part.SCHEDULES, asked, lambda: findings_of(resolved, now))

    def forget(self, key: Key) -> None:
        """Drop what is kept of a serving that is gone."""
        self.kept.forget(key)

    def _policy(self, serving: ServingObject, spec: SpeculativeServingSpec) -> SpecObject | None:
        if self.around is None or spec.policy_ref is None:
            return None
        return self.around.policies.get((serving.namespace, spec.policy_ref.name))

    def _node_labels(
        self, target: ResolvedTarget | Problem, pods: tuple[PodObject, ...]
    ) -> list[dict[str, str]]:
        """Return the labels of the nodes that the Pods run on, or could run on before they do."""
        if self.around is None or isinstance(target, Problem):
            return []
        names = sorted({pod.node for pod in pods if pod.node is not None and not pod.deleting})
        nodes = [self.around.nodes.get(("", name)) for name in names]
        found = [each.node for each in nodes if each is not None]
        needs = target.deployment.shape.needs
        if not names and needs.requests:
            every = (each.node for each in self.around.nodes.all())
            found = [node for node in every if needs.allows(node) and needs.fits(node)]
        return [dict(node.labels) for node in found]


def _version_of_image(target: ResolvedTarget | Problem) -> str | None:
    return None if isinstance(target, Problem) else version_of_image(target.container.image)


def _stated_version(spec: SpeculativeServingSpec, target: ResolvedTarget | Problem) -> str | None:
    told = spec.engine.version if spec.engine is not None else None
    return released(told) if told is not None and not isinstance(target, Problem) else None


def _around(basis: Basis) -> Around:
    """Return what is known around a container before it starts.

    What telemetry taught of the requests is left out: a profile that is refused today and not
    tomorrow would be chosen in turns.
    """
    if isinstance(basis.model, Problem):
        return Around()
    if isinstance(basis.accelerator, Problem):
        return Around(model=basis.model)
    hardware = Hardware(accelerator=basis.accelerator.accelerator, model=basis.model)
    return Around(model=basis.model, hardware=hardware)


def policy_settings(
    basis: Basis,
    profiles: tuple[Profile, ...],
    answered: Callable[[Question], Answer],
    *,
    learned: Learned | None,
    frozen: bool,
    forced: str | None,
    left_out: frozenset[str] = frozenset(),
) -> PolicySettings:
    """Return the settings of a serving's policy.

    Args:
        basis: What its cut-offs rest on.
        profiles: Its profiles.
        answered: Answers what the Goodput strategy asks.
        learned: What telemetry taught of it.
        frozen: Whether the operator's freeze switch is on.
        forced: Profile that a person ordered.
        left_out: Profiles that are not to be chosen for now: the others compete without them.
    """
    found = basis.accelerator
    accelerator = found if isinstance(found, Problem) else found.accelerator

    def goodput() -> Answer:
        competing = tuple(each for each in profiles if each.name not in left_out)
        question = goodput_question(basis, competing, learned)
        return Answer(cutoff=question) if isinstance(question, Problem) else answered(question)

    ridge = RidgeInputs(
        accelerator=accelerator,
        precision=basis.precision,
        tensor_parallel=basis.tensor_parallel,
    )
    settings = settings_of(basis.resolved, profiles, ridge, goodput)
    table = settings.cutoff
    if isinstance(table, CutoffTable) and strategy_of(basis) is not Strategy.FIXED:
        table = _as_far_as_known(table, basis)
    return replace(settings, cutoff=table, frozen=frozen, forced=forced)


def goodput_question(
    basis: Basis, profiles: tuple[Profile, ...], learned: Learned | None
) -> Question | Problem:
    """Return what a serving asks the cost model, or which fact is missing.

    Args:
        basis: What its cut-offs rest on.
        profiles: Its profiles.
        learned: What telemetry taught of it.
    """
    found = basis.accelerator
    inputs = GoodputInputs(
        accelerator=found if isinstance(found, Problem) else found.accelerator,
        model=basis.model,
        precision=basis.precision,
        served=basis.served,
        engine_version=basis.engine_version,
        learned=learned,
    )
    return ask(profiles, inputs)


def strategy_of(basis: Basis) -> Strategy:
    """Return the strategy that yields the table."""
    return basis.resolved.cutoff.value.resolved_strategy


def _as_far_as_known(table: CutoffTable, basis: Basis) -> CutoffTable:
    """Say on what the table rests; where that is not certain, it is not acted on."""
    if isinstance(basis.accelerator, Problem):
        return table
    return table.qualified(
        *basis.accelerator.reasons,
        f"{basis.precision.value} ({basis.precision_because})",
        undecided=not basis.accelerator.certain,
    )


def _telling_labels(
    accelerator: ResolvedAccelerator | Problem, nodes: list[dict[str, str]]
) -> tuple[str, ...]:
    if isinstance(accelerator, Problem):
        return ()
    key = accelerator.found_by.partition("=")[0]
    return tuple(sorted({f"{key}={labels[key]}" for labels in nodes if key in labels}))
