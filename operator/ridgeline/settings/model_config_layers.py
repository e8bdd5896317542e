"""Which layers of a model are of which kind, as its configuration tells it."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from ridgeline.settings.model_config_reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersByAttention:
    """How many layers have which attention.

    Attributes:
        linear: With linear attention.
        windowed: With a sliding window or chunks; `None` when the layers are not listed.
    """

    linear: int = 0
    windowed: int | None = None


_FULL: Final = "full_attention"
_LINEAR: Final = "linear_attention"
_WINDOWED: Final = ("sliding_attention", "chunked_attention")


def layers_by_attention(reader: Reader, layers: int) -> LayersByAttention:
    """Count the layers by kind of attention.

    A list that is not as long as there are layers, or has a kind that is not known, is noted as
    missing.
    """
    listed = reader.items("layer_types")
    if not listed:
        interval = reader.may("full_attention_interval")
        return LayersByAttention(linear=layers - layers // interval if interval else 0)
    counts = Counter(map(str, listed))
    strange = sorted(set(counts) - {_FULL, _LINEAR, *_WINDOWED})
    if strange:
        reader.missing.append(f"layer_types (it has {strange[0][:40]!r}, which is not known)")
    elif len(listed) != layers:
        reader.missing.append(f"layer_types (it has {len(listed)} entries for {layers} layers)")
    return LayersByAttention(
        linear=counts[_LINEAR], windowed=sum(counts[each] for each in _WINDOWED)
    )


def windowed_layers(
    reader: Reader, layers: int, by_attention: LayersByAttention
) -> tuple[int, int] | None:
    """Return how many layers look back only so far, and how many tokens; `None` if all see all."""
    if by_attention.windowed == 0:
        return None
    tokens = reader.may("sliding_window", "attention_chunk_size")
    if by_attention.windowed is not None:
        return by_attention.windowed, tokens or reader.need("sliding_window")
    if tokens is None:
        return None
    count = _windowed_by_rule(reader, layers)
    return (count, tokens) if count else None


_EVERY_SIXTH: Final = 6
_EVERY_FOURTH: Final = 4


def _windowed_by_rule(reader: Reader, layers: int) -> int:
    """Return the layers with a window where they are not listed: the rule of the model type."""
    kind = reader.kind
    if kind.startswith("qwen"):
        if not reader.flag("use_sliding_window", default=False):
            return 0
        return max(layers - reader.need("max_window_layers"), 0)
    if not reader.flag("use_sliding_window", default=True):
        return 0
    if kind.startswith("gemma3"):
        every = reader.may("sliding_window_pattern", "_sliding_window_pattern") or _EVERY_SIXTH
        return layers - layers // every
    if kind.startswith("llama4"):
        return layers - layers // _EVERY_FOURTH
    if kind in ("gemma2", "gpt_oss"):
        return layers - layers // 2
    return layers


def layers_with_experts(reader: Reader, layers: int) -> int:
    """Return how many layers have experts; at least one."""
    listed = reader.items("moe_layer_freq")
    if listed is not None:
        return max(sum(1 for each in listed[:layers] if each), 1)
    step = reader.may("interleave_moe_layer_step", "decoder_sparse_step") or 1
    dense = reader.items("mlp_only_layers") or []
    first = reader.may("first_k_dense_replace") or 0
    every = reader.may("moe_layer_freq") or 1
    with_experts = [
        layer
        for layer in range(first, layers)
        if layer not in dense and (layer + 1) % step == 0 and layer % every == 0
    ]
    return max(len(with_experts), 1)
