"""What each release would die of at its start, with message and exit code."""

import json

import pytest

from ridgeline.sim.stand_in.command import Start, prepare
from ridgeline.sim.stand_in.contract import versions
from ridgeline.sim.stand_in.failures import StartError

EAGLE = {"method": "eagle", "model": "org/head", "num_speculative_tokens": 4}
DRAFT = {"method": "draft_model", "model": "org/draft", "num_speculative_tokens": 4}


def start(config: object, version: str = "0.32.0", *flags: str, **environment: str) -> Start:
    text = config if isinstance(config, str) else json.dumps(config)
    return prepare(
        ["serve", "org/target", f"--speculative-config={text}", *flags],
        {"STAND_IN_ENGINE_VERSION": version} | environment,
    )


def death(config: object, version: str = "0.32.0", *flags: str, **environment: str) -> StartError:
    with pytest.raises(StartError) as caught:
        start(config, version, *flags, **environment)
    return caught.value


def from_to(first: str, last: str | None = None) -> list[str]:
    known = versions()
    return list(known[known.index(first) : None if last is None else known.index(last) + 1])


@pytest.mark.parametrize("version", versions())
def test_a_valid_eagle_config_starts_in_every_release(version: str) -> None:
    speculation = start(EAGLE, version).speculation
    assert speculation is not None
    assert (speculation.method, speculation.lookahead, speculation.v0) == ("eagle", 4, False)


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("text", ['{"method":', "$(VAR)", "{method: eagle}"])
def test_what_is_not_json_is_a_usage_error(version: str, text: str) -> None:
    failure = death(text, version)
    assert failure.exit_code == 2
    assert failure.stderr.startswith("usage: vllm serve [model_tag] [options]\nvllm serve: error: ")
    assert "argument --speculative-config" in failure.stderr
    assert not failure.after_load


@pytest.mark.parametrize("version", from_to("0.8.5", "0.10.0"))
def test_an_empty_value_is_a_usage_error_up_to_0_10_0(version: str) -> None:
    failure = death("", version)
    assert failure.exit_code == 2
    assert "invalid loads value: ''" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.10.1.1"))
def test_an_empty_value_means_no_speculation_from_0_10_1_1(version: str) -> None:
    assert start("", version).speculation is None


@pytest.mark.parametrize("version", from_to("0.8.5", "0.9.0"))
def test_an_unknown_key_is_a_type_error_of_a_plain_dataclass(version: str) -> None:
    failure = death(EAGLE | {"num_speculative_tokrns": 4}, version)
    assert failure.exit_code == 1
    assert "TypeError" in failure.stderr
    assert "'num_speculative_tokrns'" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.9.2", "0.15.0"))
def test_an_unknown_key_is_ignored_from_0_9_2_to_0_15(version: str) -> None:
    assert start(EAGLE | {"num_speculative_tokrns": 4}, version).speculation is not None


@pytest.mark.parametrize("version", from_to("0.16.0"))
def test_an_unknown_key_is_refused_from_0_16(version: str) -> None:
    failure = death(EAGLE | {"num_speculative_tokrns": 4}, version)
    assert failure.exit_code == 1
    assert (
        "ValidationError: 1 validation error for SpeculativeConfig\n"
        "num_speculative_tokrns\n"
        "  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=4, "
        "input_type=int]"
    ) in failure.stderr


@pytest.mark.parametrize("version", from_to("0.8.5", "0.11.0"))
def test_k_0_is_refused_by_a_check_up_to_0_11(version: str) -> None:
    failure = death(EAGLE | {"num_speculative_tokens": 0}, version)
    assert failure.exit_code == 1
    assert "Expected num_speculative_tokens to be greater than zero (0)" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.12.0"))
