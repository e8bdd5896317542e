"""From the value of ``--speculative-config`` to what the engine does, or to how the start ends.

The order of the checks is the engine's: names and types of the keys, then the method and its model,
then K, then the drafter's own limits; the in-engine schedule is read only by the scheduler, after
the weights are loaded.
"""

from dataclasses import dataclass
from typing import Any

from ridgeline.sim.stand_in.config_keys import (
    check_methods,
    check_types,
    known_keys,
    out_of_bounds,
)
from ridgeline.sim.stand_in.contract import EngineContract
from ridgeline.sim.stand_in.failures import (
    engine_core_error,
    plain_error,
    validation_error,
    value_error,
)

SCHEDULED_METHODS = frozenset({"ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash"})
"""Methods for which the engine keeps an in-engine schedule (vLLM 0.33, config/vllm.py)."""

MODEL_FREE_METHODS = frozenset({"ngram", "ngram_gpu", "suffix", "mtp", "extract_hidden_states"})
"""Methods whose drafts need no second checkpoint (vLLM, config/speculative.py)."""

SUFFIX_DEPTH = 24
"""K of the suffix method where none is given: its default tree depth."""

N_PREDICT = 1
"""K of an MTP checkpoint where none is given; most checkpoints carry one prediction layer."""

_DRAFT_MODEL_REFUSED = (
    "Speculative decoding with draft model is not supported yet. Please consider using other "
    "speculative decoding methods such as ngram, medusa, eagle, or {other}."
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the checks need to know beside the config.

    Attributes:
        target: The served model's path or name.
        tensor_parallel: GPUs per engine.
        data_parallel: Engines in the server.
        missing_models: Path elements that make a model unknown.
        vocabulary: Known vocabulary sizes by model.
    """

    target: str
    tensor_parallel: int
    data_parallel: int
    missing_models: frozenset[str]
    vocabulary: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """How the engine drafts.

    Attributes:
        method: The method that the engine settles on.
        lookahead: K, at least 1.
        schedule: K by number of scheduled requests, as (first, last, K), or None.
        off_above: V0 only: no drafts above that many running requests, or None.
        v0: Whether the server falls back to the V0 engine.
        warnings: What the engine would log about settings that it drops.
    """

    method: str
    lookahead: int
    schedule: tuple[tuple[int, int, int], ...] | None = None
    off_above: int | None = None
    v0: bool = False
    warnings: tuple[str, ...] = ()

    def lookahead_at(self, requests: int) -> int:
        """K of a step with that many scheduled requests; gaps and the tail carry the previous K."""
        if self.off_above is not None and requests > self.off_above:
            return 0
        if self.schedule is None:
            return self.lookahead
        chosen = self.schedule[0][2]
        for first, _, k in self.schedule:
            if first > requests:
                break
            chosen = k
        return min(chosen, self.lookahead)


def check_model_exists(model: str, missing: frozenset[str]) -> None:
    """Ends the start when a path element of ``model`` is listed as missing."""
    if missing.isdisjoint(model.split("/")):
        return
    raise validation_error(
        location=None,
        message=(
            f"Value error, Invalid repository ID or local directory specified: '{model}'.\n"
            "Please verify the following requirements:\n"
            "1. Provide a valid Hugging Face repository ID.\n"
            "2. Specify a local directory that contains a recognized configuration file.\n"
        ),
        kind="value_error",
        value={"model": model},
        model="ModelConfig",
    )


def read_speculation(
    config: Any, *, contract: EngineContract, around: Surroundings
) -> Speculation | None:
    """What the engine makes of a parsed config; None means no speculation.

    Raises:
        StartError: The release would not start with it.
    """
    if config is None:
        return None
    if not isinstance(config, dict):
        kind = type(config).__name__
        raise plain_error("AttributeError", f"{kind!r} object has no attribute 'update'")
    known = known_keys(config, contract)
    by_pydantic = contract.validates_types
    if by_pydantic:
        check_types(known, contract)
    if contract.bounds_by_pydantic:
        _check_positive_k(known)
    method = _method(known, contract)
    if known.get("model"):
        check_model_exists(known["model"], around.missing_models)
    lookahead = _lookahead(known, method, contract)
    check_methods(known, method, contract)
    _check_limits(known, method, contract, around)
    schedule, warnings = _schedule(known, method, lookahead, around)
    v0 = method == "draft_model" and contract.v0
    return Speculation(
        method=method,
        lookahead=lookahead,
        schedule=schedule,
        off_above=known.get("disable_by_batch_size") if v0 else None,
        v0=v0,
        warnings=warnings,
    )


def _check_positive_k(config: dict[str, Any]) -> None:
    k = config.get("num_speculative_tokens")
    if k is not None and int(k) <= 0:
        raise validation_error(
            location="num_speculative_tokens",
            message="Input should be greater than 0",
            kind="greater_than",
            value=k,
        )


def _method(config: dict[str, Any], contract: EngineContract) -> str:
    named = config.get("method")
    if named is not None and named not in contract.methods:
        if contract.validates_types:
            quoted = [f"'{m}'" for m in contract.methods]
            raise validation_error(
                location="method",
                message=f"Input should be {', '.join(quoted[:-1])} or {quoted[-1]}",
                kind="literal_error",
                value=named,
            )
        named = None  # the plain dataclass takes any word for "find out from the model"
    method = str(named) if named is not None else _method_of_model(config)
    if method.endswith("_mtp") and contract.at_least("0.11.0"):
        method = "mtp"
    if method in contract.not_implemented and config.get("model"):
        other = "mtp" if contract.at_least("0.11.0") else "deepseek_mtp"
        raise plain_error("NotImplementedError", _DRAFT_MODEL_REFUSED.format(other=other))
    return method


def _method_of_model(config: dict[str, Any]) -> str:
    """Without a method the engine looks at the drafter's name, then takes it for a draft model."""
    name = str(config.get("model") or "").lower()
    for mark, method in (("eagle3-", "eagle3"), ("eagle-", "eagle"), ("ngram", "ngram")):
        if mark in name:
            return method
    return "draft_model"


def _lookahead(config: dict[str, Any], method: str, contract: EngineContract) -> int:
    by_pydantic = contract.validates_types
    k, model = config.get("num_speculative_tokens"), config.get("model")
    if k is None and method == "suffix":
        k = config.get("suffix_decoding_max_tree_depth") or SUFFIX_DEPTH
    if k is None and (method == "mtp" or method.endswith("_mtp")):
        k = N_PREDICT
    if k is None:
        message = (
            "num_speculative_tokens must be provided with speculative model unless the draft "
            "model config contains an n_predict parameter."
        )
        if model and contract.missing_k_own_message:
            message = (
                "A speculative model was provided, but `num_speculative_tokens` was not provided"
            )
        value_error(config, message, by_pydantic=by_pydantic)
    if not model and method not in MODEL_FREE_METHODS and not method.endswith("_mtp"):
        value_error(
            config,
            "num_speculative_tokens was provided but without speculative model.",
            by_pydantic=by_pydantic,
        )
    if not str(k).strip().lstrip("-").isdigit() or int(k) <= 0:
        value_error(
            config,
            f"Expected num_speculative_tokens to be greater than zero ({k}).",
            by_pydantic=by_pydantic,
        )
    return int(k)


def _check_limits(
    config: dict[str, Any], method: str, contract: EngineContract, around: Surroundings
) -> None:
    by_pydantic = contract.validates_types
    threshold = config.get("disable_by_batch_size")
    if threshold is not None and threshold < 2:
        message = (
            "Expect the batch size threshold of disabling speculative decoding is > 1, but got "
            f"self.disable_by_batch_size={threshold}"
        )
        value_error(config, message, by_pydantic=by_pydantic)
    if not contract.bounds_by_pydantic:
        _check_own_bounds(config, contract)
    low, high = config.get("prompt_lookup_min"), config.get("prompt_lookup_max")
    if method.startswith("ngram") and low is not None and high is not None and low > high:
        message = f"prompt_lookup_min={low} must be <= prompt_lookup_max={high}"
        value_error(config, message, by_pydantic=by_pydantic)
    if config.get("tensor_parallel_size") is not None:
        message = (
            "'tensor_parallel_size' is not a valid argument in the speculative_config. "
            "Please pass 'draft_tensor_parallel_size' instead."
        )
        value_error(config, message, by_pydantic=by_pydantic)
    draft_tp = config.get("draft_tensor_parallel_size")
    if draft_tp not in (None, 1, around.tensor_parallel):
        message = (
            f"speculative_draft_tensor_parallel_size={draft_tp} cannot be other value than 1 or "
            "target model tensor_parallel_size"
        )
        value_error(config, message, by_pydantic=by_pydantic)
    if method == "draft_model" and contract.vocabulary_check:
        _check_vocabulary(config, around)


def _check_own_bounds(config: dict[str, Any], contract: EngineContract) -> None:
    for name, value in config.items():
        key = contract.keys[name]
        if key.type not in ("Whole", "Number") or not isinstance(value, int | float):
            continue
        words = out_of_bounds(value, key)
        if words is not None:
            message = f"{name}={value} must be {words}"
            value_error(config, message, by_pydantic=contract.validates_types)


def _check_vocabulary(config: dict[str, Any], around: Surroundings) -> None:
    target = around.vocabulary.get(around.target)
    draft = around.vocabulary.get(str(config.get("model")))
    if config.get("use_heterogeneous_vocab") or None in (target, draft) or target == draft:
        return
    message = (
        "Target and draft model should have the same vocabulary size. "
        f"Target model vocab_size={target}. Draft model vocab_size={draft}. Using models with "
        "different tokenizers can cause out-of-bounds errors during speculative decoding."
    )
    value_error(config, message, by_pydantic=True)


def _schedule(
    config: dict[str, Any], method: str, lookahead: int, around: Surroundings
) -> tuple[tuple[tuple[int, int, int], ...] | None, tuple[str, ...]]:
    rows = config.get("num_speculative_tokens_per_batch_size")
    if rows is None:
        return None, ()
    if around.data_parallel > 1:
        return None, (f"dynamic speculative decoding is off with data parallel; K={lookahead}",)
    if method not in SCHEDULED_METHODS:
        return None, (f"dynamic speculative decoding is off for method {method}; K={lookahead}",)
    return _valid_schedule(rows), ()


def _valid_schedule(rows: list[list[int]]) -> tuple[tuple[int, int, int], ...]:
    if not rows:
        raise engine_core_error("speculative_token_schedule must not be empty.")
    for first, last, k in rows:
        if first <= 0 or last <= 0:
            raise engine_core_error(f"Batch-size range ({first}, {last}) must be positive.")
        if first > last:
            raise engine_core_error(
                f"Batch-size range start must be <= end for ({first}, {last}, {k})."
            )
        if k < 0:
            raise engine_core_error("speculative_token_schedule K values must be >= 0.")
    ordered = sorted(rows)
    before = 0
    for first, last, _ in ordered:
        if first <= before:
            raise engine_core_error("Batch-size ranges must be non-overlapping and sorted.")
        before = last
    if ordered[0][0] != 1:
        raise engine_core_error(
            "The first batch-size range must start at 1 so every runtime batch size has a "
            "defined schedule."
        )
    return tuple((first, last, k) for first, last, k in ordered)
