"""The stand-in over HTTP: protocol, page and the identities of its counters."""

import asyncio
import json
import re
from typing import Any

import aiohttp
import pytest

from tests.component.sim.exposition_shape import exposition_shape, read_fixture
from tests.component.sim.live_stand_in import EAGLE_K3, Live, Totals, stand_in

COMPLETION = {"prompt": [1, 2, 3, 4], "max_tokens": 6, "ignore_eos": True}
CHAT = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3}


async def load(live: Live, *, users: int, seconds: float, answer: int = 40) -> None:
    """Users who stream one answer after the other, until the time is over."""
    end = asyncio.get_running_loop().time() + seconds

    async def user(number: int) -> None:
        length = 1 + (number * 7) % answer
        while asyncio.get_running_loop().time() < end:
            body = {"prompt": [1] * 16, "max_tokens": length, "ignore_eos": True}
            await live.events("/v1/completions", body)
            length = answer

    await asyncio.gather(*(user(n) for n in range(users)))


async def page_after_a_request(*flags: str) -> dict[str, Any]:
    async with stand_in("--max-model-len", "1024", *flags) as live:
        async with live.session.get(live.url + "/v1/models") as response:
            await response.read()
        await live.post("/v1/completions", COMPLETION)
        return exposition_shape(await live.page())


@pytest.mark.parametrize(("profile", "flags"), [("none", ()), ("eagle-k3", (EAGLE_K3,))])
async def test_the_page_has_the_shape_of_the_recorded_one(
    profile: str, flags: tuple[str, ...]
) -> None:
    recorded = read_fixture(f"vllm-0.32.0-{profile}.json")
    shown = await page_after_a_request(*flags)
    assert shown.keys() == recorded.keys()
    for family, shape in recorded.items():
        assert shown[family] == shape, family


async def test_without_log_stats_no_series_of_the_engine_is_left() -> None:
    shown = await page_after_a_request("--disable-log-stats", EAGLE_K3)
    assert shown
    assert not any(name.startswith("vllm:") for name in shown)


async def test_series_of_speculation_stand_at_zero_before_the_first_request() -> None:
    async with stand_in(EAGLE_K3) as live:
        totals = await live.totals()
    drafts = {name: v for name, v in totals.sums.items() if name.startswith("spec_decode")}
    counters = {name: v for name, v in drafts.items() if not name.endswith("_created")}
    assert len(counters) == 4
    assert set(counters.values()) == {0.0}


@pytest.mark.parametrize("flags", [(), (EAGLE_K3,)], ids=["none", "eagle"])
async def test_the_counters_tell_concurrency_step_time_and_acceptance(
    flags: tuple[str, ...],
) -> None:
    clock = asyncio.get_running_loop().time
    async with stand_in(*flags, STAND_IN_ACCEPTANCE="0.5,0.5,0.5") as live:
        running = asyncio.create_task(load(live, users=12, seconds=2.6))
        await asyncio.sleep(0.6)
        before, started = await live.totals(), clock()
        await asyncio.sleep(1.7)
        after, elapsed = await live.totals(), clock() - started
        await running
    samples = after.since(before, "inter_token_latency_seconds_count")
    spent = after.since(before, "inter_token_latency_seconds_sum")
    steps = after.since(before, "iteration_tokens_total_count")
    first = after.since(before, "time_to_first_token_seconds_count")
    tokens = after.since(before, "generation_tokens_total")
    assert 7.0 < spent / elapsed < 12.5
    assert spent / elapsed == pytest.approx(samples / steps, rel=0.12)
    length = (tokens - first) / samples
    if not flags:
        assert length == 1.0
        return
    assert length == pytest.approx(1 + 0.5 + 0.25 + 0.125, rel=0.08)
    assert after.since(before, "spec_decode_num_drafts_total") == samples
    assert after.since(before, "spec_decode_num_draft_tokens_total") == 3 * samples
    per_token = spent / (tokens - first)
    whole = after["request_time_per_output_token_seconds_sum"]
    assert whole / after["request_time_per_output_token_seconds_count"] == pytest.approx(
        per_token, rel=0.2
    )


async def test_every_histogram_of_a_request_gets_one_sample_when_it_ends() -> None:
    async with stand_in() as live:
        for _ in range(3):
            await live.post("/v1/completions", COMPLETION)
        totals = await live.totals()
    per_request = [
        "e2e_request_latency_seconds",
        "request_queue_time_seconds",
        "request_prefill_time_seconds",
        "request_decode_time_seconds",
        "request_inference_time_seconds",
        "request_time_per_output_token_seconds",
        "time_to_first_token_seconds",
    ]
    assert {totals[f"{name}_count"] for name in per_request} == {3.0}
    assert totals["request_success_total"] == 3.0
    assert totals["generation_tokens_total"] == 18.0
    assert totals["prompt_tokens_total"] == 12.0
    assert totals["inter_token_latency_seconds_count"] == 15.0
    assert totals["num_requests_running"] == 0.0


