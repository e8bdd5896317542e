"""The named queries: the only PromQL that ridgeline sends in its tick.

Each query asks one signal of *all* servings of an endpoint at once and returns at most one series
per engine, labelled with namespace, Pod and engine. What holds for all of them:

- `max by (…)`, never `sum by (…)`, joins series of one engine: a Pod that two scrape jobs or two
  highly-available Prometheus servers scrape shows up twice with the same numbers, and a sum would
  double its load. An engine exports exactly one series per signal, so nothing is lost.
- Counters are read by `rate()`, which survives their resets. It extrapolates past the samples that
  it has by about half a scrape interval at most, so a Pod that is younger than the window reads too
  low by the missing share: replicas younger than the window have to be left out. One sample gives
  no rate at all.
- A metric that was renamed is asked under both names, joined by `or` *after* aggregation: one
  engine's number comes from one name only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from string import Template
from types import MappingProxyType
from typing import Final

from ridgeline.telemetry.endpoint import Endpoint, Matcher

ENGINE_LABEL: Final = "engine"
POSITION_LABEL: Final = "position"

AGE_STEPS: Final = 8
"""Steps in which the newest sample of a failing target is looked for within the window."""

P99: Final = 0.99


class Cadence(StrEnum):
    """How often a query is asked."""

    EVERY_TICK = "every tick"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """What fills a template: the endpoint's labels and matchers, and the rate window.

    Attributes:
        by: Labels that name an engine, comma separated.
        matchers: Static matchers in PromQL, escaped, comma separated; may be empty.
        window: Rate window as a PromQL duration.
        age_step: Resolution at which a failing target's newest sample is looked for.
    """

    by: str
    matchers: str
    window: str
    age_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """One documented query.

    Attributes:
        name: Its name in messages, metrics and docs.
        template: PromQL with `$`-parameters.
        parameters: Names of the parameters that the template uses, fields of `QueryContext`.
        unit: Unit of the values.
        description: What the values are.
        why: Why the query is written as it is.
        cadence: Whether it is asked each tick or rarely.
        labels: Labels of the answer beside namespace and Pod.
    """

    name: str
    template: str
    parameters: tuple[str, ...]
    unit: str
    description: str
    why: str
    cadence: Cadence
    labels: tuple[str, ...] = (ENGINE_LABEL,)

    def render(self, context: QueryContext) -> str:
        """The PromQL to send.

        Raises:
            KeyError: The template uses a parameter that it does not declare.
        """
        return Template(self.template).substitute(
            {name: getattr(context, name) for name in self.parameters}
        )


def query_context(endpoint: Endpoint, window_seconds: float) -> QueryContext:
    """Fill-ins for the queries of one endpoint.

    Raises:
        ValueError: The window is shorter than a second or not finite.
    """
    if not 1 <= window_seconds < float("inf"):
        raise ValueError(f"window_seconds: {window_seconds!r} must be finite and at least 1")
    return QueryContext(
        by=f"{endpoint.namespace_label}, {endpoint.pod_label}, {ENGINE_LABEL}",
        matchers=", ".join(_matcher(matcher) for matcher in endpoint.matchers),
        window=_duration(window_seconds),
        age_step=_duration(window_seconds / AGE_STEPS),
    )


def _duration(seconds: float) -> str:
    """A PromQL duration; milliseconds, since Prometheus 2 takes no fractions of a second."""
    return f"{round(seconds)}s" if seconds == round(seconds) else f"{round(seconds * 1000)}ms"


def _matcher(matcher: Matcher) -> str:
    return f"{matcher.label}{matcher.operator}{quote(matcher.value)}"


def quote(value: str) -> str:
    """A PromQL string literal that means exactly `value`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace(chr(13), chr(92) + "r")}"'


def _rate(metric: str) -> str:
    return f"max by ($by) (rate({metric}{{$matchers}}[$window]))"


def _quantile(metric: str) -> str:
    # Buckets of a twice scraped Pod are summed: a quantile does not change when all buckets double.
    return (
        f"histogram_quantile({P99}, sum by ($by, le) (rate({metric}_bucket{{$matchers}}[$window])))"
        " >= 0"
    )


_ITL: Final = "vllm:inter_token_latency_seconds"
_OLD_ITL: Final = "vllm:time_per_output_token_seconds"
_TOKENS: Final = "vllm:generation_tokens_total"
_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_RATE: Final = ("by", "matchers", "window")
_NOW: Final = ("by", "matchers")

