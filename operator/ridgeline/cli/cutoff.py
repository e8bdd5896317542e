"""`ridgeline cutoff`: the cut-offs of a serving, from files or from a few facts."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ridgeline.api.spec import Model
from ridgeline.cli.cutoff_facts import (
    Stated,
    Told,
    question_of,
    report_of,
    report_of_serving,
    taken_without_file,
)
from ridgeline.cli.cutoff_files import FilesError, FromFiles, UnreadableFileError, read_files
from ridgeline.cli.cutoff_flags import (
    FlagError,
    acceptance_of_flags,
    check_accelerator,
    check_model,
    check_number,
    profiles_of_flags,
    version_of_flag,
)
from ridgeline.cli.cutoff_output import AsJson, PlotFile, check_plot, put_out
from ridgeline.cli.options import (
    GpuName,
    ManifestFiles,
    NamedServing,
    ServedModelName,
    SpannedGpus,
    WeightPrecision,
)
from ridgeline.cli.output import Output, OutputForm
from ridgeline.controller.basis import Knowledge
from ridgeline.engine.flags import precision_hint
from ridgeline.engine.served_model import ServedModel
from ridgeline.policy.facts import Problem
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.plots import PlotsNeedMatplotlibError
from ridgeline.settings.accelerators import load_catalogue, resolve_accelerator
from ridgeline.settings.goodput import GoodputInputs, answer
from ridgeline.settings.resolve import profiles_of
from ridgeline.settings.target_model import target_model
from ridgeline.terms.modes import Strategy
from ridgeline.terms.precision import Precision


def cutoff(  # noqa: PLR0913 (one parameter for each option)
    file: ManifestFiles = None,
    serving: NamedServing = None,
    model: ServedModelName = None,
    accelerator: GpuName = None,
    tp: SpannedGpus = None,
    precision: WeightPrecision = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            help="Profile to compare, [NAME=]METHOD:K[:MODEL], such as eagle3:3 or "
            "draft:5:meta-llama/Llama-3.2-1B; may be given several times."
        ),
    ] = None,
    acceptance: Annotated[
        list[str] | None,
        typer.Option(
            help="How often drafts are accepted, [NAME=]RATES: by position (0.7,0.5,0.3), per "
            "token (0.7), or an acceptance length (2.4); without NAME of every profile."
        ),
    ] = None,
    context: Annotated[
        float | None, typer.Option(help="Mean context of a request in decode, in tokens.")
    ] = None,
    prefill: Annotated[
        float | None,
        typer.Option(help="Prompt tokens computed per generated token; needs --context; else 0."),
    ] = None,
    max_num_seqs: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Most requests in one step, vLLM's flag."),
    ] = None,
    engine_version: Annotated[
        str | None,
        typer.Option("--engine-version", "--vllm", help="Version of vLLM, such as 0.24.0."),
    ] = None,
    as_json: AsJson = False,
    output: OutputForm = Output.TABLE,
    plot: PlotFile = None,
) -> None:
    """Print which profile is best at which concurrency, how sure that is, and why.

    From files with a serving, or from --model, --accelerator and --profile. Nothing is asked of a
    cluster. With files, options replace what the files say.

    Examples:
      ridgeline cutoff --file serving.yaml --file deployment.yaml
      ridgeline cutoff --model meta-llama/Llama-3.3-70B-Instruct --accelerator h100-sxm --tp 4
          --profile eagle3:3 --acceptance 0.76,0.55,0.39 --plot cutoff.html

    Exit status:
      0 when there is a table, also when it says no.
      1 when nothing can be predicted, with one line on standard error that says why.
      2 for wrong usage, a file that cannot be read among it.
    """
    try:
        check_plot(plot)
        stated = Stated(
            context_tokens=context,
            prefill_per_token=prefill,
            tensor_parallel=tp,
            max_num_seqs=max_num_seqs,
            engine_version=version_of_flag(engine_version),
        )
        _check(stated)
        _check_way_in(file or [], serving, profile or [])
        if file:
            told = _told_by_flags(model, accelerator, precision)
            found = read_files(file, serving, told)
            report = _of_files(found, accelerator, stated, acceptance or [])
        else:
            report = _of_flags(
                model, accelerator, precision, profile or [], stated, acceptance or []
            )
        put_out(report, Output.JSON if as_json else output, plot=plot)
    except (FlagError, UnreadableFileError) as error:
        _fail(str(error), status=2)
    except (FilesError, PlotsNeedMatplotlibError) as error:
        _fail(str(error), status=1)


def _check_way_in(files: list[Path], serving: str | None, profiles: list[str]) -> None:
    if files and profiles:
        raise FlagError(
            f"--profile {profiles[0]}: with --file the profiles are those of the serving; leave "
            "out one of the two"
        )
    if not files and serving is not None:
        raise FlagError(f"--serving {serving}: name the files that it stands in with --file")


def _check(stated: Stated) -> None:
    check_number("--context", stated.context_tokens, least=0, most=1e8)
    check_number("--prefill", stated.prefill_per_token, least=0, most=1e5)
    if stated.prefill_per_token is not None and stated.context_tokens is None:
        raise FlagError(f"--prefill {stated.prefill_per_token:g}: give --context as well")


def _told_by_flags(
    model: str | None, accelerator: str | None, precision: Precision | None
) -> dict[str, Any]:
    """Return the fields of a serving's spec that options replace."""
    told: dict[str, Any] = {}
    if accelerator is not None:
        told["accelerator"] = accelerator
    if model is not None:
        check_model(model)
        told["model"] = {"name": model}
    if precision is not None:
        told.setdefault("model", {})["precision"] = precision.value
    return told


