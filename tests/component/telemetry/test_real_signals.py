"""Against a real Prometheus: signals of prompts, queue, cache and lookahead, and their traps."""

import time
from dataclasses import fields
from itertools import accumulate
from operator import mul

import pytest

from ridgeline.telemetry.parse import EngineKey
from ridgeline.telemetry.slow import GpuActivity
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry.exporter import recorded_rate
from tests.component.telemetry.looking import RATE_TOLERANCE, close_to, engines, only, read
from tests.component.telemetry.scene import NAMESPACE, RECORDED, RECORDINGS, STAND_INS, Scene
from tests.component.telemetry.stand_in_pages import ACCEPTANCE, OUTPUT_TOKENS, PROMPT_TOKENS, USERS

pytestmark = pytest.mark.prometheus

STEPS = "iteration_tokens_total_count"
PROMPTS = "prompt_tokens_total"
SUCCESS = "request_success_total"
DRAFTS = "spec_decode_num_drafts_total"


def test_context_is_told_by_the_means_of_finished_requests(snapshot: TelemetrySnapshot) -> None:
    """Known from the client's side: 32 prompt tokens and 64 answered ones."""
    engine = only(snapshot, "speculating")
    assert engine.mean_prompt_tokens == pytest.approx(32.0)
    assert engine.mean_output_tokens == pytest.approx(64.0)
    assert engine.prompt_tokens_per_second == close_to("draft-k4", PROMPTS)
    ttft = [
        recorded_rate("draft-k4", f"time_to_first_token_seconds_{end}") for end in ("sum", "count")
    ]
    assert engine.ttft_seconds == pytest.approx(ttft[0] / ttft[1], rel=0.01)


def test_a_twice_scraped_pod_has_the_same_means(snapshot: TelemetrySnapshot) -> None:
    once, twice = only(snapshot, "speculating"), only(snapshot, "twice")
    assert twice.mean_prompt_tokens == pytest.approx(once.mean_prompt_tokens)
    assert twice.tpot_p99_seconds == pytest.approx(once.tpot_p99_seconds, rel=0.01)
    assert twice.tpot_p99_bounds == once.tpot_p99_bounds
    assert twice.prompt_tokens_per_second == close_to("draft-k4", PROMPTS)


def test_a_saturated_server(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "saturated")
    assert (engine.waiting, engine.waiting_for_capacity, engine.kv_cache_use) == (15.0, 7.0, 0.83)
    assert engine.preemptions_per_second == close_to("draft-k4", STEPS, pace=0.01)
    assert engine.queue_seconds_per_second == close_to("draft-k4", STEPS, pace=0.05)


def test_prompt_tokens_from_the_cache_are_not_computed(snapshot: TelemetrySnapshot) -> None:
    saturated = only(snapshot, "saturated").prompt_tokens_per_second
    assert saturated == close_to("draft-k4", PROMPTS, pace=0.25)


def test_versions_that_tell_less(snapshot: TelemetrySnapshot) -> None:
    """Prompt tokens then count whole; why requests wait is unknown, not nobody."""
    sourceless = only(snapshot, "before-sources")
    assert sourceless.prompt_tokens_per_second == close_to("draft-k4", PROMPTS)
    assert only(snapshot, "before-reasons").waiting_for_capacity is None
    assert only(snapshot, "speculating").waiting_for_capacity == 0.0


@pytest.mark.parametrize("pod", ["old-names", "both-names"])
def test_the_cache_is_read_under_either_name(snapshot: TelemetrySnapshot, pod: str) -> None:
    assert only(snapshot, pod).kv_cache_use == 0.0


