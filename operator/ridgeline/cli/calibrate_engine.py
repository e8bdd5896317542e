"""Measures step times with the vLLM that this Python has: a program of its own.

    python calibrate_engine.py PLAN

`ridgeline calibrate measure` and the Job of `ridgeline calibrate manifest` run it by the Python of
a vLLM image, so it needs nothing of ridgeline. PLAN is JSON (see `_PLAN`). For each lookahead it
starts vLLM once, offline and with random weights, and lets it decode batches of one size after the
other. Prompts are in the prefix cache before a batch is timed, so a step is decoding alone. Step
time and batch are what the operator reads of a server: the sum of the inter-token histogram ÷ its
count, and that count ÷ engine steps.

Progress goes to standard error; the last line of standard output is the grid, as JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

_PLAN = {
    "model": "name or folder of the served model",
    "draft": "name or folder of the head or draft model; null for none",
    "method": "vLLM's name of the method; null for none",
    "lookaheads": "list of lookaheads, 0 for none",
    "batches": "list of batch sizes",
    "contextTokens": "tokens of each prompt",
    "steps": "engine steps of each batch",
    "shallow": "whether to measure a model of a quarter of the layers as well",
    "engine": "further arguments of vllm.LLM",
}
_MARK = "@ridgeline "
_ROUNDS = 3
"""Each batch is timed so often; the middle one counts."""
_SERIES = {
    "sum": "vllm:inter_token_latency_seconds",
    "steps": "vllm:iteration_tokens_total",
}


def main(arguments: list[str]) -> int:
    """Measure the whole plan, or one start of it (`--one NUMBER`); return the exit status."""
    plan = json.loads(arguments[0])
    strange = sorted(set(plan) ^ set(_PLAN))
    if strange:
        print(f"calibrate: the plan lacks or does not know {', '.join(strange)}", file=sys.stderr)
        return 2
    if len(arguments) > 1:
        _measure_one(plan, _starts(plan)[int(arguments[2])])
        return 0
    return _measure_all(plan, arguments[0])


def _starts(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each start of the engine measures, the most telling first."""
    starts = [{"lookahead": each, "shallow": False} for each in sorted(set(plan["lookaheads"]))]
    if plan["shallow"]:
        starts.insert(1, {"lookahead": 0, "shallow": True})
    return starts


