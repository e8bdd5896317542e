"""From files or flags to what a simulation compares: the truth, the belief, and what is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import Model
from ridgeline.cli.cutoff_facts import (
    Stated,
    basis_of_serving,
    inputs_of,
    question_of,
    taken_without_file,
)
from ridgeline.cli.cutoff_files import FilesError, FromFiles, read_files
from ridgeline.cli.cutoff_flags import (
    FlagError,
    acceptance_of_flags,
    check_accelerator,
    check_model,
    profiles_of_flags,
)
from ridgeline.cli.simulate_truth import TruthFlags, truth_of_flags
from ridgeline.cli.simulate_variants import Asking, is_guess, settled, trusted, variants_of
from ridgeline.controller.basis import Knowledge
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.engine.flags import precision_hint
from ridgeline.engine.served_model import ServedModel
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.status import slow_memory_of
from ridgeline.settings.accelerators import load_catalogue, resolve_accelerator
from ridgeline.settings.goodput import Answer, GoodputInputs, Question, answer
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.schedules import schedule_of
from ridgeline.settings.target_model import target_model
from ridgeline.sim.compare.case import Case, RequestSizes, Variant
from ridgeline.sim.compare.predicted_truth import SCHEDULED, predicted_truth
from ridgeline.terms.names import API_VERSION, SERVING_KIND
from ridgeline.terms.precision import Precision

SCHEDULES_FROM: Final = (0, 24)
"""vLLM's first release with a table of lookaheads by batch size."""


