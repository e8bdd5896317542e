"""What the Goodput strategy asks the cost model, from everything that is known of a serving."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.acceptance import prior, rates_from_counters
from ridgeline.costmodel.arm import Acceptance, Arm, Calibration, Origin, Tier
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import scale_of_unseen
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.engine.contract import contract_of
from ridgeline.engine.served_model import ServedModel
from ridgeline.engine.speculative_config import VLLM_METHOD, Profile
from ridgeline.engine.version import is_legacy
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.policy.settings import Prediction
from ridgeline.settings.accelerator_slices import name_and_profile
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.model_drafts import NoDraft
from ridgeline.settings.target_model import TargetModel
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason

MEASURED_SD: Final = 0.02
"""Relative standard deviation of an acceptance length that telemetry measured here: a per cent of
each position, and requests that change from hour to hour."""

STATED_SD: Final = 0.08
"""The same of one that a person measured elsewhere: published ones of one head differ by as much
between benchmarks."""

_CONTEXT_NOT_KNOWN: Final = Workload(context_tokens=1000.0, prefill_per_token=0.5)

_UTILIZATION: Final = 0.9
"""vLLM's default of --gpu-memory-utilization (0.9 up to 0.33)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputInputs:
    """What the Goodput strategy rests on beside the profiles.

    Attributes:
        accelerator: The GPU, or why it is not known.
        model: The served model, or why it is not known.
        precision: Of its weights and of the arithmetic on them.
        served: What the container's command line tells.
        engine_version: Version of the engine, `None` while it is not known.
        learned: What telemetry taught, `None` before it did.
    """

    accelerator: Accelerator | Problem
    model: TargetModel | Problem
    precision: Precision
    served: ServedModel
    engine_version: str | None = None
    learned: Learned | None = None


_MOST_TABLES: Final = 256
"""Tables that are kept; one takes some ten milliseconds to work out, and some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that the answer depends on: equal questions have equal answers.

    Attributes:
        basis: What anything learned holds for, as one text.
        deployment: The target.
        arms: Its profiles in a person's order.
        workload: The mean request.
        notes: What a person should know of the facts behind it.
        doubts: Why the answer may be recommended only, beyond what the cost model says.
    """

    basis: str
    deployment: Deployment
    arms: tuple[Arm, ...]
    workload: Workload
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A cut-off table with what its curves assume, or why there is none."""

    cutoff: CutoffTable | Problem
    prediction: Prediction | None = None


def ask(profiles: Sequence[Profile], inputs: GoodputInputs) -> Question | Problem:
    """Return the question that a serving's facts make, or which fact is missing."""
    if isinstance(inputs.accelerator, Problem):
        return inputs.accelerator
    if isinstance(inputs.model, Problem):
        return inputs.model
    apart = _slices_apart(inputs.accelerator, inputs.served)
    if apart is not None:
        return apart
    deployment = _deployment(inputs.accelerator, inputs.model.shape, inputs)
    basis = _basis(deployment, inputs.engine_version)
    known = inputs.learned
    learned = known if known is not None and known.basis == basis else None
    workload, doubts = _workload(learned)
    arms, notes = [], list(inputs.model.notes)
    for profile in profiles:
        arm, more = _arm(profile, inputs.model, learned)
        arm = replace(arm, schedule=_schedule(profile, inputs))
        arms.append(arm)
        notes.extend(more)
    if inputs.served.kv_bytes is None:
        doubts.append(
            f"--kv-cache-dtype {inputs.served.kv_cache_dtype} is not known; the KV cache is taken "
            "for 16 bits"
        )
    return Question(
        basis=basis,
        deployment=deployment,
        arms=tuple(arms),
        workload=workload,
        notes=tuple(dict.fromkeys(notes)),
        doubts=tuple(doubts),
    )


def answer(question: Question) -> Answer:
    """Return what the cost model says."""
    table = _table(question.deployment, question.arms, question.workload)
    prediction = Prediction(
        basis=question.basis,
        lengths={
            each.name: each.acceptance.length
            for each in question.arms
            if each.acceptance and not each.schedule
        },
        scales=_scales(question.arms),
        scheduled=tuple(each.name for each in question.arms if each.schedule),
    )
    if isinstance(table, CannotSay):
        problem = Problem(reason=Reason.CANNOT_PREDICT, message=str(table))
        return Answer(cutoff=problem, prediction=prediction)
    qualified = table.qualified(*question.notes).qualified(
        *question.doubts, undecided=bool(question.doubts)
    )
    return Answer(cutoff=qualified, prediction=prediction)


@lru_cache(maxsize=_MOST_TABLES)
def _table(
    deployment: Deployment, arms: tuple[Arm, ...], workload: Workload
) -> CutoffTable | CannotSay:
    """Return the table, worked out once for servings that are alike, as many are at a start."""
    return goodput_table(deployment, arms, workload)


