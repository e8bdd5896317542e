"""The load generator against live stand-ins."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ridgeline.sim.load import (
    Arrival,
    ClosedLoop,
    LoadGenerator,
    LoadSettings,
    OpenLoop,
    Replay,
    RequestResult,
)
from ridgeline.sim.load.settings import InvalidLoadError
from tests.component.sim.live_stand_in import EAGLE_K3, Live, stand_in


def settings(*lives: Live, mode: ClosedLoop | OpenLoop | Replay, **changes: Any) -> LoadSettings:
    values: dict[str, Any] = {
        "targets": tuple(live.url for live in lives),
        "mode": mode,
        "duration_s": 20.0,
        "prompt_tokens": 8,
        "max_tokens": 5,
        "retry_pause_s": 0.05,
    }
    return LoadSettings(**values | changes)


async def eventually(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_closed_loop_ends_after_its_requests_and_counts_tokens() -> None:
    results: list[RequestResult] = []
    async with stand_in() as live:
        mode = ClosedLoop(users=3)
        generator = LoadGenerator(
            settings(live, mode=mode, max_requests=10), on_result=results.append
        )
        summary = await generator.run()
        totals = await live.totals()
    assert (summary.begun, summary.answered, summary.failed) == (10, 10, 0)
    assert summary.tokens == 50 == totals["generation_tokens_total"]
    assert totals["prompt_tokens_total"] == 80.0
    assert len(results) == 10
    for result in results:
        assert result.ttft_s is not None
        assert result.tpot_s is not None
        assert result.latency_s == pytest.approx(result.ttft_s + 4 * result.tpot_s, rel=0.2)


async def test_the_clients_time_per_token_agrees_with_the_server() -> None:
    async with stand_in(EAGLE_K3) as live:
        generator = LoadGenerator(
            settings(live, mode=ClosedLoop(users=4), max_requests=16, max_tokens=60)
        )
        summary = await generator.run()
        totals = await live.totals()
    served = (
        totals["request_time_per_output_token_seconds_sum"]
        / totals["request_time_per_output_token_seconds_count"]
    )
    assert summary.tpot.mean == pytest.approx(served, rel=0.15)
    assert summary.tpot.count == summary.ttft.count == 16


@pytest.mark.parametrize("chat", [False, True])
async def test_whole_answers_give_latency_and_tokens_only(chat: bool) -> None:
    async with stand_in() as live:
        generator = LoadGenerator(
            settings(live, mode=ClosedLoop(users=1), max_requests=2, stream=False, chat=chat)
        )
        summary = await generator.run()
    assert (summary.answered, summary.tokens) == (2, 10)
    assert (summary.latency.count, summary.ttft.count, summary.tpot.count) == (2, 0, 0)


async def test_a_chat_streams_too() -> None:
    async with stand_in() as live:
        generator = LoadGenerator(
            settings(live, mode=ClosedLoop(users=1), max_requests=2, chat=True)
        )
        summary = await generator.run()
    assert (summary.answered, summary.tokens, summary.ttft.count) == (2, 10, 2)


async def test_users_can_be_changed_while_it_runs() -> None:
    async with stand_in() as live:
        generator = LoadGenerator(settings(live, mode=ClosedLoop(users=0), max_tokens=20))
        running = asyncio.create_task(generator.run())
        for users in (6, 2, 9, 0):
            generator.set_users(users)
            await eventually(lambda users=users: generator.in_flight == users)
        generator.stop()
        summary = await running
        with pytest.raises(InvalidLoadError, match="users=-1"):
            generator.set_users(-1)
        with pytest.raises(InvalidLoadError, match="open loop"):
            generator.set_rate(1.0)
    assert summary.failed == summary.unfinished == 0
    assert summary.answered == summary.begun > 9


async def test_the_run_ends_by_itself_and_counts_what_it_cut_off() -> None:
    async with stand_in(STAND_IN_TIME_SCALE="1") as live:
        generator = LoadGenerator(
            settings(live, mode=ClosedLoop(users=3), duration_s=0.5, grace_s=0.1, max_tokens=8000)
        )
        summary = await generator.run()
    assert (summary.begun, summary.answered, summary.unfinished) == (3, 0, 3)


async def test_an_open_loop_arrives_at_its_rate_whatever_the_answers_do() -> None:
    async with stand_in() as live:
        generator = LoadGenerator(settings(live, mode=OpenLoop(rate_per_s=0.0), max_requests=60))
        running = asyncio.create_task(generator.run())
        await asyncio.sleep(0.1)
        assert generator.summary().begun == 0
        generator.set_rate(100.0)
        summary = await running
    assert summary.answered == 60
    assert summary.begun == 60


async def test_arrivals_beyond_the_limit_are_dropped_and_counted() -> None:
    async with stand_in(STAND_IN_TIME_SCALE="1") as live:
        arrivals = [Arrival(at_s=0.0, prompt_tokens=4, output_tokens=2)] * 5
        generator = LoadGenerator(settings(live, mode=Replay(arrivals=arrivals), max_in_flight=2))
        summary = await generator.run()
    assert (summary.begun, summary.answered, summary.dropped) == (2, 2, 3)


async def test_a_trace_brings_its_own_sizes_and_ends_with_its_last_answer() -> None:
    arrivals = (
        Arrival(at_s=0.0, prompt_tokens=11, output_tokens=3),
        Arrival(at_s=600.0, prompt_tokens=7, output_tokens=9),
    )
    async with stand_in() as live:
        generator = LoadGenerator(settings(live, mode=Replay(arrivals=arrivals, speed=1000.0)))
        summary = await generator.run()
        totals = await live.totals()
    assert summary.tokens == 12
    assert totals["prompt_tokens_total"] == 18.0


async def test_requests_take_the_targets_in_turn() -> None:
    async with stand_in() as one, stand_in() as two:
        generator = LoadGenerator(
            settings(one, two, mode=ClosedLoop(users=2), max_requests=8, new_connections=True)
        )
        summary = await generator.run()
    assert summary.by_target == {one.url: 4, two.url: 4}


async def test_a_server_that_is_away_for_a_while_does_not_end_the_run() -> None:
    async with stand_in() as gone:
        pass
    async with stand_in() as live:
        generator = LoadGenerator(settings(gone, live, mode=ClosedLoop(users=2), max_requests=6))
        summary = await generator.run()
    assert (summary.answered, summary.failed) == (6, 0)
    assert summary.errors["connect"] == summary.retried > 0


async def test_a_request_that_never_finds_a_server_fails_and_is_counted() -> None:
    async with stand_in() as gone:
        pass
    generator = LoadGenerator(settings(gone, mode=ClosedLoop(users=1), max_requests=2, retries=1))
    summary = await generator.run()
    assert (summary.answered, summary.failed) == (0, 2)
    assert (summary.errors, summary.retried) == ({"connect": 4}, 2)


async def answering(handler: Any) -> tuple[web.AppRunner, str]:
    app = web.Application()
    app.router.add_post("/v1/completions", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}"


async def _cut_short(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'data: {"choices":[{"text":"a"}]}\n\n')
    await response.write_eof()
    return response


async def _break_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'data: {"choices":[{"text":"a"}]}\n\n')
    assert request.transport is not None
    request.transport.close()
    return response


async def _refuse(request: web.Request) -> web.StreamResponse:
    return web.json_response({}, status=404)


async def _nonsense(request: web.Request) -> web.StreamResponse:
    return web.Response(text="data: {nonsense\n\n")


async def _drop(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.mark.parametrize(
    ("handler", "kind", "retried"),
    [
        (_cut_short, "truncated", 0),
        (_refuse, "http_404", 0),
        (_nonsense, "protocol", 0),
        (_drop, "disconnect", 1),
        (_break_off, "disconnect", 0),
    ],
)
async def test_every_kind_of_bad_answer_is_an_error_of_its_own(
    handler: Any, kind: str, retried: int
) -> None:
    runner, url = await answering(handler)
    try:
        values = {"targets": (url,), "max_requests": 1, "retries": 1}
        generator = LoadGenerator(settings(mode=ClosedLoop(users=1), **values))
        summary = await generator.run()
    finally:
        await runner.cleanup()
    assert (summary.failed, summary.retried) == (1, retried)
    assert summary.errors == {kind: 1 + retried}


@pytest.mark.parametrize(("fresh", "connections"), [(True, 4), (False, 1)])
async def test_connections_are_kept_or_made_anew(fresh: bool, connections: int) -> None:
    peers = set()

    async def note(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.json_response({"usage": {"completion_tokens": 1}})

    runner, url = await answering(note)
    try:
        values = {"targets": (url,), "max_requests": 4, "stream": False, "new_connections": fresh}
        await LoadGenerator(settings(mode=ClosedLoop(users=1), **values)).run()
    finally:
        await runner.cleanup()
    assert len(peers) == connections


async def test_a_fault_of_the_caller_ends_the_run_and_is_raised() -> None:
    def fail(result: RequestResult) -> None:
        raise RuntimeError(f"cannot take {result.tokens} tokens")

    async with stand_in() as live:
        generator = LoadGenerator(settings(live, mode=ClosedLoop(users=2)), on_result=fail)
        with pytest.raises(RuntimeError, match="cannot take 5 tokens"):
            await generator.run()


async def test_equal_seeds_send_equal_sizes() -> None:
    sizes = []
    for seed in (3, 3, 4):
        async with stand_in() as live:
            generator = LoadGenerator(
                settings(
                    live,
                    mode=ClosedLoop(users=1),
                    max_requests=5,
                    spread=0.9,
                    seed=seed,
                    prompt_tokens=1000,
                )
            )
            await generator.run()
            sizes.append((await live.totals())["prompt_tokens_total"])
    assert sizes[0] == sizes[1] != sizes[2]


async def run_command(*flags: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "ridgeline.sim.load", *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_the_command_follows_its_steps_and_prints_a_summary() -> None:
    async with stand_in() as live:
        done = await run_command(
            *("--url", live.url, "--users", "0", "--steps", "0.1:2", "--duration", "2"),
            *("--max-requests", "6", "--max-tokens", "3", "--json"),
        )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["answered"], summary["tokens"], summary["errors"]) == (6, 18, {})


async def test_the_command_replays_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n0,4,2\n0.1,4,3\n")
    async with stand_in() as live:
        done = await run_command("--url", live.url, "--trace", str(trace), "--duration", "20")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 of 2 requests answered")


async def test_the_command_fails_when_nothing_was_answered_or_the_flags_mean_nothing() -> None:
    async with stand_in() as gone:
        pass
    away = await run_command("--url", gone.url, "--users", "1", "--duration", "0.5")
    wrong = await run_command("--url", "nowhere", "--users", "1", "--duration", "1")
    steps = await run_command(
        "--url", gone.url, "--users", "1", "--duration", "5", "--steps", "0.1:-3"
    )
    assert away.returncode == 1
    assert "error connect:" in away.stdout
    assert wrong.returncode == 2
    assert "'nowhere' is not a base URL" in wrong.stderr
    assert steps.returncode == 2
    assert "users=-3" in steps.stderr
