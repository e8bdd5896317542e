"""`ridgeline record …`: what the load was, written down from the past, and cut to what matters."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ridgeline.cli.moments import moment_of
from ridgeline.cli.plain import PlainCommand, PlainGroup
from ridgeline.cli.prometheus_flags import check_pods, endpoint_of_flag
from ridgeline.controller.clock import system_clock
from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config
from ridgeline.telemetry.endpoint import BearerToken, Endpoint
from ridgeline.telemetry.errors import TelemetryError
from ridgeline.telemetry.history_ranges import Grid, RangeDownload
from ridgeline.telemetry.record import RecordError, UnreadableRecordError
from ridgeline.telemetry.record_cut import Cut, cut_record
from ridgeline.telemetry.record_past import PastPlan, past_ticks
from ridgeline.telemetry.record_write import write_record

app = typer.Typer(cls=PlainGroup, context_settings={"help_option_names": ["-h", "--help"]})

MOST_STEPS: Final = 1_000_000

_MOMENT: Final = "a time such as 2026-11-29T08:00Z, `now`, or `2h` for two hours ago"
Since = Annotated[str, typer.Option("--from", help=f"First moment: {_MOMENT}.")]
Until = Annotated[str, typer.Option("--to", help=f"Last moment: {_MOMENT}.")]
_OUT: Final = "File to write, such as x.jsonl.gz."


@app.callback(invoke_without_command=True)
def record(  # noqa: PLR0913 (one parameter for each option)
    context: typer.Context,
    prometheus: Annotated[str | None, typer.Option(help="Address of Prometheus.")] = None,
    bearer_token_file: Annotated[
        Path | None, typer.Option(help="File with a bearer token for it.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="The operator's configuration, in place of an address."),
    ] = None,
    endpoint: Annotated[
        str, typer.Option(help="Name of the telemetry endpoint in the configuration.")
    ] = "default",
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace of the Pods.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Name of the Deployment whose Pods are wanted.")
    ] = None,
    pod_regex: Annotated[
        str | None, typer.Option(help="Or a regular expression of the Pods' names.")
    ] = None,
    since: Since = "1h",
    until: Until = "now",
    step: Annotated[int, typer.Option(min=1, max=3600, help="Seconds between two ticks.")] = 15,
    window: Annotated[
        int, typer.Option(min=4, max=3600, help="Rate window of the numbers, in seconds.")
    ] = 120,
    timeout: Annotated[
        float, typer.Option(min=1, max=600, help="Seconds that one query may take.")
    ] = 60.0,
    out: Annotated[Path | None, typer.Option("--out", help=_OUT)] = None,
) -> None:
    """Record the past from Prometheus: the tick's own queries, asked over a range of time.

    What Prometheus does not tell (the target, its template, which Pods were Ready) is marked as
    unknown in the file. The operator records what it sees live when `record.directory` is set.

    Examples:
      ridgeline record --prometheus http://127.0.0.1:9090 -n inference --target llama-70b
          --from 24h --out yesterday.jsonl.gz
      ridgeline record --config config.yaml -n inference --pod-regex 'llama-.*'
          --from 2026-11-29T08:00Z --to 2026-11-29T12:00Z --out morning.jsonl.gz

    Exit status:
      0 when something was recorded.
      1 when Prometheus did not answer, or has nothing of these Pods.
      2 for wrong usage, a configuration that cannot be read among it.
    """
    if context.invoked_subcommand is not None:
        return
    source = _endpoint(prometheus, bearer_token_file, config, endpoint, timeout)
    if namespace is None or out is None or (target is None) == (pod_regex is None):
        _fail("give --namespace, --out, and one of --target and --pod-regex", status=2)
    try:
        check_pods(namespace, target, pod_regex)
        grid = _grid(since, until, step)
    except ValueError as error:
        _fail(str(error), status=2)
    plan = PastPlan(
        endpoint=source,
        namespace=namespace,
        target=target,
        pods=pod_regex,
        grid=grid,
        window_seconds=float(window),
    )
    try:
        with _progress(grid.count) as told:
            ranges = RangeDownload(source)
            count = write_record(out, plan.header(), past_ticks(plan, ranges, told))
    except (RecordError, TelemetryError, ValueError) as error:
        _fail(str(error))
    if count == 0:
        out.unlink(missing_ok=True)
        _fail(
            f"{grid.count} moments were asked and none has a sample of these Pods in namespace "
            f"{namespace!r}: check the name, the time, and that Prometheus scraped them"
        )
    typer.echo(f"{out}: {count} ticks from {_told(grid.start)} to {_told(grid.end)}")


@app.command(cls=PlainCommand)
def cut(
    file: Annotated[Path, typer.Argument(help="A record, or the operator's folder of them.")],
    out: Annotated[Path, typer.Option("--out", help=_OUT)],
    serving: Annotated[
        str | None, typer.Option(help="Serving whose ticks are wanted, as NAMESPACE/NAME.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help=f"First moment: {_MOMENT}; else the first tick.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help=f"Moment of the end: {_MOMENT}; else the last tick.")
    ] = None,
) -> None:
    """Cut the ticks of one serving and one time out of a record: a bug report, a test.

    Example:
      ridgeline record cut records/ --serving inference/llama-70b --from 6h --to 4h
          --out cut.jsonl.gz
    """
    now = system_clock()
    try:
        wanted = Cut(
            serving=_serving(serving),
            since=None if since is None else moment_of("--from", since, now),
            until=None if until is None else moment_of("--to", until, now),
        )
    except ValueError as error:
        _fail(str(error), status=2)
    try:
        count = cut_record(file, out, wanted, on_damage=_warn)
    except UnreadableRecordError as error:
        _fail(str(error), status=2)
    except (RecordError, ValueError) as error:
        _fail(str(error))
    typer.echo(f"{out}: {count} ticks")


def _endpoint(
    prometheus: str | None,
    token: Path | None,
    config: Path | None,
    name: str,
    timeout: float,
) -> Endpoint:
    if (prometheus is None) == (config is None):
        _fail("give one of --prometheus and --config", status=2)
    try:
        if prometheus is not None:
            auth = BearerToken(token_file=token) if token is not None else None
            return endpoint_of_flag(prometheus, name=name, auth=auth, timeout_seconds=timeout)
        found = _configured(load_config(config), name) if config is not None else None
    except InvalidConfigError as error:
        _fail(str(error), status=2)
    except ValueError as error:
        _fail(str(error), status=2)
    if found is None:
        _fail(
            f"--endpoint: {config} has no endpoint {name!r} that keeps a past (a Prometheus)",
            status=2,
        )
    return replace(found, timeout_seconds=timeout)


def _configured(config: OperatorConfig, name: str) -> Endpoint | None:
    """The endpoint of that name; one without a past cannot be asked for it."""
    for each in config.telemetry:
        endpoint = each.endpoint()
        if each.name == name and isinstance(endpoint, Endpoint):
            return endpoint
    return None


def _grid(since: str, until: str, step: int) -> Grid:
    now = system_clock()
    first, last = moment_of("--from", since, now), moment_of("--to", until, now)
    if last < first:
        raise ValueError(f"--to {until} lies before --from {since}: exchange or correct them")
    start, end = (int(each) // step * step for each in (first, last))
    grid = Grid(start=start, end=end, step=step)
    if grid.count > MOST_STEPS:
        raise ValueError(f"{grid.count} steps are more than {MOST_STEPS}: use a longer --step")
    return grid


def _serving(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise ValueError(f"--serving: {text!r} is not NAMESPACE/NAME")
    return namespace, name


class _Bar:
    """A progress bar as a callback."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def __call__(self, done: int, count: int) -> None:
        self._progress.update(self._task, completed=done, total=count)


@contextmanager
def _progress(count: int) -> Iterator[_Bar]:
    columns = (TextColumn("recording"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        yield _Bar(progress, progress.add_task("recording", total=count))


def _told(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _warn(message: str) -> None:
    typer.echo(f"ridgeline record: {message}", err=True)


def _fail(message: str, *, status: int = 1) -> NoReturn:
    _warn(message)
    sys.exit(status)
