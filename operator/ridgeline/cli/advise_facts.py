"""From what a person typed to what is advised."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.cli.advise_question import (
    SOME_DRAFTER,
    AdviseError,
    AdviseInputs,
    asked_question,
    chosen_profiles,
    goodput_inputs,
    served_profiles,
    with_some_drafter,
)
from ridgeline.cli.cutoff_facts import Told, report_of
from ridgeline.costmodel.advice import Advice, Quiet, advice_of
from ridgeline.costmodel.arm import Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import capacity
from ridgeline.costmodel.cost import plan
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.lookahead import Tier, lookahead_schedule
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.profile_advice import Asked, ProfileAdvice, profile_advice
from ridgeline.costmodel.startup import RollCost, roll_cost
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.render.advise_report import AdviceReport, CostCurve, InEngineRow
from ridgeline.render.cutoff_report import CutoffReport, predicted
from ridgeline.settings.advise_model import uneven_heads
from ridgeline.settings.advise_schedule import InEngine, in_engine
from ridgeline.settings.goodput import Question, answer
from ridgeline.terms.modes import Strategy
from ridgeline.terms.verdict import Verdict

_SIZES: Final = (2, 4, 8, 16, 32)
"""Tensor-parallel sizes that are tried where a model does not fit."""

_COST_POINTS: Final = 97
_COST_REPLICAS: Final = 8
"""Cost is drawn up to the load that so many replicas carry, or twice the load that was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What is shown, and what a serving is written from.

    Attributes:
        report: What is shown.
        profiles: The profiles with the lookaheads that were chosen.
        in_engine: What the engine can do by load, by the profile's name.
    """

    report: AdviceReport
    profiles: tuple[Profile, ...]
    in_engine: dict[str, InEngine]


def advised(inputs: AdviseInputs) -> Advised:
    """Return what is advised.

    Raises:
        AdviseError: The release serves none of the profiles, or the model does not fit the GPUs.
    """
    served, notes = served_profiles(inputs)
    profiles, chosen = chosen_profiles(inputs, served)
    question = asked_question(inputs, profiles)
    table = answer(question).cutoff
    told = Told(
        accelerator="--accelerator",
        precision=inputs.precision_because,
        notes=(("acceptance", _acceptance(question)), *chosen),
    )
    cutoff = report_of(
        _subject(inputs), Strategy.GOODPUT, table, question, goodput_inputs(inputs), told
    )
    more = (*inputs.notes, *notes, *question.notes)
    return _with_rest(inputs, profiles, question, cutoff, tuple(dict.fromkeys(more)))


def _with_rest(
    inputs: AdviseInputs,
    profiles: tuple[Profile, ...],
    question: Question,
    cutoff: CutoffReport,
    notes: tuple[str, ...],
) -> Advised:
    deployment, workload = question.deployment, question.workload
    models = [
        each
        for each in arm_models(deployment, question.arms, workload)
        if isinstance(each, ArmModel)
    ]
    none = next((each for each in models if not each.arm.method.speculates), None)
    if none is None:
        raise AdviseError(_no_fit(question))
    engine = _in_engines(inputs, profiles, question, cutoff)
    profiles_advised = tuple(
        profile_advice(deployment, each, none, workload, inputs.asked) for each in models
    )
    report = AdviceReport(
        cutoff=cutoff,
        advice=_started(inputs, _advice(cutoff, question)),
        asked=inputs.asked,
        contexts=tuple(
            predicted(deployment, question.arms, replace(workload, context_tokens=each))
            for each in inputs.contexts
        ),
        profiles=profiles_advised,
        in_engine=tuple(
            InEngineRow(profile=name, config=each.config, why=_told(each))
            for name, each in engine.items()
        ),
        roll=_roll(inputs, profiles_advised),
        cost_curves=tuple(_cost_curves(models, inputs.asked)),
        notes=notes,
    )
    return Advised(report=report, profiles=profiles, in_engine=engine)


def _no_fit(question: Question) -> str:
    """Return why the model cannot be served at all, with the fewest GPUs that would do."""
    none = next(each for each in question.arms if not each.method.speculates)
    (found,) = arm_models(question.deployment, (none,), question.workload)
    told = str(found) if isinstance(found, CannotSay) else "no profile can be predicted"
    for size in _SIZES:
        more = replace(question.deployment, tensor_parallel=size)
        if not isinstance(room_of(more, none, question.workload), CannotSay):
            return f"{told}; it fits from --tensor-parallel {size} on"
    return told


def _roll(inputs: AdviseInputs, advised_of: Sequence[ProfileAdvice]) -> RollCost | CannotSay:
    demand = inputs.asked.demand
    likely = [each.load.likely for each in advised_of if each.load is not None]
    planned = [each.replicas for each in likely if not isinstance(each, CannotSay)]
    return roll_cost(
        max(planned, default=1),
        inputs.served.tensor_parallel,
        inputs.startup_seconds,
        None if demand is None else demand.gpu_hour,
    )


def _subject(inputs: AdviseInputs) -> str:
    return (
        f"{inputs.model.target.shape.name} on {inputs.served.tensor_parallel} × "
        f"{inputs.accelerator.name}"
    )


def _acceptance(question: Question) -> str:
    told = {
        each.name: each.acceptance.origin
        for each in question.arms
        if each.acceptance is not None and each.method.speculates
    }
    guessed = [name for name, origin in told.items() if origin is Origin.PRIOR]
    if not guessed:
        return "as stated"
    return f"what the method usually has, for {', '.join(guessed)}: a guess, state your own"


def _started(inputs: AdviseInputs, advice: Advice) -> Advice:
    """Say first when the engine would not even start: numbers alone would look like a promise."""
    refused = uneven_heads(inputs.model.target, inputs.served.tensor_parallel)
    if not refused:
        return advice
    return replace(advice, answer=Verdict.NO, headline=f"No: {refused}. Else: {advice.headline}")


def _advice(cutoff: CutoffReport, question: Question) -> Advice:
    table = cutoff.table
    if not isinstance(table, CutoffTable):
        return Advice(
            answer=Verdict.UNDECIDED,
            headline=f"Cannot say: {table}",
        )
    quiet = []
    if not isinstance(cutoff.predicted, str):
        for each in cutoff.predicted.profiles:
            if each.arm.method.speculates and each.points:
                first = each.points[0]
                quiet.append(
                    Quiet(
                        profile=each.arm.name,
                        speedup=first.speedup,
                        low=first.low,
                        high=first.high,
                        fewer=_fewer(each.tiers, each.arm.lookahead),
                    )
                )
    return advice_of(table, question.arms, quiet)


def _fewer(tiers: Sequence[Tier], lookahead: int | None) -> int | None:
    """Return the best lookahead with the most requests in a step, if it is a shorter one."""
    last = tiers[-1].lookahead if tiers else 0
    return last if 0 < last < (lookahead or 0) else None


def _in_engines(
    inputs: AdviseInputs, profiles: Sequence[Profile], question: Question, cutoff: CutoffReport
) -> dict[str, InEngine]:
    found = {}
    for profile, arm in zip(profiles, question.arms, strict=True):
        if not profile.method.speculates:
            continue
        tiers = lookahead_schedule(question.deployment, arm, question.workload)
        found[profile.name] = in_engine(
            with_some_drafter(profile),
            () if isinstance(tiers, CannotSay) else tiers,
            inputs.contract,
            cutoff=_cutoff_of(profile.name, cutoff),
            engines=inputs.served.data_parallel,
        )
    return found


def _told(found: InEngine) -> str:
    if found.config is not None and SOME_DRAFTER in found.config:
        return f"{found.why}; put your head in place of {SOME_DRAFTER}"
    return found.why


def _cutoff_of(profile: str, cutoff: CutoffReport) -> float | None:
    if not isinstance(cutoff.table, CutoffTable):
        return None
    index = cutoff.table.index_of(profile)
    return None if index is None else cutoff.table.rows[index].up_to


def _cost_curves(models: Sequence[ArmModel], asked: Asked) -> Iterator[CostCurve]:
    """Yield the cost by load of each profile, over the same loads."""
    demand = asked.demand
    if demand is None or demand.gpu_hour is None:
        return
    found = [capacity(each, asked.tpot_limit) for each in models]
    capacities = [each for each in found if not isinstance(each, CannotSay)]
    if not capacities:
        return
    most = max(
        2.0 * demand.tokens_per_second,
        _COST_REPLICAS * max(each.tokens_per_second for each in capacities),
    )
    least = min(demand.tokens_per_second / 2.0, most / (8.0 * _COST_REPLICAS))
    for each in capacities:
        loads, costs = [], []
        for step in range(_COST_POINTS):
            load = least * (most / least) ** (step / (_COST_POINTS - 1))
            carried = plan(each, replace(demand, tokens_per_second=load))
            if not isinstance(carried, CannotSay) and carried.per_million is not None:
                loads.append(load)
                costs.append(carried.per_million)
        if loads:
            yield CostCurve(profile=each.curve.profile, loads=tuple(loads), costs=tuple(costs))
