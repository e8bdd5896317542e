"""How published rows call GPUs, models, methods, engines and data sets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

_GPUS = (
    (r"gb300", "gb300"),
    (r"gb200", "gb200"),
    (r"b300", "b300-sxm"),
    (r"b200", "b200-sxm"),
    (r"h200", "h200-sxm"),
    (r"h100.*nvl", "h100-nvl"),
    (r"h100.*pci", "h100-pcie"),
    (r"h100|h800", "h100-sxm"),
    (r"a100.*40", "a100-sxm-40gb"),
    (r"a100.*pci", "a100-pcie-80gb"),
    (r"a100|a800", "a100-sxm-80gb"),
    (r"pro.?6000", "rtx-pro-6000-server"),
    (r"5090", "rtx-5090"),
    (r"4090", "rtx-4090"),
    (r"l40s", "l40s"),
    (r"l40\b", "l40"),
    (r"\bl4\b", "l4"),
    (r"a10g", "a10g"),
    (r"\ba10\b", "a10"),
    (r"\ba30\b", "a30"),
    (r"\ba40\b", "a40"),
    (r"\bt4\b", "t4"),
    (r"v100", "v100-sxm-32gb"),
    (r"mi325", "mi325x"),
    (r"mi300", "mi300x"),
)

_MODELS = (
    (r"vicuna.*(\d+)b", "Llama-2-{}b"),
    (r"llama-?2.*?(\d+)b", "Llama-2-{}b"),
    (r"llama-?3\.3.*70b", "Llama-3.3-70B-Instruct"),
    (r"llama-?3\.1.*?(\d+)b", "Llama-3.1-{}B"),
    (r"llama-?3\.2.*?(\d+)b", "Llama-3.2-{}B"),
    (r"llama-?3\D.*?(\d+)b", "Meta-Llama-3-{}B"),
    (r"r1-distill-llama.*70b", "Llama-3.3-70B-Instruct"),
    (r"r1-distill-llama.*8b", "Llama-3.1-8B"),
    (r"r1-distill-qwen.*?(\d+(?:\.\d)?)b", "Qwen2.5-{}B"),
    (r"qwen-?2(?:\.5)?-?.*?(\d+(?:\.\d)?)b", "Qwen2.5-{}B"),
    (r"qwen-?3-?coder.*480b", "Qwen3-Coder-480B-A35B-Instruct"),
    (r"qwen-?3.*30b", "Qwen3-30B-A3B"),
    (r"qwen-?3.*235b", "Qwen3-235B-A22B"),
    (r"qwen-?3-?(?:instruct-?)?(\d+(?:\.\d)?)b", "Qwen3-{}B"),
    (r"mixtral.*8x22", "Mixtral-8x22B-v0.1"),
    (r"mixtral", "Mixtral-8x7B-v0.1"),
    (r"mistral.*7b", "Mistral-7B-v0.3"),
    (r"deepseek.*r1", "DeepSeek-R1"),
    (r"deepseek.*v3", "DeepSeek-V3"),
    (r"gpt-?oss.*?(\d+)b", "gpt-oss-{}b"),
)
"""Families whose names come in many spellings, and a row of the catalogue of the same shape."""


@dataclass(frozen=True)
class Context:
    """What requests of a data set are like: assumptions of this benchmark, not measured.

    Attributes:
        tokens: Mean context over the decode.
        prefill: Prompt tokens per generated token, where requests come and go (closed loop).
        hit: Share of request-steps in which n-gram look-up drafts.
    """

    tokens: float
    prefill: float
    hit: float


_CONTEXTS = (
    (r"gsm|math|aime", Context(250.0, 0.3, 0.2)),
    (r"cnn|dailymail|summ|xsum|arxiv", Context(1000.0, 3.0, 0.4)),
    (r"sharegpt|chat|alpaca|lmsys|arena", Context(400.0, 0.5, 0.2)),
    (r"instructcoder|edit", Context(400.0, 0.5, 0.6)),
    (r"human|mbpp|code|livecode|spec.?bench", Context(400.0, 0.5, 0.3)),
    (r"mt.?bench", Context(208.0, 0.3, 0.2)),
)
_OTHER = Context(500.0, 0.5, 0.2)


def gpu_of(text: str) -> Accelerator | None:
    """Return the GPU that a row means."""
    lower = text.lower().replace("_", "-")
    catalogue = load_catalogue()
    for pattern, name in _GPUS:
        if re.search(pattern, lower):
            return catalogue.named(name)
    return catalogue.named(text) if text else None


def target_of(text: str) -> ModelFacts | None:
    """Return the model that a row means, or one of the same shape."""
    if not text:
        return None
    models = load_models()
    found = models.find(text) or models.find(text.replace(" ", "-"))
    if found is None:
        lower = re.sub(r"[\s_]+", "-", text.lower())
        for pattern, name in _MODELS:
            match = re.search(pattern, lower)
            if match:
                found = models.find(name.format(*match.groups()))
                break
    return found.facts if found else None


def method_of(text: str) -> Method | None:
    """Return the method that a row means; `None` for those that vLLM has not."""
    lower = text.lower()
    for pattern, method in (
        (r"eagle-?_?3", Method.EAGLE3),
        (r"eagle", Method.EAGLE),
        (r"mtp|nextn", Method.MTP),
        (r"n-?_?gram|prompt.?lookup|pld", Method.NGRAM),
        (r"suffix", Method.SUFFIX),
        (r"draft|standalone|vanilla|two.model|sps", Method.DRAFT_MODEL),
    ):
        if re.search(pattern, lower):
            return method
    return None


def precision_of(text: str) -> Precision:
    """Return the precision that a row means; 16 bits where it does not say."""
    lower = text.lower()
    if re.search(r"fp4|nvfp4|mxfp4", lower):
        return Precision.FP4
    if re.search(r"awq|gptq|w4a16|int4|4.?bit|q4", lower):
        return Precision.W4A16
    if re.search(r"w8a16|int8", lower):
        return Precision.W8A16
    return Precision.FP8 if re.search(r"fp8|w8a8", lower) else Precision.BF16


def engine_is_legacy(text: str) -> bool:
    """Tell whether an engine has overheads that the model does not know."""
    lower = text.lower()
    version = re.search(r"(\d+)\.(\d+)", lower)
    major, minor = (int(each) for each in version.groups()) if version else (99, 0)
    if "vllm" in lower:
        return (major, minor) < (0, 10)
    if "sglang" in lower:
        return (major, minor) < (0, 5)
    return bool(re.search(r"hf|hugging|transformers|gpt-fast|tgi|deepspeed|pytorch|repo", lower))


def context_of(dataset: str, notes: str) -> Context:
    """Return what requests of a data set are like; lengths that its name tells come first."""
    lower = dataset.lower()
    told = re.search(r"(\d+(?:\.\d+)?)(k?)\s*(?:/|in\b|->|:)\s*(\d+(?:\.\d+)?)(k?)", lower)
    if told:
        prompt, answer = (float(told[i]) * (1000.0 if told[i + 1] else 1.0) for i in (1, 3))
        if answer > 0 and 1 <= prompt <= 1e6:
            return Context(prompt + answer / 2.0, prompt / answer, _OTHER.hit)
    del notes
    return next((each for pattern, each in _CONTEXTS if re.search(pattern, lower)), _OTHER)