def _slices_apart(accelerator: Accelerator, served: ServedModel) -> Problem | None:
    """Return that an engine spans several MIG slices, which reach no other; `None` when not."""
    span = served.tensor_parallel * served.pipeline_parallel
    if span == 1 or name_and_profile(accelerator.name) is None:
        return None
    return Problem(
        reason=Reason.ACCELERATOR_SHARED,
        message=f"an engine of {span} GPUs cannot run on slices such as {accelerator.name}: MIG "
        "slices reach no other slice; set --tensor-parallel-size and --pipeline-parallel-size to "
        "1, or give the Pods whole GPUs",
    )


def _deployment(accelerator: Accelerator, shape: ModelShape, inputs: GoodputInputs) -> Deployment:
    served = inputs.served
    return Deployment(
        accelerator=accelerator,
        model=shape,
        precision=inputs.precision,
        kv_bytes=served.kv_bytes or 2.0,
        tensor_parallel=served.tensor_parallel,
        pipeline_parallel=served.pipeline_parallel,
        expert_parallel=served.expert_parallel,
        data_parallel=served.data_parallel,
        max_num_seqs=served.max_num_seqs,
        gpu_memory_utilization=served.gpu_memory_utilization or _UTILIZATION,
        captured_tokens=0 if served.enforce_eager else 512,
        legacy_engine=is_legacy(inputs.engine_version),
    )


def _basis(deployment: Deployment, engine_version: str | None) -> str:
    gpus = f"{deployment.tensor_parallel} x {deployment.accelerator.name}"
    if deployment.pipeline_parallel > 1:
        gpus = f"{deployment.pipeline_parallel} x {gpus}"
    return (
        f"{deployment.model.name} at {deployment.precision.value} on {gpus}, "
        f"vLLM {engine_version or 'of unknown version'}"
    )


def _workload(learned: Learned | None) -> tuple[Workload, list[str]]:
    if learned is None or learned.context_tokens is None:
        doubt = (
            "the length of the requests' context is not known before a whole rate window of "
            f"traffic was seen; {_CONTEXT_NOT_KNOWN.context_tokens:.0f} tokens are assumed"
        )
        return _CONTEXT_NOT_KNOWN, [doubt]
    prefill = learned.prefill_per_token
    return Workload(context_tokens=learned.context_tokens, prefill_per_token=prefill or 0.0), []


def _arm(
    profile: Profile, model: TargetModel, learned: Learned | None
) -> tuple[Arm, tuple[str, ...]]:
    known = learned.arm(profile.name) if learned is not None else None
    calibration = (
        Calibration(log_scale=known.log_scale, windows=known.windows) if known else Calibration()
    )
    draft = model.draft(profile.method, profile.model)
    found = None if draft is None or isinstance(draft, NoDraft) else draft
    notes: tuple[str, ...] = ()
    if isinstance(draft, NoDraft):
        notes = (f"{profile.name}: {draft.message}",)
    elif draft is not None:
        notes = draft.notes
    arm = Arm(
        name=profile.name,
        method=profile.method,
        lookahead=profile.num_speculative_tokens or 0 if profile.method.speculates else 0,
        draft=found.shape if found else None,
        draft_added_params=found.added_params if found else None,
        acceptance=_acceptance(profile, learned),
        calibration=calibration,
    )
    return arm, notes


def _schedule(profile: Profile, inputs: GoodputInputs) -> tuple[Tier, ...]:
    """Return a profile's schedule where the engine follows it; it drafts the same always if not."""
    if profile.schedule is None:
        return ()
    contract = contract_of(load_engine_contracts(), inputs.engine_version)
    several = inputs.served.data_parallel > 1
    followed = (
        contract.honours_schedule
        and VLLM_METHOD[profile.method] in contract.schedule_methods
        and (contract.schedule_with_data_parallel or not several)
    )
    rows = sorted(profile.schedule) if followed else ()
    return tuple(Tier(first=first, last=last, lookahead=k) for first, last, k in rows)


def _acceptance(profile: Profile, learned: Learned | None) -> Acceptance:
    if not profile.method.speculates:
        return Acceptance(rates=(), origin=Origin.NONE_NEEDED)
    lookahead = profile.num_speculative_tokens or 0
    usual = prior(profile.method, lookahead)
    known = learned.arm(profile.name) if learned is not None else None
    if known is not None and known.acceptance:
        return Acceptance(
            rates=rates_from_counters(known.acceptance, lookahead or len(known.acceptance)),
            hit=1.0 if known.drafted is None else known.drafted,
            origin=Origin.MEASURED,
            relative_sd=MEASURED_SD,
        )
    if profile.acceptance is not None:
        return Acceptance(
            rates=rates_from_counters(profile.acceptance, lookahead or len(profile.acceptance)),
            hit=usual.hit,
            origin=Origin.STATED,
            relative_sd=STATED_SD,
        )
    return usual


def _scales(arms: Sequence[Arm]) -> dict[str, float]:
    usual = scale_of_unseen(arms)
    return {
        each.name: each.calibration.log_scale if each.calibration.seen else usual for each in arms
    }
