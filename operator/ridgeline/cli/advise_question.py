"""From the profiles that a person named to what the cost model is asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.cli.advise_flags import Measured, WantedProfile
from ridgeline.cli.cutoff_facts import Stated, question_of
from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.acceptance import Task, prior
from ridgeline.costmodel.arm import Arm, Calibration, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import MOST_SCALE, arm_models
from ridgeline.costmodel.lookahead import best_lookahead
from ridgeline.costmodel.profile_advice import Asked
from ridgeline.costmodel.workload import Workload
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.served_model import ServedModel
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, Profile
from ridgeline.engine.spelling_profile import render_for
from ridgeline.policy.facts import Problem
from ridgeline.settings.advise_model import AdvisedModel, drafts_for
from ridgeline.settings.goodput import GoodputInputs, Question
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

_USUAL_LOOKAHEAD: Final = 3
"""Where none can be worked out: what published heads were mostly measured with."""

SOME_DRAFTER: Final = "ORGANISATION/HEAD"
"""Stands where a head still has to be named."""

_ASSUMED: Final = (
    "the lengths of prompts and answers are assumed: say --prompt-tokens and --output-tokens"
)


class AdviseError(ValueError):
    """Nothing can be advised; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseInputs:
    """What is known before the profiles are looked at.

    Attributes:
        model: The served model.
        accelerator: The GPU.
        precision: Of the weights.
        precision_because: What told it.
        served: How the model lies on the GPUs.
        contract: What the release accepts.
        engine_version: The release; `None` when it was not told.
        wanted: The profiles.
        task: What requests are mostly about, where nothing is known of acceptance.
        workload: The mean request.
        workload_told: Whether a person told it; else it is assumed.
        contexts: Further lengths of context.
        asked: What is asked beside the profiles.
        measured: A time per output token that a person measured; `None` for none.
        startup_seconds: How long a start takes; `None` when not told.
        notes: What a person should know of how the words were read.
    """

    model: AdvisedModel
    accelerator: Accelerator
    precision: Precision
    precision_because: str
    served: ServedModel
    contract: EngineContract
    engine_version: str | None
    wanted: tuple[WantedProfile, ...]
    task: Task
    workload: Workload
    workload_told: bool
    contexts: tuple[float, ...]
    asked: Asked
    measured: Measured | None
    startup_seconds: float | None
    notes: tuple[str, ...] = ()


def goodput_inputs(inputs: AdviseInputs) -> GoodputInputs:
    """Return what the cost model rests on beside the profiles."""
    return GoodputInputs(
        accelerator=inputs.accelerator,
        model=inputs.model.target,
        precision=inputs.precision,
        served=inputs.served,
        engine_version=inputs.engine_version,
    )


def served_profiles(inputs: AdviseInputs) -> tuple[tuple[WantedProfile, ...], tuple[str, ...]]:
    """Return the profiles that the release serves, and why others are left out."""
    kept, notes = [], []
    for each in inputs.wanted:
        _refuse_nameless(each.profile, inputs.model)
        named = _with_head(each, inputs.model)
        try:
            render_for(with_some_drafter(named.profile), inputs.contract)
        except InvalidSpeculativeConfigError as error:
            notes.append(
                f"{each.profile.name} is left out: vLLM {inputs.contract.version}: {error}"
            )
        else:
            kept.append(named)
    if not kept:
        raise AdviseError("; ".join(notes))
    if inputs.engine_version is None:
        notes.append(
            f"--vllm is not told: what the engine takes is that of {inputs.contract.version}, the "
            "newest release that is known"
        )
    elif not inputs.contract.verified:
        notes.append(
            f"vLLM {inputs.engine_version} is not known: it is taken for "
            f"{inputs.contract.known_as}, the nearest release that is"
        )
    return tuple(kept), tuple(notes)


def _refuse_nameless(profile: Profile, model: AdvisedModel) -> None:
    if profile.method is not Method.DRAFT_MODEL or profile.model is not None:
        return
    fitting = drafts_for(model.target)
    known = f"; of its vocabulary are {', '.join(fitting[:3])}" if fitting else ""
    example = fitting[0] if fitting else "ORGANISATION/NAME"
    raise AdviseError(
        f"--method DraftModel names no draft model: write DraftModel:5:{example}{known}"
    )


