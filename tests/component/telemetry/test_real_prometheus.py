"""Against a real Prometheus: what recorded loads look like once it has scraped them."""

import asyncio
import time

import pytest

from ridgeline.telemetry.client import PrometheusClient
from ridgeline.telemetry.endpoint import Endpoint, Matcher
from ridgeline.telemetry.parse import Answer, EngineKey
from ridgeline.telemetry.queries import REGISTRY, query_context
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry.exporter import recorded_rate
from tests.component.telemetry.looking import close_to, decoded, engines, only, read
from tests.component.telemetry.scene import FAILS_AT, NAMESPACE, READY_AT, WINDOW_SECONDS, Scene

pytestmark = pytest.mark.prometheus

ITL_SUM = "inter_token_latency_seconds_sum"
ITL_COUNT = "inter_token_latency_seconds_count"
STEPS = "iteration_tokens_total_count"
TOKENS = "generation_tokens_total"
FIRST = "time_to_first_token_seconds_count"
DRAFTS = "spec_decode_num_drafts_total"


def test_every_query_is_answered(snapshot: TelemetrySnapshot) -> None:
    """Each runs without error and finds the series that it is about."""
    assert snapshot.failed == {}
    assert set(snapshot.query_seconds) == set(snapshot.series) == set(REGISTRY)
    assert min(snapshot.series.values()) > 0


@pytest.mark.parametrize("source", ["draft-k4", "none"])
def test_numbers_of_a_recorded_load(snapshot: TelemetrySnapshot, source: str) -> None:
    engine = only(snapshot, {"draft-k4": "speculating", "none": "plain"}[source])
    assert engine.engine == "0"
    assert engine.not_finite == ()
    assert engine.decode_concurrency == close_to(source, ITL_SUM)
    assert engine.request_steps_per_second == close_to(source, ITL_COUNT)
    assert engine.generated_tokens_per_second == close_to(source, TOKENS)
    assert engine.steps_per_second == close_to(source, STEPS)
    count = recorded_rate(source, ITL_COUNT)
    seconds = recorded_rate(source, ITL_SUM)
    assert engine.step_seconds == pytest.approx(seconds / count, rel=0.01)
    assert engine.tpot_seconds == pytest.approx(seconds / decoded(source), rel=0.01)
    assert engine.acceptance_length == pytest.approx(decoded(source) / count, rel=0.01)
    assert engine.mean_batch == pytest.approx(count / recorded_rate(source, STEPS), rel=0.01)


def test_sixteen_clients_are_seen_as_the_requests_that_decode(snapshot: TelemetrySnapshot) -> None:
    """Known from the client's side: 16 closed-loop clients, less their prefill and pauses."""
    concurrency = only(snapshot, "speculating").decode_concurrency
    assert concurrency is not None
    assert 13 < concurrency < 17


def test_speculation_shows_in_drafts_and_acceptance(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "speculating")
    assert engine.drafts_per_second == close_to("draft-k4", DRAFTS)
    assert engine.drafted_share == pytest.approx(1.0, rel=0.01)
    accepted = [
        recorded_rate(
            "draft-k4", f'spec_decode_num_accepted_tokens_per_pos_total{{position="{n}"}}'
        )
        for n in range(4)
    ]
    expected = [rate / recorded_rate("draft-k4", DRAFTS) for rate in accepted]
    p = engine.acceptance
    assert p is not None
    assert p == pytest.approx(expected, rel=0.01)
    # Every request's last draft is cut off by max_tokens: a few per cent.
    assert engine.acceptance_length == pytest.approx(1 + sum(p), rel=0.04)


def test_a_server_without_speculation_has_no_drafts(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "plain")
    assert engine.drafts_per_second is None
    assert engine.drafted_share is None
    assert engine.acceptance_length == pytest.approx(1.0, abs=0.001)
    assert engine.acceptance is None
    assert engine.draft_tokens_per_second is None


def test_p99_is_read_under_both_its_names(snapshot: TelemetrySnapshot) -> None:
    """Steps of a speculating server take longer than its tokens."""
    engine = only(snapshot, "speculating")
    assert engine.tpot_p99_seconds is not None
    assert engine.step_latency_p99_seconds is not None
    assert 0.005 < engine.tpot_p99_seconds < engine.step_latency_p99_seconds < 1


