"""`ridgeline simulate`: what rolling would have gained, before anything is installed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ridgeline.cli.cutoff_facts import Stated
from ridgeline.cli.cutoff_files import FilesError, UnreadableFileError
from ridgeline.cli.cutoff_flags import FlagError, check_number, version_of_flag
from ridgeline.cli.options import (
    GpuName,
    ManifestFiles,
    NamedServing,
    ReportFile,
    ServedModelName,
    SpannedGpus,
    WeightPrecision,
)
from ridgeline.cli.output import Output, OutputForm, dump, show

if TYPE_CHECKING:
    from ridgeline.sim.compare.play import Told
    from ridgeline.sim.compare.scores import Simulated

NEEDS_EXTRA: Final = (
    "simulating needs the extra simulate (numpy, numba): pip install 'ridgeline[simulate]', or "
    "pip install '.[simulate]' in a checkout"
)
PUBLISHED: Final = ("70b", "8b", "weak")
SHAPES: Final = ("diurnal", "bursty", "flash-crowd")
MIXES: Final = ("chat", "azure-conversation", "azure-code", "mooncake")


def simulate(  # noqa: PLR0913 (one parameter for each option)
    file: ManifestFiles = None,
    serving: NamedServing = None,
    published: Annotated[
        str | None,
        typer.Option(
            help="In place of a model: a deployment whose step times were published, "
            f"{', '.join(PUBLISHED)}."
        ),
    ] = None,
    model: ServedModelName = None,
    accelerator: GpuName = None,
    tp: SpannedGpus = None,
    precision: WeightPrecision = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            help="Profile to compare, [NAME=]METHOD:K[:MODEL], such as eagle3:3; may be given "
            "several times."
        ),
    ] = None,
    acceptance: Annotated[
        list[str] | None,
        typer.Option(help="What is believed to be accepted, as for `ridgeline cutoff`."),
    ] = None,
    truth: Annotated[
        list[str] | None,
        typer.Option(
            help="What is true and not believed: acceptance[.PROFILE]=0.6, "
            "step-time[.PROFILE]=1.1 (a factor), or with --published cutoff=-20%; may be given "
            "several times."
        ),
    ] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option(min=1, max=512, help="Most requests in one step, vLLM's flag.")
    ] = None,
    engine_version: Annotated[
        str | None,
        typer.Option("--engine-version", "--vllm", help="Version of vLLM, such as 0.24.0."),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(help="Profile that runs without ridgeline; else the first that speculates."),
    ] = None,
    traffic: Annotated[
        str,
        typer.Option(
            help=f"A built-in shape ({', '.join(SHAPES)}) or a CSV file: arrival_s, prompt_tokens, "
            "output_tokens, one row a request; or time_s, requests_per_second, one row a step."
        ),
    ] = SHAPES[0],
    requests: Annotated[
        str, typer.Option(help=f"Sizes where no file tells them: {', '.join(MIXES)}.")
    ] = MIXES[0],
    load: Annotated[
        float | None,
        typer.Option(
            help="Level as a share of the load at which the fleet reaches its cut-off: a "
            "weekday's plateau, the height of a flash crowd, or a file's mean. Else 1.1, and a "
            "file as it was recorded."
        ),
    ] = None,
    requests_per_second: Annotated[
        float | None, typer.Option(help="The same level in requests per second.")
    ] = None,
    days: Annotated[float, typer.Option(help="Length of a built-in shape, 0.05 to 100.")] = 7.0,
    replicas: Annotated[
        int | None, typer.Option(min=1, max=32, help="Replicas; else the Deployment's, or 4.")
    ] = None,
    surge: Annotated[
        bool | None,
        typer.Option(
            "--surge/--no-surge",
            help="Whether a spare GPU lets a roll start a Pod before another goes; else as the "
            "Deployment's strategy needs it, or not.",
        ),
    ] = None,
    start_seconds: Annotated[
        str, typer.Option(help="Shortest and longest start of a Pod, such as 120:300.")
    ] = "120:300",
    fixed_cutoff: Annotated[
        int | None,
        typer.Option(min=1, max=512, help="Also simulate strategy Fixed with this cut-off."),
    ] = None,
    script_at: Annotated[
        float | None,
        typer.Option(help="Concurrency of the script that has no band; else the cut-off."),
    ] = None,
    noise: Annotated[
        float, typer.Option(help="Noise of each number that is scraped, 0 to 1.")
    ] = 0.02,
    lost_scrapes: Annotated[
        float, typer.Option(help="Share of scrapes that are lost, 0 to 1.")
    ] = 0.02,
    tick: Annotated[
        int, typer.Option(min=15, max=300, help="Seconds between decisions, a multiple of 15.")
    ] = 30,
    forgets: Annotated[
        bool,
        typer.Option("--first-week", help="The operator knows nothing of the week before."),
    ] = False,
    single_requests: Annotated[
        bool,
        typer.Option(
            "--single-requests",
            help="Follow every request, in place of a fluid: some minutes for a week.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything by chance.")] = 1,
    processes: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes; else one for each core.")
    ] = None,
    report: ReportFile = None,
    output: OutputForm = Output.TABLE,
) -> None:
    """Simulate a week of traffic: ridgeline beside fixed choices, a script, and hindsight.

    From files with a serving, from --model, --accelerator and --profile, or from --published.
    Nothing is asked of a cluster. A week takes about half a minute of one core; with
    --single-requests, minutes.

    Examples:
      ridgeline simulate --published 8b --days 1
      ridgeline simulate --model Qwen/Qwen3-32B --accelerator h100-sxm --tp 2 --profile eagle3:3
          --acceptance 0.70,0.45,0.28 --report week.html
      ridgeline simulate --file serving.yaml --file deployment.yaml --traffic requests.csv -o json

    Exit status:
      0 when it was simulated, whatever came of it.
      1 when there is nothing to simulate, with one line on standard error that says why.
      2 for wrong usage, a file that cannot be read among it.
    """
    try:
        _check_report(report)
        from ridgeline.cli import simulate_run
    except FlagError as error:
        _fail(str(error), status=2)
    except ImportError:
        _fail(NEEDS_EXTRA)
    try:
        stated = Stated(
            tensor_parallel=tp,
            max_num_seqs=max_num_seqs,
            engine_version=version_of_flag(engine_version),
        )
        _check_numbers(load, requests_per_second, days, noise, lost_scrapes, script_at)
        asked = simulate_run.Asked(
            files=tuple(file or ()),
            serving=serving,
            published=published,
            model=model,
            accelerator=accelerator,
            precision=precision,
            profiles=tuple(profile or ()),
            acceptance=tuple(acceptance or ()),
            truth=tuple(truth or ()),
            stated=stated,
            today=today,
            fixed_cutoff=fixed_cutoff,
            traffic=traffic,
            mix=requests,
            load=load,
            requests_per_second=requests_per_second,
            days=days,
            replicas=replicas,
            surge=surge,
            starts=_starts(start_seconds),
            threshold=script_at,
            noise=noise,
            loss=lost_scrapes,
            tick=tick,
            remembers=not forgets,
            single_requests=single_requests,
            seed=seed,
        )
        with _progress() as told:
            found = simulate_run.run(asked, told, processes or os.cpu_count() or 1)
        _put_out(found, output, report)
    except (FlagError, UnreadableFileError) as error:
        _fail(str(error), status=2)
    except (FilesError, simulate_run.CannotSimulateError) as error:
        _fail(str(error))


def _check_numbers(
    load: float | None,
    requests_per_second: float | None,
    days: float,
    noise: float,
    lost_scrapes: float,
    script_at: float | None,
) -> None:
    check_number("--load", load, least=0.01, most=10)
    check_number("--requests-per-second", requests_per_second, least=1e-4, most=1e6)
    check_number("--days", days, least=0.05, most=100)
    check_number("--noise", noise, least=0, most=1)
    check_number("--lost-scrapes", lost_scrapes, least=0, most=1)
    check_number("--script-at", script_at, least=0.1, most=512)


def _starts(text: str) -> tuple[float, float]:
    least, _, most = text.partition(":")
    try:
        found = float(least), float(most or least)
    except ValueError:
        raise FlagError(f"--start-seconds {text}: write it as 120:300") from None
    for value in found:
        check_number("--start-seconds", value, least=1, most=7200)
    return found


def _check_report(file: Path | None) -> None:
    if file is not None and file.suffix != ".html":
        raise FlagError(f"--report {file}: end its name in .html")


def _put_out(simulated: "Simulated", output: Output, report: Path | None) -> None:
    from ridgeline.render.report_page import report_page
    from ridgeline.render.simulation import simulation_document, simulation_page
    from ridgeline.render.simulation_report import simulation_report

    if report is not None:
        try:
            report.write_text(report_page(simulation_report(simulated)), encoding="utf-8")
        except OSError as error:
            raise FlagError(f"--report {report} cannot be written: {error.strerror}") from error
    if output.is_document:
        dump(simulation_document(simulated), output)
    else:
        show(simulation_page(simulated), output)
    if report is not None:
        typer.echo(f"report: {report}", err=True)


@contextmanager
def _progress() -> Iterator["Told"]:
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=None)

        def told(name: str, done: int, count: int) -> None:
            progress.update(task, completed=done, total=count, description=f"done: {name}")

        yield told


def _fail(message: str, *, status: int = 1) -> NoReturn:
    typer.echo(f"ridgeline simulate: {message}", err=True)
    sys.exit(status)
