"""What is read off a metrics page: the totals of each engine, or one typed error."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.errors import MalformedError, TelemetryError, TooLargeError
from ridgeline.telemetry.scrape_page import EngineTotals, read_page

_PAGES = Path(__file__).parents[2] / "component" / "telemetry" / "pages"
DRAFT_PAGE = (_PAGES / "draft-k4-after.prom").read_bytes()
PLAIN_PAGE = (_PAGES / "none-after.prom").read_bytes()


def read(text: str | bytes, max_series: int = 1000) -> dict[str, EngineTotals]:
    body = text.encode() if isinstance(text, str) else text
    return dict(read_page(body, max_series=max_series))


def only(text: str | bytes) -> EngineTotals:
    (engine,) = read(text).values()
    return engine


def test_a_recorded_page() -> None:
    engine = only(DRAFT_PAGE)
    assert engine.values["decode_concurrency"] == 402.11857121
    assert engine.values["request_steps"] == 10069
    assert engine.values["generated_tokens"] == 24640
    assert engine.values["first_tokens"] == 385
    assert engine.values["engine_steps"] == 2119
    assert list(engine.accepted) == [6125, 4153, 2660, 1719]
    assert engine.created == 1.7959718619648201e09
    assert engine.not_finite == ()
    assert engine.finished == {
        "stop": 0,
        "length": 385,
        "abort": 0,
        "error": 0,
        "repetition": 0,
    }
    assert engine.histograms["longest_answer"][1][:4] == (0, 11, 95, 155)
    bounds, counts = engine.histograms["step_latency_p99"]
    assert bounds[:3] == (0.01, 0.025, 0.05)
    assert math.isinf(bounds[-1])
    assert counts[:4] == (0, 2095, 8748, 9492)


def test_a_server_without_speculation() -> None:
    engine = only(PLAIN_PAGE)
    assert "drafts" not in engine.values
    assert engine.accepted == ()


def test_engines_stay_apart_and_other_series_are_not_looked_at() -> None:
    engines = read(
        'vllm:num_requests_running{engine="0"} 3\n'
        'vllm:num_requests_running{engine="10"} 4\n'
        "vllm:num_requests_running 5 1700000000000\n".replace("running 5", 'running{engine="2"} 5')
        + "another{broken 1\n# whatever\n"
    )
    assert {label: e.values["running"] for label, e in engines.items()} == {
        "0": 3,
        "10": 4,
        "2": 5,
    }


def test_a_server_without_engine_label_has_one_engine() -> None:
    assert set(read("vllm:num_requests_running\t3\n")) == {"0"}


@pytest.mark.parametrize("swap", [False, True])
def test_a_renamed_series_counts_under_its_newer_name(swap: bool) -> None:
    lines = [
        "vllm:inter_token_latency_seconds_sum 8",
        "vllm:time_per_output_token_seconds_sum 7",
    ]
    assert only("\n".join(reversed(lines) if swap else lines)).values["decode_concurrency"] == 8
    assert only(lines[1]).values["decode_concurrency"] == 7


def test_only_the_series_that_is_meant_counts() -> None:
    engine = only(
        'vllm:num_requests_waiting_by_reason{reason="deferred"} 9\n'
        'vllm:num_requests_waiting_by_reason{reason="capacity"} 2\n'
        'vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 90\n'
        'vllm:prompt_tokens_by_source_total{source="local_compute"} 10\n'
        "vllm:prompt_tokens_total 100\n"
    )
    assert engine.values == {"waiting_for_capacity": 2, "prompt_tokens": 10}


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf"])
def test_what_is_not_finite_is_named_and_no_number(text: str) -> None:
    engine = only(f"vllm:inter_token_latency_seconds_sum {text}\nvllm:num_requests_running 1\n")
    assert engine.values == {"running": 1}
    assert engine.not_finite == ("decode_concurrency",)


def test_a_negative_total_is_no_number() -> None:
    assert only("vllm:num_requests_running -1\n").values == {}


SUCCESS = "vllm:request_success_total"


@pytest.mark.parametrize(("text", "named"), [("NaN", ("finished",)), ("-1", ())])
def test_a_broken_count_of_one_reason_leaves_all_unknown(text: str, named: tuple[str]) -> None:
    engine = only(
        f'{SUCCESS}{{finished_reason="stop"}} 3\n{SUCCESS}{{finished_reason="length"}} {text}\n'
    )
    assert (engine.finished, engine.not_finite) == ({}, named)


def test_a_position_that_is_missing_leaves_acceptance_unknown() -> None:
    per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    assert only(f'{per_position}{{position="1"}} 3\n').accepted == ()


def test_a_page_without_our_series_has_no_engine() -> None:
    assert read("process_start_time_seconds 1\nup 1\n") == {}
    assert read(b"") == {}
    assert read(b"<html>login</html>") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm:num_requests_running{a 1\n", "not a metrics page"),
        ("vllm:num_requests_running\n", "not a metrics page"),
        ("vllm:num_requests_running one\n", "not a metrics page"),
        ("vllm:num_requests_running 1\nvllm:num_requests_running 2\n", "two series"),
        (
            'vllm:request_success_total{finished_reason="a"} 1\n'
            'vllm:request_success_total{finished_reason="a"} 2\n',
            "two series vllm:request_success_total",
        ),
        ('vllm:inter_token_latency_seconds_bucket{le="x"} 1\n', "without a number"),
        ('vllm:inter_token_latency_seconds_bucket{le="NaN"} 1\n', "without a number"),
        ("vllm:inter_token_latency_seconds_bucket 1\n", "without a number"),
        ("vllm:spec_decode_num_accepted_tokens_per_pos_total 1\n", "label position"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, words: str) -> None:
    with pytest.raises(MalformedError, match=words):
        read(text)


def test_two_servers_behind_one_port_are_never_merged() -> None:
    with pytest.raises(MalformedError, match="several servers"):
        read(DRAFT_PAGE + PLAIN_PAGE.replace(b"/models/target", b"/models/other"))


def test_too_many_series_are_refused() -> None:
    text = "".join(f'vllm:num_requests_running{{engine="{n}"}} 1\n' for n in range(11))
    with pytest.raises(TooLargeError, match="11 series, more than max_series 10"):
        read(text, max_series=10)


_NAMES = st.sampled_from(
    [
        "vllm:inter_token_latency_seconds_sum",
        "vllm:inter_token_latency_seconds_bucket",
        "vllm:spec_decode_num_accepted_tokens_per_pos_total",
        "vllm:generation_tokens_created",
        "vllm:num_requests_waiting_by_reason",
        "vllm:request_success_total",
        "vllm:e2e_request_latency_seconds_bucket",
        "process_start_time_seconds",
    ]
)
_LABELS = st.sampled_from(
    [
        "",
        "{}",
        '{le="1"}',
        '{le="+Inf",engine="1"}',
        '{position="0"}',
        "{",
        '{le="',
        '{reason="capacity"}',
        '{finished_reason="stop"}',
    ]
)
_LINES = st.builds(
    lambda name, labels, rest: f"{name}{labels}{rest}\n",
    _NAMES,
    _LABELS,
    st.one_of(st.text(max_size=12), st.floats().map(lambda number: f" {number}")),
)


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=400), st.lists(_LINES, max_size=8).map("".join).map(str.encode))
)
def test_any_bytes_give_finite_numbers_or_one_typed_error(body: bytes) -> None:
    try:
        engines = read_page(body, max_series=100)
    except TelemetryError:
        return
    for engine in engines.values():
        numbers = [*engine.values.values(), *engine.accepted, *engine.finished.values()]
        numbers += [n for _, counts in engine.histograms.values() for n in counts]
        numbers += [n for n in (engine.created, engine.process_start) if n is not None]
        assert all(math.isfinite(number) for number in numbers)
