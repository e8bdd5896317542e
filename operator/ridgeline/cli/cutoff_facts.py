"""From what is known of a serving to what is shown of its cut-offs: the controller's own way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject
from ridgeline.controller.basis import Basis, Knowledge, policy_settings, strategy_of
from ridgeline.controller.resolve import ResolvedTarget, resolve_target
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.learned import Learned
from ridgeline.policy.status import slow_memory_of
from ridgeline.render.cutoff_report import CutoffReport, Predicted, predicted
from ridgeline.settings.goodput import GoodputInputs, Question, answer, ask
from ridgeline.settings.resolve import profiles_of
from ridgeline.terms.explanations import EXPLANATIONS
from ridgeline.terms.modes import Strategy
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict

_READABLE_ALL_THE_SAME: Final = (
    Reason.INJECTION_POINT_MISSING,
    Reason.ARGS_NOT_EDITABLE,
    Reason.SPECULATIVE_CONFIG_INVALID,
)
"""Troubles of a target whose command line tells its model nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a person says in place of what would be looked up; `None` for nothing.

    Attributes:
        context_tokens: Mean context of a request in decode.
        prefill_per_token: Prompt tokens computed per generated token.
        tensor_parallel: GPUs that one engine spans.
        max_num_seqs: Most requests in one step.
        engine_version: Version of vLLM.
        acceptance: Rates by position, by the profile's name.
    """

    context_tokens: float | None = None
    prefill_per_token: float | None = None
    tensor_parallel: int | None = None
    max_num_seqs: int | None = None
    engine_version: str | None = None
    acceptance: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What told the facts that a person may doubt.

    Attributes:
        accelerator: What told the GPU.
        precision: What told the precision.
        notes: More that a person should know, as name and text.
    """

    accelerator: str
    precision: str
    notes: tuple[tuple[str, str], ...] = ()


def taken_without_target(spec: SpeculativeServingSpec, stated: Stated) -> str:
    """Return what is taken of an engine whose Deployment is not there; empty where all is told."""
    words = ", ".join(each for told, each, _ in _of_engine(stated) if told is None)
    target = spec.target_ref.name
    return f"its Deployment {target!r} is not there, so these are taken: {words}" if words else ""


def taken_without_file(spec: SpeculativeServingSpec, stated: Stated) -> str:
    """Return the same where a Deployment is read from files, with the way out."""
    taken = taken_without_target(spec, stated)
    options = ", ".join(each for told, _, each in _of_engine(stated) if told is None)
    return f"{taken}; give its file with another --file, or say {options}" if taken else ""


def _of_engine(stated: Stated) -> tuple[tuple[object, str, str], ...]:
    """Return what a Deployment tells of its engine: as stated, what else is taken, the option."""
    return (
        (stated.tensor_parallel, "tensor-parallel size 1", "--tp"),
        (stated.max_num_seqs, "vLLM's default of --max-num-seqs", "--max-num-seqs"),
        (stated.engine_version, "no version of vLLM", "--engine-version"),
    )


def report_of_serving(
    serving: ServingObject,
    spec: SpeculativeServingSpec,
    deployment: DeploymentObject | None,
    pods: tuple[PodObject, ...],
    knowledge: Knowledge,
    stated: Stated,
) -> CutoffReport:
    """Return what is shown of a serving, live or from a file.

    Args:
        serving: The serving with its status.
        spec: Its spec.
        deployment: Its target; `None` when there is none.
        pods: The target's Pods.
        knowledge: What surrounds it.
        stated: A person's word.
    """
    profiles, basis, notes = basis_of_serving(serving, spec, deployment, pods, knowledge, stated)
    learned = slow_memory_of(serving.status).learned
    accelerator = basis.accelerator
    inputs = inputs_of(basis, learned)
    question = question_of(profiles, inputs, stated)
    settings = policy_settings(
        basis,
        profiles,
        lambda asked: answer(asked if isinstance(question, Problem) else question),
        learned=learned,
        frozen=False,
        forced=None,
    )
    return report_of(
        f"{serving.namespace}/{serving.name}" if serving.namespace else serving.name,
        strategy_of(basis),
        settings.cutoff,
        question,
        inputs,
        Told(
            accelerator="" if isinstance(accelerator, Problem) else accelerator.found_by,
            precision=basis.precision_because,
            notes=notes,
        ),
    )


def basis_of_serving(
    serving: ServingObject,
    spec: SpeculativeServingSpec,
    deployment: DeploymentObject | None,
    pods: tuple[PodObject, ...],
    knowledge: Knowledge,
    stated: Stated,
) -> tuple[tuple[Profile, ...], Basis, tuple[tuple[str, str], ...]]:
    """Return a serving's profiles, what its cut-offs rest on, and notes for a person.

    Args:
        serving: The serving with its status.
        spec: Its spec.
        deployment: Its target; `None` when there is none.
        pods: The target's Pods.
        knowledge: What surrounds it.
        stated: A person's word.
    """
    profiles = tuple(_with_acceptance(each, stated) for each in profiles_of(spec))
    target, notes = _readable(spec, profiles, deployment, stated)
    basis = _with_engine(knowledge.basis(serving, spec, target, pods), stated)
    return profiles, basis, notes


