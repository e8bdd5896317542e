"""A checkpoint's config.json as a shape, or what it lacks."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.shape import ModelShape
from ridgeline.settings.model_config import (
    UnreadableConfig,
    facts_of_config,
    shape_of_config,
)
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.models import load_models

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
GEMMA3 = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 62,
    "hidden_size": 5376,
    "intermediate_size": 21504,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "vocab_size": 262144,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 201088,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "vocab_size": 129280,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 1,
}
QWEN3_NEXT = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "intermediate_size": 5120,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "vocab_size": 151936,
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}
MIXTRAL = LLAMA | {
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
}
QWEN2 = {
    "model_type": "qwen2",
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "sliding_window": 131072,
    "use_sliding_window": False,
    "max_window_layers": 28,
}
QWEN3_MOE = {
    "model_type": "qwen3_moe",
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "use_sliding_window": False,
}
MISTRAL = LLAMA | {"model_type": "mistral", "vocab_size": 32000, "sliding_window": 4096}
MAVERICK = {
    "model_type": "llama4",
    "tie_word_embeddings": False,
    "vision_config": {"hidden_size": 1408},
    "text_config": {
        "model_type": "llama4_text",
        "num_hidden_layers": 48,
        "hidden_size": 5120,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 202048,
        "attention_chunk_size": 8192,
        "interleave_moe_layer_step": 2,
        "num_local_experts": 128,
        "num_experts_per_tok": 1,
    },
}

PUBLISHED: list[tuple[Mapping[str, object], str]] = [
    (LLAMA, "meta-llama/Llama-3.1-8B"),
    (GEMMA3, "google/gemma-3-27b"),
    (GPT_OSS, "openai/gpt-oss-120b"),
    (DEEPSEEK, "deepseek-ai/DeepSeek-V3"),
    (QWEN3_NEXT, "Qwen/Qwen3-Next-80B-A3B"),
    (MIXTRAL, "mistralai/Mixtral-8x7B-v0.1"),
    (QWEN2, "Qwen/Qwen2.5-7B"),
    (QWEN3_MOE, "Qwen/Qwen3-30B-A3B"),
    (MISTRAL, "mistralai/Mistral-7B-v0.1"),
    (MAVERICK, "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
]


def facts(config: Mapping[str, object]) -> ModelFacts:
    found = facts_of_config(config, "org/model")
    assert isinstance(found, ModelFacts), found
    return found


def refusal(config: Mapping[str, object]) -> UnreadableConfig:
    found = shape_of_config(config, "org/model")
    assert isinstance(found, UnreadableConfig)
    return found


@pytest.mark.parametrize(("config", "name"), PUBLISHED, ids=[name for _, name in PUBLISHED])
def test_a_published_configuration_gives_the_shape_of_the_catalogue(
    config: Mapping[str, object], name: str
) -> None:
    entry = load_models().find(name)
    assert entry is not None
    want, found = entry.facts.shape(), shape_of_config(config, name)
    assert isinstance(found, ModelShape)
    for field in (
        *("layers", "hidden", "vocabulary", "params", "experts", "kv_elements_per_token"),
        *("windowed_kv_elements_per_token", "window", "checked"),
    ):
        assert getattr(found, field) == getattr(want, field), field
    assert found.source == "its config.json"


def test_layers_for_multi_token_prediction_are_told_and_not_counted() -> None:
    with_one, without = facts(DEEPSEEK), facts(DEEPSEEK | {"num_nextn_predict_layers": 0})
    assert (with_one.mtp_layers, without.mtp_layers) == (1, 0)
    assert with_one.params == without.params


class TestWindows:
    def windows(self, **changes: Any) -> tuple[int, int]:
        window = facts(LLAMA | changes).window
        return (window.layers, window.tokens) if window else (0, 0)

    @pytest.mark.parametrize(
        ("changes", "window"),
        [
            ({}, (0, 0)),
            ({"model_type": "mistral", "sliding_window": None}, (0, 0)),
            ({"model_type": "mistral", "sliding_window": 4096}, (32, 4096)),
            ({"model_type": "gemma2", "sliding_window": 4096}, (16, 4096)),
            ({"model_type": "gpt_oss", "sliding_window": 128}, (16, 128)),
            ({"model_type": "gemma3_text", "sliding_window": 512}, (27, 512)),
            (
                {
                    "model_type": "gemma3_text",
                    "sliding_window": 512,
                    "_sliding_window_pattern": 4,
                },
                (24, 512),
            ),
            ({"model_type": "qwen2", "sliding_window": 9}, (0, 0)),
            (
                {
                    "model_type": "qwen2",
                    "sliding_window": 9,
                    "use_sliding_window": True,
                    "max_window_layers": 20,
                },
                (12, 9),
            ),
            (
                {
                    "model_type": "qwen2",
                    "sliding_window": 9,
                    "use_sliding_window": True,
                    "max_window_layers": 32,
                },
                (0, 0),
            ),
            ({"sliding_window": 64, "use_sliding_window": False}, (0, 0)),
            (
                {
                    "sliding_window": 64,
                    "layer_types": ["sliding_attention"] * 8 + ["full_attention"] * 24,
                },
                (8, 64),
            ),
            ({"sliding_window": 64, "layer_types": ["full_attention"] * 32}, (0, 0)),
        ],
        ids=str,
    )
    def test_layers_that_look_back_only_so_far(
        self, changes: dict[str, Any], window: tuple[int, int]
    ) -> None:
        assert self.windows(**changes) == window


class TestExperts:
    @pytest.mark.parametrize(
        ("changes", "layers"),
        [
            ({}, 48),
            ({"mlp_only_layers": [0, 1]}, 46),
            ({"decoder_sparse_step": 2}, 24),
            ({"first_k_dense_replace": 3}, 45),
            ({"moe_layer_freq": 2}, 24),
            ({"moe_layer_freq": [0] * 8 + [1] * 40}, 40),
        ],
        ids=str,
    )
    def test_layers_that_have_some(self, changes: dict[str, Any], layers: int) -> None:
        mixture = facts(QWEN3_MOE | changes).mixture
        assert mixture is not None
        assert mixture.layers == layers

    def test_one_expert_is_none(self) -> None:
        assert facts(QWEN3_MOE | {"num_experts": 1}).mixture is None

    def test_a_dense_width_is_not_needed_where_every_layer_has_experts(self) -> None:
        without = {key: each for key, each in QWEN3_MOE.items() if key != "intermediate_size"}
        assert facts(without).params == facts(QWEN3_MOE).params
        assert "intermediate_size" in refusal(without | {"mlp_only_layers": [0]}).keys


@pytest.mark.parametrize(
    ("config", "key"),
    [
        *((LLAMA, key) for key in ("num_hidden_layers", "hidden_size", "vocab_size")),
        *((LLAMA, key) for key in ("intermediate_size", "num_attention_heads")),
        *((DEEPSEEK, key) for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")),
        *((GPT_OSS, key) for key in ("num_experts_per_tok", "sliding_window")),
        *((QWEN3_NEXT, key) for key in ("linear_num_value_heads", "linear_key_head_dim")),
    ],
    ids=str,
)
def test_a_key_that_is_missing_is_named_with_the_way_out(
    config: dict[str, object], key: str
) -> None:
    found = refusal({each: value for each, value in config.items() if each != key})
    assert found.keys == (key,)
    assert key in found.message
    assert "org/model" in found.message
    assert "spec.model.shape" in found.message


@pytest.mark.parametrize("value", [0, None])
def test_nothing_is_as_good_as_missing(value: object) -> None:
    assert refusal(LLAMA | {"vocab_size": value}).keys == ("vocab_size",)


@pytest.mark.parametrize("value", [-1, 2.5, True, "128256", [1], 10**9, float("nan")])
def test_what_is_no_size_is_refused(value: object) -> None:
    found = refusal(LLAMA | {"vocab_size": value})
    assert found.keys[0].startswith("vocab_size (it is ")


@pytest.mark.parametrize(
    "changes",
    [
        {"layer_types": ["mamba"] * 32},
        {"layer_types": ["full_attention"] * 31},
        {"hybrid_override_pattern": "M-M*"},
        {"layers_block_type": ["mamba", "attention"]},
        {"index_topk": 2048},
        {"num_key_value_heads": 5},
        {"ssm_cfg": {"layer": "Mamba2"}},
    ],
    ids=str,
)
def test_what_changes_a_step_and_is_not_understood_is_refused(changes: dict[str, Any]) -> None:
    message = refusal(LLAMA | changes).message
    key = next(iter(changes))
    assert key in message or "cannot share 5" in message
    assert "spec.model.shape" in message


def test_an_unknown_architecture_is_read_by_the_standard_keys_and_marked() -> None:
    found = shape_of_config(LLAMA | {"model_type": "novel"}, "org/model")
    assert isinstance(found, ModelShape)
    assert found.params == facts(LLAMA).params
    assert not found.checked
    assert "'novel' is not known" in found.source


def test_embeddings_are_tied_as_told_else_by_the_model_type() -> None:
    assert not facts({key: LLAMA[key] for key in LLAMA if key != "tie_word_embeddings"}).tied
    assert facts(GEMMA3).tied
    assert not facts(GEMMA3 | {"tie_word_embeddings": False}).tied
    assert facts({"tie_word_embeddings": True, "text_config": QWEN2}).tied


_KEYS = sorted({key for config, _ in PUBLISHED for key in config} | {"layer_types", "text_config"})
_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**8)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.sampled_from(["full_attention", "sliding_attention", 0, 1, "x"]), max_size=40)
)


@given(
    st.sampled_from([config for config, _ in PUBLISHED]),
    st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5),
    st.sets(st.sampled_from(_KEYS), max_size=3),
)
def test_any_configuration_gives_a_shape_or_a_reason(
    config: Mapping[str, object], changes: dict[str, object], left_out: set[str]
) -> None:
    changed = {key: each for key, each in {**config, **changes}.items() if key not in left_out}
    found = shape_of_config(changed, "org/model")
    if isinstance(found, UnreadableConfig):
        assert found.message
    else:
        assert found.params > 0
        assert found.kv_elements(1000.0) >= 0