def test_nothing_waits_for_a_request_to_finish(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "first-answers")
    assert engine.tpot_p99_seconds is None
    assert engine.not_finite == ()
    speculating = only(snapshot, "speculating")
    assert engine.acceptance_length == pytest.approx(speculating.acceptance_length)
    assert engine.tpot_seconds == pytest.approx(speculating.tpot_seconds)


def test_engines_of_a_data_parallel_pod_stay_apart(snapshot: TelemetrySnapshot) -> None:
    first, second = engines(snapshot, "parallel")
    assert (first.engine, second.engine) == ("0", "1")
    assert first.decode_concurrency == close_to("draft-k4", ITL_SUM)
    assert second.decode_concurrency == close_to("draft-k4", ITL_SUM, pace=0.5)


def test_no_traffic_is_a_true_zero_without_ratios(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "idle")
    assert engine.decode_concurrency == 0.0
    assert engine.generated_tokens_per_second == 0.0
    assert engine.drafts_per_second == 0.0
    assert engine.not_finite == ()
    for ratio in (
        engine.step_seconds,
        engine.tpot_seconds,
        engine.acceptance_length,
        engine.mean_batch,
        engine.drafted_share,
        engine.tpot_p99_seconds,
        engine.step_latency_p99_seconds,
    ):
        assert ratio is None


def test_a_pod_in_two_scrape_jobs_counts_once(snapshot: TelemetrySnapshot) -> None:
    assert only(snapshot, "twice").decode_concurrency == close_to("draft-k4", ITL_SUM)
    remark = next(w for w in snapshot.warnings if "scraped more than once" in w)
    assert f"1 engine is (first {NAMESPACE}/twice engine 0)" in remark


def test_two_servers_under_one_name_are_left_out(snapshot: TelemetrySnapshot) -> None:
    assert snapshot.ambiguous == {EngineKey(NAMESPACE, p, "0") for p in ("clash", "gateway")}
    assert (NAMESPACE, "clash") not in snapshot.engines
    assert any("two servers" in w and f"{NAMESPACE}/clash" in w for w in snapshot.warnings)


def test_a_counter_reset_is_not_a_fall_of_load(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "restarted")
    # What was counted between the last scrape and the restart is lost: up to two scrapes of ten.
    assert engine.decode_concurrency == pytest.approx(recorded_rate("draft-k4", ITL_SUM), rel=0.25)
    assert engine.acceptance_length == pytest.approx(
        decoded("draft-k4") / recorded_rate("draft-k4", ITL_COUNT), rel=0.01
    )


def test_a_pod_younger_than_the_window_reads_too_low(snapshot: TelemetrySnapshot) -> None:
    """Why such replicas have to be left out: the rate does not extrapolate to the missing part."""
    concurrency = only(snapshot, "young").decode_concurrency
    assert concurrency is not None
    assert concurrency < 0.9 * recorded_rate("draft-k4", ITL_SUM)
    assert only(snapshot, "young").age_seconds < 3


def test_nan_is_named_and_no_number(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "broken")
    assert engine.not_finite == ("decode_concurrency",)
    assert engine.decode_concurrency is None
    assert engine.step_seconds is None
    assert engine.tpot_seconds is None
    assert engine.acceptance_length is not None


@pytest.mark.parametrize("pod", ["old-names", "both-names"])
def test_renamed_metrics_are_read_once(snapshot: TelemetrySnapshot, pod: str) -> None:
    engine = only(snapshot, pod)
    assert engine.decode_concurrency == close_to("draft-k4", ITL_SUM)
    assert engine.request_steps_per_second == close_to("draft-k4", ITL_COUNT)
    assert engine.step_latency_p99_seconds is not None


def test_a_server_without_engine_label_has_one_engine(snapshot: TelemetrySnapshot) -> None:
    assert only(snapshot, "unlabelled-engine").engine == "0"


