"""Everything that `ridgeline advise` was told, checked, and brought into the values of the core."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ridgeline.cli.advise_flags import load_of_flag, measured_of_flag, wanted_profiles
from ridgeline.cli.advise_question import AdviseInputs
from ridgeline.cli.advise_words import accelerator_of, contract_of_flag, model_of, precision_of
from ridgeline.cli.cutoff_flags import FlagError, check_number, version_of_flag
from ridgeline.costmodel.acceptance import Task
from ridgeline.costmodel.cost import Demand
from ridgeline.costmodel.profile_advice import Asked
from ridgeline.costmodel.workload import Workload
from ridgeline.engine.served_model import ServedModel
from ridgeline.settings.advise_model import uneven_heads
from ridgeline.terms.precision import Precision

PROMPT: Final = 500.0
OUTPUT: Final = 1000.0
"""Tokens of a request where nothing is told: they make the mean context of 1,000 and the 0.5 prompt
tokens per generated one that every cut-off assumes (`settings.goodput`)."""

CONTEXTS: Final = (2000.0, 8000.0, 32000.0)
"""Further contexts at which the speed-up is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a person typed, option by option."""

    model: str
    accelerator: str
    accelerator_file: list[Path]
    method: list[str]
    acceptance: list[str]
    task: Task
    tensor_parallel: int
    precision: Precision | None
    vllm: str | None
    prompt_tokens: float | None
    output_tokens: float | None
    context: list[float]
    concurrency: float
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    load: str | None
    replicas: int | None
    headroom: float
    gpu_price: float | None
    max_tpot: float | None
    measured_tpot: str | None
    startup_seconds: float | None


def inputs_of(typed: Typed) -> AdviseInputs:
    """Return what was typed as values.

    Raises:
        FlagError: An option holds what it must not.
        ModelFileError: The model's file cannot be read.
    """
    _check(typed)
    release = version_of_flag(typed.vllm, "--vllm")
    contract = contract_of_flag(release)
    gpu, gpu_notes = accelerator_of(typed.accelerator, typed.accelerator_file)
    model = model_of(typed.model)
    heads = uneven_heads(model.target, typed.tensor_parallel)
    precision, because = precision_of(typed.precision, model, typed.model)
    return AdviseInputs(
        model=model,
        accelerator=gpu,
        precision=precision,
        precision_because=because,
        served=ServedModel(
            name=typed.model,
            tensor_parallel=typed.tensor_parallel,
            max_num_seqs=typed.max_num_seqs,
        ),
        contract=contract,
        engine_version=release,
        wanted=wanted_profiles(typed.method, typed.acceptance, contract.max_lookahead),
        task=typed.task,
        workload=_workload(typed),
        workload_told=typed.prompt_tokens is not None or typed.output_tokens is not None,
        contexts=tuple(dict.fromkeys(typed.context or CONTEXTS)),
        asked=_asked(typed),
        measured=measured_of_flag(typed.measured_tpot),
        startup_seconds=typed.startup_seconds,
        notes=tuple(each for each in (heads, *gpu_notes, *model.notes) if each),
    )


def _asked(typed: Typed) -> Asked:
    return Asked(
        concurrency=typed.concurrency,
        prompt_tokens=PROMPT if typed.prompt_tokens is None else typed.prompt_tokens,
        budget=typed.max_num_batched_tokens,
        tpot_limit=None if typed.max_tpot is None else typed.max_tpot / 1e3,
        demand=_demand(typed),
    )


def _check(typed: Typed) -> None:
    check_number("--prompt-tokens", typed.prompt_tokens, least=1, most=1e7)
    check_number("--output-tokens", typed.output_tokens, least=1, most=1e7)
    check_number("--concurrency", typed.concurrency, least=0.1, most=1e5)
    check_number("--headroom", typed.headroom, least=0, most=0.95)
    check_number("--gpu-price", typed.gpu_price, least=0, most=1e6)
    check_number("--max-tpot", typed.max_tpot, least=0.1, most=1e6)
    check_number("--startup-seconds", typed.startup_seconds, least=0, most=1e6)
    for each in typed.context:
        check_number("--context", each, least=1, most=1e8)
    if typed.load is None:
        for option, value in (("--gpu-price", typed.gpu_price), ("--replicas", typed.replicas)):
            if value is not None:
                raise FlagError(f"{option} {value:g}: say for which load, such as --load 12req/s")


def _workload(typed: Typed) -> Workload:
    """Return the mean request, whose context holds half the answer on average.

    A length that is not told is assumed.
    """
    prompt = PROMPT if typed.prompt_tokens is None else typed.prompt_tokens
    output = OUTPUT if typed.output_tokens is None else typed.output_tokens
    return Workload(context_tokens=prompt + output / 2.0, prefill_per_token=prompt / output)


def _demand(typed: Typed) -> Demand | None:
    if typed.load is None:
        return None
    output = OUTPUT if typed.output_tokens is None else typed.output_tokens
    return Demand(
        tokens_per_second=load_of_flag(typed.load, output),
        gpus=typed.tensor_parallel,
        gpu_hour=typed.gpu_price,
        replicas=typed.replicas,
        headroom=typed.headroom,
    )
