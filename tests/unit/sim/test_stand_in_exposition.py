"""Names by release, and how reports move them."""

from random import Random

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ridgeline.sim.stand_in.contract import contract_for, versions
from ridgeline.sim.stand_in.exposition import EngineSeries, Exposition, token_buckets
from ridgeline.sim.stand_in.telemetry import StepReport

REPORT = StepReport(
    prompt_tokens=10,
    generation_tokens=7,
    step_latencies_s=(0.1, 0.1, 0.2),
    first_token_times_s=(0.3,),
    drafts=3,
    draft_tokens=6,
    accepted_by_position=(2, 1),
    running=4,
    waiting=1,
    kv_usage=0.25,
)


def expose(
    version: str, *, lookahead: int | None = None, v0: bool = False, shown: str | None = None
) -> tuple[CollectorRegistry, Exposition]:
    registry = CollectorRegistry()
    exposition = Exposition(
        registry,
        contract=contract_for(version),
        model_name="m",
        engines=1,
        max_model_len=1000,
        speculation_lookahead=lookahead,
        v0=v0,
        shown_for_version=shown,
    )
    return registry, exposition


def names(version: str, **kwargs: object) -> set[str]:
    registry, _ = expose(version, **kwargs)  # type: ignore[arg-type]
    lines = generate_latest(registry).decode().splitlines()
    return {line.split()[2] for line in lines if line.startswith("# TYPE")}


def holds(name: str, **kwargs: object) -> set[str]:
    return {v for v in versions() if name in names(v, **kwargs)}


def between(first: str, last: str | None = None) -> set[str]:
    known = versions()
    return set(known[known.index(first) : None if last is None else known.index(last) + 1])


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("vllm:time_per_output_token_seconds", "0.8.5", "0.11.1"),
        ("vllm:inter_token_latency_seconds", "0.10.2", None),
        ("vllm:request_time_per_output_token_seconds", "0.11.0", None),
        ("vllm:gpu_cache_usage_perc", "0.8.5", "0.10.2"),
        ("vllm:kv_cache_usage_perc", "0.9.2", None),
        ("vllm:num_requests_waiting_by_reason", "0.20.0", None),
        ("vllm:iteration_tokens_total", "0.8.5", None),
    ],
)
def test_families_exist_in_their_releases_only(name: str, first: str, last: str | None) -> None:
    assert holds(name) == between(first, last)


def test_a_hidden_family_is_shown_for_the_release_before() -> None:
    name = "vllm:time_per_output_token_seconds"
    assert name not in names("0.12.0", shown="0.10")
    assert name in names("0.12.0", shown="0.11")


def test_families_of_speculation_are_absent_without_it_and_at_zero_with_it() -> None:
    assert not any("spec_decode" in name for name in names("0.32.0"))
    registry, _ = expose("0.32.0", lookahead=2)
    for position in ("0", "1"):
        labels = {"model_name": "m", "engine": "0", "position": position}
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        assert registry.get_sample_value(name, labels) == 0.0


def test_the_v0_engine_knows_no_engine_label() -> None:
    registry, exposition = expose("0.9.2", lookahead=2, v0=True)
    EngineSeries(exposition, 0, random=Random(0)).step(REPORT)
    value = registry.get_sample_value
    assert value("vllm:generation_tokens_total", {"model_name": "m"}) == 7.0
    assert value("vllm:spec_decode_num_emitted_tokens_total", {"model_name": "m"}) == 6.0
    assert value("vllm:spec_decode_draft_acceptance_rate", {"model_name": "m"}) == 0.5


def test_a_step_moves_every_series_once() -> None:
    registry, exposition = expose("0.32.0", lookahead=2)
    series = EngineSeries(exposition, 0, random=Random(0))
    series.step(REPORT)

    def value(name: str, **more: str) -> float | None:
        labels = {"model_name": "m", "engine": "0"} | more
        return registry.get_sample_value(f"vllm:{name}", labels)

    assert value("inter_token_latency_seconds_count") == 3.0
    assert value("inter_token_latency_seconds_sum") == pytest.approx(0.4)
    assert value("time_to_first_token_seconds_count") == 1.0
    assert value("iteration_tokens_total_count") == 1.0
    assert value("iteration_tokens_total_sum") == 17.0
    assert value("prompt_tokens_total") == 10.0
    assert value("spec_decode_num_drafts_total") == 3.0
    assert value("spec_decode_num_draft_tokens_total") == 6.0
    assert value("spec_decode_num_accepted_tokens_total") == 3.0
    assert value("spec_decode_num_accepted_tokens_per_pos_total", position="1") == 1.0
    assert value("num_requests_running") == 4.0
    assert value("num_requests_waiting_by_reason", reason="capacity") == 1.0
    assert value("kv_cache_usage_perc") == 0.25
    exposition.frozen = True
    series.step(REPORT)
    assert value("generation_tokens_total") == 7.0


def test_the_running_gauge_flickers_as_often_as_asked() -> None:
    registry, exposition = expose("0.32.0")
    series = EngineSeries(exposition, 0, flicker=0.25, random=Random(0))
    labels = {"model_name": "m", "engine": "0"}
    shown = []
    for _ in range(400):
        series.step(REPORT)
        shown.append(registry.get_sample_value("vllm:num_requests_running", labels))
    assert set(shown) == {0.0, 1.0, 4.0}
    assert 60 < sum(value != 4.0 for value in shown) < 140


def test_token_buckets_follow_the_longest_sequence() -> None:
    assert token_buckets(1024) == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    assert token_buckets(4) == (1, 2)


def test_the_engine_is_awake_and_preemptions_are_counted() -> None:
    registry, exposition = expose("0.32.0")
    EngineSeries(exposition, 0, random=Random(0)).preempted(2)
    labels = {"model_name": "m", "engine": "0"}
    states = {
        state: registry.get_sample_value("vllm:engine_sleep_state", labels | {"sleep_state": state})
        for state in ("awake", "weights_offloaded", "discard_all")
    }
    assert states == {"awake": 1.0, "weights_offloaded": 0.0, "discard_all": 0.0}
    assert registry.get_sample_value("vllm:num_preemptions_total", labels) == 2.0


def test_older_releases_count_request_steps_under_the_older_name() -> None:
    registry, exposition = expose("0.10.0")
    EngineSeries(exposition, 0, random=Random(0)).step(REPORT)
    name = "vllm:time_per_output_token_seconds_count"
    assert registry.get_sample_value(name, {"model_name": "m", "engine": "0"}) == 3.0
