"""`kubectl ridgeline …`: what a person asks about a serving.

What stands here is a list: a command is imported when it is run.
"""

from typing import Final

import typer

from ridgeline.cli.lazy import Named, lazy_group

COMMANDS: Final = (
    Named(
        name="explain",
        module="ridgeline.cli.explain",
        attribute="explain",
        summary="Show what a serving does, why, where its settings come from, and what happened to "
        "it.",
    ),
    Named(
        name="status",
        module="ridgeline.cli.status",
        attribute="status",
        summary="Show what each serving runs, what it should run, and why.",
    ),
    Named(
        name="history",
        module="ridgeline.cli.status",
        attribute="history",
        summary="Show the last switches of a serving: when, from what to what, and why.",
    ),
    Named(
        name="cutoff",
        module="ridgeline.cli.cutoff_live",
        attribute="cutoff",
        summary="Show which profile of a serving is best at which concurrency, how sure that is, "
        "and why.",
    ),
    Named(
        name="report",
        module="ridgeline.cli.report",
        attribute="report",
        summary="Write what servings do, and why, into one HTML file that needs nothing else.",
    ),
    Named(
        name="force",
        module="ridgeline.cli.orders",
        attribute="force",
        summary="Order a profile, whatever the cut-offs say, until the order is taken back.",
    ),
    Named(
        name="suspend",
        module="ridgeline.cli.orders",
        attribute="suspend",
        summary="Stop acting on a serving: it is observed on, and nothing new is begun.",
    ),
    Named(
        name="resume",
        module="ridgeline.cli.orders",
        attribute="resume",
        summary="Act on a serving again.",
    ),
    Named(
        name="release",
        module="ridgeline.cli.release",
        attribute="release",
        summary="Give up what the operator owns in a serving's target: Git's default applies "
        "again.",
    ),
)

app = typer.Typer(
    name="kubectl ridgeline",
    cls=lazy_group(*COMMANDS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main() -> None:
    """Asks ridgeline's servings what they do and why.

    Examples:
      kubectl ridgeline status -A
      kubectl ridgeline explain llama-70b -n inference
    """