def test_k_0_is_refused_by_its_bound_from_0_12(version: str) -> None:
    failure = death(EAGLE | {"num_speculative_tokens": 0}, version)
    assert failure.exit_code == 1
    assert (
        "num_speculative_tokens\n"
        "  Input should be greater than 0 [type=greater_than, input_value=0, input_type=int]"
    ) in failure.stderr


@pytest.mark.parametrize("version", versions())
def test_a_drafter_without_k_is_refused(version: str) -> None:
    failure = death({"method": "eagle", "model": "org/head"}, version)
    assert failure.exit_code == 1
    own = version in from_to("0.17.0")
    assert ("A speculative model was provided, but" in failure.stderr) is own
    assert ("must be provided with speculative model" in failure.stderr) is not own


@pytest.mark.parametrize("version", versions())
def test_an_empty_object_is_refused(version: str) -> None:
    failure = death({}, version)
    assert failure.exit_code == 1
    assert "num_speculative_tokens must be provided" in failure.stderr


def test_an_mtp_or_suffix_config_needs_no_k() -> None:
    mtp, suffix = start({"method": "mtp"}), start({"method": "suffix"})
    assert mtp.speculation is not None
    assert suffix.speculation is not None
    assert (mtp.speculation.lookahead, suffix.speculation.lookahead) == (1, 24)


def test_a_method_that_needs_a_drafter_is_refused_without() -> None:
    failure = death({"method": "eagle", "num_speculative_tokens": 4})
    assert "num_speculative_tokens was provided but without speculative model." in failure.stderr
    assert start({"method": "ngram", "num_speculative_tokens": 4}).speculation is not None


@pytest.mark.parametrize("version", from_to("0.9.2"))
def test_an_unknown_method_is_refused_with_the_list(version: str) -> None:
    failure = death(EAGLE | {"method": "eagel"}, version)
    assert failure.exit_code == 1
    assert "method\n  Input should be 'ngram', " in failure.stderr
    assert "[type=literal_error, input_value='eagel', input_type=str]" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.8.5", "0.9.0"))
def test_an_unknown_method_is_a_draft_model_where_nothing_checks_it(version: str) -> None:
    speculation = start(DRAFT | {"method": "eagel"}, version).speculation
    assert speculation is not None
    assert (speculation.method, speculation.v0) == ("draft_model", True)


@pytest.mark.parametrize(
    ("method", "version", "accepted"),
    [
        ("eagle3", "0.10.0", True),
        ("suffix", "0.11.0", False),
        ("suffix", "0.12.0", True),
        ("medusa", "0.32.0", True),
        ("medusa", "0.33.0", False),
        ("dspark", "0.24.0", False),
        ("dspark", "0.27.1", True),
    ],
)
def test_a_method_is_known_in_its_releases_only(method: str, version: str, accepted: bool) -> None:
    config = EAGLE | {"method": method}
    if accepted:
        assert start(config, version).speculation is not None
    else:
        assert "literal_error" in death(config, version).stderr


@pytest.mark.parametrize("version", from_to("0.8.5", "0.9.2"))
def test_a_draft_model_falls_back_to_the_v0_engine_up_to_0_9_2(version: str) -> None:
    speculation = start(DRAFT | {"disable_by_batch_size": 16}, version).speculation
    assert speculation is not None
    assert speculation.v0
    assert (speculation.lookahead_at(16), speculation.lookahead_at(17)) == (4, 0)


@pytest.mark.parametrize("version", from_to("0.10.0", "0.14.0"))
def test_a_draft_model_is_not_implemented_from_0_10_to_0_14(version: str) -> None:
    failure = death(DRAFT, version)
    assert failure.exit_code == 1
    assert "NotImplementedError: Speculative decoding with draft model is not" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.15.0"))
def test_a_draft_model_works_from_0_15(version: str) -> None:
    speculation = start(DRAFT, version).speculation
    assert speculation is not None
    assert not speculation.v0