_FAST: Final = (
    NamedQuery(
        name="sample_age",
        template=(
            f"time() - max by ($by) (timestamp({_TOKENS}{{$matchers}})"
            f" or max_over_time(timestamp({_TOKENS}{{$matchers}})[$window:$age_step]))"
        ),
        parameters=("by", "matchers", "window", "age_step"),
        unit="seconds",
        description="Age of the engine's newest sample at the evaluation time.",
        why=(
            "A rate still answers when its samples have stopped, so the age is asked for itself. A "
            "failed scrape ends a series at once for an instant selector; the subquery then finds "
            "the last sample inside the window (late by at most one step: the age errs upwards)."
        ),
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="decode_concurrency",
        template=f"{_rate(f'{_ITL}_sum')} or {_rate(f'{_OLD_ITL}_sum')}",
        parameters=_RATE,
        unit="requests",
        description="Mean number of requests in decode over the window.",
        why=(
            "Each request adds the seconds it spent between two steps, so seconds per second are "
            "the mean number of requests decoding; the gauge of running requests flickers, this "
            "does not, and prefill does not count. Renamed in vLLM 0.10.2 (both names up to 0.14)."
        ),
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="request_steps",
        template=f"{_rate(f'{_ITL}_count')} or {_rate(f'{_OLD_ITL}_count')}",
        parameters=_RATE,
        unit="request-steps/second",
        description="Request-steps per second: one for each request in each engine step.",
        why=(
            "vLLM's inter-token histogram has one sample per request and engine step, whatever "
            "number of tokens the step gave: the denominator of step latency and acceptance length."
        ),
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="generated_tokens",
        template=_rate(_TOKENS),
        parameters=_RATE,
        unit="tokens/second",
        description="Output tokens per second, first tokens included.",
        why="Counts as tokens are made; counters of finished requests lag by a whole answer.",
        cadence=Cadence.EVERY_TICK,
    ),
    NamedQuery(
        name="first_tokens",
        template=_rate("vllm:time_to_first_token_seconds_count"),
        parameters=_RATE,
        unit="tokens/second",
        description="First tokens per second: output of prefill, not of decode.",
        why=(
            "Taken off the output tokens, it leaves the tokens that decode steps made. Counting "
            "finished requests instead is biased whenever load rises or falls."
        ),
        cadence=Cadence.EVERY_TICK,
    ),
)

_SLOW: Final = (
    NamedQuery(
        name="engine_steps",
        template=_rate("vllm:iteration_tokens_total_count"),
        parameters=_RATE,
        unit="steps/second",
        description="Engine steps per second.",
        why="Request-steps divided by it is the mean batch, a second witness of concurrency.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="drafts",
        template=_rate("vllm:spec_decode_num_drafts_total"),
        parameters=_RATE,
        unit="drafts/second",
        description="Drafts per second; no series where the server does not speculate.",
        why=(
            "Divided by request-steps it is the share of steps that really drafted: accepted per "
            "drafted token looks healthy even where an in-engine schedule drafts almost nothing."
        ),
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="accepted_per_position",
        template=f"max by ($by, {POSITION_LABEL}) (rate({_PER_POSITION}{{$matchers}}[$window]))",
        parameters=_RATE,
        unit="tokens/second",
        description="Drafts per second of which all tokens up to the position were accepted.",
        why=(
            "Already cumulative over positions: divided by the drafts it is the acceptance p_i. "
            "Under a schedule positions beyond the current K read too low."
        ),
        cadence=Cadence.SLOW,
        labels=(ENGINE_LABEL, POSITION_LABEL),
    ),
    NamedQuery(
        name="running",
        template="max by ($by) (vllm:num_requests_running{$matchers})",
        parameters=_NOW,
        unit="requests",
        description="Requests in the running batch at the newest sample.",
        why="A cross-check for people; one sample may read 0 or 1 under steady load.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="waiting",
        template="max by ($by) (vllm:num_requests_waiting{$matchers})",
        parameters=_NOW,
        unit="requests",
        description="Requests that wait for a place in the batch at the newest sample.",
        why="Shows saturation, where concurrency stops to tell the demand.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="tpot_p99",
        template=_quantile("vllm:request_time_per_output_token_seconds"),
        parameters=_RATE,
        unit="seconds",
        description="P99 of the time per output token, over requests that finished in the window.",
        why=(
            "Per token, so comparable across profiles; from vLLM 0.11. `>= 0` drops the NaN of a "
            "window without a finished request: no traffic is no number, not a broken one."
        ),
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="step_latency_p99",
        template=f"{_quantile(_ITL)} or {_quantile(_OLD_ITL)}",
        parameters=_RATE,
        unit="seconds",
        description="P99 of vLLM's ITL: per request-step, not per token.",
        why=(
            "Shown under its own name, since people know it; a step that yields three tokens takes "
            "longer, so it is never compared across profiles. `>= 0` as for tpot_p99."
        ),
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="scrapes",
        template=f"count by ($by) ({_TOKENS}{{$matchers}})",
        parameters=_NOW,
        unit="series",
        description="How many series the endpoint holds for one engine; 1 is right.",
        why="Tells people that a Pod is scraped twice; the numbers stay right, the bill does not.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="process_spread",
        template=(
            "max by ($by) (vllm:generation_tokens_created{$matchers})"
            " - min by ($by) (vllm:generation_tokens_created{$matchers})"
        ),
        parameters=_NOW,
        unit="seconds",
        description="Difference of the start times of the servers behind one engine's series.",
        why=(
            "Two scrapes of one server tell the same creation time. A difference means two servers "
            "under one name (two clusters behind one store, a wrong relabelling): ambiguous data."
        ),
        cadence=Cadence.SLOW,
    ),
)

REGISTRY: Final[Mapping[str, NamedQuery]] = MappingProxyType(
    {query.name: query for query in (*_FAST, *_SLOW)}
)
"""Every query by its name, the fast ones first."""

FAST: Final = tuple(query.name for query in _FAST)
SLOW: Final = tuple(query.name for query in _SLOW)
