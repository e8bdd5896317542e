"""What a command line tells of the served model."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.flags import model_name
from ridgeline.engine.served_model import ServedModel, served_model


def test_a_whole_command_line() -> None:
    words = (
        *("vllm", "serve", "meta-llama/Llama-3.1-70B-Instruct", "--revision=main"),
        *("--served-model-name", "llama", "big", "--quantization", "fp8", "--dtype=bfloat16"),
        *("--kv-cache-dtype", "fp8_e4m3", "--max-model-len=32k", "--max-num-seqs", "256"),
        *("--max-num-batched-tokens=8K", "--gpu-memory-utilization", "0.85", "--enforce-eager"),
        *("-tp", "4", "--pipeline-parallel-size=2", "-dp", "2", "--enable-expert-parallel"),
    )
    assert served_model(words) == ServedModel(
        name="meta-llama/Llama-3.1-70B-Instruct",
        revision="main",
        served_names=("llama", "big"),
        quantization="fp8",
        dtype="bfloat16",
        kv_cache_dtype="fp8_e4m3",
        max_model_len=32000,
        max_num_seqs=256,
        max_num_batched_tokens=8192,
        gpu_memory_utilization=0.85,
        enforce_eager=True,
        tensor_parallel=4,
        pipeline_parallel=2,
        data_parallel=2,
        expert_parallel=True,
    )


def test_nothing_told_is_nothing_known() -> None:
    assert served_model(()) == ServedModel()
    assert served_model(("vllm", "serve")) == ServedModel()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("vllm", "serve", "org/m", "--port", "8000"), "org/m"),
        (("python3", "-m", "vllm.entrypoints.openai.api_server", "--model=org/m"), "org/m"),
        (("sh", "-c", "exec vllm serve 'org/m' --port 8000"), "org/m"),
        (("sh", "-c", 'vllm serve "/models/Llama-3.1-8B"'), "/models/Llama-3.1-8B"),
        (("org/m", "--port=8000"), "org/m"),
        (("org/m", "--model=other/n"), "other/n"),
        (("/bin/sh", "-c", "sleep 1"), ""),
        (("scripts/start.sh", "--port=1"), ""),
        (("bin/run.py",), ""),
        (("python3", "org/m"), ""),
        (("--port", "8000"), ""),
        (("vllm", "serve", "--port", "8000"), ""),
    ],
    ids=str,
)
def test_the_name_of_the_model(words: tuple[str, ...], name: str) -> None:
    assert model_name(words) == name


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ("4096", 4096),
        ("32k", 32_000),
        ("32K", 32_768),
        ("1m", 1_000_000),
        ("25.6k", 25_600),
        ("auto", None),
        ("0", None),
        ("-1", None),
        ("$(LENGTH)", None),
        ("²", None),
        ("", None),
        ("9" * 40, None),
    ],
)
def test_the_longest_context(told: str, tokens: int | None) -> None:
    assert served_model((f"--max-model-len={told}",)).max_model_len == tokens


@pytest.mark.parametrize(
    ("told", "share"),
    [
        ("0.9", 0.9),
        (".85", 0.85),
        ("1", 1.0),
        ("1.0", 1.0),
        ("0", None),
        ("1.5", None),
        ("nan", None),
        ("inf", None),
        ("90%", None),
        ("-0.5", None),
    ],
)
def test_the_share_of_memory(told: str, share: float | None) -> None:
    assert served_model(("--gpu-memory-utilization", told)).gpu_memory_utilization == share


@pytest.mark.parametrize(
    ("words", "eager"),
    [
        (("--enforce-eager",), True),
        (("--enforce_eager",), True),
        (("--no-enforce-eager",), False),
        (("--enforce-eager", "--no-enforce-eager"), False),
        (("--no-enforce-eager", "--enforce-eager"), True),
        (("--enforce-eager=false",), False),
        (("--enforce-eager=True",), True),
        (("--enforce-eager-not",), False),
        (("sh", "-c", "vllm serve m --enforce-eager\n"), True),
    ],
    ids=str,
)
def test_a_switch_is_on_when_its_last_mention_is(words: tuple[str, ...], eager: bool) -> None:
    assert served_model(words).enforce_eager is eager


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--served-model-name", "a", "b", "--port", "1"), ("a", "b")),
        (("--served-model-name=a", "b"), ("a",)),
        (("--served-model-name", "a", "--served-model-name", "b"), ("b",)),
        (("--served-model-name",), ()),
    ],
    ids=str,
)
def test_names_for_clients(words: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert served_model(words).served_names == names


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ((), 2.0),
        (("--kv-cache-dtype=auto",), 2.0),
        (("--kv-cache-dtype=auto", "--dtype=float32"), 4.0),
        (("--kv-cache-dtype=fp8",), 1.0),
        (("--kv-cache-dtype=fp8_e5m2", "--dtype=float32"), 1.0),
        (("--kv-cache-dtype=bfloat16",), 2.0),
        (("--kv-cache-dtype=nvfp4",), 0.5),
        (("--kv-cache-dtype=turboquant_k8v4",), None),
    ],
    ids=str,
)
def test_the_size_of_a_number_in_the_cache(words: tuple[str, ...], size: float | None) -> None:
    assert served_model(words).kv_bytes == size


_FLAGS = [
    *("--max-model-len", "--max-num-seqs=", "--gpu-memory-utilization", "--served-model-name"),
    *("serve", "--kv-cache-dtype=", "-pp", "-tp=", "1.5", "9e9", "nan", "--enforce-eager"),
]


@given(st.lists(st.text(max_size=12) | st.sampled_from(_FLAGS), max_size=8))
def test_any_command_line_gives_numbers_that_a_server_can_have(words: list[str]) -> None:
    told = served_model(words)
    for size in (told.max_model_len, told.max_num_seqs, told.max_num_batched_tokens):
        assert size is None or size >= 1
    share = told.gpu_memory_utilization
    assert share is None or (math.isfinite(share) and 0 < share <= 1)
    assert min(told.tensor_parallel, told.pipeline_parallel, told.data_parallel) >= 1
