"""From an argument list and an environment to a running server and an exit code."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from aiohttp import web

from ridgeline.sim.stand_in.contract import EngineContract, contract_for
from ridgeline.sim.stand_in.failures import ENGINE_DIED, StartError, plain_error
from ridgeline.sim.stand_in.flags import ServeArguments, parse_serve_arguments
from ridgeline.sim.stand_in.profile_faults import (
    KILLED,
    boot_factor,
    killed,
    misfit,
    names_of,
    refuse,
    value_under,
)
from ridgeline.sim.stand_in.server import StandInServer
from ridgeline.sim.stand_in.settings import (
    NEVER,
    Faults,
    InvalidSettingError,
    StandInSettings,
    read_settings,
)
from ridgeline.sim.stand_in.speculation import (
    Speculation,
    Surroundings,
    check_model_exists,
    read_speculation,
)

_HANDLER_GRACE_S = 0.5
"""How long handlers of aborted requests may take to say so."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A start that the checks let through, save what shows only once the weights are loaded."""

    settings: StandInSettings
    contract: EngineContract
    arguments: ServeArguments
    speculation: Speculation | None
    failure_after_load: StartError | None = None


def run(argv: Sequence[str]) -> int:
    """Runs the stand-in; returns the exit code that vLLM would have."""
    try:
        start = prepare(argv, os.environ)
    except InvalidSettingError as error:
        print(f"stand-in: {error}", file=sys.stderr)
        return 2
    except StartError as failure:
        return _die(failure)
    for warning in start.speculation.warnings if start.speculation else ():
        print(f"WARNING {warning}", flush=True)
    return asyncio.run(_serve(start))


def prepare(argv: Sequence[str], environment: Mapping[str, str]) -> Start:
    """Everything that can be decided before the start-up time has passed.

    Raises:
        InvalidSettingError: A STAND_IN_ variable means nothing.
        StartError: The release would refuse the arguments before it loads anything.
    """
    settings = read_settings(environment)
    contract = contract_for(settings.engine_version)
    arguments = parse_serve_arguments(argv, contract)
    check_model_exists(arguments.model, settings.missing_models)
    around = Surroundings(
        target=arguments.model,
        tensor_parallel=arguments.tensor_parallel,
        data_parallel=arguments.data_parallel,
        missing_models=settings.missing_models,
        vocabulary=dict(settings.vocabulary),
    )
    prepared = partial(Start, settings=settings, contract=contract, arguments=arguments)
    try:
        speculation = read_speculation(
            arguments.speculative_config, contract=contract, around=around
        )
        prepared = partial(prepared, settings=_under_profile(settings, arguments, speculation))
        _check_profile(settings, arguments, contract, speculation)
        _check_cache(arguments, settings)
    except StartError as failure:
        if not failure.after_load:
            raise
        return prepared(speculation=None, failure_after_load=failure)
    return prepared(speculation=speculation)


def _under_profile(
    settings: StandInSettings, arguments: ServeArguments, speculation: Speculation | None
) -> StandInSettings:
    """Return the settings with what holds for the served profile and for this boot worked in."""
    names, asked = names_of(arguments.speculative_config, speculation), settings.profile_faults
    factor = value_under(names, asked.step_factor, 1.0)
    factor *= boot_factor(settings.boot_spread, settings.seed, settings.boot_name)
    startup_s = settings.startup_s + value_under(names, asked.startup_s, 0.0)
    spared = asked.faults_under and names.isdisjoint(asked.faults_under)
    return replace(
        settings,
        startup_s=startup_s if names.isdisjoint(asked.never_ready) else NEVER,
        step_time=replace(settings.step_time, scale=settings.step_time.scale * factor),
        answer_share=value_under(names, asked.answer_share, 1.0),
        faults=Faults() if spared else settings.faults,
    )


def _check_profile(
    settings: StandInSettings,
    arguments: ServeArguments,
    contract: EngineContract,
    speculation: Speculation | None,
) -> None:
    """End the start of a profile that the settings let fail."""
    config, asked = arguments.speculative_config, settings.profile_faults
    names = names_of(config, speculation)
    if names & asked.refused:
        refuse(config, speculation, by_pydantic=contract.validates_types)
    if names & asked.misfit:
        raise misfit()
    if names & asked.killed:
        raise killed()


def _check_cache(arguments: ServeArguments, settings: StandInSettings) -> None:
    if settings.kv_tokens >= arguments.max_model_len:
        return
    cause = plain_error(
        "ValueError",
        f"To serve at least one request with the models's max seq len ({arguments.max_model_len})"
        f", more KV cache is needed than is available ({settings.kv_tokens} tokens). Try "
        "increasing `gpu_memory_utilization` or decreasing `max_model_len`.",
    )
    raise StartError(cause.stderr, after_load=True)


def _die(failure: StartError) -> int:
    if failure.stdout:
        print(failure.stdout, flush=True)
    if failure.stderr:
        print(failure.stderr, file=sys.stderr, flush=True)
    return failure.exit_code


async def _serve(start: Start) -> int:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    print(f"INFO vLLM API server version {start.contract.version} (stand-in)", flush=True)
    # A signal is remembered, and acted on after the start: never, where that never ends.
    await asyncio.sleep(start.settings.startup_s)
    if start.failure_after_load is not None:
        return _die(start.failure_after_load)
    server = StandInServer(
        start.arguments,
        start.settings,
        contract=start.contract,
        speculation=start.speculation,
        clock=loop.time,
        wall_clock=partial(time.clock_gettime, time.CLOCK_REALTIME),
    )
    tasks = server.start()
    runner = web.AppRunner(
        server.app,
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_HANDLER_GRACE_S,
    )
    await runner.setup()
    site = web.TCPSite(runner, start.arguments.host or "0.0.0.0", start.arguments.port)  # noqa: S104 as vLLM binds
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        return _die(plain_error("OSError", str(error)))
    print("INFO:     Application startup complete.", flush=True)
    faults = start.settings.faults
    with contextlib.suppress(TimeoutError):
        limit = faults.die_after_s if faults.die_after_s != float("inf") else None
        await asyncio.wait_for(stopped.wait(), limit)
    if not stopped.is_set():
        _crash(faults.die_exit_code)
    await _stop(server, site, runner, start)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return 0


def _crash(exit_code: int) -> NoReturn:
    """End the process as a crash does: nothing is closed in order."""
    if exit_code != KILLED:
        print(f"Traceback (most recent call last):\n{ENGINE_DIED}", file=sys.stderr, flush=True)
    os._exit(exit_code)


async def _stop(
    server: StandInServer, site: web.TCPSite, runner: web.AppRunner, start: Start
) -> None:
    print("INFO:     Shutting down", flush=True)
    await site.stop()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.drained(), start.arguments.shutdown_timeout_s)
    server.abort_all()
    await asyncio.sleep(start.settings.shutdown_s)
    await runner.cleanup()
