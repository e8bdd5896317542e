"""Time to the first token: what is left of the running step, and the steps that compute the prompt.

    TTFT = T(B) ÷ 2 + Σ over chunks of T(B, with the chunk's tokens in the step)
    chunks = ⌈ prompt ÷ tokens per step ⌉       chunked prefill shares the steps of those in decode

A request arrives somewhere within a step, half of it on average, and joins the next one (scheduling
by iteration: Orca, OSDI 2022). A draft has the prompt to compute as well: its first pass of each
step carries the chunk. Left out: waiting for a free place (queueing), transport and tokenising,
prompts found in the prefix cache, and attention of prompt tokens to each other, which grows with
the square of the prompt and is small below some 8,000 tokens.
"""

import math
from dataclasses import replace

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import ArmModel

_LARGE_GIB = 70.0
_LARGE_BUDGET = 8192
_SMALL_BUDGET = 2048

MOST_PROMPT = 1e7
"""Longer prompts are a slip of the pen."""


def tokens_per_step(accelerator: Accelerator) -> int:
    """Return vLLM's default of --max-num-batched-tokens for its API server.

    8,192 on GPUs of 70 GiB and more except A100, else 2,048 (vLLM
    `EngineArgs.get_batch_defaults`).
    """
    large = accelerator.memory_gib >= _LARGE_GIB and not accelerator.name.startswith("a100")
    return _LARGE_BUDGET if large else _SMALL_BUDGET


def first_token_seconds(
    model: ArmModel, concurrency: float, prompt_tokens: float, budget: int
) -> float | CannotSay:
    """Return the seconds to the first token at a concurrency, without queueing.

    Args:
        model: The profile.
        concurrency: Requests in decode beside this one.
        prompt_tokens: Tokens of the prompt that are not in the prefix cache.
        budget: Most tokens of one step.
    """
    if not (math.isfinite(prompt_tokens) and 1.0 <= prompt_tokens <= MOST_PROMPT):
        return CannotSay(reason=f"the prompt has {prompt_tokens:g} tokens", way_out="give 1 to 1e7")
    if not (math.isfinite(concurrency) and 1e-3 <= concurrency <= 1e6):
        return CannotSay(reason=f"concurrency is {concurrency}", way_out="give 0.001 to 1e6")
    decoding = model.step.tokens * concurrency
    free = budget - decoding
    if free < 1.0:
        return CannotSay(
            reason=f"{model.arm.name}: the {concurrency:.0f} requests in decode fill the "
            f"{budget} tokens of a step, which leaves none for a prompt",
            way_out="raise --max-num-batched-tokens, or lower the lookahead",
        )
    chunks = math.ceil(prompt_tokens / free)
    usual = model.step.seconds(concurrency)
    # All chunks but the last fill what is free.
    full, last = free, prompt_tokens - (chunks - 1) * free
    total = (chunks - 1) * _with_chunk(model, concurrency, full)
    total += _with_chunk(model, concurrency, last)
    return (usual / 2.0 + total) * model.scale


def _with_chunk(model: ArmModel, concurrency: float, chunk: float) -> float:
    """Return the seconds of a step that carries prompt tokens beside those in decode."""
    step, more = model.step, chunk / concurrency
    target = replace(step, tokens=step.tokens + more)
    seconds = target.seconds(concurrency)
    if step.draft is None or step.passes <= 0.0:
        return seconds
    usual = step.seconds(concurrency)
    drafting = replace(step, draft_tokens=step.draft_tokens + more).seconds(concurrency) - usual
    # The difference is that of all passes; the prompt is in the first one alone.
    return seconds + drafting / step.passes
