"""Grids of machines with known constants, as the measuring program writes them."""

import json
import random
from dataclasses import replace
from math import exp
from typing import Any

from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.step_time import step_model
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.settings.model_config import UnreadableConfig, facts_of_config
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
TRUTH = {
    "bandwidth_share": 0.74,
    "compute_share": 0.55,
    "step_seconds": 1.4e-3,
    "draft_pass_seconds": 0.45e-3,
}
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def grid(noise: float = 0.0, **changes: Any) -> dict[str, Any]:
    """Return a grid of an H100 with these constants, with some of its fields changed."""
    told = {
        "version": 1,
        "engine": "0.32.0",
        "device": "NVIDIA H100 80GB HBM3",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "draft": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
        "method": "eagle3",
        "modelConfig": LLAMA_8B,
        "shallowConfig": {**LLAMA_8B, "num_hidden_layers": 8},
        "quantization": None,
        "kvCacheDtype": "auto",
        "tensorParallel": 1,
        "capturedTokens": 8192,
        "cells": cells(noise),
    }
    return told | changes


def cells(noise: float) -> list[dict[str, Any]]:
    dice = random.Random(0)
    asked = [(k, batch, False) for k in (0, 1, 3, 5) for batch in BATCHES]
    asked += [(0, batch, True) for batch in BATCHES]
    return [
        {
            "lookahead": lookahead,
            "shallow": shallow,
            "batch": batch,
            "stepSeconds": seconds(lookahead, batch, shallow) * exp(dice.gauss(0.0, noise)),
            "steps": 64,
            "meanBatch": float(batch),
            "contextTokens": 288.0,
            "preemptions": 0,
        }
        for lookahead, batch, shallow in asked
    ]


def seconds(lookahead: int, batch: int, shallow: bool) -> float:
    config = {**LLAMA_8B, "num_hidden_layers": 8} if shallow else LLAMA_8B
    facts = facts_of_config(config, "meta-llama/Llama-3.1-8B-Instruct")
    gpu = load_catalogue().named("h100-sxm")
    assert not isinstance(facts, UnreadableConfig)
    assert gpu is not None
    deployment = Deployment(
        accelerator=gpu, model=facts.shape(), precision=Precision.BF16, captured_tokens=8192
    )
    draft = draft_of(Method.EAGLE3, "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", facts)
    assert draft is not None
    assert not isinstance(draft, NoDraft)
    arm = Arm(name="none", method=Method.DISABLED)
    if lookahead:
        arm = Arm(
            name="eagle3",
            method=Method.EAGLE3,
            lookahead=lookahead,
            draft=draft.shape,
            acceptance=Acceptance(rates=(0.5,) * lookahead, origin=Origin.MEASURED),
        )
    constants = replace(CONSTANTS, **TRUTH)
    model = step_model(deployment, arm, Workload(context_tokens=288.0), constants)
    assert not isinstance(model, CannotSay)
    return model.seconds(batch)


def text(told: dict[str, Any]) -> str:
    return json.dumps(told)
