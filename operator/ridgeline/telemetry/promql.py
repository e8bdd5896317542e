"""Pieces of PromQL that several named queries share; each asks all engines at once."""

from typing import Final

RATE: Final = ("by", "matchers", "window")
"""Parameters of a template that looks at a window."""
NOW: Final = ("by", "matchers")
"""Parameters of a template that looks at the newest sample."""

ITL: Final = "vllm:inter_token_latency_seconds"
OLD_ITL: Final = "vllm:time_per_output_token_seconds"
TPOT: Final = "vllm:request_time_per_output_token_seconds"
TOKENS: Final = "vllm:generation_tokens_total"
CREATED: Final = "vllm:generation_tokens_created"
P99: Final = 0.99

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
