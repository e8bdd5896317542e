"""Models from names and from config.json: shape, precision, the nearest, and the stanza."""

from typing import Any

import pytest

from ridgeline.engine.served_model import ServedModel
from ridgeline.settings.advise_model import (
    AdvisedModel,
    NoModel,
    drafts_for,
    model_of_config,
    model_of_name,
    model_stanza,
)
from ridgeline.settings.advise_precision import precision_of
from ridgeline.settings.models import load_models
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.precision import Precision

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MIXTRAL: dict[str, Any] = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
GEMMA: dict[str, Any] = {
    "model_type": "gemma2",
    "hidden_size": 3584,
    "intermediate_size": 14336,
    "num_attention_heads": 16,
    "num_hidden_layers": 42,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "vocab_size": 256000,
    "sliding_window": 4096,
}


def described(config: dict[str, Any], name: str = "mine") -> AdvisedModel:
    found = model_of_config(config, name)
    assert isinstance(found, AdvisedModel), found
    return found


@pytest.mark.parametrize("config", [LLAMA, MIXTRAL, GEMMA], ids=["dense", "experts", "window"])
def test_the_stanza_says_what_the_cost_model_reckons_with(config: dict[str, Any]) -> None:
    found = described(config)
    again = target_model(found.stanza, ServedModel())
    assert isinstance(again, TargetModel)
    one, other = found.target.shape, again.shape
    for field in ("layers", "hidden", "vocabulary", "window", "kv_elements_per_token"):
        assert getattr(one, field) == getattr(other, field), field
    assert one.windowed_kv_elements_per_token == other.windowed_kv_elements_per_token
    assert other.params == pytest.approx(one.params, rel=1e-3)
    assert other.active_params == pytest.approx(one.active_params, rel=1e-3)


def test_a_shape_that_the_catalogue_has_is_named() -> None:
    found = described(LLAMA)
    assert any("meta-llama/Meta-Llama-3-8B" in each for each in found.notes)
    assert not any("catalogue" in each for each in described({**LLAMA, "hidden_size": 4224}).notes)


def test_a_model_type_that_is_not_known_is_said() -> None:
    found = described({**LLAMA, "model_type": "llamba"})
    assert any("'llamba' is not known" in each for each in found.notes)


def test_a_config_that_does_not_tell_the_shape_names_the_keys() -> None:
    found = model_of_config({"model_type": "llama", "hidden_size": 4096}, "mine")
    assert isinstance(found, NoModel)
    for key in ("num_hidden_layers", "vocab_size", "spec.model.shape"):
        assert key in found.message


def test_a_config_of_absurd_size_is_refused_and_not_an_exception() -> None:
    found = model_of_config({**LLAMA, "hidden_size": 9_000_000, "vocab_size": 9_000_000}, "mine")
    assert isinstance(found, NoModel)
    assert "correct the file" in found.message


def test_a_name_is_found_as_people_write_it() -> None:
    found = model_of_name("llama-3.1-8b-instruct")
    assert isinstance(found, AdvisedModel)
    assert found.stanza.name == "meta-llama/Llama-3.1-8B"


def test_an_unknown_name_gets_the_nearest_and_the_way_by_config() -> None:
    found = model_of_name("Qwen/Qwen3-33B")
    assert isinstance(found, NoModel)
    assert "Qwen/Qwen3-32B" in found.message
    assert "config.json" in found.message


@pytest.mark.parametrize(
    ("config", "precision"),
    [
        ({"torch_dtype": "bfloat16"}, Precision.BF16),
        ({"dtype": "float16"}, Precision.BF16),
        ({"quantization_config": {"quant_method": "fp8"}}, Precision.FP8),
        ({"quantization_config": {"quant_method": "mxfp4"}}, Precision.FP4),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, Precision.W4A16),
        ({"quantization_config": {"quant_method": "gptq", "bits": 8}}, Precision.W8A16),
        (
            {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
            Precision.W4A16,
        ),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
            Precision.FP4,
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {
                        "group_0": {
                            "weights": {"num_bits": 8, "type": "float"},
                            "input_activations": {"num_bits": 8, "type": "float"},
                        }
                    },
                }
            },
            Precision.FP8,
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {
                        "group_0": {
                            "weights": {"num_bits": 4, "type": "int"},
                            "input_activations": None,
                        }
                    },
                }
            },
            Precision.W4A16,
        ),
        ({"text_config": {"quantization_config": {"quant_method": "fp8"}}}, Precision.FP8),
        ({"quantization_config": {"quant_method": "quark"}}, None),
        ({"quantization_config": {"quant_method": "gptq"}}, None),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, None),
        ({"torch_dtype": "float32"}, None),
        ({}, None),
    ],
)
def test_the_precision_is_read_where_it_is_told_and_never_guessed(
    config: dict[str, Any], precision: Precision | None
) -> None:
    found = precision_of(config)
    assert found.precision is precision
    assert found.because


def test_the_stanza_has_the_precision_only_where_it_is_known() -> None:
    found = described(LLAMA)
    assert model_stanza(found, Precision.FP8)["precision"] == "FP8"
    assert "precision" not in model_stanza(found, None)


def test_drafts_have_the_targets_vocabulary_and_its_family_comes_first() -> None:
    entry = load_models().find("Qwen/Qwen3-32B")
    assert entry is not None
    target = TargetModel(shape=entry.facts.shape(), facts=entry.facts, found_by="")
    found = drafts_for(target)
    assert found[0] == "Qwen/Qwen3-0.6B"
    for name in found:
        draft = load_models().find(name)
        assert draft is not None
        assert draft.facts.vocabulary == entry.facts.vocabulary
        assert draft.facts.params * 8 <= entry.facts.params
