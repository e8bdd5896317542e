"""`ridgeline replay`: what would have been decided on a record, by the code and files of today."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ridgeline.cli.cutoff_files import FilesError, FromFiles, UnreadableFileError
from ridgeline.cli.options import ReportFile
from ridgeline.cli.output import Output, OutputForm, dump, show
from ridgeline.cli.replay_settings import asking, files_of, is_serving
from ridgeline.cli.replay_test import check_test, write_test
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.render.replay import Replays, replay_document, replay_page
from ridgeline.render.replay_report import replay_report
from ridgeline.render.report_page import report_page
from ridgeline.sim.replay import with_target
from ridgeline.sim.replayed import Replay, as_recorded, replayed
from ridgeline.telemetry.record import RecordedTick, RecordError
from ridgeline.telemetry.record_read import read_header, read_record


class _UsageError(ValueError):
    """Options that do not go together."""


def replay(  # noqa: PLR0913 (one parameter for each option)
    record: Annotated[
        Path,
        typer.Argument(
            help="A record (.jsonl.gz, or unpacked), or a folder of them.", show_default=False
        ),
    ],
    serving: Annotated[
        list[Path] | None,
        typer.Option(
            "--serving",
            "-f",
            help="YAML file with the SpeculativeServing to decide by, its Deployment and its "
            "policy; may be given several times. Else the settings of the record.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="YAML file with a SpeculationPolicy, in place of the serving's own."),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with another serving, or with another policy for the same serving: "
            "decide by that too, and tell where the two differ."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Which serving of the record: NAMESPACE/NAME, where it holds several."),
    ] = None,
    active: Annotated[
        str | None,
        typer.Option(
            help="Profile that ran, for a record of the past, which does not tell the target."
        ),
    ] = None,
    as_test: Annotated[
        Path | None,
        typer.Option(help="Also write a regression test, test_WORDS.py, and its record beside it."),
    ] = None,
    report: ReportFile = None,
    output: OutputForm = Output.TABLE,
) -> None:
    """Decide a record again: what would have been decided, when, and why.

    What the world did stays as it was recorded: a replay does not follow where other decisions
    would have led; `ridgeline simulate` does. Without --serving the settings of the record are
    used, and what is told is where the code of today decides otherwise than was recorded.

    Examples:
      ridgeline replay records/ --name inference/llama-70b
      ridgeline replay incident.jsonl.gz -f serving.yaml --diff edited.yaml --report replay.html
      ridgeline replay incident.jsonl.gz --as-test tests/test_incident.py
    """
    try:
        _check(serving or [], policy, report, as_test)
        damage: list[str] = []
        ticks = _ticks(record, name, damage)
        replays = _replays(ticks, serving or [], policy, diff, active, damage)
        if as_test is not None:
            beside = write_test(as_test, read_header(record), replays.one)
            typer.echo(f"test: {as_test}, record: {beside}", err=True)
        _put_out(replays, output, report)
    except (_UsageError, UnreadableFileError) as error:
        _fail(str(error), status=2)
    except (FilesError, RecordError) as error:
        _fail(str(error))


def _check(
    serving: Sequence[Path], policy: Path | None, report: Path | None, as_test: Path | None
) -> None:
    if policy is not None and not serving:
        raise _UsageError(f"--policy {policy}: give the serving that follows it with --serving")
    if report is not None and report.suffix != ".html":
        raise _UsageError(f"--report {report}: end its name in .html")
    if as_test is not None:
        try:
            check_test(as_test)
        except ValueError as error:
            raise _UsageError(str(error)) from error


def _ticks(record: Path, name: str | None, damage: list[str]) -> list[RecordedTick]:
    """Return the ticks of one serving."""
    by_serving: dict[str, list[RecordedTick]] = {}
    try:
        for tick in read_record(record, on_damage=damage.append):
            by_serving.setdefault(f"{tick.namespace}/{tick.serving}", []).append(tick)
    except RecordError as error:
        raise _UsageError(str(error)) from error
    if not by_serving:
        _require_header(record)
        raise RecordError(f"{record} holds no moment of any serving" + _of(damage))
    known = ", ".join(sorted(by_serving)[:10])
    if name is None and len(by_serving) > 1:
        raise _UsageError(
            f"{record} tells of {len(by_serving)} servings: choose by --name: {known}"
        )
    wanted = next(iter(by_serving)) if name is None else name
    if wanted not in by_serving:
        raise _UsageError(f"--name {wanted}: {record} tells of {known}")
    return sorted(by_serving[wanted], key=lambda each: each.at)


def _require_header(record: Path) -> None:
    try:
        read_header(record)
    except RecordError as error:
        raise _UsageError(
            f"{record} is no record: it is something else, or damaged from its beginning; give a "
            "file that ridgeline wrote (record-*.jsonl.gz), as it is or unpacked"
        ) from error


def _of(damage: Sequence[str]) -> str:
    return f" ({damage[0]})" if damage else ""


def _replays(
    ticks: list[RecordedTick],
    serving: Sequence[Path],
    policy: Path | None,
    diff: Path | None,
    active: str | None,
    damage: Sequence[str],
) -> Replays:
    key = f"{ticks[0].namespace}/{ticks[0].serving}"
    recorded = as_recorded(ticks)
    files = files_of(serving, policy, _named(serving, ticks[0].serving)) if serving else None
    ticks = _with_target(ticks, files, active)
    one = _one(ticks, files, serving, policy)
    other = None
    if diff is not None:
        other_files = _other(diff, serving, ticks[0].serving)
        label = diff.name if diff.name != one.name else str(diff)
        other = replayed(label, ticks, asking(other_files))
    cautions = ["What the world did stays as it was recorded, whatever is decided here."]
    cautions += [f"Left out: {each}" for each in damage[:5]]
    cautions += _unknown(ticks)
    return Replays(serving=key, recorded=recorded, one=one, other=other, cautions=tuple(cautions))


def _one(
    ticks: list[RecordedTick],
    files: FromFiles | None,
    serving: Sequence[Path],
    policy: Path | None,
) -> Replay:
    if files is not None:
        names = [each.name for each in (*serving, *([policy] if policy is not None else []))]
        return replayed(" with ".join(names), ticks, asking(files))
    if any(each.settings is None for each in ticks):
        raise _UsageError(
            "the record is of the past, which knows no settings: give the serving with --serving"
        )
    return replayed("today's code", ticks)


def _other(diff: Path, serving: Sequence[Path], name: str) -> FromFiles:
    if is_serving(diff):
        return files_of([diff], None, _named([diff], name))
    if not serving:
        raise _UsageError(
            f"--diff {diff} holds no serving: give the one that follows this policy with --serving"
        )
    return files_of(serving, diff, _named(serving, name))


def _named(files: Sequence[Path], name: str) -> str | None:
    """Return the serving that is meant where files hold several: that of the record."""
    count = sum(is_serving(each) for each in files)
    return name if count > 1 else None


def _with_target(
    ticks: list[RecordedTick], files: FromFiles | None, active: str | None
) -> list[RecordedTick]:
    """Return the ticks of the past with the target that a person tells."""
    if not any("target" in each.unknown for each in ticks):
        if active is not None:
            raise _UsageError(f"--active {active}: the record tells itself what ran")
        return ticks
    known = [each.name for each in files.spec.profiles] if files is not None else []
    if active is None or active not in known:
        raise _UsageError(
            "the record is of the past, which does not tell what ran: name the profile with "
            f"--active ({', '.join(known) or 'those of the serving'})"
        )
    replicas = max(len(each.facts.replicas) for each in ticks)
    target = TargetFacts(
        uid="recorded",
        desired_replicas=replicas,
        active_profile=active,
        active_config="",
        rollout=None,
    )
    return list(with_target(ticks, target))


def _unknown(ticks: Sequence[RecordedTick]) -> list[str]:
    names = sorted({name for each in ticks for name in each.unknown})
    lost = sum(isinstance(each.facts.target, Problem) for each in ticks)
    found = []
    if names:
        found.append(f"Not known at some moments, a stand-in was taken: {', '.join(names)}.")
    if lost:
        found.append(f"The target had a problem at {lost} moments.")
    return found


def _put_out(replays: Replays, output: Output, report: Path | None) -> None:
    if report is not None:
        try:
            report.write_text(report_page(replay_report(replays)), encoding="utf-8")
        except OSError as error:
            raise _UsageError(f"--report {report} cannot be written: {error.strerror}") from error
        typer.echo(f"report: {report}", err=True)
    if output.is_document:
        dump(replay_document(replays), output)
    else:
        show(replay_page(replays), output)


def _fail(message: str, *, status: int = 1) -> NoReturn:
    typer.echo(f"ridgeline replay: {message}", err=True)
    sys.exit(status)