def test_no_request_finished_is_no_mean(snapshot: TelemetrySnapshot) -> None:
    for pod in ("first-answers", "idle"):
        engine = only(snapshot, pod)
        assert engine.mean_prompt_tokens is engine.mean_output_tokens is None
        assert engine.tpot_p99_seconds is None
        assert engine.tpot_p99_bounds is None
        assert engine.not_finite == ()
    assert only(snapshot, "idle").ttft_seconds is None
    assert snapshot.series["tpot_p99_lower"] == snapshot.series["tpot_p99"]
    assert snapshot.series["tpot_p99_upper"] == snapshot.series["tpot_p99"]


def test_how_answers_end(snapshot: TelemetrySnapshot) -> None:
    """Known from the client's side: every answer was as long as it was allowed to be."""
    finished = dict(only(snapshot, "speculating").finished_per_second or ())
    assert finished.pop("length") == close_to("draft-k4", f'{SUCCESS}{{finished_reason="length"}}')
    assert finished == dict.fromkeys(("abort", "error", "repetition", "stop"), 0.0)
    made_up = dict(only(snapshot, "even-plain").finished_per_second or ())
    assert list(made_up) == ["abort", "length", "stop"]
    assert made_up["stop"] == pytest.approx(3 * made_up["length"])
    assert made_up["length"] == pytest.approx(0.5, rel=RATE_TOLERANCE)


def test_how_answers_end_is_told_of_every_engine_once(snapshot: TelemetrySnapshot) -> None:
    series = f'{SUCCESS}{{finished_reason="length"}}'
    twice = dict(only(snapshot, "twice").finished_per_second or ())
    assert twice["length"] == close_to("draft-k4", series)
    second = dict(engines(snapshot, "parallel")[1].finished_per_second or ())
    assert second["length"] == close_to("draft-k4", series, pace=0.5)


def test_nothing_finished_is_zero_and_nothing_told_is_unknown(snapshot: TelemetrySnapshot) -> None:
    idle = dict(only(snapshot, "idle").finished_per_second or ())
    assert idle
    assert set(idle.values()) == {0.0}
    untold = only(snapshot, "first-answers")
    assert untold.finished_per_second is None
    assert (untold.longest_answer_seconds, untold.longest_answer_unbounded) == (None, False)


def test_the_longest_answer_is_told_by_the_bound_of_its_bucket(
    snapshot: TelemetrySnapshot,
) -> None:
    """45 s are below the bound of 50, and 9000 s above all of them."""
    usual, crawling = only(snapshot, "even-plain"), only(snapshot, "crawling")
    assert (usual.longest_answer_seconds, usual.longest_answer_unbounded) == (50.0, False)
    assert (crawling.longest_answer_seconds, crawling.longest_answer_unbounded) == (7680.0, True)
    assert only(snapshot, "twice").longest_answer_seconds == 2.5


def test_equal_pace_per_token_is_seen_as_equal(snapshot: TelemetrySnapshot) -> None:
    """Steps of the speculating server take three times as long and make three tokens."""
    plain, speculating = only(snapshot, "even-plain"), only(snapshot, "even-speculating")
    assert plain.tpot_seconds == pytest.approx(0.020, rel=0.01)
    assert speculating.tpot_seconds == pytest.approx(0.020, rel=0.01)
    assert speculating.tpot_p99_seconds == pytest.approx(plain.tpot_p99_seconds)
    assert speculating.acceptance_length == pytest.approx(3.0, rel=0.01)
    # The trap: an objective of 50 ms held against the latter would leave speculation.
    assert plain.step_latency_p99_seconds is not None
    assert speculating.step_latency_p99_seconds is not None
    assert plain.step_latency_p99_seconds < 0.050 < speculating.step_latency_p99_seconds


def test_the_p99_comes_with_the_bounds_of_its_bucket(snapshot: TelemetrySnapshot) -> None:
    """All requests take 20 ms per token, in the bucket from 10 to 25 ms."""
    engine = only(snapshot, "even-plain")
    assert engine.tpot_p99_bounds == (0.01, 0.025)
    assert engine.tpot_p99_seconds is not None
    assert 0.01 < engine.tpot_p99_seconds <= 0.025


