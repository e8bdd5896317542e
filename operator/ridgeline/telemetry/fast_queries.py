"""The five queries of every tick: what a decision cannot do without."""

from typing import Final

from ridgeline.telemetry.named_query import Cadence, NamedQuery
from ridgeline.telemetry.promql import ITL, OLD_ITL, RATE, TOKENS, rate

_NO_ENGINE: Final = "The engine is not seen at all: its Pod counts as not joined."

FAST_QUERIES: Final = (
    NamedQuery(
        name="sample_age",
        template=(
            f"time() - max by ($by) (timestamp({TOKENS}{{$matchers}})"
            f" or max_over_time(timestamp({TOKENS}{{$matchers}})[$window:$age_step]))"
        ),
        parameters=("by", "matchers", "window", "age_step"),
        unit="seconds",
        description="Age of the engine's newest sample at the evaluation time.",
        why=(
            "A rate still answers when its samples have stopped, so the age is asked for itself. A "
            "failed scrape ends a series at once for an instant selector; the subquery then finds "
            "the last sample inside the window (late by at most one step: the age errs upwards)."
        ),
        trap=(
            "The stamp of an instant answer is the evaluation time, however old the sample. Clocks "
            "of Prometheus and operator that differ shift every age: the answer's Date header is "
            "compared with the operator's own."
        ),
        fallback="An engine of which only rates are known is as old as the window.",
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="decode_concurrency",
        template=f"{rate(f'{ITL}_sum')} or {rate(f'{OLD_ITL}_sum')}",
        parameters=RATE,
        unit="requests",
        description="Mean number of requests in decode over the window.",
        why=(
            "Each request adds the seconds it spent between two steps, so seconds per second are "
            "the mean number of requests decoding; the gauge of running requests flickers, this "
            "does not, and prefill does not count. Renamed in vLLM 0.10.2 (both names up to 0.14)."
        ),
        trap=(
            "A preempted request adds the time it sat out when it decodes again: under "
            "[preemptions](#preemptions) this can read too high, and the mean batch (request-steps "
            "÷ [engine steps](#engine_steps)) is the cross-check."
        ),
        fallback=_NO_ENGINE,
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="request_steps",
        template=f"{rate(f'{ITL}_count')} or {rate(f'{OLD_ITL}_count')}",
        parameters=RATE,
        unit="request-steps/second",
        description="Request-steps per second: one for each request in each engine step.",
        why=(
            "vLLM's inter-token histogram has one sample per request and engine step, whatever "
            "number of tokens the step gave: the denominator of step latency and acceptance length."
        ),
        trap=(
            "It counts steps, not tokens: its mean is longer under speculation although each token "
            "is not. Time per output token is told per token instead."
        ),
        fallback="Step latency, acceptance length and mean batch are unknown.",
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="generated_tokens",
        template=rate(TOKENS),
        parameters=RATE,
        unit="tokens/second",
        description="Output tokens per second, first tokens included.",
        why="Counts as tokens are made; counters of finished requests lag by a whole answer.",
        trap="Tokens that the fleet delivers, not tokens that are asked for: it saturates.",
        fallback="Acceptance length and time per output token are unknown.",
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="first_tokens",
        template=rate("vllm:time_to_first_token_seconds_count"),
        parameters=RATE,
        unit="tokens/second",
        description="First tokens per second: output of prefill, not of decode.",
        why=(
            "Taken off the output tokens, it leaves the tokens that decode steps made. Counting "
            "finished requests instead is biased whenever load rises or falls."
        ),
        trap="Two scrapes may differ by a request: the tokens of decode are never below 0.",
        fallback="Acceptance length and time per output token are unknown.",
        cadence=Cadence.EVERY_TICK,
    ),
)