def _with_head(wanted: WantedProfile, model: AdvisedModel) -> WantedProfile:
    """Return a profile with the catalogue's head for the target, where none was named."""
    profile, facts = wanted.profile, model.target.facts
    if profile.model is not None or profile.method not in (Method.EAGLE, Method.EAGLE3):
        return wanted
    head = None if facts is None else load_models().head_for(facts.name, profile.method)
    if head is None:
        return wanted
    return replace(wanted, profile=replace(profile, model=head.name))


def with_some_drafter(profile: Profile) -> Profile:
    """Return a profile with some drafter: that one still has to be named is told elsewhere."""
    if profile.model is None and profile.method in (Method.EAGLE, Method.EAGLE3):
        return replace(profile, model=SOME_DRAFTER)
    return profile


def chosen_profiles(
    inputs: AdviseInputs, served: Sequence[WantedProfile]
) -> tuple[tuple[Profile, ...], tuple[tuple[str, str], ...]]:
    """Return the profiles with a lookahead each, one without speculation, and how K was chosen."""
    none = Profile(name="none", method=Method.DISABLED)
    question = asked_question(inputs, (*(each.profile for each in served), none))
    profiles, notes = [], []
    at = inputs.asked.concurrency
    for wanted, arm in zip(served, question.arms, strict=False):
        profile = wanted.profile
        if wanted.choose:
            found = best_lookahead(question.deployment, arm, question.workload, at)
            unknown = isinstance(found, CannotSay)
            count = _USUAL_LOOKAHEAD if isinstance(found, CannotSay) else max(1, found)
            why = "the usual one" if unknown else f"the best at {at:g} requests per engine"
            notes.append((f"K of {profile.name}", f"{count}, {why}"))
            rates = None if profile.acceptance is None else profile.acceptance[:count]
            profile = replace(profile, num_speculative_tokens=count, acceptance=rates)
        profiles.append(profile)
    return (*profiles, none), tuple(notes)


def asked_question(inputs: AdviseInputs, profiles: Sequence[Profile]) -> Question:
    """Return what the cost model is asked.

    Raises:
        AdviseError: Something that it needs is missing.
    """
    workload = inputs.workload
    stated = Stated(
        context_tokens=workload.context_tokens,
        prefill_per_token=workload.prefill_per_token,
    )
    found = question_of(profiles, goodput_inputs(inputs), stated)
    if isinstance(found, Problem):
        raise AdviseError(found.message)
    arms = tuple(_of_task(each, inputs.task) for each in found.arms)
    doubts = found.doubts if inputs.workload_told else (*found.doubts, _ASSUMED)
    return _measured(replace(found, arms=arms, doubts=doubts), inputs.measured)


def _of_task(arm: Arm, task: Task) -> Arm:
    known = arm.acceptance
    if known is None or known.origin is not Origin.PRIOR:
        return arm
    return replace(arm, acceptance=prior(arm.method, len(known.rates), task))


def _measured(question: Question, measured: Measured | None) -> Question:
    """Return the question with the step times brought to what a person measured without drafts."""
    if measured is None:
        return question
    scale = _scale(question, measured)
    arms = tuple(
        each
        if each.method.speculates
        else replace(each, calibration=Calibration(log_scale=scale, windows=1))
        for each in question.arms
    )
    return replace(question, arms=arms)


def _scale(question: Question, measured: Measured) -> float:
    """Return ln of measured ÷ predicted time of a step without speculation."""
    none = Arm(name="none", method=Method.DISABLED)
    (model,) = arm_models(question.deployment, (none,), question.workload)
    if isinstance(model, CannotSay):
        raise AdviseError(str(model))
    if measured.concurrency > model.room.max_concurrency:
        raise AdviseError(
            f"--measured-tpot: the engine admits {model.room.max_concurrency:.0f} requests, not "
            f"{measured.concurrency:g}: correct it, or the facts of the engine"
        )
    modelled = model.step.seconds(measured.concurrency)
    scale = math.log(measured.seconds / modelled)
    if abs(scale) > MOST_SCALE:
        raise AdviseError(
            f"--measured-tpot: {measured.seconds * 1e3:g} ms at {measured.concurrency:g} requests "
            f"is far from the {modelled * 1e3:.1f} ms that are predicted: check its unit, and the "
            "facts of the engine"
        )
    return scale
