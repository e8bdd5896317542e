"""What each signal of an engine is made of, for the reference page."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One field of `EngineFacts`.

    Attributes:
        name: The field.
        unit: Its unit.
        made_of: Names of the queries in its formula.
        formula: How it comes from the queries' values, which are named in backquotes.
        unknown: When it is unknown although the engine is seen, beside a query that found nothing.
    """

    name: str
    unit: str
    made_of: tuple[str, ...]
    formula: str
    unknown: str = ""


def _plain(name: str, unit: str, query: str, unknown: str = "") -> Signal:
    return Signal(name=name, unit=unit, made_of=(query,), formula=f"`{query}`", unknown=unknown)


_NO_STEPS: Final = "no request decoded in the window"
_NONE_FINISHED: Final = "no request finished in the window"
_TOKENS_OF_DECODE: Final = "(`generated_tokens` − `first_tokens`)"

SIGNALS: Final = (
    _plain("age_seconds", "s", "sample_age", "never: at most the window"),
    _plain("decode_concurrency", "requests", "decode_concurrency"),
    _plain("request_steps_per_second", "1/s", "request_steps"),
    _plain("generated_tokens_per_second", "tokens/s", "generated_tokens"),
    Signal(
        name="step_seconds",
        unit="s",
        made_of=("decode_concurrency", "request_steps"),
        formula="`decode_concurrency` ÷ `request_steps`",
        unknown=_NO_STEPS,
    ),
    Signal(
        name="acceptance_length",
        unit="tokens per request-step",
        made_of=("generated_tokens", "first_tokens", "request_steps"),
        formula=f"{_TOKENS_OF_DECODE} ÷ `request_steps`",
        unknown=_NO_STEPS,
    ),
    Signal(
        name="tpot_seconds",
        unit="s per token",
        made_of=("decode_concurrency", "generated_tokens", "first_tokens"),
        formula=f"`decode_concurrency` ÷ {_TOKENS_OF_DECODE}",
        unknown=_NO_STEPS,
    ),
    _plain("steps_per_second", "1/s", "engine_steps", "`drafts` was not read at the same time"),
    Signal(
        name="mean_batch",
        unit="requests per engine step",
        made_of=("request_steps", "engine_steps", "scrapes", "process_spread"),
        formula="`request_steps` ÷ `engine_steps`",
        unknown="the server exports no creation times (several API-server processes)",
    ),
    _plain("drafts_per_second", "1/s", "drafts"),
    _plain("draft_tokens_per_second", "tokens/s", "draft_tokens"),
    Signal(
        name="drafted_share",
        unit="share of request-steps",
        made_of=("drafts", "request_steps"),
        formula="`drafts` ÷ `request_steps`",
        unknown=_NO_STEPS,
    ),
    Signal(
        name="acceptance",
        unit="p_1 … p_K",
        made_of=("accepted_per_position", "drafts", "draft_tokens"),
        formula="`accepted_per_position` ÷ `drafts`, none above the one before",
        unknown="the lookahead varied, or less than a tenth of the request-steps drafted",
    ),
    _plain("running", "requests", "running"),
    _plain("waiting", "requests", "waiting"),
    _plain("waiting_for_capacity", "requests", "waiting_for_capacity", "vLLM before 0.20.2"),
    _plain("queue_seconds_per_second", "requests", "queue_time"),
    _plain("preemptions_per_second", "1/s", "preemptions"),
    _plain("kv_cache_use", "share", "kv_cache"),
    _plain("prompt_tokens_per_second", "tokens/s", "prompt_tokens"),
    _plain("mean_prompt_tokens", "tokens", "prompt_length", _NONE_FINISHED),
    _plain("mean_output_tokens", "tokens", "output_length", _NONE_FINISHED),
    _plain("ttft_seconds", "s", "ttft", "no request got its first token in the window"),
    _plain("tpot_p99_seconds", "s per token", "tpot_p99", f"{_NONE_FINISHED}; vLLM before 0.11"),
    Signal(
        name="tpot_p99_bounds",
        unit="s per token",
        made_of=("tpot_p99_lower", "tpot_p99_upper", "tpot_p99"),
        formula="`tpot_p99_lower` to `tpot_p99_upper`",
        unknown="`tpot_p99` is, or does not lie between them",
    ),
    _plain("step_latency_p99_seconds", "s per request-step", "step_latency_p99", _NO_STEPS),
    _plain("finished_per_second", "1/s, by reason", "finished"),
    Signal(
        name="longest_answer_seconds",
        unit="s",
        made_of=("longest_answer", "longest_answer_beyond"),
        formula="`longest_answer`",
        unknown="no request finished in the last hour",
    ),
    Signal(
        name="longest_answer_unbounded",
        unit="yes or no",
        made_of=("longest_answer_beyond",),
        formula="`longest_answer_beyond` above 0",
        unknown="never: no where `longest_answer_seconds` is unknown",
    ),
)
"""Every number of `EngineFacts`, the fast ones first. Ratios are of one evaluation time."""