def _of_files(
    found: FromFiles, accelerator: str | None, stated: Stated, acceptance: list[str]
) -> CutoffReport:
    knowledge = Knowledge(found.around)
    if accelerator is not None:
        check_accelerator(accelerator, knowledge.catalogue())
    told = found.spec.model
    if found.deployment is None and (told is None or not (told.name or told.shape)):
        target = found.spec.target_ref.name
        raise FilesError(
            f"--file: there is no Deployment {target!r}, the target of {found.serving.name}: give "
            "its file with another --file, or name the model with --model"
        )
    if found.deployment is None and (taken := taken_without_file(found.spec, stated)):
        typer.echo(f"ridgeline cutoff: note: {taken}", err=True)
    rates = acceptance_of_flags(acceptance, profiles_of(found.spec))
    return report_of_serving(
        found.serving,
        found.spec,
        found.deployment,
        (),
        knowledge,
        replace(stated, acceptance=rates),
    )


def _of_flags(
    model: str | None,
    accelerator: str | None,
    precision: Precision | None,
    profiles: list[str],
    stated: Stated,
    acceptance: list[str],
) -> CutoffReport:
    for option, value in (("--model", model), ("--accelerator", accelerator)):
        if not value:
            raise FlagError(f"{option} is not given: name it, or give a serving with --file")
    assert model is not None  # noqa: S101 (for the type checker: refused above)
    assert accelerator is not None  # noqa: S101
    check_model(model)
    check_accelerator(accelerator, load_catalogue())
    read = profiles_of_flags(profiles)
    rates = acceptance_of_flags(acceptance, read)
    read = tuple(replace(each, acceptance=rates.get(each.name)) for each in read)
    gpu = resolve_accelerator((), load_catalogue(), accelerator)
    target = target_model(Model(name=model), ServedModel())
    hint = precision_hint(("--model", model))
    inputs = GoodputInputs(
        accelerator=gpu if isinstance(gpu, Problem) else gpu.accelerator,
        model=target if isinstance(target, Problem) else replace(target, found_by="--model"),
        precision=precision or hint.precision,
        served=ServedModel(
            name=model,
            tensor_parallel=stated.tensor_parallel or 1,
            max_num_seqs=stated.max_num_seqs,
        ),
        engine_version=stated.engine_version,
    )
    question = question_of(read, inputs, stated)
    table = question if isinstance(question, Problem) else answer(question).cutoff
    return report_of(
        f"{model} on {stated.tensor_parallel or 1} × {accelerator}",
        Strategy.GOODPUT,
        table,
        question,
        inputs,
        Told(
            accelerator="--accelerator",
            precision="--precision" if precision else hint.because,
        ),
    )


def _fail(message: str, *, status: int) -> NoReturn:
    typer.echo(f"ridgeline cutoff: {message}", err=True)
    sys.exit(status)
