"""Loads of known numbers: what a server would count in `LOAD_SECONDS` of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from ridgeline.sim.stand_in.contract import DEFAULT_VERSION, contract_for

SHARES: Mapping[str, float] = {"stop": 0.75, "length": 0.25, "abort": 0.0}
"""How the requests of every made-up load end."""

_SECONDS = 20.0
_BUCKETS = {
    spec.name: spec.buckets
    for spec in contract_for(DEFAULT_VERSION).metrics
    if spec.buckets and spec.engine == "v1"
}


@dataclass(frozen=True, kw_only=True)
class Load:
    """A steady load of one engine; times in seconds.

    Attributes:
        requests: Requests in decode.
        step: Step latency, the same for all.
        tokens_per_step: Acceptance length.
        finished_per_second: Requests that finish; each decodes at the same pace.
        answer: How long each takes from its arrival to its end.
    """

    requests: float
    step: float
    tokens_per_step: float
    finished_per_second: float = 2.0
    answer: float = 45.0

    @property
    def tpot(self) -> float:
        """Time per output token."""
        return self.step / self.tokens_per_step


MADE_UP: Mapping[str, Load] = {
    "even-plain": Load(requests=8.0, step=0.020, tokens_per_step=1.0),
    "even-speculating": Load(requests=8.0, step=0.060, tokens_per_step=3.0),
    "crawling": Load(requests=8.0, step=100.0, tokens_per_step=1.0, answer=9000.0),
}
"""The first two give each token at the same pace; the third is beyond all buckets."""


def made_up_page(load: Load) -> Mapping[str, float]:
    """Series → what it counts in the load's time."""
    steps = load.requests / load.step * _SECONDS
    finished = load.finished_per_second * _SECONDS
    counters = {
        "generation_tokens_total": steps * load.tokens_per_step + finished,
        "generation_tokens_created": 0.0,
        "time_to_first_token_seconds_count": finished,
        "iteration_tokens_total_count": steps / load.requests,
    }
    page = {_series(name): value for name, value in counters.items()}
    for reason, share in SHARES.items():
        page[_series("request_success_total", finished_reason=reason)] = finished * share
    page |= _histogram("inter_token_latency_seconds", load.step, steps)
    page |= _histogram("e2e_request_latency_seconds", load.answer, finished)
    page |= _histogram("request_time_per_output_token_seconds", load.tpot, finished)
    return page


def _histogram(name: str, value: float, count: float) -> dict[str, float]:
    """`count` observations of one value."""
    buckets = _BUCKETS[f"vllm:{name}"]
    page = {_series(f"{name}_bucket", le=str(le)): count * (value <= le) for le in buckets}
    page[_series(f"{name}_bucket", le="+Inf")] = count
    return page | {_series(f"{name}_sum"): value * count, _series(f"{name}_count"): count}


def _series(name: str, **labels: str) -> str:
    named = {"engine": "0"} | labels | {"model_name": "/models/target"}
    inner = ",".join(f'{label}="{value}"' for label, value in named.items())
    return f"vllm:{name}{{{inner}}}"
