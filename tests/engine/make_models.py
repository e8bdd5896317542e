"""Makes the models that the real engine serves in tests: random weights, a vocabulary of 512.

Run by the Python of the engine's environment, into one folder:

    python make_models.py FOLDER

Nothing comes from a model hub. `draft` is the target with a little noise, so that some of its
drafts are accepted; `draft-other-vocabulary` cannot draft for it; `eagle` and `eagle3` are heads of
one layer; `target-mtp` is a target with one layer for multi-token prediction.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

HIDDEN, INNER, HEADS, KV_HEADS, LAYERS, VOCABULARY, CONTEXT = 256, 512, 4, 2, 4, 512, 2048
HEAD = HIDDEN // HEADS
NOISE = 0.03
"""Of the draft's weights, as a share of each tensor's own deviation."""

Tensors = dict[str, torch.Tensor]


def main(folder: Path) -> None:
    """Make every model of the folder."""
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    target = LlamaForCausalLM(_llama()).to(torch.bfloat16)
    _save(target, folder / "target", tokenizer)
    with torch.no_grad():
        for each in target.parameters():
            if each.dim() > 1:
                each.add_(torch.randn_like(each) * each.float().std().to(each.dtype) * NOISE)
    _save(target, folder / "draft", tokenizer)
    other = LlamaForCausalLM(_llama(vocab_size=VOCABULARY + 128)).to(torch.bfloat16)
    _save(other, folder / "draft-other-vocabulary", tokenizer)
    _save_head(folder / "eagle", "LlamaForCausalLM", _eagle())
    # Unless told, EAGLE-3 looks at layers 2, n/2 and n − 3, which are not three of so few.
    told = {"draft_vocab_size": VOCABULARY, "eagle_aux_hidden_state_layer_ids": [1, 2, 3]}
    _save_head(folder / "eagle3", "LlamaForCausalLMEagle3", _eagle3(), **told)
    _save_with_mtp(folder / "target-mtp", tokenizer)


def _llama(**changes: Any) -> LlamaConfig:
    told: dict[str, Any] = {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "num_hidden_layers": LAYERS,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "initializer_range": 0.08,
    }
    return LlamaConfig(**told | changes)


def _tokenizer() -> PreTrainedTokenizerFast:
    made = ByteLevelBPETokenizer()
    text = ["the quick brown fox jumps over the lazy dog " * 4, "0 1 2 3 4 5 6 7 8 9 " * 4]
    made.train_from_iterator(text, vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=made._tokenizer, bos_token="<s>", eos_token="</s>"
    )


def _save(model: Any, folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _layer(width: int = HIDDEN) -> Tensors:
    """Return the weights of one layer whose attention reads `width` numbers of a token."""
    return {
        "self_attn.q_proj.weight": _random(HEADS * HEAD, width),
        "self_attn.k_proj.weight": _random(KV_HEADS * HEAD, width),
        "self_attn.v_proj.weight": _random(KV_HEADS * HEAD, width),
        "self_attn.o_proj.weight": _random(HIDDEN, HEADS * HEAD),
        "mlp.gate_proj.weight": _random(INNER, HIDDEN),
        "mlp.up_proj.weight": _random(INNER, HIDDEN),
        "mlp.down_proj.weight": _random(HIDDEN, INNER),
        "post_attention_layernorm.weight": _ones(),
    }


def _random(*size: int) -> torch.Tensor:
    return torch.randn(*size, dtype=torch.float32).mul_(0.05).to(torch.bfloat16)


def _ones() -> torch.Tensor:
    return torch.ones(HIDDEN, dtype=torch.bfloat16)


def _eagle() -> Tensors:
    layer = {f"layers.0.{name}": weight for name, weight in _layer().items()}
    return {"fc.weight": _random(HIDDEN, 2 * HIDDEN), **layer}


def _eagle3() -> Tensors:
    layer = {f"midlayer.{name}": weight for name, weight in _layer(2 * HIDDEN).items()}
    return {
        "fc.weight": _random(HIDDEN, 3 * HIDDEN),
        **layer,
        "midlayer.hidden_norm.weight": _ones(),
        "midlayer.input_layernorm.weight": _ones(),
        "norm.weight": _ones(),
        "lm_head.weight": _random(VOCABULARY, HIDDEN),
    }


def _save_head(folder: Path, architecture: str, weights: Tensors, **told: Any) -> None:
    config = _llama(num_hidden_layers=1, **told)
    config.architectures = [architecture]
    config.dtype = "bfloat16"
    config.save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _save_with_mtp(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Save a target of the MiMo family, whose configuration reads as that of Qwen2."""
    config = Qwen2Config(
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        num_hidden_layers=LAYERS,
        vocab_size=VOCABULARY,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    _save(model, folder, tokenizer)
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    layer = _layer()
    for each in "qkv":
        rows = layer[f"self_attn.{each}_proj.weight"].shape[0]
        layer[f"self_attn.{each}_proj.bias"] = torch.zeros(rows, dtype=torch.bfloat16)
    norms = ("input_layernorm", "token_layernorm", "hidden_layernorm", "final_layernorm")
    layer |= {f"{name}.weight": _ones() for name in norms}
    layer["input_proj.weight"] = _random(HIDDEN, 2 * HIDDEN)
    weights |= {f"model.mtp_layers.0.{name}": weight for name, weight in layer.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    told = json.loads((folder / "config.json").read_text())
    told |= {"architectures": ["MiMoForCausalLM"], "num_nextn_predict_layers": 1}
    (folder / "config.json").write_text(json.dumps(told, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
