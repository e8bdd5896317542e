"""`ridgeline calibrate …`: measure a GPU's step times, and write what they tell of it."""

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
import yaml

from ridgeline.cli.calibrate_manifest import JobFlags, manifests
from ridgeline.cli.calibrate_output import profile_text, summary
from ridgeline.cli.calibrate_plan import BATCHES, Plan, plan_of_flags, program
from ridgeline.cli.cutoff_flags import FlagError, check_accelerator, check_label, check_object_name
from ridgeline.cli.plain import PlainCommand, PlainGroup
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.calibration_grid import Grid, GridError, fit_grid, read_grid
from ridgeline.terms.precision import Precision

app = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[str, typer.Option(help="Served model: a name or a folder.")]
Draft = Annotated[
    str | None, typer.Option(help="Head or draft model; without one nothing is drafted.")
]
MethodName = Annotated[
    str | None, typer.Option(help="vLLM's name of the method: eagle3, draft_model, …")
]
Lookaheads = Annotated[
    str | None, typer.Option(help="Lookaheads by commas; 0,1,3,5 with a method, else 0.")
]
Batches = Annotated[str, typer.Option(help="Batch sizes by commas.")]
Context = Annotated[int, typer.Option(min=16, max=1_000_000, help="Tokens of each prompt.")]
Steps = Annotated[int, typer.Option(min=16, max=10_000, help="Tokens answered by each request.")]
Shallow = Annotated[
    bool,
    typer.Option(
        help="Measure a model of a quarter of the layers too: it tells the host's time from that "
        "of reading weights."
    ),
]
TensorParallel = Annotated[int, typer.Option(min=1, max=1024, help="GPUs that one engine spans.")]
EngineArguments = Annotated[
    str | None, typer.Option(help="Further arguments of vllm.LLM as a JSON object.")
]

_INTERRUPTED: Final = 130


@app.callback()
def main() -> None:
    """Measure step times on a GPU with vLLM, and fit the cost model's constants to them.

    Examples:
      ridgeline calibrate measure --model Qwen/Qwen3-8B --out grid.json
      ridgeline calibrate fit grid.json --out h100.yaml
    """


@app.command(cls=PlainCommand)
def measure(  # noqa: PLR0913 (one parameter for each option)
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write the grid to.")],
    draft: Draft = None,
    method: MethodName = None,
    lookaheads: Lookaheads = None,
    batches: Batches = BATCHES,
    context: Context = 256,
    steps: Steps = 64,
    shallow: Shallow = True,
    tensor_parallel: TensorParallel = 1,
    engine: EngineArguments = None,
    python: Annotated[
        str | None, typer.Option(help="Python that has vLLM; else the one that runs ridgeline.")
    ] = None,
) -> None:
    """Measure step times by batch and lookahead with the vLLM of this machine.

    Weights are random, so that only the model's configuration is needed. vLLM starts once for each
    lookahead; how far it has come is told on standard error.

    Examples:
      ridgeline calibrate measure --model Qwen/Qwen3-8B --out grid.json
      ridgeline calibrate measure --model meta-llama/Llama-3.1-8B-Instruct
          --draft yuhuili/EAGLE3-LLaMA3.1-Instruct-8B --method eagle3 --lookaheads 0,1,3,5
          --out grid.json

    Exit status:
      0 when the grid was written.
      1 when vLLM did not measure it.
      2 for wrong usage.
      130 when interrupted.
    """
    try:
        plan = plan_of_flags(
            model=model,
            draft=draft,
            method=method,
            lookaheads=lookaheads,
            batches=batches,
            context=context,
            steps=steps,
            shallow=shallow,
            tensor_parallel=tensor_parallel,
            engine=engine,
        )
        text = _run(plan, _python(python))
        read_grid(text)
        _write(out, text.strip().splitlines()[-1] + "\n")
    except FlagError as error:
        _fail(str(error), status=2)
    except GridError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'a file'} cannot be used: {error.strerror}")
    typer.echo(f"wrote {out}; now: ridgeline calibrate fit {out}", err=True)


def _python(named: str | None) -> str:
    if named is not None and "\0" not in named:
        return named
    if importlib.util.find_spec("vllm") is None:
        raise FlagError(
            f"--python is not given, and {sys.executable} has no vLLM: name a Python that has, or "
            "run it in a cluster (ridgeline calibrate manifest)"
        )
    return sys.executable