def inputs_of(basis: Basis, learned: Learned | None) -> GoodputInputs:
    """Return what the Goodput strategy rests on beside the profiles."""
    accelerator = basis.accelerator
    return GoodputInputs(
        accelerator=accelerator if isinstance(accelerator, Problem) else accelerator.accelerator,
        model=basis.model,
        precision=basis.precision,
        served=basis.served,
        engine_version=basis.engine_version,
        learned=learned,
    )


def question_of(
    profiles: Sequence[Profile], inputs: GoodputInputs, stated: Stated
) -> Question | Problem:
    """Return what the cost model is asked; a person's word stands where telemetry's would."""
    question = ask(profiles, inputs)
    if isinstance(question, Problem):
        return question
    known = inputs.learned
    if known is None or known.basis != question.basis:
        known = Learned(basis=question.basis)
    learned = replace(
        known,
        context_tokens=_or(stated.context_tokens, known.context_tokens),
        prefill_per_token=_or(stated.prefill_per_token, known.prefill_per_token),
        arms=tuple(
            replace(each, acceptance=()) if each.profile in stated.acceptance else each
            for each in known.arms
        ),
    )
    return ask(profiles, replace(inputs, learned=learned))


def report_of(
    subject: str,
    strategy: Strategy,
    table: CutoffTable | Problem,
    question: Question | Problem,
    inputs: GoodputInputs,
    told: Told,
) -> CutoffReport:
    """Return what is shown.

    Args:
        subject: What it is about.
        strategy: The strategy that yields the table.
        table: The table, or why there is none.
        question: What the cost model is asked, or why it cannot be.
        inputs: What the question rests on.
        told: What told it.
    """
    unsure = isinstance(table, CutoffTable) and table.verdict is Verdict.UNDECIDED
    return CutoffReport(
        subject=subject,
        strategy=strategy.value,
        facts=(("strategy", strategy.value), *_facts(question, inputs, told), *told.notes),
        table=table.message if isinstance(table, Problem) else table,
        way_out=EXPLANATIONS[Reason.CUTOFF_UNDECIDED].way_out if unsure else "",
        predicted=_predicted(question),
    )


def _predicted(question: Question | Problem) -> Predicted | str:
    if isinstance(question, Problem):
        return question.message
    return predicted(question.deployment, question.arms, question.workload)


def _facts(
    question: Question | Problem, inputs: GoodputInputs, told: Told
) -> tuple[tuple[str, str], ...]:
    served, model, gpu = inputs.served, inputs.model, inputs.accelerator
    return (
        (
            "model",
            f"not known: {model.message}"
            if isinstance(model, Problem)
            else f"{model.shape.name} (from {model.found_by})",
        ),
        (
            "accelerator",
            f"not known: {gpu.message}"
            if isinstance(gpu, Problem)
            else f"{gpu.name} (from {told.accelerator})",
        ),
        ("precision", f"{inputs.precision.value} (from {told.precision})"),
        (
            "parallelism",
            f"tensor {served.tensor_parallel}, pipeline {served.pipeline_parallel}, "
            f"data {served.data_parallel}",
        ),
        ("engine", f"vLLM {inputs.engine_version}" if inputs.engine_version else "not known"),
        ("requests", _requests(question)),
    )


def _requests(question: Question | Problem) -> str:
    if isinstance(question, Problem):
        return "not looked at"
    workload = question.workload
    return (
        f"contexts of {workload.context_tokens:.0f} tokens, {workload.prefill_per_token:.2g} "
        "prompt tokens computed per generated token"
    )


def _readable(
    spec: SpeculativeServingSpec,
    profiles: tuple[Profile, ...],
    deployment: DeploymentObject | None,
    stated: Stated,
) -> tuple[ResolvedTarget | Problem, tuple[tuple[str, str], ...]]:
    """Return the target, and its trouble as a note: a command line tells the model all the same."""
    target = resolve_target(spec, profiles, deployment, None)
    if not isinstance(target, Problem):
        return target, ()
    if deployment is None:
        taken = taken_without_target(spec, stated)
        return target, (("target", taken),) if taken else ()
    notes = (("target", target.message),)
    wanted = spec.target_ref.container_name
    named = [each for each in deployment.containers if wanted in (None, each.name)]
    if target.reason not in _READABLE_ALL_THE_SAME or not named:
        return target, notes
    facts = TargetFacts(
        uid=deployment.uid,
        desired_replicas=deployment.replicas,
        active_profile=None,
        active_config="",
        rollout=None,
    )
    return ResolvedTarget(deployment=deployment, container=named[0], facts=facts), notes


def _with_acceptance(profile: Profile, stated: Stated) -> Profile:
    rates = stated.acceptance.get(profile.name)
    return profile if rates is None else replace(profile, acceptance=rates)


def _with_engine(basis: Basis, stated: Stated) -> Basis:
    served = replace(
        basis.served,
        tensor_parallel=stated.tensor_parallel or basis.served.tensor_parallel,
        max_num_seqs=stated.max_num_seqs or basis.served.max_num_seqs,
    )
    return replace(
        basis,
        served=served,
        tensor_parallel=stated.tensor_parallel or basis.tensor_parallel,
        engine_version=stated.engine_version or basis.engine_version,
    )


def _or(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is None else value