def test_a_p99_beyond_all_buckets_is_at_least_the_last_bound(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "crawling")
    assert engine.tpot_p99_bounds == (80.0, 80.0)
    assert engine.tpot_p99_seconds == 80.0


def test_acceptance_is_unknown_where_drafts_were_shorter(snapshot: TelemetrySnapshot) -> None:
    for pod in ("shorter-drafts", "scheduled"):
        engine = only(snapshot, pod)
        assert engine.acceptance is None
        assert engine.drafts_per_second
        assert engine.draft_tokens_per_second
        assert engine.draft_tokens_per_second / engine.drafts_per_second < 2.1
        assert engine.acceptance_length is not None
    assert only(snapshot, "speculating").acceptance is not None


def test_an_in_engine_schedule_that_drafts_nothing(snapshot: TelemetrySnapshot) -> None:
    """Accepted per drafted token looks healthy in this recording; hardly a step drafted."""
    engine = only(snapshot, "scheduled-off")
    assert engine.drafted_share is not None
    assert engine.drafted_share < 0.02
    assert engine.acceptance is None
    assert engine.acceptance_length == pytest.approx(1.0, abs=0.05)


def test_several_api_server_processes_leave_the_mean_batch_unknown(
    snapshot: TelemetrySnapshot,
) -> None:
    """Each process counts the engine's steps; request counters add up to the truth."""
    engine, one = only(snapshot, "several-processes"), only(snapshot, "speculating")
    assert engine.mean_batch is None
    assert one.mean_batch is not None
    assert engine.decode_concurrency == pytest.approx(one.decode_concurrency, rel=0.1)
    assert engine.acceptance_length == pytest.approx(one.acceptance_length, rel=0.01)
    assert engine.acceptance == pytest.approx(one.acceptance, rel=0.01)


def test_one_missing_family_of_one_engine_is_a_hole_and_no_zero(
    snapshot: TelemetrySnapshot,
) -> None:
    first, second = engines(snapshot, "half-engine")
    assert first.decode_concurrency is not None
    assert (second.engine, second.decode_concurrency, second.tpot_seconds) == ("1", None, None)
    assert second.generated_tokens_per_second == close_to(
        "draft-k4", "generation_tokens_total", pace=0.5
    )


def test_a_missing_engine_is_not_made_up(snapshot: TelemetrySnapshot) -> None:
    """The Pod then has fewer engines than its flags say: partial data, for the policy to see."""
    assert [engine.engine for engine in engines(snapshot, "lost-engine")] == ["0"]


async def test_labels_that_collide_are_read_where_prometheus_moved_them(scene: Scene) -> None:
    """A gateway hands on the pages of two Pods: theirs are the exported labels."""
    endpoint = scene.endpoint(namespace_label="exported_namespace", pod_label="exported_pod")
    snapshot = await read(endpoint, time.time())
    assert set(snapshot.engines) == {("inner", "inner-a"), ("inner", "inner-b")}
    assert snapshot.ambiguous == frozenset()
    first, second = (only(snapshot, f"inner-{name}", "inner") for name in "ab")
    itl_sum = "inter_token_latency_seconds_sum"
    assert first.decode_concurrency == close_to("draft-k4", itl_sum)
    assert second.decode_concurrency == close_to("draft-k4", itl_sum, pace=0.5)


def test_labels_that_collide_are_never_merged(snapshot: TelemetrySnapshot) -> None:
    """Read under the gateway's own name, two servers are no one."""
    assert EngineKey(NAMESPACE, "gateway", "0") in snapshot.ambiguous
    assert (NAMESPACE, "gateway") not in snapshot.engines


def test_what_most_queries_find_is_told_once(snapshot: TelemetrySnapshot) -> None:
    """Else it would push out the remarks that a person must see: they are bounded."""
    told = [warning for warning in snapshot.warnings if "lack the label" in warning]
    assert 1 <= len(told) <= 3
    assert any(" more: " in warning for warning in told)