def _measure_all(plan: dict[str, Any], text: str) -> int:
    """Run each start in a process of its own, since an engine does not give all its memory back."""
    starts, begun = _starts(plan), time.monotonic()
    grid: dict[str, Any] = {"version": 1, "method": plan["method"], "draft": plan["draft"]}
    cells: list[dict[str, Any]] = []
    for number, start in enumerate(starts):
        _say(f"start {number + 1} of {len(starts)}: {_named(start)}")
        command = [sys.executable, os.path.abspath(__file__), text, "--one", str(number)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (itself)
        for line in child.stdout or ():
            if not line.startswith(_MARK):
                continue
            told = json.loads(line[len(_MARK) :])
            if "cell" in told:
                cells.append(told["cell"])
                _progress(cells, starts, plan, begun)
            else:
                grid |= told
        if child.wait() != 0:
            _say(f"{_named(start)} ended with exit code {child.returncode}: see above")
            return 1
    print(json.dumps(grid | {"cells": cells}), flush=True)
    return 0


def _progress(
    cells: list[dict[str, Any]], starts: list[dict[str, Any]], plan: dict[str, Any], begun: float
) -> None:
    cell, whole = cells[-1], len(starts) * len(plan["batches"])
    left = (time.monotonic() - begun) / len(cells) * (whole - len(cells))
    took = cell["stepSeconds"] * 1e3
    _say(
        f"{_named(cell)}, batch {cell['batch']}: {took:.2f} ms a step "
        f"({len(cells)} of {whole}, about {left / 60:.0f} min left)"
    )


def _named(start: dict[str, Any]) -> str:
    what = f"lookahead {start['lookahead']}" if start["lookahead"] else "no speculation"
    return f"{what}, a quarter of the layers" if start.get("shallow") else what


def _say(text: str) -> None:
    print(f"calibrate: {text}", file=sys.stderr, flush=True)


def _tell(**told: Any) -> None:
    print(_MARK + json.dumps(told), flush=True)


def _measure_one(plan: dict[str, Any], start: dict[str, Any]) -> None:
    import vllm
    from vllm import LLM
    from vllm.platforms import current_platform

    settings = {
        "max_num_seqs": max(plan["batches"]),
        "max_model_len": plan["contextTokens"] + 16 * plan["steps"],
        "enable_prefix_caching": True,
        "load_format": "dummy",
        "disable_log_stats": False,
        **plan["engine"],
    }
    if start["shallow"]:
        settings["hf_overrides"] = _quarter(plan)
    if start["lookahead"]:
        settings["speculative_config"] = _speculation(plan, start["lookahead"])
    engine = LLM(model=plan["model"], **settings)
    config = engine.llm_engine.vllm_config
    if not start["lookahead"] and not start["shallow"]:
        _tell(**_described(config, vllm.__version__, current_platform.get_device_name()))
    elif start["shallow"]:
        _tell(shallowConfig=_plain(config.model_config.hf_config))
    elif config.speculative_config is not None:
        draft = getattr(config.speculative_config, "draft_model_config", None)
        if draft is not None:
            _tell(draftConfig=_plain(draft.hf_config))
    for batch in sorted(set(plan["batches"])):
        _tell(cell={**start, **_timed(engine, batch, plan)})


def _quarter(plan: dict[str, Any]) -> dict[str, Any]:
    """Return what makes of a model's configuration one with a quarter of its layers."""
    from vllm.transformers_utils.config import get_config

    trusted = bool(plan["engine"].get("trust_remote_code", False))
    config = get_config(plan["model"], trust_remote_code=trusted)
    text = config.get_text_config()
    layers = max(text.num_hidden_layers // 4, 1)
    told: dict[str, Any] = {"num_hidden_layers": layers}
    kinds = getattr(text, "layer_types", None)
    if kinds:
        told["layer_types"] = list(kinds[:layers])
    return told if text is config else {"text_config": told}


def _speculation(plan: dict[str, Any], lookahead: int) -> dict[str, Any]:
    """Return the speculative config: where the engine can, half of the drafts are accepted."""
    from dataclasses import fields

    from vllm.config import SpeculativeConfig
    from vllm.platforms import current_platform

    config = {"method": plan["method"], "num_speculative_tokens": lookahead}
    if plan["draft"]:
        config["model"] = plan["draft"]
    known = {each.name for each in fields(SpeculativeConfig)}
    if "synthetic_acceptance_length" in known and not current_platform.is_cpu():
        config["rejection_sample_method"] = "synthetic"
        config["synthetic_acceptance_length"] = 1.0 + lookahead / 2.0
    return config


def _described(config: Any, version: str, device: str) -> dict[str, Any]:
    model, parallel = config.model_config, config.parallel_config
    return {
        "engine": version,
        "device": device,
        "model": model.model,
        "modelConfig": _plain(model.hf_config),
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantization": model.quantization,
        "kvCacheDtype": str(config.cache_config.cache_dtype),
        "tensorParallel": parallel.tensor_parallel_size,
        "capturedTokens": _captured(config),
    }


def _captured(config: Any) -> int:
    """Return the tokens of the largest captured step; 0 where nothing is captured."""
    if config.model_config.enforce_eager:
        return 0
    sizes = config.compilation_config.cudagraph_capture_sizes or [0]
    return int(max(sizes))


def _plain(config: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return told


def _timed(engine: Any, batch: int, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the step time of a batch whose prompts are in the prefix cache."""
    from vllm import SamplingParams

    prompts = list(_prompts(batch, plan["contextTokens"]))

    def answer(tokens: int) -> None:
        params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True)
        engine.generate(prompts, params, use_tqdm=False)

    def measured() -> dict[str, Any]:
        before = _totals(engine)
        answer(plan["steps"])
        grown = {name: value - before[name] for name, value in _totals(engine).items()}
        request_steps, engine_steps = grown["sum_count"], max(grown["steps_count"], 1)
        return {
            "batch": batch,
            "stepSeconds": grown["sum_sum"] / max(request_steps, 1),
            "steps": int(engine_steps),
            "meanBatch": request_steps / engine_steps,
            "contextTokens": plan["contextTokens"] + plan["steps"] / 2,
            "preemptions": int(grown["preemptions"]),
        }

    answer(16)  # fills the prefix cache, and pays for what is compiled at first use
    rounds = sorted((measured() for _ in range(_ROUNDS)), key=lambda each: each["stepSeconds"])
    return rounds[_ROUNDS // 2]


def _prompts(batch: int, tokens: int) -> Iterator[dict[str, list[int]]]:
    """Yield prompts that share no beginning; token ids are small enough for any vocabulary."""
    for number in range(batch):
        yield {"prompt_token_ids": [5 + (number // 97 + place) % 89 if place else 5 + number % 97
                                    for place in range(tokens)]}  # fmt: skip


def _totals(engine: Any) -> dict[str, float]:
    found = {"sum_sum": 0.0, "sum_count": 0.0, "steps_count": 0.0, "preemptions": 0.0}
    for metric in engine.get_metrics():
        if metric.name == _SERIES["sum"]:
            found["sum_sum"] += metric.sum
            found["sum_count"] += metric.count
        elif metric.name == _SERIES["steps"]:
            found["steps_count"] += metric.count
        elif metric.name == "vllm:num_preemptions":
            found["preemptions"] += metric.value
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
