"""Numbers that a vLLM command line gives: as vLLM's own parser would read them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.terms.precision import Precision

_DATA_PARALLEL: Final = ("--data-parallel-size", "-dp")
_TENSOR_PARALLEL: Final = ("--tensor-parallel-size", "-tp")
_SHUTDOWN_TIMEOUT: Final = ("--shutdown-timeout",)
_QUANTIZATION: Final = ("--quantization", "-q")
_MODEL: Final = ("--model",)


def data_parallel_size(words: Sequence[str]) -> int:
    """Return how many engines a server runs: the data-parallel size, 1 when not given.

    The last mention wins, as with argparse. Words of a `sh -c` script are looked into too.
    """
    return whole_number(words, _DATA_PARALLEL)


def tensor_parallel_size(words: Sequence[str]) -> int:
    """Return how many GPUs one engine spans: the tensor-parallel size, 1 when not given."""
    return whole_number(words, _TENSOR_PARALLEL)


def shutdown_timeout_seconds(words: Sequence[str]) -> float:
    """Return how long a server lets running requests go on after SIGTERM, in seconds.

    The flag exists from vLLM 0.18 on; without it, and before, running requests are cut at once.
    """
    value = flag_value(words, _SHUTDOWN_TIMEOUT)
    return float(value) if value.isdecimal() else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionHint:
    """What a command line tells about the target's precision.

    Attributes:
        precision: The precision to reckon with.
        because: What told it, for a person.
        told: Whether something told it; `False` when it is the default of an unmarked model, whose
            checkpoint may still be quantized.
    """

    precision: Precision
    because: str
    told: bool = True


_BY_FLAG: Final[dict[str, Precision]] = {
    "fp8": Precision.FP8,
    "fbgemm_fp8": Precision.FP8,
    "ptpc_fp8": Precision.FP8,
    "modelopt": Precision.FP8,
    "modelopt_fp4": Precision.FP4,
    "mxfp4": Precision.FP4,
    "awq": Precision.W4A16,
    "awq_marlin": Precision.W4A16,
    "gptq": Precision.W4A16,
    "gptq_marlin": Precision.W4A16,
    "bitsandbytes": Precision.W4A16,
    "moe_wna16": Precision.W4A16,
    "experts_int8": Precision.W8A16,
    "tpu_int8": Precision.W8A16,
}
"""Values of `--quantization` that tell the precision by themselves.

Others (`compressed-tensors`, `quark`, `gguf`, …) name a file format that holds several.
"""

_BY_NAME: Final[tuple[tuple[str, Precision], ...]] = (
    (r"nvfp4a16|mxfp4a16|w4a16|awq|gptq|int4|4-?bit", Precision.W4A16),
    (r"nvfp4|mxfp4|fp4|w4a4", Precision.FP4),
    (r"w8a16|fp8a16|gptq-int8", Precision.W8A16),
    (r"fp8|w8a8", Precision.FP8),
)
"""What publishers write into a model's name, the more particular first.

W8A8 may also mean INT8; it has the knee of FP8 where both run at one rate, and is reckoned too low
on GPUs with INT8 units alone (A100).
"""

_EIGHT_BITS: Final = re.compile(r"(?<![a-z0-9])(gptq|awq)[-_.](int8|8-?bits?)(?![a-z0-9])")


def precision_hint(words: Sequence[str]) -> PrecisionHint:
    """Return the target's precision as the command line tells it: by flag, else by its name.

    vLLM reads the precision from the checkpoint, which is not looked into here. An unmarked model
    is taken for 16 bits, and `told` says that nothing confirmed it.
    """
    quantization, model = flag_value(words, _QUANTIZATION), model_name(words)
    by_flag = _BY_FLAG.get(quantization.casefold().replace("-", "_"))
    by_name = _by_name(model)
    # GPTQ and AWQ are formats of four bits, and seldom of eight: then the name says so.
    eight_bits = by_flag is Precision.W4A16 and by_name is Precision.W8A16
    if by_flag is not None and not eight_bits:
        return PrecisionHint(precision=by_flag, because=f"--quantization {quantization}")
    if by_name is not None:
        return PrecisionHint(precision=by_name, because=f"the model's name {model}")
    if quantization:
        because = f"--quantization {quantization} names a format that holds several precisions"
    else:
        because = "neither --quantization nor the model's name tells another"
    return PrecisionHint(precision=Precision.BF16, because=because, told=False)


def _by_name(model: str) -> Precision | None:
    name = model.casefold()
    if _EIGHT_BITS.search(name):
        return Precision.W8A16
    for pattern, precision in _BY_NAME:
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", name):
            return precision
    return None


def model_name(words: Sequence[str]) -> str:
    """Return the model: the word after `vllm serve`, or `--model`; empty when none is named.

    Arguments that begin with `organisation/name` are those of an image whose entry point is
    `vllm serve`.
    """
    flat = flag_words(words)
    for index, word in enumerate(flat[:-1]):
        if word == "serve" and not flat[index + 1].startswith("-"):
            return flat[index + 1].strip("\"'")
    told = flag_value(words, _MODEL)
    first = flat[0] if flat else ""
    return told or (first if _REPOSITORY.fullmatch(first) else "")


_REPOSITORY: Final = re.compile(r"[\w-][\w.-]*/[\w.-]+(?<!\.py)(?<!\.sh)")


def whole_number(words: Sequence[str], names: Sequence[str]) -> int:
    """Return the last positive whole number that a flag is given, 1 when there is none."""
    size = 1
    for value in _flag_values(words, names):
        if value.isdecimal() and int(value) > 0:
            size = int(value)
    return size


def flag_value(words: Sequence[str], names: Sequence[str]) -> str:
    """Return what the last mention of a flag says, without quotes; empty when there is none."""
    return next(reversed(list(_flag_values(words, names))), "").strip("\"'")


def _flag_values(words: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield what every mention of a flag says, in their order; empty where it says nothing."""
    flat = flag_words(words)
    for index, word in enumerate(flat):
        name, equals, inline = word.partition("=")
        if name.replace("_", "-") in names:
            yield inline if equals else flat[index + 1] if index + 1 < len(flat) else ""


def flag_words(words: Sequence[str]) -> list[str]:
    """Return the words, those of a `sh -c` script one by one."""
    flat: list[str] = []
    for word in words:
        flat += re.split(r"\s+", word.strip()) if re.search(r"\s", word) else [word]
    return flat
