"""What a calibration measures: from options to the plan that the measuring program reads."""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.engine.speculative_config import VLLM_METHOD

BATCHES: Final = "1,2,4,8,16,32,64,128,256"
LOOKAHEADS: Final = "0,1,3,5"
MOST_BATCH: Final = 4096
MOST_LOOKAHEAD: Final = 32
_WITHOUT_DRAFT: Final = frozenset({"ngram", "suffix", "mtp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured.

    Attributes:
        model: The served model.
        draft: Head or draft model, `None` for none.
        method: vLLM's name of the method, `None` for none.
        lookaheads: 0 for no speculation.
        batches: Requests in a step.
        context_tokens: Tokens of each prompt.
        steps: Engine steps of each batch.
        shallow: Whether a model of a quarter of the layers is measured as well.
        engine: Further arguments of `vllm.LLM`.
    """

    model: str
    draft: str | None
    method: str | None
    lookaheads: tuple[int, ...]
    batches: tuple[int, ...]
    context_tokens: int
    steps: int
    shallow: bool
    engine: dict[str, Any]

    def text(self) -> str:
        """Return the plan as the measuring program takes it."""
        told = {
            "model": self.model,
            "draft": self.draft,
            "method": self.method,
            "lookaheads": list(self.lookaheads),
            "batches": list(self.batches),
            "contextTokens": self.context_tokens,
            "steps": self.steps,
            "shallow": self.shallow,
            "engine": self.engine,
        }
        return json.dumps(told, separators=(",", ":"))


def plan_of_flags(  # noqa: PLR0913 (one parameter for each option)
    *,
    model: str,
    draft: str | None,
    method: str | None,
    lookaheads: str | None,
    batches: str,
    context: int,
    steps: int,
    shallow: bool,
    tensor_parallel: int,
    engine: str | None,
) -> Plan:
    """Return the plan that options ask for.

    Raises:
        FlagError: An option means nothing, or two do not go together.
    """
    if method is not None and method not in VLLM_METHOD.values():
        raise FlagError(f"--method {method}: give one of {', '.join(VLLM_METHOD.values())}")
    if draft is not None and method is None:
        raise FlagError(
            f"--draft {draft}: say how it drafts with --method eagle, eagle3 or draft_model"
        )
    if method is not None and draft is None and method not in _WITHOUT_DRAFT:
        raise FlagError(f"--method {method}: name the head or draft model with --draft")
    asked = _numbers("--lookaheads", lookaheads or (LOOKAHEADS if method else "0"), 0, 32)
    if method is None and any(asked):
        raise FlagError(
            f"--lookaheads {lookaheads}: without --method nothing drafts; give 0, or a method"
        )
    return Plan(
        model=model,
        draft=draft,
        method=method,
        lookaheads=(0, *(each for each in asked if each)),
        batches=_numbers("--batches", batches, 1, MOST_BATCH),
        context_tokens=context,
        steps=steps,
        shallow=shallow,
        engine={"tensor_parallel_size": tensor_parallel, **_engine(engine)},
    )


def _numbers(option: str, text: str, least: int, most: int) -> tuple[int, ...]:
    try:
        found = sorted({int(each) for each in text.split(",")})
    except ValueError as error:
        raise FlagError(f"{option} {text}: give whole numbers by commas, such as 1,4,16") from error
    if found[0] < least or found[-1] > most:
        raise FlagError(f"{option} {text}: give numbers from {least} to {most}")
    return tuple(found)


def _engine(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FlagError(f"--engine {text}: it is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise FlagError(
            f"--engine {text}: give an object of arguments of vllm.LLM, such as "
            '{"gpu_memory_utilization":0.8}'
        )
    taken = sorted(found.keys() & {"model", "speculative_config", "disable_log_stats"})
    if taken:
        raise FlagError(f"--engine {text}: {taken[0]} is the calibration's own; leave it out")
    return found


def program() -> str:
    """Return the measuring program, which needs nothing but vLLM."""
    return files("ridgeline.cli").joinpath("calibrate_engine.py").read_text(encoding="utf-8")
