"""`ridgeline advise`: whether speculation pays for a model on a GPU, up to where, and why."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from ridgeline.cli import advise_complete as complete
from ridgeline.cli.advise_facts import Advised, advised
from ridgeline.cli.advise_inputs import Typed, inputs_of
from ridgeline.cli.advise_output import draw_advice, print_advice, print_serving
from ridgeline.cli.advise_question import AdviseError, AdviseInputs
from ridgeline.cli.advise_repeat import repeated
from ridgeline.cli.cutoff_flags import FlagError, check_label, check_object_name
from ridgeline.cli.cutoff_output import PlotFile, check_plot
from ridgeline.cli.model_files import ModelFileError
from ridgeline.cli.output import Output
from ridgeline.costmodel.acceptance import Task
from ridgeline.costmodel.cost import HEADROOM, MOST_REPLICAS
from ridgeline.render.plots import PlotsNeedMatplotlibError
from ridgeline.settings.advise_stanza import StanzaError, Wanted, serving_stanza
from ridgeline.terms.precision import Precision

_CONCURRENCY: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Serving:
    """What a person said of the serving that -o yaml prints."""

    name: str
    namespace: str | None
    in_engine: bool


def advise(  # noqa: PLR0913 (one parameter for each option)
    model: Annotated[
        str,
        typer.Option(
            help="Served model: a name of the catalogue, or a checkpoint's config.json.",
            autocompletion=complete.models,
        ),
    ],
    accelerator: Annotated[
        str,
        typer.Option(
            help="GPU: a name of the catalogue, or of a family of it, such as H100.",
            autocompletion=complete.accelerators,
        ),
    ],
    method: Annotated[
        list[str],
        typer.Option(
            help="Method to compare with none, [NAME=]METHOD[:K[:MODEL]]: Eagle, Eagle3, "
            "DraftModel, NGram, MTP, Suffix. Without K the best one is chosen. May be given "
            "several times.",
            autocompletion=complete.methods,
        ),
    ],
    tensor_parallel: Annotated[
        int, typer.Option("--tensor-parallel", "--tp", min=1, max=1024, help="GPUs of one engine.")
    ] = 1,
    precision: Annotated[
        Precision | None,
        typer.Option(
            case_sensitive=False, help="Of the weights; else as config.json or the name tells."
        ),
    ] = None,
    vllm: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            "--engine-version",
            help="Version of vLLM, such as 0.24.0; else the newest known.",
        ),
    ] = None,
    acceptance: Annotated[
        list[str] | None,
        typer.Option(
            help="How often drafts are accepted, [NAME=]RATES: by position (0.7,0.5,0.3), per "
            "token (0.7), or an acceptance length (2.4); else what the method usually has."
        ),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            case_sensitive=False, help="What requests are about, where acceptance is not stated."
        ),
    ] = Task.CHAT,
    prompt_tokens: Annotated[
        float | None, typer.Option(help="Mean tokens of a prompt; else 500, recommended only.")
    ] = None,
    output_tokens: Annotated[
        float | None, typer.Option(help="Mean tokens of an answer; else 1000, recommended only.")
    ] = None,
    context: Annotated[
        list[float] | None,
        typer.Option(help="Further context to show the speed-up at; may be given several times."),
    ] = None,
    concurrency: Annotated[
        float, typer.Option(help="Requests in decode per engine at which K is chosen and checked.")
    ] = _CONCURRENCY,
    max_num_seqs: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Most requests in one step, vLLM's flag.")
    ] = None,
    max_num_batched_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000_000, help="Most tokens in one step, vLLM's flag; else its default."
        ),
    ] = None,
    load: Annotated[
        str | None, typer.Option(help="Load to plan for, such as 12req/s or 3000tok/s (output).")
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_REPLICAS, help="Replicas that carry it; else as few as needed."
        ),
    ] = None,
    headroom: Annotated[
        float, typer.Option(help="Share of capacity left free for peaks when replicas are counted.")
    ] = HEADROOM,
    gpu_price: Annotated[
        float | None, typer.Option(help="Price of one GPU for an hour, in any currency.")
    ] = None,
    max_tpot: Annotated[
        float | None, typer.Option(help="Most milliseconds per output token; limits capacity.")
    ] = None,
    measured_tpot: Annotated[
        str | None,
        typer.Option(
            help="Milliseconds per output token that you measured without speculation, and the "
            "requests per engine meanwhile: 11.5@16. Makes times and costs far more certain."
        ),
    ] = None,
    startup_seconds: Annotated[
        float | None, typer.Option(help="From a Pod's start to Ready, for what a roll costs.")
    ] = None,
    accelerator_file: Annotated[
        list[Path] | None,
        typer.Option(help="YAML file with AcceleratorProfiles; may be given several times."),
    ] = None,
    name: Annotated[
        str, typer.Option(help="Name of serving and Deployment in -o yaml; else the model's.")
    ] = "",
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace in -o yaml.")
    ] = None,
    in_engine: Annotated[
        bool, typer.Option("--in-engine", help="Put the in-engine schedule into -o yaml.")
    ] = False,
    output: Annotated[
        Output,
        typer.Option("--output", "-o", help="yaml is a SpeculativeServing ready to apply."),
    ] = Output.TABLE,
    plot: PlotFile = None,
) -> None:
    """Advise on speculation for a model on a GPU, before anything is installed.

    Speed-up by concurrency and context, cut-offs with their uncertainty, the best lookahead, the
    in-engine schedule, memory, first token, capacity, cost, and a verdict with the checks behind
    it. Nothing is asked of a cluster, and no GPU is needed.

    Examples:
      ridgeline advise --model ./config.json --accelerator L4 --method Eagle3:3
          --acceptance 0.7,0.5,0.3 --plot advice.html
      ridgeline advise --model Qwen/Qwen3-32B --accelerator H200 --method Eagle3 --load 40req/s
          --prompt-tokens 900 --output-tokens 300 --gpu-price 3.5
      ridgeline advise --model Qwen/Qwen3-32B --accelerator H200 --method Eagle3 -o yaml
          | kubectl apply --dry-run=server -f -

    Exit status:
      0 when there is advice, also when it is no.
      1 when nothing can be advised, with one line on standard error that says why.
      2 for wrong usage, a file that cannot be read among it.
    """
    typed = Typed(
        model=model,
        accelerator=accelerator,
        accelerator_file=accelerator_file or [],
        method=method,
        acceptance=acceptance or [],
        task=task,
        tensor_parallel=tensor_parallel,
        precision=precision,
        vllm=vllm,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        context=context or [],
        concurrency=concurrency,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        load=load,
        replicas=replicas,
        headroom=headroom,
        gpu_price=gpu_price,
        max_tpot=max_tpot,
        measured_tpot=measured_tpot,
        startup_seconds=startup_seconds,
    )
    serving = _Serving(name=name, namespace=namespace, in_engine=in_engine)
    try:
        check_plot(plot)
        check_object_name("--name", name or None)
        check_label("--namespace", namespace)
        _put_out(typed, serving, output, plot)
    except (FlagError, ModelFileError) as error:
        _fail(str(error), status=2)
    except (AdviseError, PlotsNeedMatplotlibError, StanzaError) as error:
        _fail(str(error), status=1)


def _put_out(typed: Typed, serving: _Serving, output: Output, plot: Path | None) -> None:
    inputs = inputs_of(typed)
    told = advised(inputs)
    body = _body(typed, inputs, told, serving) if output is Output.YAML else None
    if plot is not None:
        draw_advice(told.report, plot)
    if body is not None:
        print_serving(body, told.report, repeated(inputs, body, typed.accelerator_file))
    else:
        print_advice(told.report, output)


def _body(typed: Typed, inputs: AdviseInputs, told: Advised, serving: _Serving) -> dict[str, Any]:
    precision = inputs.model.precision.precision if typed.precision is None else typed.precision
    rows = {each: found.rows for each, found in told.in_engine.items() if serving.in_engine}
    return serving_stanza(
        Wanted(
            name=serving.name,
            namespace=serving.namespace,
            model=inputs.model,
            precision=precision,
            accelerator=inputs.accelerator.name,
            engine_version=inputs.engine_version,
            profiles=told.profiles,
            schedules=rows,
        )
    )


def _fail(message: str, *, status: int) -> NoReturn:
    typer.echo(f"ridgeline advise: {message}", err=True)
    sys.exit(status)