def test_series_without_a_pod_are_reported(snapshot: TelemetrySnapshot) -> None:
    assert {namespace for namespace, _ in snapshot.engines} == {NAMESPACE}
    assert "" not in {pod for _, pod in snapshot.engines}
    assert any("lack the label 'namespace' or 'pod'" in w for w in snapshot.warnings)


def test_a_server_without_vllm_series_is_no_engine(snapshot: TelemetrySnapshot) -> None:
    """As with --disable-log-stats: no series is no number, and no zero."""
    assert (NAMESPACE, "bare") not in snapshot.engines


def test_age_grows_when_scrapes_fail(snapshot: TelemetrySnapshot) -> None:
    """The series ended for an instant selector; its rate still answers, so its age must too."""
    assert only(snapshot, "speculating").age_seconds < 3
    failing = only(snapshot, "failing")
    assert failing.decode_concurrency is not None
    # Late by at most a scrape and a step of the subquery.
    assert READY_AT - FAILS_AT - 0.5 < failing.age_seconds < READY_AT - FAILS_AT + 2.5 + 0.5


async def test_a_failing_target_is_gone_after_a_window(scene: Scene) -> None:
    scene.exporter.wait_until(FAILS_AT + WINDOW_SECONDS + 3)
    later = await read(scene.endpoint(), time.time())
    assert (NAMESPACE, "failing") not in later.engines
    assert (NAMESPACE, "speculating") in later.engines


async def test_matchers_narrow_every_query(scene: Scene) -> None:
    matchers = (
        Matcher(label="cluster", value='a"b\\c'),
        Matcher(label="pod", value="speculating|plain", operator="=~"),
        Matcher(label="pod", value="plain", operator="!="),
    )
    narrowed = await read(Endpoint(name="real", url=scene.url, matchers=matchers), time.time())
    assert narrowed.error is None
    assert set(narrowed.engines) == {(NAMESPACE, "speculating")}
    several = {"accepted_per_position", "finished"}
    assert max(count for name, count in narrowed.series.items() if name not in several) == 1


async def test_nothing_matches_is_an_answer_without_engines(scene: Scene) -> None:
    matchers = (Matcher(label="cluster", value="elsewhere"),)
    empty = await read(Endpoint(name="real", url=scene.url, matchers=matchers), time.time())
    assert empty.error is None
    assert empty.engines == {}
    assert set(empty.series.values()) == {0}


async def test_a_refused_query_is_named(scene: Scene) -> None:
    """Prometheus's own words reach the person who configured the matcher."""
    matchers = (Matcher(label="pod", value="(", operator="=~"),)
    refused = await read(Endpoint(name="real", url=scene.url, matchers=matchers), time.time())
    assert refused.error is not None
    assert "endpoint 'real': query sample_age failed: HTTP 400, query refused" in refused.error
    assert refused.engines == {}


@pytest.mark.parametrize("name", REGISTRY)
async def test_answers_carry_only_the_documented_labels(scene: Scene, name: str) -> None:
    query = REGISTRY[name]
    endpoint = scene.endpoint()
    async with PrometheusClient(endpoint) as client:
        promql = query.render(query_context(endpoint, WINDOW_SECONDS))
        answer = await ask(client, promql, time.time())
    labels = {endpoint.namespace_label, endpoint.pod_label, *query.labels}
    assert answer.samples
    assert {label for sample, _ in answer.samples for label in sample} <= labels


async def test_remarks_of_prometheus_are_kept(scene: Scene) -> None:
    """A rate of a gauge-like name draws an annotation, which a person must be able to see."""
    async with PrometheusClient(scene.endpoint()) as client:
        answer = await ask(client, "rate(vllm:num_requests_running[10s])", time.time())
    assert any("might not be a counter" in warning for warning in answer.warnings)


async def ask(client: PrometheusClient, promql: str, at: float) -> Answer:
    deadline = asyncio.get_running_loop().time() + 10
    return await client.query(promql, time=at, deadline=deadline, credentials=client.credentials())


def test_history_downloads_use_the_same_connection(scene: Scene) -> None:
    connect = scene.endpoint().as_prometheus_connect()
    assert connect.custom_query("vector(7)")[0]["value"][1] == "7"
