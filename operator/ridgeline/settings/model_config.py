"""A checkpoint's `config.json` as facts about the model.

Read are the keys that transformers writes for decoder-only models: Llama, Mistral, Qwen2/3, Phi,
Gemma, Mixtral and other mixtures of experts, DeepSeek (MLA), gpt-oss, Llama 4, Qwen3-Next. Other
architectures are read by the same keys where they have them. A key that changes what a step reads
and is not understood is refused, never passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.shape import ModelShape
from ridgeline.settings.model_config_layers import (
    layers_by_attention,
    layers_with_experts,
    windowed_layers,
)
from ridgeline.settings.model_config_reader import Reader
from ridgeline.settings.model_facts import Latent, Linear, Mixture, ModelFacts, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableConfig:
    """Why a `config.json` does not tell a model's shape.

    Attributes:
        name: The model.
        keys: Keys that are missing, not numbers, or not understood.
        message: The same for a person, with the way out.
    """

    name: str
    keys: tuple[str, ...]
    message: str


def shape_of_config(config: Mapping[str, object], name: str) -> ModelShape | UnreadableConfig:
    """Return the shape that a `config.json` tells, or what it lacks."""
    facts = facts_of_config(config, name)
    return facts if isinstance(facts, UnreadableConfig) else facts.shape()


def facts_of_config(
    config: Mapping[str, object], name: str, *, source: str = "its config.json", as_of: str = ""
) -> ModelFacts | UnreadableConfig:
    """Return the facts that a `config.json` tells, or what it lacks.

    Args:
        config: The parsed file; a model for several media is read by its `text_config`.
        name: The model's name.
        source: Where the file comes from.
        as_of: Date on which it was read there (ISO 8601).
    """
    reader = Reader(_text_part(config))
    strange = [key for key in _NOT_UNDERSTOOD if reader.given(key)]
    if strange:
        return _unreadable(
            name, strange, f"it has {', '.join(strange)}, whose meaning for a step is not known"
        )
    try:
        facts, trouble = _facts(reader, name, source, as_of), ""
    except ValueError as error:
        facts, trouble = None, str(error)
    if reader.missing:
        trouble = f"it has no usable {', '.join(reader.missing)}"
    if facts is None or trouble:
        return _unreadable(name, reader.missing, trouble)
    return facts


_NOT_UNDERSTOOD: Final = (
    "hybrid_override_pattern",  # Nemotron-H: Mamba layers
    "hybrid_layer_pattern",  # MiMo-V2: two kinds of KV heads
    "block_configs",  # Nemotron: layers that differ from each other
    "linear_attn_config",  # Kimi Linear
    "index_topk",  # DeepSeek V3.2, GLM-5: sparse attention
    "compress_ratios",  # DeepSeek V4: compressed context
    "global_head_dim",  # Gemma 4: another head size in global layers
    "num_kv_shared_layers",  # Gemma 3n and 4: layers without a cache of their own
    "attn_layer_period",  # Jamba
    "layers_block_type",  # Nemotron-H and others: kinds of layers beside attention
    "sparse_attention_config",  # MiniMax-M3
    "ssm_cfg",  # Mamba
    "ssm_state_size",
    "mamba_d_state",
    "state_size",
)

_UNDERSTOOD: Final = frozenset(
    (
        *("llama", "llama4_text", "mistral", "ministral3", "mixtral", "phi3", "mimo"),
        *("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen3_next"),
        *("qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_5_text", "qwen3_5_moe_text"),
        *("gemma", "gemma2", "gemma3_text", "gpt_oss", "glm4", "glm4_moe", "minimax_m2"),
        *("deepseek_v2", "deepseek_v3", "kimi_k2"),
    )
)
"""Model types whose keys are known; others are read by the same keys and marked as not checked."""


def _text_part(config: Mapping[str, object]) -> Mapping[str, object]:
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        return config
    outer = {key: config[key] for key in ("tie_word_embeddings",) if key in config}
    return {**outer, **text}


def _facts(reader: Reader, name: str, source: str, as_of: str) -> ModelFacts:
    layers = reader.need("num_hidden_layers", "n_layer", "num_layers")
    hidden = reader.need("hidden_size", "n_embd", "d_model")
    heads = reader.need("num_attention_heads", "n_head")
    latent = _latent(reader)
    size = latent.value if latent else reader.may("head_dim", "kv_channels")
    mixture = _mixture(reader, layers)
    dense = "intermediate_size_mlp" if _is_llama4(reader) else "intermediate_size"
    dense_is_needed = mixture is None or mixture.layers < layers
    width = reader.need if dense_is_needed else reader.may
    of_attention = layers_by_attention(reader, layers)
    window = windowed_layers(reader, layers, of_attention)
    understood = reader.kind in _UNDERSTOOD
    return ModelFacts(
        name=name,
        layers=layers,
        hidden=hidden,
        intermediate=width(dense, "ffn_hidden_size", "n_inner") or 0,
        heads=heads,
        kv_heads=heads if latent else reader.may(*_KV_HEADS) or heads,
        head_size=size or max(hidden // heads, 1),
        vocabulary=reader.need("vocab_size", "padded_vocab_size"),
        tied=reader.flag("tie_word_embeddings", default=reader.kind.startswith(_TIED)),
        output_gate=reader.flag("attn_output_gate", default=reader.kind.startswith(_GATED)),
        latent=latent,
        linear=_linear(reader, of_attention.linear) if of_attention.linear else None,
        window=Window(layers=window[0], tokens=window[1]) if window else None,
        mixture=mixture,
        mtp_layers=reader.may("num_nextn_predict_layers", "mtp_num_hidden_layers") or 0,
        source=source if understood else f"{source}, {_unknown(reader.kind)}",
        as_of=as_of,
        checked=understood,
    )


def _unknown(kind: str) -> str:
    return f"whose model type {kind!r} is not known" if kind else "which tells no model_type"


_KV_HEADS: Final = ("num_key_value_heads", "num_kv_heads", "multi_query_group_num")
_TIED: Final = ("gemma", "cohere")
"""Model types whose embeddings are tied where the configuration does not say."""

_GATED: Final = ("qwen3_next", "qwen3_5")
"""Model types whose attention has an output gate where the configuration does not say."""


def _is_llama4(reader: Reader) -> bool:
    return reader.kind.startswith("llama4")


def _latent(reader: Reader) -> Latent | None:
    rank = reader.may("kv_lora_rank")
    if rank is None:
        return None
    return Latent(
        kv_rank=rank,
        query_rank=reader.may("q_lora_rank"),
        rotary=reader.need("qk_rope_head_dim"),
        content=reader.need("qk_nope_head_dim"),
        value=reader.need("v_head_dim"),
    )


def _linear(reader: Reader, layers: int) -> Linear:
    return Linear(
        layers=layers,
        key_heads=reader.need("linear_num_key_heads"),
        value_heads=reader.need("linear_num_value_heads"),
        key_size=reader.need("linear_key_head_dim"),
        value_size=reader.need("linear_value_head_dim"),
    )


def _mixture(reader: Reader, layers: int) -> Mixture | None:
    count = reader.may("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    if count is None or count < 2:
        return None
    width = reader.may("moe_intermediate_size", "expert_intermediate_size")
    width = width or reader.need("intermediate_size")
    shared = reader.may("shared_expert_intermediate_size") or 0
    if _is_llama4(reader):
        shared = width
    return Mixture(
        count=count,
        active=reader.need("num_experts_per_tok", "experts_per_token", "top_k_experts"),
        intermediate=width,
        shared_intermediate=shared
        or (reader.may("n_shared_experts", "num_shared_experts") or 0) * width,
        layers=layers_with_experts(reader, layers),
    )


def _unreadable(name: str, keys: list[str], why: str) -> UnreadableConfig:
    return UnreadableConfig(
        name=name,
        keys=tuple(keys),
        message=f"config.json of {name} does not tell its shape: {why}; "
        "fill in spec.model.shape, or name a model of the catalogue of the same shape in "
        "spec.model.name",
    )
