"""What a vLLM command line tells of the model that it serves, as vLLM's own parser reads it.

Only what is written there: `None` is not vLLM's default, which differs between versions and is the
reader's to know.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.engine.flags import (
    data_parallel_size,
    flag_value,
    flag_words,
    model_name,
    tensor_parallel_size,
    whole_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """The model of a command line, and how it lies on the GPUs.

    Attributes:
        name: Name or path of the model, empty when the command line names none.
        revision: Branch, tag or commit of it.
        served_names: Names that clients call it by; anyone may choose them, so they tell nothing
            of its shape.
        quantization: Value of `--quantization`, empty when not given.
        dtype: Value of `--dtype`, empty when not given.
        kv_cache_dtype: Value of `--kv-cache-dtype`, empty when not given.
        max_model_len: Longest context in tokens.
        max_num_seqs: Most requests in one step.
        max_num_batched_tokens: Most tokens in one step.
        gpu_memory_utilization: Share of each GPU's memory that the engine takes.
        enforce_eager: Whether steps run without captured graphs.
        tensor_parallel: GPUs that one layer is spread over.
        pipeline_parallel: Groups of layers, each on GPUs of its own.
        data_parallel: Engines of one server.
        expert_parallel: Whether whole experts lie on the GPUs.
    """

    name: str = ""
    revision: str = ""
    served_names: tuple[str, ...] = ()
    quantization: str = ""
    dtype: str = ""
    kv_cache_dtype: str = ""
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    enforce_eager: bool = False
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: bool = False

    @property
    def kv_bytes(self) -> float | None:
        """Bytes of one number in the KV cache; `None` when its format is not known.

        Without `--kv-cache-dtype`, or with `auto`, it is that of the model: 2, or 4 for float32.
        """
        told = self.kv_cache_dtype.casefold()
        if told in ("", "auto"):
            return 4.0 if self.dtype.casefold() in ("float32", "float") else 2.0
        return next((size for start, size in _KV_BYTES if told.startswith(start)), None)


_KV_BYTES: Final = (
    ("fp8", 1.0),
    ("int8", 1.0),
    ("bfloat16", 2.0),
    ("float16", 2.0),
    ("half", 2.0),
    ("float32", 4.0),
    ("nvfp4", 0.5),
)


def served_model(words: Sequence[str]) -> ServedModel:
    """Return what a container's command and arguments tell of the model.

    The last mention of a flag wins, as with argparse. A value that cannot be read counts as not
    given; words of a `sh -c` script are looked into too.
    """
    return ServedModel(
        name=model_name(words),
        revision=flag_value(words, ("--revision",)),
        served_names=_served_names(words),
        quantization=flag_value(words, ("--quantization", "-q")),
        dtype=flag_value(words, ("--dtype",)),
        kv_cache_dtype=flag_value(words, ("--kv-cache-dtype",)),
        max_model_len=_tokens(words, "--max-model-len"),
        max_num_seqs=_tokens(words, "--max-num-seqs"),
        max_num_batched_tokens=_tokens(words, "--max-num-batched-tokens"),
        gpu_memory_utilization=_share(words, "--gpu-memory-utilization"),
        enforce_eager=_on(words, "--enforce-eager"),
        tensor_parallel=tensor_parallel_size(words),
        pipeline_parallel=whole_number(words, ("--pipeline-parallel-size", "-pp")),
        data_parallel=data_parallel_size(words),
        expert_parallel=_on(words, "--enable-expert-parallel", "-ep"),
    )


def _served_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the last mention, which takes words up to the next flag."""
    flat = flag_words(words)
    names: tuple[str, ...] = ()
    for index, word in enumerate(flat):
        flag, equals, inline = word.partition("=")
        if flag.replace("_", "-") != "--served-model-name":
            continue
        after = [inline] if equals else []
        for following in flat[index + 1 :]:
            if following.startswith("-") or equals:
                break
            after.append(following)
        names = tuple(each.strip("\"'") for each in after)
    return names


_MULTIPLES: Final = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}
_TOKENS: Final = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,6})?)(?P<multiple>[kmgKMG]?)")


def _tokens(words: Sequence[str], name: str) -> int | None:
    """Return a number that may be written as vLLM allows: `32768`, `32k` (1000), `32K` (1024)."""
    found = _TOKENS.fullmatch(flag_value(words, (name,)))
    if found is None:
        return None
    value = int(float(found["number"]) * _MULTIPLES[found["multiple"]])
    return value if value > 0 else None


def _share(words: Sequence[str], name: str) -> float | None:
    text = flag_value(words, (name,))
    if not re.fullmatch(r"[01](?:\.[0-9]{0,12})?|\.[0-9]{1,12}", text):
        return None
    value = float(text)
    return value if 0.0 < value <= 1.0 else None


def _on(words: Sequence[str], *names: str) -> bool:
    """Whether the last of `--x` and `--no-x` is `--x`; `--x=false` counts as no."""
    on = False
    against = [f"--no-{each.removeprefix('--')}" for each in names if each.startswith("--")]
    for word in flag_words(words):
        flag, equals, inline = word.partition("=")
        plain = flag.replace("_", "-")
        if plain in names:
            on = not equals or inline.casefold() not in ("false", "0", "no")
        elif plain in against:
            on = False
    return on