async def test_a_stream_is_one_event_per_step_then_usage_then_done() -> None:
    async with stand_in() as live:
        options = {"stream_options": {"include_usage": True}}
        events = await live.events("/v1/completions", COMPLETION | options)
    assert events.pop() == "[DONE]"
    usage = json.loads(events.pop())
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 4
    assert usage["usage"]["completion_tokens"] == 6
    choices = [json.loads(event)["choices"][0] for event in events]
    assert [choice["finish_reason"] for choice in choices] == [None] * 5 + ["length"]
    assert all(choice["text"] for choice in choices)


async def test_with_drafts_a_stream_has_fewer_events_than_tokens() -> None:
    async with stand_in(EAGLE_K3, STAND_IN_ACCEPTANCE="1") as live:
        events = await live.events("/v1/completions", COMPLETION | {"max_tokens": 9})
    assert events.pop() == "[DONE]"
    words = [json.loads(event)["choices"][0]["text"].split() for event in events]
    assert [len(w) for w in words] == [1, 4, 4]


async def test_a_chat_begins_with_the_role_and_ends_with_done() -> None:
    async with stand_in() as live:
        events = await live.events("/v1/chat/completions", CHAT)
        status, whole = await live.post("/v1/chat/completions", CHAT)
    assert events.pop() == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert all(delta["content"] for delta in deltas[1:])
    assert json.loads(events[0])["object"] == "chat.completion.chunk"
    assert status == 200
    assert whole["object"] == "chat.completion"
    assert whole["choices"][0]["message"]["role"] == "assistant"
    assert whole["usage"]["completion_tokens"] == 3


async def test_a_whole_answer_has_text_usage_and_reason() -> None:
    async with stand_in("--served-model-name", "short", "long") as live:
        status, body = await live.post("/v1/completions", COMPLETION | {"model": "long"})
        assert 'model_name="short"' in await live.page()
    assert status == 200
    assert (body["object"], body["model"]) == ("text_completion", "long")
    assert body["choices"][0]["finish_reason"] == "length"
    assert len(body["choices"][0]["text"].split()) == 6
    assert body["usage"]["total_tokens"] == 10


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"model": "other"}, 404, "The model `other` does not exist."),
        ({"prompt": None}, 400, "prompt must be"),
        ({"prompt": ""}, 400, "prompt must be"),
        ({"prompt": ["a", "b"]}, 400, "prompt must be"),
        ({"prompt": [1, "b"]}, 400, "prompt must be"),
        ({"max_tokens": 0}, 400, "max_tokens must be at least 1"),
        ({"max_tokens": "six"}, 400, "max_tokens must be at least 1"),
        ({"max_tokens": 97}, 400, "maximum context length is 100 tokens"),
        ({"temperature": -1}, 400, "temperature must be non-negative"),
        ({"n": 2}, 400, "n=2"),
        ({"stream": "yes"}, 400, "stream must be true or false"),
    ],
)
async def test_bad_requests_are_refused_by_name(
    change: dict[str, Any], status: int, words: str
) -> None:
    async with stand_in("--max-model-len", "100") as live:
        got, body = await live.post("/v1/completions", COMPLETION | change)
    assert got == status
    assert words in body["error"]["message"]
    assert body["error"]["code"] == status


async def test_a_body_that_is_no_json_object_is_refused() -> None:
    async with stand_in() as live:
        for text in ("{", "[1]", '"x"'):
            status, body = await live.post("/v1/completions", text)
            assert status == 400
            assert "JSON" in body["error"]["message"]


async def test_health_version_and_models() -> None:
    async with stand_in(STAND_IN_ENGINE_VERSION="0.31.0") as live:
        async with live.session.get(live.url + "/health") as response:
            assert (response.status, await response.text()) == (200, "")
        async with live.session.get(live.url + "/version") as response:
            assert await response.json() == {"version": "0.31.0"}
        async with live.session.get(live.url + "/v1/models") as response:
            (card,) = (await response.json())["data"]
    assert (card["id"], card["root"], card["max_model_len"]) == (
        "/models/target",
        "/models/target",
        8192,
    )


async def test_requests_beyond_max_num_seqs_wait_and_are_counted() -> None:
    async with stand_in("--max-num-seqs", "2", STAND_IN_TIME_SCALE="1") as live:
        body = COMPLETION | {"max_tokens": 400}
        requests = [asyncio.create_task(live.events("/v1/completions", body)) for _ in range(5)]
        await asyncio.sleep(0.5)
        totals = await live.totals()
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
    assert totals["num_requests_running"] == 2.0
    assert totals["num_requests_waiting"] == 3.0
    assert totals["num_requests_waiting_by_reason"] == 3.0


