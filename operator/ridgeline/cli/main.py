"""`ridgeline …`: the operator itself, and the tools that stand beside it.

What stands here is a list: a command is imported when it is run.
"""

from typing import Final

import typer

from ridgeline.cli.lazy import Named, lazy_group

COMMANDS: Final = (
    Named(
        name="advise",
        module="ridgeline.cli.advise",
        attribute="advise",
        summary="Advise on speculation for a model on a GPU, before anything is installed.",
    ),
    Named(
        name="cutoff",
        module="ridgeline.cli.cutoff",
        attribute="cutoff",
        summary="Print which profile is best at which concurrency, how sure that is, and why.",
    ),
    Named(
        name="simulate",
        module="ridgeline.cli.simulate",
        attribute="simulate",
        summary="Simulate a week of traffic: ridgeline beside fixed choices, a script, and "
        "hindsight.",
    ),
    Named(name="model", module="ridgeline.cli.model", attribute="app", summary="Describe models."),
    Named(
        name="lint",
        module="ridgeline.cli.lint",
        attribute="lint",
        summary="Tell what is wrong with manifests before anything is applied or started.",
    ),
    Named(
        name="check",
        module="ridgeline.cli.check",
        attribute="check",
        summary="Ask whether an installation fits together: CRDs, telemetry, versions.",
    ),
    Named(
        name="record",
        module="ridgeline.cli.record",
        attribute="app",
        summary="Record the past from Prometheus: the tick's own queries, asked over a range of "
        "time.",
    ),
    Named(
        name="replay",
        module="ridgeline.cli.replay",
        attribute="replay",
        summary="Decide a record again: what would have been decided, when, and why.",
    ),
    Named(
        name="calibrate",
        module="ridgeline.cli.calibrate",
        attribute="app",
        summary="Measure step times on a GPU with vLLM, and fit the cost model's constants to "
        "them.",
    ),
    Named(
        name="run",
        module="ridgeline.cli.run",
        attribute="run",
        summary="Run the operator until SIGTERM.",
    ),
    Named(
        name="stand-in",
        module="ridgeline.cli.passed_on",
        attribute="stand_in",
        summary="Stand where a vLLM server stands: `ridgeline stand-in serve MODEL [vLLM's "
        "flags]`.",
        passes_on=True,
    ),
    Named(
        name="load",
        module="ridgeline.cli.passed_on",
        attribute="load",
        summary="Send load to OpenAI-compatible servers: closed loop, open loop or from a trace.",
        passes_on=True,
    ),
    Named(
        name="version",
        module="ridgeline.cli.version",
        attribute="version",
        summary="Print the version.",
    ),
)

app = typer.Typer(
    name="ridgeline",
    cls=lazy_group(*COMMANDS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main() -> None:
    """Keeps vLLM Deployments on the speculation profile that is best for their load.

    Examples:
      ridgeline advise --model Qwen/Qwen3-32B --accelerator H200 --method Eagle3
      ridgeline lint deployment.yaml serving.yaml
      ridgeline simulate --published 8b --days 1
    """
