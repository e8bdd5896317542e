"""Tensor parallelism and precision of a vLLM command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.flags import precision_hint, tensor_parallel_size
from ridgeline.terms.precision import Precision


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ((), 1),
        (("--tensor-parallel-size=4",), 4),
        (("--tensor_parallel_size", "4"), 4),
        (("-tp", "4"), 4),
        (("-tp=4", "-tp=2"), 2),
        (("sh", "-c", "exec vllm serve m --tensor-parallel-size 8"), 8),
        (("--draft-tensor-parallel-size=4",), 1),
        (("--data-parallel-size=4",), 1),
        (("--tensor-parallel-size=$(TP)",), 1),
        (("--tensor-parallel-size",), 1),
    ],
    ids=str,
)
def test_the_tensor_parallel_size(words: tuple[str, ...], size: int) -> None:
    assert tensor_parallel_size(words) == size


@pytest.mark.parametrize(
    ("words", "precision"),
    [
        (("vllm", "serve", "meta-llama/Llama-3.3-70B-Instruct"), Precision.BF16),
        (("vllm", "serve", "m", "--quantization=fp8"), Precision.FP8),
        (("vllm", "serve", "m", "-q", "awq_marlin"), Precision.W4A16),
        (("--model", "m", "--quantization", "AWQ-Marlin"), Precision.W4A16),
        (("--model=RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic",), Precision.FP8),
        (("vllm", "serve", "RedHatAI/Llama-3.1-8B-quantized.w8a8"), Precision.FP8),
        (("vllm", "serve", "RedHatAI/Llama-3.1-8B-quantized.w4a16"), Precision.W4A16),
        (("vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-AWQ"), Precision.W4A16),
        (("vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8"), Precision.W8A16),
        (("vllm", "serve", "Qwen/Qwen2.5-7B-GPTQ-Int8", "--quantization=gptq"), Precision.W8A16),
        (("vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"), Precision.W4A16),
        (("vllm", "serve", "nvidia/Llama-3.1-8B-Instruct-NVFP4"), Precision.FP4),
        (("vllm", "serve", "RedHatAI/Qwen3-8B-NVFP4A16"), Precision.W4A16),
        (("sh", "-c", "exec vllm serve 'x/y-FP8' --port 8000"), Precision.FP8),
        (("vllm", "serve", "x/y-AWQ", "--quantization=fp8"), Precision.FP8),
        (("vllm", "serve", "x/y-FP8", "--quantization=compressed-tensors"), Precision.FP8),
    ],
    ids=str,
)
def test_the_precision(words: tuple[str, ...], precision: Precision) -> None:
    assert precision_hint(words).precision is precision


@pytest.mark.parametrize(
    ("words", "told", "because"),
    [
        (("vllm", "serve", "m", "--quantization=fp8"), True, "--quantization fp8"),
        (("vllm", "serve", "a/m-FP8"), True, "the model's name a/m-FP8"),
        (("vllm", "serve", "m"), False, "neither --quantization nor the model's name"),
        (("vllm", "serve", "m", "-q", "gguf"), False, "gguf names a format"),
        (("vllm", "serve", "m", "--served-model-name=my-fp8"), False, "neither"),
        (("vllm", "serve", "a/rawqueen-b8"), False, "neither"),
    ],
    ids=str,
)
def test_what_told_it(words: tuple[str, ...], told: bool, because: str) -> None:
    hint = precision_hint(words)
    assert hint.told is told
    assert because in hint.because


WORDS = st.lists(st.text() | st.sampled_from(["-tp", "-q", "--quantization=", "serve", "--model"]))


@given(WORDS)
def test_any_command_line_gives_an_answer(words: list[str]) -> None:
    assert tensor_parallel_size(words) >= 1
    assert precision_hint(words).precision in Precision
