"""The command line of the load generator."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ridgeline.sim.load.generator import LoadGenerator
from ridgeline.sim.load.results import Distribution, Summary
from ridgeline.sim.load.settings import (
    ClosedLoop,
    InvalidLoadError,
    LoadSettings,
    OpenLoop,
    Replay,
    read_trace,
)

Change = tuple[float, float]
"""Seconds from the start, and the users or requests per second from then on."""


def run(argv: Sequence[str]) -> int:
    """Runs one load from its command line; returns the exit code."""
    given = parser().parse_args(argv)
    try:
        settings = _settings(given)
    except (InvalidLoadError, OSError) as error:
        print(f"ridgeline load: {error}", file=sys.stderr)
        return 2
    try:
        summary = asyncio.run(_drive(settings, given.steps, given.report_every))
    except InvalidLoadError as error:
        print(f"ridgeline load: {error}", file=sys.stderr)
        return 2
    print(json.dumps(summary.as_dict(), indent=2) if given.json else describe(summary))
    return 0 if summary.answered else 1


def parser() -> argparse.ArgumentParser:
    """Returns what reads the command line."""
    made = argparse.ArgumentParser(
        prog="ridgeline load", description="Drives load against vLLM-like servers."
    )
    add = made.add_argument
    add("--url", action="append", required=True, help="base URL; repeat for several, in turn")
    kind = made.add_mutually_exclusive_group(required=True)
    kind.add_argument("--users", type=int, help="closed loop with that many users")
    kind.add_argument("--rate", type=float, help="open loop: Poisson arrivals per second")
    kind.add_argument("--trace", type=Path, help="CSV of arrival_s,prompt_tokens,output_tokens")
    add("--duration", type=float, required=True, help="seconds after which the run ends")
    add("--steps", type=_steps, default=[], help="changes of users or rate, like 60:80,120:8")
    add("--max-requests", type=int, help="requests after which the run ends")
    add("--prompt-tokens", type=int, default=32, help="tokens of a prompt; 32")
    add("--max-tokens", type=int, default=64, help="tokens of an answer; 64")
    add("--spread", type=float, default=0.0, help="sizes vary by up to this share")
    add("--think", type=float, default=0.0, help="closed loop: seconds between requests")
    add("--speed", type=float, default=1.0, help="trace: replay that much faster")
    add("--model", help="model name sent along")
    add("--chat", action="store_true", help="use the chat route")
    add("--no-stream", action="store_true", help="ask for whole answers")
    add("--new-connections", action="store_true", help="one connection per request")
    add("--seed", type=int, default=0, help="seed of arrivals and sizes; 0")
    add("--report-every", type=float, default=0.0, help="seconds between lines on stderr")
    add("--json", action="store_true", help="print the summary as JSON")
    return made


def _steps(text: str) -> list[Change]:
    changes = []
    for part in filter(None, text.split(",")):
        at, _, value = part.partition(":")
        try:
            changes.append((float(at), float(value)))
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{part!r} must read seconds:value") from error
    return sorted(changes)


def _settings(given: argparse.Namespace) -> LoadSettings:
    mode: ClosedLoop | OpenLoop | Replay
    if given.users is not None:
        mode = ClosedLoop(users=given.users, think_s=given.think)
    elif given.rate is not None:
        mode = OpenLoop(rate_per_s=given.rate)
    else:
        mode = Replay(arrivals=read_trace(given.trace), speed=given.speed)
    return LoadSettings(
        targets=tuple(given.url),
        mode=mode,
        duration_s=given.duration,
        max_requests=given.max_requests,
        prompt_tokens=given.prompt_tokens,
        max_tokens=given.max_tokens,
        spread=given.spread,
        model=given.model,
        chat=given.chat,
        stream=not given.no_stream,
        new_connections=given.new_connections,
        seed=given.seed,
    )


async def _drive(settings: LoadSettings, steps: list[Change], report_every: float) -> Summary:
    generator = LoadGenerator(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, generator.stop)
    helpers = [_follow(generator, settings, steps)]
    if report_every > 0:
        helpers.append(_report(generator, report_every))
    tasks = [asyncio.create_task(helper) for helper in helpers]
    for task in tasks:
        task.add_done_callback(lambda task: _stop_on_error(task, generator))
    summary = await generator.run()
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome
    return summary


def _stop_on_error(task: asyncio.Task[None], generator: LoadGenerator) -> None:
    if not task.cancelled() and task.exception() is not None:
        generator.stop()


async def _follow(generator: LoadGenerator, settings: LoadSettings, steps: list[Change]) -> None:
    """Makes the changes in their time."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    for at, value in steps:
        await asyncio.sleep(started + at - loop.time())
        if isinstance(settings.mode, OpenLoop):
            generator.set_rate(value)
        else:
            generator.set_users(int(value))


async def _report(generator: LoadGenerator, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        so_far = generator.summary()
        print(
            f"{so_far.elapsed_s:7.1f} s  {generator.in_flight:4d} in flight  "
            f"{so_far.answered} answered  {so_far.tokens_per_s:.1f} tokens/s  "
            f"{sum(so_far.errors.values())} errors",
            file=sys.stderr,
            flush=True,
        )


def describe(summary: Summary) -> str:
    """The summary for a person."""
    lines = [
        f"{summary.answered} of {summary.begun} requests answered in {summary.elapsed_s:.1f} s "
        f"({summary.failed} failed, {summary.unfinished} unfinished, {summary.dropped} dropped, "
        f"{summary.retried} sent again)",
        f"{summary.tokens} tokens, {summary.tokens_per_s:.1f} tokens/s",
        _row("latency", summary.latency),
        _row("time to first token", summary.ttft),
        _row("time per output token", summary.tpot),
    ]
    lines += [f"error {kind}: {n}" for kind, n in sorted(summary.errors.items())]
    return "\n".join(lines)


def _row(name: str, d: Distribution) -> str:
    if not d.count:
        return f"{name}: no sample"
    return (
        f"{name}: mean {d.mean * 1000:.1f} ms, p50 {d.p50 * 1000:.1f}, p90 {d.p90 * 1000:.1f}, "
        f"p99 {d.p99 * 1000:.1f}"
    )