@pytest.mark.parametrize("version", from_to("0.10.0", "0.16.0"))
def test_disable_by_batch_size_has_no_effect_from_0_10_to_0_16(version: str) -> None:
    speculation = start(EAGLE | {"disable_by_batch_size": 2}, version).speculation
    assert speculation is not None
    assert speculation.lookahead_at(100) == 4
    refused = death(EAGLE | {"disable_by_batch_size": 1}, version).stderr
    by_bound = version in from_to("0.12.0")
    assert ("greater than or equal to 2" in refused) is by_bound
    assert ("batch size threshold" in refused) is not by_bound


@pytest.mark.parametrize("version", from_to("0.17.0"))
def test_disable_by_batch_size_stops_the_start_from_0_17(version: str) -> None:
    failure = death(EAGLE | {"disable_by_batch_size": 16}, version)
    assert failure.exit_code == 1
    assert "disable_by_batch_size\n  Unexpected keyword argument" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.24.0"))
@pytest.mark.parametrize(
    ("table", "cause"),
    [
        ([[2, 8, 4]], "The first batch-size range must start at 1"),
        ([[1, 8, 4], [8, 16, 2]], "Batch-size ranges must be non-overlapping and sorted."),
        ([[1, 8, -1]], "K values must be >= 0"),
        ([[4, 1, 2]], "start must be <= end"),
        ([[0, 4, 2]], "must be positive"),
        ([], "must not be empty"),
    ],
)
def test_a_bad_schedule_shows_only_after_the_load(
    version: str, table: list[list[int]], cause: str
) -> None:
    config = EAGLE | {"num_speculative_tokens_per_batch_size": table}
    failure = start(config, version).failure_after_load
    assert failure is not None
    assert failure.exit_code == 1
    assert cause in failure.stdout
    assert "RuntimeError: Engine core initialization failed." in failure.stderr


def test_a_schedule_of_the_wrong_shape_is_refused_before_the_load() -> None:
    failure = death(EAGLE | {"num_speculative_tokens_per_batch_size": [[1, 8]]})
    assert not failure.after_load
    assert "num_speculative_tokens_per_batch_size\n" in failure.stderr


@pytest.mark.parametrize("version", from_to("0.9.2", "0.15.0"))
def test_a_schedule_is_an_unknown_key_before_0_24_ignored_up_to_0_15(version: str) -> None:
    config = EAGLE | {"num_speculative_tokens_per_batch_size": [[1, 8, 0]]}
    speculation = start(config, version).speculation
    assert speculation is not None
    assert speculation.schedule is None


def test_a_schedule_is_refused_as_a_key_from_0_16_to_0_23() -> None:
    config = EAGLE | {"num_speculative_tokens_per_batch_size": [[1, 8, 0]]}
    for version in from_to("0.16.0", "0.23.0"):
        assert "Unexpected keyword argument" in death(config, version).stderr


def test_a_schedule_carries_k_over_gaps_and_the_tail_and_stays_below_k() -> None:
    config = EAGLE | {"num_speculative_tokens_per_batch_size": [[1, 4, 9], [9, 16, 2], [17, 20, 0]]}
    speculation = start(config).speculation
    assert speculation is not None
    requests = (1, 4, 6, 9, 16, 17, 500)
    assert [speculation.lookahead_at(n) for n in requests] == [4, 4, 4, 2, 2, 0, 0]


def test_a_schedule_is_dropped_with_data_parallel_and_for_methods_without_one() -> None:
    table = {"num_speculative_tokens_per_batch_size": [[1, 8, 0]]}
    parallel = start(EAGLE | table, "0.32.0", "--data-parallel-size=2").speculation
    suffix = start({"method": "suffix"} | table).speculation
    for speculation in (parallel, suffix):
        assert speculation is not None
        assert speculation.schedule is None
        assert "dynamic speculative decoding is off" in speculation.warnings[0]