def _run(plan: Plan, python: str) -> str:
    """Run the measuring program and return what it wrote; its own progress passes through.

    Raises:
        GridError: It ended early.
    """
    with tempfile.TemporaryDirectory(prefix="ridgeline-") as folder:
        file = Path(folder) / "measure.py"
        file.write_text(program(), encoding="utf-8")
        process = subprocess.Popen(  # noqa: S603 (the person named the program)
            [python, str(file), plan.text()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            text, _ = process.communicate()
        except KeyboardInterrupt:
            _fail("interrupted", status=_INTERRUPTED)
        finally:
            # The engine's own processes are of the same group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise GridError(
            f"the measuring program ended with exit code {process.returncode}; what vLLM said "
            "stands above"
        )
    return text


@app.command(cls=PlainCommand)
def manifest(  # noqa: PLR0913 (one parameter for each option)
    image: Annotated[str, typer.Option(help="vLLM image, the one that serves.")],
    model: Model,
    draft: Draft = None,
    method: MethodName = None,
    lookaheads: Lookaheads = None,
    batches: Batches = BATCHES,
    context: Context = 256,
    steps: Steps = 64,
    shallow: Shallow = True,
    tensor_parallel: TensorParallel = 1,
    engine: EngineArguments = None,
    name: Annotated[str, typer.Option(help="Name of the Job.")] = "ridgeline-calibrate",
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace of the Job.")
    ] = None,
    resource: Annotated[
        str, typer.Option(help="Name by which Pods ask for GPUs.")
    ] = "nvidia.com/gpu",
    node_label: Annotated[
        list[str] | None,
        typer.Option(help="Label KEY=VALUE of the node to measure on; may be given several times."),
    ] = None,
    secret: Annotated[
        str | None, typer.Option(help="Secret with variables such as a hub's token.")
    ] = None,
    claim: Annotated[str | None, typer.Option(help="Volume claim with a cache of models.")] = None,
) -> None:
    """Print a Job that measures in a cluster; its log ends with the grid.

    Apply it, and fit what its log ends with once it is done.

    Examples:
      ridgeline calibrate manifest --image vllm/vllm-openai:v0.24.0 --model Qwen/Qwen3-8B
          -n inference | kubectl apply -f -
      kubectl logs -n inference job/ridgeline-calibrate | ridgeline calibrate fit -
    """
    try:
        check_label("--name", name)
        check_label("--namespace", namespace)
        check_object_name("--secret", secret)
        check_object_name("--claim", claim)
        _check_image(image)
        plan = plan_of_flags(
            model=model,
            draft=draft,
            method=method,
            lookaheads=lookaheads,
            batches=batches,
            context=context,
            steps=steps,
            shallow=shallow,
            tensor_parallel=tensor_parallel,
            engine=engine,
        )
        flags = JobFlags(
            name=name,
            namespace=namespace,
            image=image,
            gpus=tensor_parallel,
            resource=resource,
            node_selector=_labels(node_label or []),
            secret=secret,
            claim=claim,
        )
    except FlagError as error:
        _fail(str(error), status=2)
    typer.echo(yaml.safe_dump_all(manifests(plan, flags), sort_keys=False), nl=False)


def _check_image(image: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", image):
        raise FlagError(
            f"--image {image!r} is no name of an image: write it as vllm/vllm-openai:v0.24.0"
        )


def _labels(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise FlagError(f"--node-label {text}: write it as KEY=VALUE")
        found[key] = value
    return found


@app.command(cls=PlainCommand)
def fit(
    grid: Annotated[str, typer.Argument(help="File with the grid, or a Job's log; - for stdin.")],
    accelerator: Annotated[
        str | None, typer.Option(help="GPU: a name of the catalogue; else as vLLM named it.")
    ] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(case_sensitive=False, help="Of the weights; else as the model tells."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; else standard output.")] = None,
) -> None:
    """Fit the cost model's constants to a grid, and write them as an AcceleratorProfile.

    Examples:
      ridgeline calibrate fit grid.json --out h100.yaml
      kubectl logs job/ridgeline-calibrate | ridgeline calibrate fit - --accelerator h100-sxm

    Exit status:
      0 when the profile was written.
      1 when the grid is too small, or no constants fit it.
      2 for wrong usage, a grid that cannot be read among it.
    """
    try:
        measured = _grid(grid)
        name = accelerator or _known_as(measured.device)
        check_accelerator(name, load_catalogue())
        gpu = load_catalogue().named(name)
        assert gpu is not None  # noqa: S101 (for the type checker: refused above)
        fitted = fit_grid(measured, gpu, precision)
        profile = profile_text(measured, fitted, gpu)
        if out is not None:
            _write(out, profile)
    except FlagError as error:
        _fail(str(error), status=2)
    except GridError as error:
        _fail(f"{grid}: {error}")
    typer.echo(summary(measured, fitted, gpu), err=True)
    if out is None:
        typer.echo(profile, nl=False)


def _grid(file: str) -> Grid:
    """Return the grid of a file.

    Raises:
        FlagError: It cannot be read, or is none.
    """
    shown = "standard input" if file == "-" else file
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return read_grid(raw.decode("utf-8-sig"))
    except OSError as error:
        raise FlagError(f"{shown} cannot be read: {error.strerror}") from error
    except GridError as error:
        raise FlagError(f"{shown}: {error}") from error
    except ValueError as error:
        raise FlagError(
            f"{shown} is no text: give the file that `ridgeline calibrate measure` wrote"
        ) from error


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FlagError(f"--out {out} cannot be written: {error.strerror}") from error


def _known_as(device: str) -> str:
    """Return the name of a GPU as vLLM told it, in the way of a node label."""
    name = device.strip().replace(" ", "-")
    found = load_catalogue().named(name)
    if found is None:
        raise FlagError(
            f"--accelerator is not given, and the catalogue knows no {device!r}: name the GPU, one "
            f"of {', '.join(load_catalogue().names)}"
        )
    return found.name


def _fail(message: str, *, status: int = 1) -> NoReturn:
    typer.echo(f"ridgeline calibrate: {message}", err=True)
    sys.exit(status)