def test_gpus_are_joined_by_pod_however_they_are_scraped(snapshot: TelemetrySnapshot) -> None:
    """One exporter's Pod labels were moved aside, the other's were not."""
    speculating = snapshot.gpus[NAMESPACE, "speculating"]
    assert speculating.tensor_active == pytest.approx(0.2)
    assert speculating.dram_active == pytest.approx(0.85)
    assert snapshot.gpus[NAMESPACE, "plain"] == GpuActivity(tensor_active=0.5, dram_active=0.6)
    assert (NAMESPACE, "twice") not in snapshot.gpus


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason=f"no recordings at {RECORDINGS}")
@pytest.mark.parametrize("name", RECORDED)
def test_whole_recorded_pages(snapshot: TelemetrySnapshot, name: str) -> None:
    """Whole pages of a real server, as far as its client can confirm them."""
    engine = only(snapshot, f"recorded-{name.replace('/', '-')}")
    source = str(RECORDINGS / name)
    assert engine.generated_tokens_per_second == close_to(source, "generation_tokens_total")
    assert engine.decode_concurrency == close_to(source, "inter_token_latency_seconds_sum")
    assert engine.mean_prompt_tokens == pytest.approx(32.0)
    assert engine.mean_output_tokens == pytest.approx(64.0)
    assert engine.not_finite == ()
    ends = {reason for reason, often in engine.finished_per_second or () if often}
    assert ends == {"length"}
    # The slowest of these recordings answers 64 tokens in a mean of 1.7 s.
    assert engine.longest_answer_seconds is not None
    assert 0.5 < engine.longest_answer_seconds <= 5.0
    assert not engine.longest_answer_unbounded
    assert (engine.acceptance is None) == name.startswith(("none", "dynamic"))
    if engine.acceptance is not None:
        # Every request's last draft is cut off by max_tokens: a few per cent.
        assert engine.acceptance_length == pytest.approx(1 + sum(engine.acceptance), rel=0.05)


SINCE = {
    "waiting_for_capacity": (0, 20),
    "tpot_p99_seconds": (0, 11),
    "tpot_p99_bounds": (0, 11),
}
"""Signals that older versions do not export."""


@pytest.mark.parametrize("version", STAND_INS)
def test_every_version_tells_what_it_exports(snapshot: TelemetrySnapshot, version: str) -> None:
    """The stand-in exports what that release does, under the names that it has there."""
    engine = only(snapshot, f"stand-in-{version}")
    release = tuple(int(part) for part in version.split(".")[:2])
    missing = {each.name for each in fields(engine) if getattr(engine, each.name) is None}
    assert missing == {name for name, since in SINCE.items() if release < since}
    assert engine.not_finite == ()
    assert engine.decode_concurrency is not None
    assert 0.7 * USERS < engine.decode_concurrency < 1.5 * USERS
    assert engine.mean_prompt_tokens == pytest.approx(PROMPT_TOKENS)
    assert engine.mean_output_tokens == pytest.approx(OUTPUT_TOKENS)
    assert engine.acceptance == pytest.approx(tuple(accumulate(ACCEPTANCE, mul)), rel=0.1)
    ends = {reason for reason, often in engine.finished_per_second or () if often}
    assert ends == {"length"}
    assert engine.longest_answer_seconds is not None
    assert not engine.longest_answer_unbounded
    assert engine.preemptions_per_second
    assert engine.kv_cache_use


def test_waiting_and_preempted_requests_do_not_count_as_decoding_twice(
    snapshot: TelemetrySnapshot,
) -> None:
    """Where requests lose their place, the mean batch is the lower and truer number."""
    engine = only(snapshot, "stand-in-0.33.0")
    assert engine.mean_batch is not None
    assert engine.decode_concurrency is not None
    assert engine.mean_batch < engine.decode_concurrency