async def test_a_client_that_goes_away_frees_its_place() -> None:
    async with stand_in("--max-num-seqs", "1") as live:
        body = COMPLETION | {"max_tokens": 8000, "stream": True}
        async with aiohttp.ClientSession() as session:
            response = await session.post(live.url + "/v1/completions", json=body)
            await response.content.readline()
            response.close()
        async with asyncio.timeout(5):
            status, _ = await live.post("/v1/completions", COMPLETION)
        page = await live.page()
    assert status == 200
    assert re.search(r'request_success_total\{.*finished_reason="abort".*\} 1\.0', page)


async def test_a_data_parallel_server_has_a_series_per_engine_and_spreads_requests() -> None:
    async with stand_in("--data-parallel-size", "2", EAGLE_K3) as live:
        await load(live, users=4, seconds=0.5)
        page = await live.page()
    counts = re.findall(r'vllm:generation_tokens_total\{engine="(\d)".*\} (\S+)', page)
    assert [engine for engine, _ in counts] == ["0", "1"]
    assert all(float(value) > 0 for _, value in counts)


async def test_without_ignore_eos_answers_end_by_themselves_where_a_mean_is_set() -> None:
    async with stand_in(STAND_IN_MEAN_OUTPUT_TOKENS="3") as live:
        body = {"prompt": "hello", "max_tokens": 1000}
        answers = [await live.post("/v1/completions", body) for _ in range(5)]
        _, least = await live.post("/v1/completions", body | {"min_tokens": 30})
        _, fixed = await live.post("/v1/completions", body | {"max_tokens": 20, "ignore_eos": True})
    assert {answer["choices"][0]["finish_reason"] for _, answer in answers} == {"stop"}
    assert least["usage"]["completion_tokens"] >= 30
    assert fixed["usage"]["completion_tokens"] == 20


async def test_a_hung_engine_answers_health_but_emits_nothing() -> None:
    async with stand_in(STAND_IN_HANG_AFTER_SECONDS="0.1") as live:
        await asyncio.sleep(0.2)
        request = asyncio.create_task(live.post("/v1/completions", COMPLETION))
        await asyncio.sleep(0.3)
        assert not request.done()
        async with live.session.get(live.url + "/health") as response:
            assert response.status == 200
        assert (await live.totals())["generation_tokens_total"] == 0.0
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)


async def test_frozen_counters_stand_while_requests_are_served() -> None:
    async with stand_in(STAND_IN_FREEZE_COUNTERS_AFTER_SECONDS="0.1") as live:
        await asyncio.sleep(0.2)
        status, _ = await live.post("/v1/completions", COMPLETION)
        assert status == 200
        assert (await live.totals())["generation_tokens_total"] == 0.0


async def test_metrics_can_be_made_to_fail() -> None:
    async with stand_in(STAND_IN_METRICS_503_AFTER_SECONDS="0.1") as live:
        assert isinstance(await live.totals(), Totals)
        await asyncio.sleep(0.2)
        async with live.session.get(live.url + "/metrics") as response:
            assert response.status == 503


async def finished(live: Live, ignore_eos: bool) -> tuple[int, str]:
    body = {"prompt": [1] * 4, "max_tokens": 30, "ignore_eos": ignore_eos}
    _, answer = await live.post("/v1/completions", body)
    return answer["usage"]["completion_tokens"], answer["choices"][0]["finish_reason"]


@pytest.mark.parametrize("ignore_eos", [False, True])
async def test_a_profile_can_answer_too_shortly(ignore_eos: bool) -> None:
    async with stand_in(EAGLE_K3, STAND_IN_ANSWER_SHARE="eagle=0.33") as live:
        assert await finished(live, ignore_eos) == (10, "stop")
        page = await live.page()
    assert re.search(r'request_success_total\{.*finished_reason="stop".*\} 1\.0', page)
    async with stand_in(STAND_IN_ANSWER_SHARE="eagle=0.33") as live:
        assert await finished(live, ignore_eos) == (30, "length")


async def test_a_profile_can_answer_without_an_end() -> None:
    settings = {"STAND_IN_MEAN_OUTPUT_TOKENS": "2", "STAND_IN_ANSWER_SHARE": "eagle=1e6"}
    async with stand_in(EAGLE_K3, **settings) as live:
        assert {await finished(live, False) for _ in range(4)} == {(30, "length")}
    async with stand_in(**settings) as live:
        assert "stop" in {(await finished(live, False))[1] for _ in range(4)}


async def test_a_server_can_be_healthy_before_it_serves_a_token() -> None:
    async with stand_in(STAND_IN_SERVES_AFTER_SECONDS="0.6") as live:
        waiting = asyncio.create_task(live.post("/v1/completions", COMPLETION))
        await asyncio.sleep(0.2)
        async with live.session.get(live.url + "/health") as response:
            assert response.status == 200
        totals = await live.totals()
        assert totals["generation_tokens_total"] == 0.0
        assert not waiting.done()
        status, answer = await waiting
    assert status == 200
    assert answer["usage"]["completion_tokens"] == 6
