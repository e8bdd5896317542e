"""Pieces of PromQL that several named queries share; each asks all engines at once."""

from collections.abc import Callable
from typing import Final

RATE: Final = ("by", "matchers", "window")
"""Parameters of a template that looks at a window."""
NOW: Final = ("by", "matchers")
"""Parameters of a template that looks at the newest sample."""

ITL: Final = "vllm:inter_token_latency_seconds"
OLD_ITL: Final = "vllm:time_per_output_token_seconds"
TPOT: Final = "vllm:request_time_per_output_token_seconds"
E2E: Final = "vllm:e2e_request_latency_seconds"
TOKENS: Final = "vllm:generation_tokens_total"
CREATED: Final = "vllm:generation_tokens_created"
P99: Final = 0.99

LATELY: Final = "1h"
"""How far back the longest answer is looked for."""
_RESETS_SINCE: Final = "65m"
"""`LATELY`, and the five minutes within which a store takes a sample for one of that moment."""

_NEXT_TO_ZERO: Final = "1e-300"
"""A quantile so low that it is the lower bound of the first bucket with anything in it."""


def rate(metric: str) -> str:
    """Increase per second of a counter."""
    return f"max by ($by) (rate({metric}{{$matchers}}[$window]))"


def gauge(metric: str) -> str:
    """The newest sample of a gauge."""
    return f"max by ($by) ({metric}{{$matchers}})"


def mean(histogram: str) -> str:
    """Mean of what a histogram observed in the window; nothing where it observed nothing.

    Sum and count of one scrape are divided before scrapes are joined, so that both are of one
    moment.
    """
    total, count = (f"rate({histogram}_{part}{{$matchers}}[$window])" for part in ("sum", "count"))
    return f"max by ($by) ({total} / ({count} > 0))"


def quantile(histogram: str) -> str:
    """P99 of what a histogram observed in the window; nothing where it observed nothing.

    Buckets of a twice scraped Pod are summed: a quantile does not change when all buckets double.
    """
    return f"histogram_quantile({P99}, {_buckets(histogram)}) >= 0"


def bucket_bound(histogram: str, *, upper: bool) -> str:
    """Upper or lower bound of the bucket in which the P99 lies.

    Comparing each cumulative bucket with the P99's rank makes a histogram of 0 and 1 that has
    everything in that one bucket: its highest and lowest quantiles are the bucket's bounds. In the
    last bucket, which has no upper bound, both are its lower one.
    """
    count = f"sum by ($by) (rate({histogram}_count{{$matchers}}[$window]))"
    step = f"{_buckets(histogram)} >= bool on ($by) group_left () ({P99} * ({count} > 0))"
    return f"histogram_quantile({1 if upper else _NEXT_TO_ZERO}, {step})"


def longest(histogram: str) -> str:
    """Upper bound of the highest bucket that observed anything lately; nothing where none did.

    The highest quantile is the bound of that bucket, or where the last one observed something,
    which has none, the highest bound that there is.
    """
    counts = _lately(
        histogram, lambda at: f"max by ($by, le) ({histogram}_bucket{{$matchers}}{at})"
    )
    return f"histogram_quantile(1, {counts}) >= 0"


def beyond_all_bounds(histogram: str) -> str:
    """How many observations of lately were above the highest bound of a histogram."""

    def above(at: str) -> str:
        bounded = f'{histogram}_bucket{{le!="+Inf"$more_matchers}}{at}'
        return f"max by ($by) ({histogram}_count{{$matchers}}{at}) - max by ($by) ({bounded})"

    return _lately(histogram, lambda at: f"({above(at)})")


def _lately(histogram: str, counts: Callable[[str], str]) -> str:
    """Growth of whole counts since an hour ago; all of them where the server is younger than that.

    `increase` would decode every sample of the hour of every bucket, and scales each bucket by
    another factor, after which equal growths differ; differences of two samples are exact.

    Args:
        histogram: Whose resets make the counts begin anew.
        counts: Gives the counts, with a modifier of time behind each selector.
    """
    steady = f"max by ($by) (resets({histogram}_count{{$matchers}}[{_RESETS_SINCE}])) == 0"
    growth = f"{counts('')} - {counts(f' offset {LATELY}')}"
    return f"({growth} and on ($by) {steady} or {counts('')})"


def _buckets(histogram: str) -> str:
    return f"sum by ($by, le) (rate({histogram}_bucket{{$matchers}}[$window]))"


def mean_of_gpus(gauge: str) -> str:
    """Mean over the window and the GPUs of each Pod of a gauge that a GPU exporter labels.

    The exporter's own Pod is in `pod` where Prometheus keeps its targets' labels, and the Pod that
    uses the GPU then is in `exported_pod`; else `pod` is the latter.
    """

    def over(labels: str, matcher: str) -> str:
        selector = f"{gauge}{{{matcher}$more_matchers}}"
        return f"avg by ({labels}) (avg_over_time({selector}[$window]))"

    moved = over("exported_namespace, exported_pod", 'exported_pod!=""')
    for label, source in (("$namespace", "exported_namespace"), ("$pod", "exported_pod")):
        moved = f'label_replace({moved}, "{label}", "$$1", "{source}", "(.*)")'
    plain = over("$namespace, $pod", 'exported_pod=""')
    return f"max by ($namespace, $pod) ({moved}) or {plain}"