class CaseError(ValueError):
    """There is nothing to simulate; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFlags:
    """What is asked for on the command line.

    Attributes:
        files: YAML files with a serving.
        serving: Name of the serving in them.
        model: Served model.
        accelerator: GPU.
        precision: Precision of the weights.
        profiles: Profiles as `--profile` names them.
        acceptance: What is believed, as `--acceptance` states it.
        truth: What is true, as `--truth` states it.
        stated: Parallelism, limits, version.
        today: Profile that runs without the operator.
        fixed_cutoff: Concurrency of a person's own cut-off.
    """

    files: Sequence[Path] = ()
    serving: str | None = None
    model: str | None = None
    accelerator: str | None = None
    precision: Precision | None = None
    profiles: Sequence[str] = ()
    acceptance: Sequence[str] = ()
    truth: Sequence[str] = ()
    stated: Stated
    today: str | None = None
    fixed_cutoff: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What a Deployment in the files says of the fleet; `None` where there is none."""

    replicas: int | None = None
    surge: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What both ways in lead to."""

    subject: str
    profiles: tuple[Profile, ...]
    inputs: GoodputInputs
    resolved: ResolvedSpec
    active: str | None = None
    fleet: Fleet = Fleet()
    cautions: tuple[str, ...] = ()


def case_of(flags: CaseFlags, sizes: RequestSizes) -> tuple[Case, Fleet]:
    """Return what is compared, and what the files say of the fleet.

    Raises:
        FlagError: An option holds what it must not.
        FilesError: The files do not hold what is needed.
        CaseError: The cost model cannot tell, or an operator would not act on it.
    """
    stated = replace(
        flags.stated,
        context_tokens=sizes.context_tokens,
        prefill_per_token=sizes.prefill_per_token,
    )
    known = _of_files(flags, stated) if flags.files else _of_flags(flags, stated)
    rates = acceptance_of_flags(flags.acceptance, known.profiles)
    profiles = tuple(
        replace(each, acceptance=rates.get(each.name, each.acceptance)) for each in known.profiles
    )
    truth = truth_of_flags(flags.truth, profiles)
    question = question_of(profiles, known.inputs, replace(stated, acceptance=rates))
    if isinstance(question, Problem):
        raise CaseError(question.message)
    return _case(flags, known, profiles, question, truth, sizes), known.fleet


def _of_files(flags: CaseFlags, stated: Stated) -> _Known:
    if flags.profiles:
        raise FlagError(
            f"--profile {flags.profiles[0]}: with --file the profiles are those of the serving"
        )
    told: dict[str, Any] = {}
    if flags.accelerator is not None:
        told["accelerator"] = flags.accelerator
    if flags.model is not None:
        check_model(flags.model)
        told["model"] = {"name": flags.model}
    if flags.precision is not None:
        told.setdefault("model", {})["precision"] = flags.precision.value
    found = read_files(flags.files, flags.serving, told)
    knowledge = Knowledge(found.around)
    if flags.accelerator is not None:
        check_accelerator(flags.accelerator, knowledge.catalogue())
    profiles, basis, _ = basis_of_serving(
        found.serving, found.spec, found.deployment, (), knowledge, stated
    )
    if basis.resolved.problem is not None:
        raise FilesError(basis.resolved.problem.message)
    taken = taken_without_file(found.spec, stated)
    return _Known(
        subject=found.serving.name,
        profiles=profiles,
        inputs=inputs_of(basis, slow_memory_of(found.serving.status).learned),
        resolved=basis.resolved,
        active=_active(found, profiles),
        fleet=_fleet(found),
        cautions=() if found.deployment is not None or not taken else (taken,),
    )


def _active(found: FromFiles, profiles: tuple[Profile, ...]) -> str | None:
    status = found.serving.status.get("activeProfile")
    names = {each.name for each in profiles}
    return status if isinstance(status, str) and status in names else None


def _fleet(found: FromFiles) -> Fleet:
    if found.deployment is None:
        return Fleet()
    plan = RollPlan(
        replicas=found.deployment.replicas,
        recreate=found.deployment.shape.recreate,
        max_surge=found.deployment.shape.max_surge,
        max_unavailable=found.deployment.shape.max_unavailable,
        room=Room(pods=None, why="not looked at"),
    )
    if plan.recreate:
        raise CaseError(
            f"Deployment {found.deployment.name} has strategy Recreate, which stops every replica "
            "at once: the operator would not roll it; set RollingUpdate"
        )
    # Where no Pod may be taken away, a roll waits for a spare GPU: there must be one.
    return Fleet(replicas=found.deployment.replicas, surge=int(plan.unavailable == 0))


def _of_flags(flags: CaseFlags, stated: Stated) -> _Known:
    for option, value in (("--model", flags.model), ("--accelerator", flags.accelerator)):
        if not value:
            raise FlagError(
                f"{option} is not given: name it, or give a serving with --file, or take a "
                "published deployment with --published"
            )
    model, accelerator = flags.model or "", flags.accelerator or ""
    check_model(model)
    check_accelerator(accelerator, load_catalogue())
    gpu = resolve_accelerator((), load_catalogue(), accelerator)
    target = target_model(Model(name=model), ServedModel())
    served = ServedModel(
        name=model,
        tensor_parallel=stated.tensor_parallel or 1,
        max_num_seqs=stated.max_num_seqs,
    )
    return _Known(
        subject=f"{model} on {stated.tensor_parallel or 1} × {accelerator}",
        profiles=profiles_of_flags(flags.profiles),
        inputs=GoodputInputs(
            accelerator=gpu if isinstance(gpu, Problem) else gpu.accelerator,
            model=target if isinstance(target, Problem) else replace(target, found_by="--model"),
            precision=flags.precision or precision_hint(("--model", model)).precision,
            served=served,
            engine_version=stated.engine_version,
        ),
        resolved=resolve_spec(_DEFAULTS, None),
    )


def _case(
    flags: CaseFlags,
    known: _Known,
    profiles: tuple[Profile, ...],
    question: Question,
    truth: TruthFlags,
    sizes: RequestSizes,
) -> Case:
    guessed = [each.name for each in question.arms if is_guess(each)]
    known_well = replace(question, arms=tuple(map(settled, question.arms)), doubts=())
    told = answer(known_well)
    if isinstance(told.cutoff, Problem):
        raise CaseError(told.cutoff.message)
    table, doubts = trusted(told.cutoff)
    scheduling = _has_schedules(known.inputs.engine_version)
    found = predicted_truth(
        known_well.deployment,
        known_well.arms,
        known_well.workload,
        truth.differs,
        schedules=scheduling,
        full_tokens=sizes.held_prompt + sizes.held_output,
    )
    if isinstance(found, CannotSay):
        raise CaseError(str(found))
    names = [each.name for each in found.profiles]
    today = _today(flags.today or known.active, names, profiles)
    cautions = [
        *known.cautions,
        *(f"the acceptance of {each} is what its method usually has, a guess" for each in guessed),
        *(f"ridgeline would only recommend, and is let act here: {each}" for each in doubts),
    ]
    return Case(
        subject=known.subject,
        facts=_facts(known, known_well, truth),
        sizes=sizes,
        truth=found,
        table=table,
        variants=_variants(
            flags, known, profiles, Answer(cutoff=table, prediction=told.prediction)
        ),
        schedules=_schedules(known.resolved),
        today=today,
        engine_schedules=tuple(
            each for each in names if each in {SCHEDULED.format(one.name) for one in profiles}
        ),
        cautions=tuple(cautions),
    )


def _has_schedules(version: str | None) -> bool:
    if version is None:
        return True
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) >= SCHEDULES_FROM


def _today(asked: str | None, names: Sequence[str], profiles: tuple[Profile, ...]) -> str:
    if asked is not None and asked not in names:
        raise FlagError(f"--today {asked}: there is no such profile: {', '.join(names)}")
    speculating = [each.name for each in profiles if each.method.speculates and each.name in names]
    return asked or (speculating[0] if speculating else names[-1])


def _variants(
    flags: CaseFlags, known: _Known, profiles: tuple[Profile, ...], told: Answer
) -> tuple[Variant, ...]:
    asking = Asking(
        resolved=known.resolved,
        configured=bool(flags.files),
        profiles=profiles,
        inputs=known.inputs,
        told=told,
    )
    found, problem = variants_of(asking, flags.fixed_cutoff)
    if not found:
        raise CaseError(problem)
    return found


def _schedules(resolved: ResolvedSpec) -> Callable[[float, float], Any] | None:
    return partial(schedule_of, resolved) if resolved.schedules.value else None


def _facts(known: _Known, question: Question, truth: TruthFlags) -> tuple[tuple[str, str], ...]:
    deployment = question.deployment
    arms = ", ".join(
        f"{each.name} (E[L] {each.acceptance.length:.2f})"
        for each in question.arms
        if each.acceptance is not None and each.method.speculates
    )
    version = known.inputs.engine_version
    return (
        ("model", f"{deployment.model.name}, {deployment.precision.value}"),
        ("accelerator", f"{deployment.tensor_parallel} × {deployment.accelerator.name} a replica"),
        ("engine", f"vLLM {version}" if version else "vLLM, version not told"),
        ("profiles, as believed", arms or "none speculates"),
        ("what is true", ", ".join(truth.told) or "what is believed"),
    )


_DEFAULTS: Final = parse_serving(
    {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": {"name": "simulated", "namespace": "default"},
        "spec": {
            "targetRef": {"name": "simulated"},
            "mode": "Automatic",
            "profiles": [
                {"name": "ngram", "method": "NGram", "numSpeculativeTokens": 4},
                {"name": "none", "method": "Disabled"},
            ],
        },
    }
).spec
"""A serving that leaves every tuning field at its default."""
