"""The command line: every spelling that the release takes, and no other."""

import json

import pytest

from ridgeline.sim.stand_in.contract import contract_for, versions
from ridgeline.sim.stand_in.failures import StartError
from ridgeline.sim.stand_in.flags import ServeArguments, parse_serve_arguments

CONFIG = {"method": "eagle", "model": "head", "num_speculative_tokens": 4}
JSON = json.dumps(CONFIG)


def parse(*flags: str, version: str = "0.32.0") -> ServeArguments:
    return parse_serve_arguments(["serve", "org/target", *flags], contract_for(version))


def usage_error(*flags: str, version: str = "0.32.0") -> str:
    with pytest.raises(StartError) as caught:
        parse(*flags, version=version)
    assert caught.value.exit_code == 2
    return caught.value.stderr


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize(
    "flags",
    [
        ("--speculative-config", JSON),
        (f"--speculative-config={JSON}",),
        ("--speculative_config", JSON),
        (f"--speculative_config={JSON}",),
        ("--speculative-conf", JSON),
        (
            "--speculative-config.method",
            "eagle",
            "--speculative-config.model=head",
            "--speculative_config.num_speculative_tokens",
            "4",
        ),
    ],
    ids=["two words", "equals", "underscores", "underscores equals", "short", "dotted"],
)
def test_spellings_of_every_release(version: str, flags: tuple[str, ...]) -> None:
    assert parse(*flags, version=version).speculative_config == CONFIG


@pytest.mark.parametrize(("version", "taken"), [("0.18.0", False), ("0.19.0", True)])
def test_the_short_flag_exists_from_0_19(version: str, taken: bool) -> None:
    if taken:
        assert parse("-sc", JSON, version=version).speculative_config == CONFIG
    else:
        assert "unrecognized arguments: -sc" in usage_error("-sc", JSON, version=version)


@pytest.mark.parametrize(("version", "taken"), [("0.21.0", False), ("0.23.0", True)])
def test_the_three_single_flags_exist_from_0_23(version: str, taken: bool) -> None:
    flags = ("--spec-method=eagle", "--spec-model=head", "--spec-tokens=4")
    if taken:
        assert parse(*flags, version=version).speculative_config == CONFIG
    else:
        usage_error(*flags, version=version)


def test_a_single_flag_beside_the_same_key_is_refused() -> None:
    with pytest.raises(StartError, match="method is given both") as caught:
        parse("--speculative-config", JSON, "--spec-method=ngram")
    assert caught.value.exit_code == 1


def test_the_last_plain_value_wins_and_dotted_keys_replace_it() -> None:
    assert parse("--speculative-config", JSON, "--speculative-config=").speculative_config is None
    dotted = parse("--speculative-config.method=ngram", "--speculative-config", JSON)
    assert dotted.speculative_config == {"method": "ngram"}


def test_the_word_none_means_no_speculation_where_an_empty_value_does() -> None:
    assert parse("--speculative-config=None").speculative_config is None
    usage_error("--speculative-config=None", version="0.10.0")


def test_a_missing_value_is_a_usage_error() -> None:
    assert "expected one argument" in usage_error("--speculative-config", "--port", "1")
    assert "expected one argument" in usage_error("--speculative-config")


def test_an_unknown_flag_is_a_usage_error() -> None:
    assert "unrecognized arguments: --bogus" in usage_error("--bogus")


def test_a_flag_of_another_release_is_a_usage_error() -> None:
    assert parse("--shutdown-timeout=7").shutdown_timeout_s == 7.0
    usage_error("--shutdown-timeout=7", version="0.17.0")
    usage_error("--custom-histogram-buckets={}", version="0.31.0")
    parse("--custom-histogram-buckets={}")


def test_flags_that_change_nothing_here_are_accepted() -> None:
    given = parse(
        *("--enforce-eager", "--dtype", "bfloat16", "-q", "fp8", "--no-enable-prefix-caching"),
        *("--kv-transfer-config", "{}", "-O3", "--swap_space=4", "--seed", "1", "-pp", "1"),
        *("--trust-remote-code", "--enable-expert-parallel", "--api-key", "x"),
    )
    assert given.model == "org/target"


def test_what_the_server_needs_is_read() -> None:
    given = parse(
        *("--served-model-name", "a", "b", "--host", "127.0.0.1", "--port", "81"),
        *("--max-num-seqs", "7", "--max-model-len", "32K", "--max-num-batched-tokens", "2k"),
        *("-tp", "2", "-dp", "3", "--gpu-memory-utilization", "0.5", "--disable-log-stats"),
    )
    assert given == ServeArguments(
        model="org/target",
        served_names=("a", "b"),
        host="127.0.0.1",
        port=81,
        speculative_config=None,
        max_num_seqs=7,
        max_model_len=32768,
        max_num_batched_tokens=2000,
        tensor_parallel=2,
        data_parallel=3,
        gpu_memory_utilization=0.5,
        log_stats=False,
        shutdown_timeout_s=0.0,
        shown_for_version=None,
    )


def test_defaults() -> None:
    given = parse()
    assert (given.port, given.served_names, given.log_stats) == (8000, ("org/target",), True)
    assert (given.max_num_seqs, given.gpu_memory_utilization) == (1024, 0.92)
    assert parse(version="0.19.0").gpu_memory_utilization == 0.9


@pytest.mark.parametrize(
    "flag", ["--max-num-seqs=0", "--max-model-len=many", "--gpu-memory-utilization=1.5", "-tp=0"]
)
def test_values_out_of_range_are_usage_errors(flag: str) -> None:
    usage_error(flag)


def test_the_model_may_be_a_flag_and_serve_may_be_left_out_before_it() -> None:
    contract = contract_for("0.32.0")
    assert parse_serve_arguments(["--model", "m"], contract).model == "m"
    assert parse_serve_arguments(["serve", "--model", "m"], contract).model == "m"
    with pytest.raises(StartError, match="usage"):
        parse_serve_arguments(["bench", "m"], contract)
