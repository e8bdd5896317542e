"""`ridgeline lint`: what is wrong with manifests, before anything starts or is applied."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, NoReturn

import typer

from ridgeline.cli.cutoff_flags import FlagError, version_of_flag
from ridgeline.cli.lint_around import Said
from ridgeline.cli.lint_configs import DRAFT_OPTION, TARGET_OPTION, draft_configs, target_config
from ridgeline.cli.lint_files import STANDARD_INPUT, Document, LintInputError, documents_of
from ridgeline.cli.lint_run import (
    NothingToLintError,
    catalogue_of,
    lint_report,
    profile_names,
    vllm_servers,
)
from ridgeline.controller.clock import system_clock
from ridgeline.engine.served_model import served_model
from ridgeline.render.lint import lint_annotations, lint_json, lint_text, lint_yaml
from ridgeline.settings.preflight import words_without_profile


class Output(StrEnum):
    """Forms of the report."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    GITHUB = "github"


_FORMS: Final = {
    Output.TEXT: lint_text,
    Output.JSON: lint_json,
    Output.YAML: lint_yaml,
    Output.GITHUB: lint_annotations,
}


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            help="YAML files, folders with all YAML below them, or - for standard input. What "
            "belongs together is given together: Deployments, servings, policies, ConfigMaps."
        ),
    ],
    vllm: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            "--engine-version",
            help="Release of vLLM, such as 0.24.0; else as image tag or serving tell.",
        ),
    ] = None,
    model_config: Annotated[
        str | None,
        typer.Option(help="config.json of the served model; else as the catalogue tells."),
    ] = None,
    draft_config: Annotated[
        list[str] | None,
        typer.Option(
            help="config.json of a head or draft model, [PROFILE=]FILE; may be given several times."
        ),
    ] = None,
    accelerator: Annotated[
        str | None,
        typer.Option(
            help="GPU: a name of the catalogue, such as h100-sxm; else as serving or node selector "
            "tell."
        ),
    ] = None,
    output: Annotated[
        Output,
        typer.Option(
            "--output", "-o", help="Text, JSON, YAML, or annotations of GitHub workflows."
        ),
    ] = Output.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail, too.")] = False,
) -> None:
    """Tell what is wrong with manifests before anything is applied or started.

    No cluster is asked.

    Examples:
      ridgeline lint deployment.yaml serving.yaml
      helm template my-release ./chart | ridgeline lint - --vllm 0.24.0
      ridgeline lint manifests/ -o github --strict

    Exit status:
      0 when nothing is wrong.
      1 on an error; with --strict on a warning, too.
      2 when an option or the input cannot be read.
    """
    try:
        documents = documents_of(_once(files))
        said = _said(documents, vllm, model_config, draft_config or [], accelerator)
        report = lint_report(documents, said)
    except (FlagError, LintInputError, NothingToLintError) as error:
        _fail(str(error))
    typer.echo(_FORMS[output](report))
    sys.exit(1 if report.fails(strict=strict) else 0)


def _once(files: Sequence[str]) -> tuple[str, ...]:
    """Return the files, each once: standard input ends when it is read."""
    once = tuple(dict.fromkeys(files))
    options = [each for each in once if each.startswith("-") and each != STANDARD_INPUT]
    if options:
        raise FlagError(f"{options[0]} is no option: ridgeline lint --help lists them")
    return once


def _said(
    documents: Sequence[Document],
    version: str | None,
    model_config: str | None,
    draft_config: Sequence[str],
    accelerator: str | None,
) -> Said:
    catalogue = catalogue_of(documents)
    if accelerator is not None and catalogue.named(accelerator) is None:
        raise FlagError(
            f"--accelerator {accelerator}: the catalogue has no such GPU; it has "
            f"{', '.join(catalogue.names)}; give the file of an AcceleratorProfile for another"
        )
    drafts = draft_configs(draft_config)
    known = profile_names(documents)
    for name in drafts:
        if name and name not in known:
            has = f"it has {', '.join(known)}" if known else "it holds no serving"
            raise FlagError(f"{DRAFT_OPTION} {name}=…: the input has no profile {name}: {has}")
    target, model = None, None
    if model_config is not None:
        target, model = target_config(model_config, _served_name(documents))
    return Said(
        version=version_of_flag(version, "--vllm"),
        accelerator=accelerator,
        target=target,
        model=model,
        drafts=drafts,
        catalogue=catalogue,
        now=system_clock(),
    )


def _served_name(documents: Sequence[Document]) -> str:
    """Return the one model that is served.

    Raises:
        FlagError: There are several, and the file could be any one's.
    """
    words = [words_without_profile(each.container) for each in vllm_servers(documents)]
    names = sorted({served_model(each).name for each in words} - {""})
    if len(names) > 1:
        raise FlagError(
            f"{TARGET_OPTION}: the input serves {len(names)} models ({', '.join(names[:3])}): give "
            "the files of one at a time"
        )
    return names[0] if names else "the served model"


def _fail(message: str) -> NoReturn:
    typer.echo(f"ridgeline lint: {message}", err=True)
    sys.exit(2)