def test_a_missing_drafter_or_target_is_refused() -> None:
    failure = death(EAGLE | {"model": "/models/nowhere"})
    assert failure.exit_code == 1
    assert "Invalid repository ID or local directory specified: '/models/nowhere'" in failure.stderr
    with pytest.raises(StartError, match="'/models/gone'"):
        prepare(["serve", "/models/gone"], {"STAND_IN_MISSING_MODELS": "gone,lost"})
    assert start(EAGLE | {"model": "/models/nowhere-else"}).speculation is not None


def test_vocabularies_that_differ_stop_a_draft_model_from_0_15() -> None:
    sizes = "org/target=512,org/draft=640"
    failure = death(DRAFT, "0.32.0", STAND_IN_VOCABULARY=sizes)
    assert failure.exit_code == 1
    assert "Target model vocab_size=512. Draft model vocab_size=640." in failure.stderr
    equal = "org/target=512,org/draft=512"
    assert start(DRAFT, "0.32.0", STAND_IN_VOCABULARY=equal).speculation is not None
    assert start(DRAFT, "0.9.2", STAND_IN_VOCABULARY=sizes).speculation is not None
    free = DRAFT | {"use_heterogeneous_vocab": True}
    assert start(free, "0.32.0", STAND_IN_VOCABULARY=sizes).speculation is not None


def test_a_draft_runs_on_one_gpu_or_all_of_the_target() -> None:
    config = EAGLE | {"draft_tensor_parallel_size": 2}
    assert "cannot be other value than 1 or target" in death(config, "0.32.0", "-tp=4").stderr
    assert start(config, "0.32.0", "-tp=2").speculation is not None


@pytest.mark.parametrize("config", ["5", '"eagle"', "[]"])
def test_json_that_is_no_object_is_refused(config: str) -> None:
    failure = death(config)
    assert failure.exit_code == 1
    assert "has no attribute 'update'" in failure.stderr


def test_json_null_means_no_speculation() -> None:
    assert start("null").speculation is None


def test_values_of_the_wrong_type_are_named() -> None:
    failure = death(EAGLE | {"num_speculative_tokens": "four"})
    assert "num_speculative_tokens\n  Input should be a valid integer" in failure.stderr
    assert start(EAGLE | {"num_speculative_tokens": "4"}).speculation is not None


def test_a_cache_smaller_than_one_request_shows_after_the_load() -> None:
    started = prepare(["serve", "m", "--max-model-len", "4k"], {"STAND_IN_KV_TOKENS": "2048"})
    assert started.failure_after_load is not None
    assert "max seq len (4000)" in started.failure_after_load.stderr


def test_family_names_of_mtp_mean_mtp_from_0_11() -> None:
    config = {"method": "deepseek_mtp", "num_speculative_tokens": 1}
    methods = []
    for version in ("0.10.2", "0.11.0"):
        speculation = start(config, version).speculation
        assert speculation is not None
        methods.append(speculation.method)
    assert methods == ["deepseek_mtp", "mtp"]


@pytest.mark.parametrize(
    ("model", "method"),
    [("org/EAGLE3-LLaMA", "eagle3"), ("org/EAGLE-LLaMA", "eagle"), ("org/tiny", "draft_model")],
)
def test_without_a_method_the_drafters_name_tells(model: str, method: str) -> None:
    speculation = start({"model": model, "num_speculative_tokens": 2}).speculation
    assert speculation is not None
    assert speculation.method == method


def test_an_ngram_window_must_not_be_empty() -> None:
    config = {"method": "ngram", "num_speculative_tokens": 3}
    window = {"prompt_lookup_min": 5, "prompt_lookup_max": 3}
    failure = death(config | window)
    assert "prompt_lookup_min=5 must be <= prompt_lookup_max=3" in failure.stderr


def test_the_parallelism_key_of_the_target_is_refused() -> None:
    failure = death(EAGLE | {"tensor_parallel_size": 1})
    assert "Please pass 'draft_tensor_parallel_size' instead." in failure.stderr
