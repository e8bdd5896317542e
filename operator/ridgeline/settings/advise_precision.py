"""The precision of a checkpoint, as its `config.json` tells it.

Read are `quantization_config` (transformers) and `torch_dtype`/`dtype`. The formats:

    fp8, fbgemm_fp8                   8-bit weights and arithmetic          FP8
    mxfp4                             4-bit weights and arithmetic          FP4
    awq, gptq, bitsandbytes, …        weights of `bits` bits alone          W4A16, W8A16
    modelopt                          by its quant_algo
    compressed-tensors                by its first group: num_bits and type of weights, and whether
                                      activations are quantised at all
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.terms.precision import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionOfConfig:
    """A precision, and what told it.

    Attributes:
        precision: Of weights and arithmetic; `None` when nothing tells.
        because: What told it, for a person.
    """

    precision: Precision | None
    because: str


TOLD_BY_NOTHING: Final = PrecisionOfConfig(precision=None, because="nothing tells it")

_BY_METHOD: Final = {
    "fp8": Precision.FP8,
    "fbgemm_fp8": Precision.FP8,
    "mxfp4": Precision.FP4,
}
_WEIGHT_ONLY: Final = frozenset(
    {"awq", "gptq", "gptq_marlin", "awq_marlin", "auto-round", "bitsandbytes"}
)


def broken_quantization(config: Mapping[str, object]) -> str:
    """Return what is wrong with `quantization_config`, for a person; empty for nothing."""
    text = config.get("text_config")
    for each in (config, text if isinstance(text, Mapping) else {}):
        quantised = each.get("quantization_config")
        if quantised is not None and not isinstance(quantised, Mapping):
            return f"its quantization_config is {str(quantised)[:40]!r} and no JSON object"
    return ""


def precision_of(config: Mapping[str, object]) -> PrecisionOfConfig:
    """Return the precision that a `config.json` tells."""
    text = config.get("text_config")
    for each in (config, text if isinstance(text, Mapping) else {}):
        quantised = each.get("quantization_config")
        if isinstance(quantised, Mapping):
            return _quantised(quantised)
    for key in ("dtype", "torch_dtype"):
        told = config.get(key)
        if isinstance(told, str) and told in ("bfloat16", "float16"):
            return PrecisionOfConfig(precision=Precision.BF16, because=f"{key} {told}")
    return TOLD_BY_NOTHING


def _quantised(config: Mapping[str, Any]) -> PrecisionOfConfig:
    method = str(config.get("quant_method") or "").casefold()
    because = f"quantization_config of {method or 'no named method'}"
    found = _BY_METHOD.get(method)
    if method in _WEIGHT_ONLY:
        bits = 4 if config.get("load_in_4bit") else config.get("bits")
        bits = 8 if config.get("load_in_8bit") else bits
        found, because = _of_bits(bits, activations=False), f"{because}, {_told_bits(bits)}"
    elif method == "compressed-tensors":
        found = _of_group(config)
    elif method == "modelopt":
        algorithm = str(config.get("quant_algo") or "").upper()
        found, because = _BY_ALGORITHM.get(algorithm), f"{because}, {algorithm or 'no quant_algo'}"
    if found is None:
        because += ", which tells no precision that is known here"
    return PrecisionOfConfig(precision=found, because=because)


_BY_ALGORITHM: Final = {
    "FP8": Precision.FP8,
    "NVFP4": Precision.FP4,
    "W4A16_AWQ": Precision.W4A16,
}


def _told_bits(bits: object) -> str:
    if bits is None:
        return "without the key bits"
    return f"{bits} bits" if isinstance(bits, int) else f"bits {str(bits)[:40]!r}"


def _of_bits(bits: object, *, activations: bool) -> Precision | None:
    table = (
        {8: Precision.FP8, 4: Precision.FP4}
        if activations
        else {8: Precision.W8A16, 4: Precision.W4A16}
    )
    return table.get(bits) if isinstance(bits, int) else None


def _of_group(config: Mapping[str, Any]) -> Precision | None:
    groups = config.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(weights, Mapping):
        return None
    activations = isinstance(first.get("input_activations"), Mapping)
    if activations and weights.get("type") != "float":
        # INT8 arithmetic has twice the rate of 16 bits, as FP8 has where there are units for it.
        return Precision.FP8 if weights.get("num_bits") == 8 else None
    return _of_bits(weights.get("num_bits"), activations=activations)
