"""Over real HTTP: everything that a Prometheus, or what stands in its place, can get wrong."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import FAST, REGISTRY, SLOW
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.slow import GpuActivity
from tests.component.telemetry.fake_prometheus import (
    HEALTHY,
    NOW,
    WINDOW_SECONDS,
    FakePrometheus,
    Reply,
    error_of,
    fake_prometheus,
    read,
    series,
    success,
)

POD = ("prod", "llm-0")
TICK = 15.0
UNAVAILABLE = Reply(body=b"upstream is gone\nstack trace", status=503)


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with fake_prometheus() as running:
        yield running


@pytest.fixture
async def reader(fake: FakePrometheus) -> AsyncIterator[TelemetryReader]:
    made = TelemetryReader(fake.endpoint(), window_seconds=WINDOW_SECONDS)
    yield made
    await made.close()


async def test_a_healthy_endpoint(fake: FakePrometheus) -> None:
    snapshot = await read(fake.endpoint())
    assert snapshot.error is None
    assert snapshot.warnings == ()
    assert snapshot.answered_at == snapshot.taken_at == NOW
    assert snapshot.series == dict.fromkeys(REGISTRY, 1)
    (engine,) = snapshot.engines[POD]
    assert engine.age_seconds == 4
    assert engine.decode_concurrency == 12
    assert engine.step_seconds == pytest.approx(12 / 400)
    assert engine.acceptance_length == pytest.approx(2.0)
    assert engine.tpot_seconds == pytest.approx(12 / 800)
    assert engine.mean_batch == pytest.approx(10.0)
    assert engine.drafted_share == pytest.approx(0.5)
    assert (engine.running, engine.waiting) == (13, 2)
    assert (engine.tpot_p99_seconds, engine.step_latency_p99_seconds) == (0.03, 0.09)
    assert (engine.waiting_for_capacity, engine.queue_seconds_per_second) == (1, 1.5)
    assert (engine.preemptions_per_second, engine.kv_cache_use) == (0.25, 0.75)
    assert engine.prompt_tokens_per_second == 700
    assert (engine.mean_prompt_tokens, engine.mean_output_tokens) == (512, 128)
    assert (engine.ttft_seconds, engine.tpot_p99_bounds) == (0.4, (0.025, 0.05))
    assert engine.finished_per_second == (("other", 2.0),)
    assert (engine.longest_answer_seconds, engine.longest_answer_unbounded) == (120.0, False)
    assert engine.draft_tokens_per_second == 200
    assert engine.acceptance == (0.6,)
    assert snapshot.acceptance == {("prod", "llm-0", "0"): (0.6,)}
    assert snapshot.gpus == {POD: GpuActivity(tensor_active=0.2, dram_active=0.9)}


async def test_all_queries_share_one_evaluation_time(fake: FakePrometheus) -> None:
    await read(fake.endpoint())
    assert {float(request.form["time"]) for request in fake.requests} == {NOW}


@pytest.mark.parametrize("name", FAST)
async def test_one_failed_fast_query_is_an_error_that_names_it(
    fake: FakePrometheus, name: str
) -> None:
    fake.replies[name] = UNAVAILABLE
    message = error_of(await read(fake.endpoint()))
    assert message.startswith(f"endpoint 'main': query {name} failed: HTTP 503: upstream is gone;")
    assert "stack trace" not in message


@pytest.mark.parametrize("name", SLOW)
async def test_one_failed_slow_query_loses_only_itself(fake: FakePrometheus, name: str) -> None:
    fake.replies[name] = UNAVAILABLE
    snapshot = await read(fake.endpoint())
    assert snapshot.error is None
    assert set(snapshot.failed) == {name}
    assert set(snapshot.slow_age_seconds) == set(SLOW) - {name}
    assert snapshot.engines[POD][0].decode_concurrency == 12
    assert any(name in warning and "HTTP 503" in warning for warning in snapshot.warnings)


async def test_slow_queries_are_asked_every_fifth_read(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    slow_reads = []
    for tick in range(11):
        await reader.read(NOW + tick * TICK)
        asked = fake.asked()
        assert set(FAST) <= set(asked)
        slow_reads.append(set(SLOW) <= set(asked))
    assert [tick for tick, slow in enumerate(slow_reads) if slow] == [0, 5, 10]


async def test_slow_values_are_carried_until_they_are_too_old(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    await reader.read(NOW)
    fake.replies["drafts"] = UNAVAILABLE
    shares = {}
    for tick in range(1, 14):
        snapshot = await reader.read(NOW + tick * TICK)
        shares[tick] = snapshot.engines[POD][0].drafted_share
    assert shares[12] == pytest.approx(0.5)
    assert shares[13] is None
    assert snapshot.engines[POD][0].tpot_p99_seconds == 0.03


async def test_a_failed_query_of_drafts_does_not_look_like_a_server_without_them(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    """Engine steps say that somebody looked for drafts; a failed look does not count."""
    fake.replies["drafts"] = UNAVAILABLE
    (engine,) = (await reader.read(NOW)).engines[POD]
    assert (engine.drafts_per_second, engine.steps_per_second) == (None, None)
    fake.replies["drafts"] = Reply(body=success())
    for tick in range(1, 6):
        (engine,) = (await reader.read(NOW + tick * TICK)).engines[POD]
    assert (engine.drafts_per_second, engine.steps_per_second) == (None, 40)


async def test_no_connection_idles_from_read_to_read(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    ports = []
    for tick in range(2):
        await reader.read(NOW + tick * TICK)
        ports.append({request.port for request in fake.requests})
        fake.asked()
    assert ports[0].isdisjoint(ports[1])


async def test_carried_ratios_keep_the_moment_at_which_they_were_read(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    """A fresh count over an old number of drafts would be a share that never was."""
    await reader.read(NOW)
    fake.replies["request_steps"] = Reply(body=success(series("4000")))
    (engine,) = (await reader.read(NOW + TICK)).engines[POD]
    assert engine.request_steps_per_second == 4000
    assert engine.drafted_share == pytest.approx(0.5)
    assert engine.mean_batch == pytest.approx(10.0)


async def test_an_outage_is_asked_ever_more_rarely_and_ends_at_the_first_answer(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    await reader.read(NOW)
    fake.asked()
    fake.replies["*"] = UNAVAILABLE
    attempts, messages = [], set()
    for tick in range(1, 81):
        snapshot = await reader.read(NOW + tick * TICK)
        messages.add(error_of(snapshot))
        assert snapshot.answered_at == NOW
        assert snapshot.data_age_seconds == pytest.approx(tick * TICK)
        assert bool(fake.asked()) == snapshot.asked
        if snapshot.asked:
            attempts.append(tick)
    # 15, 30, 60 and then 120 s apart, in ticks of 15 s.
    assert attempts[:5] == [1, 2, 4, 8, 16]
    assert len(attempts) == 13
    assert len(messages) == 1
    fake.replies.clear()
    tick = 81
    while (snapshot := await reader.read(NOW + tick * TICK)).error is not None:
        tick += 1
    assert tick - attempts[-1] == 8
    assert snapshot.error is None
    assert snapshot.next_attempt_at is None
    assert snapshot.engines[POD][0].decode_concurrency == 12
    assert snapshot.engines[POD][0].drafted_share == pytest.approx(0.5)
    # The next outage begins with the shortest wait again.
    fake.replies["*"] = UNAVAILABLE
    later = NOW + 101 * TICK
    assert (await reader.read(later)).next_attempt_at == later + TICK


async def test_a_slow_endpoint_is_given_up_at_the_deadline(fake: FakePrometheus) -> None:
    fake.replies["request_steps"] = Reply(body=b"{}", delay=30)
    message = error_of(await read(fake.endpoint(timeout_seconds=0.3)))
    assert "query request_steps failed: no answer within 0.3 s" in message


async def test_a_slow_slow_query_does_not_lose_the_fast_ones(fake: FakePrometheus) -> None:
    fake.replies["tpot_p99"] = Reply(body=b"{}", delay=30)
    snapshot = await read(fake.endpoint(timeout_seconds=1.0))
    assert snapshot.error is None
    assert set(snapshot.failed) == {"tpot_p99"}
    assert snapshot.engines[POD][0].step_latency_p99_seconds == 0.09


async def test_nobody_listens() -> None:
    message = error_of(await read(Endpoint(name="main", url="http://127.0.0.1:1")))
    assert "query sample_age failed" in message
    assert "check the endpoint's url" in message


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<html>login</html>", "not JSON"),
        (b"", "not JSON"),
        (b'{"status":"success","data":{"resultType":"vector","result":[NaN]}}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "expected an object"),
        (b"{}", "status is None"),
        (b'{"status":"error","error":"x"}', "status is 'error'"),
        (b'{"status":"success","data":{"resultType":"matrix","result":[]}}', "'matrix'"),
        (b'{"status":"success","data":null}', "expected a vector"),
        (success({"metric": {}}), "without labels and value"),
        (success({"metric": {}, "histogram": [0, {}]}), "without labels and value"),
        (success({"metric": {}, "value": []}), "without labels and value"),
        (success({"metric": [], "value": [0, "1"]}), "without labels and value"),
        (success({"metric": {}, "value": [0, 1]}), "without labels and value"),
        (success({"metric": {"pod": 1}, "value": [0, "1"]}), "without labels and value"),
        (success({"metric": {"pod": []}, "value": [0, "1"]}), "without labels and value"),
        (success(series("1_000")), "not a number"),
        (success(series(" 1")), "not a number"),
        (success(series("")), "not a number"),
        (success(series("١")), "not a number"),
        (success(warnings="x"), "warnings is not a list"),
    ],
)
async def test_malformed_answers(fake: FakePrometheus, body: bytes, expected: str) -> None:
    fake.replies["first_tokens"] = Reply(body=body)
    message = error_of(await read(fake.endpoint()))
    assert message.startswith("endpoint 'main': query first_tokens failed: malformed answer: ")
    assert expected in message
    assert message.endswith("is a Prometheus at the endpoint's url?")


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "1e999"])
async def test_numbers_that_are_not_finite_are_missing_and_named(
    fake: FakePrometheus, text: str
) -> None:
    fake.replies["decode_concurrency"] = Reply(body=success(series(text)))
    fake.replies["tpot_p99"] = Reply(body=success(series(text)))
    (engine,) = (await read(fake.endpoint())).engines[POD]
    assert engine.decode_concurrency is None
    assert engine.tpot_seconds is None
    assert engine.tpot_p99_seconds is None
    assert engine.not_finite == ("decode_concurrency", "tpot_p99")
    assert engine.generated_tokens_per_second == 900


async def test_empty_vectors_are_an_answer_without_engines(fake: FakePrometheus) -> None:
    fake.replies["*"] = Reply(body=success())
    snapshot = await read(fake.endpoint())
    assert snapshot.error is None
    assert snapshot.engines == {}
    assert snapshot.answered_at == NOW


async def test_two_series_for_one_engine_are_never_merged(fake: FakePrometheus) -> None:
    """A store that ignores aggregation, or answers twice."""
    fake.replies["decode_concurrency"] = Reply(
        body=success(series("1"), series("30"), series("5", pod="llm-1"))
    )
    snapshot = await read(fake.endpoint())
    assert set(snapshot.engines) == {("prod", "llm-1")}
    assert snapshot.ambiguous == {("prod", "llm-0", "0")}
    assert any("decode_concurrency: 1 engines have more than one" in w for w in snapshot.warnings)


async def test_a_young_pod_has_an_age_and_no_rates(fake: FakePrometheus) -> None:
    for name in FAST[1:]:
        fake.replies[name] = Reply(body=success())
    (engine,) = (await read(fake.endpoint())).engines[POD]
    assert engine.age_seconds == 4
    assert engine.decode_concurrency is None
    assert engine.generated_tokens_per_second is None


async def test_an_unknown_age_counts_as_a_whole_window(fake: FakePrometheus) -> None:
    fake.replies["sample_age"] = Reply(body=success())
    (engine,) = (await read(fake.endpoint())).engines[POD]
    assert engine.age_seconds == WINDOW_SECONDS


async def test_warnings_of_the_endpoint_are_kept_once(fake: FakePrometheus) -> None:
    body = success(series("1"), warnings=["store-1 is down"], infos=["just so you know"])
    fake.replies["decode_concurrency"] = fake.replies["request_steps"] = Reply(body=body)
    snapshot = await read(fake.endpoint())
    assert snapshot.warnings == ("store-1 is down", "just so you know")


async def test_a_flood_of_warnings_is_cut(fake: FakePrometheus) -> None:
    body = success(series("1"), warnings=[f"{n} {'x' * 10_000}" for n in range(500)])
    fake.replies["decode_concurrency"] = Reply(body=body)
    warnings = (await read(fake.endpoint())).warnings
    assert len(warnings) == 20
    assert warnings[-1] == "and 481 more warnings"
    assert max(map(len, warnings)) <= 400


async def test_clocks_that_differ_are_remarked_on(fake: FakePrometheus) -> None:
    fake.clock_ahead = 4.0
    assert (await read(fake.endpoint())).warnings == ()
    for fake.clock_ahead in (-10.0, 10.0):
        (remark,) = (await read(fake.endpoint())).warnings
        assert "clocks" in remark


@pytest.mark.parametrize("ahead", [-40.0, 40.0, 3600.0])
async def test_numbers_of_a_clock_that_misleads_are_refused(
    fake: FakePrometheus, ahead: float
) -> None:
    """Ahead of us: older than they look. Behind us: the window reaches into its future."""
    fake.clock_ahead = ahead
    message = error_of(await read(fake.endpoint()))
    assert "differ by more than 20 s" in message
    assert "synchronise the clocks" in message


async def test_a_closed_reader_can_read_again(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    assert (await reader.read(NOW)).error is None
    await reader.close()
    assert (await reader.read(NOW + TICK)).error is None


async def test_a_cancelled_read_leaves_nothing_behind(
    fake: FakePrometheus, reader: TelemetryReader
) -> None:
    fake.replies["*"] = Reply(body=b"{}", delay=30)
    task = asyncio.create_task(reader.read(NOW))
    async with asyncio.timeout(5):
        await fake.received.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    fake.replies.clear()
    assert (await reader.read(NOW)).error is None


async def test_the_first_wait_can_be_set(fake: FakePrometheus) -> None:
    reader = TelemetryReader(
        fake.endpoint(), window_seconds=WINDOW_SECONDS, backoff=Backoff(first_seconds=60)
    )
    fake.replies["*"] = UNAVAILABLE
    snapshot = await reader.read(NOW)
    assert snapshot.next_attempt_at == NOW + 60
    await reader.close()


def test_the_fake_answers_every_query() -> None:
    assert set(HEALTHY) == set(REGISTRY)
