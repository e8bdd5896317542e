"""The replicas that the real Prometheus scrapes, and how."""

from dataclasses import dataclass

from ridgeline.telemetry.endpoint import Endpoint
from tests.component.telemetry.exporter import Exporter, Replica

WINDOW_SECONDS = 10.0
SCRAPE_SECONDS = 1.0
NAMESPACE = "inference"

READY_AT = 15.0
"""When tests begin to read, in seconds of the exporter: more than a window after its start."""
FAILS_AT = 11.0
RESET_AT = 8.5
YOUNG_SINCE = 11.0

_ITL = "vllm:inter_token_latency_seconds"
_OLD_ITL = "vllm:time_per_output_token_seconds"


def _old_names(text: str) -> str:
    """As vLLM up to 0.10.1 names them."""
    return text.replace(_ITL, _OLD_ITL)


def _both_names(text: str) -> str:
    """As vLLM 0.10.2 to 0.14 can name them: the same numbers twice."""
    return text + "".join(
        line.replace(_ITL, _OLD_ITL) for line in text.splitlines(keepends=True) if _ITL in line
    )


def _nan_sum(text: str) -> str:
    lines = text.splitlines()
    return "".join(
        f"{line.split()[0]} NaN\n" if line.startswith(f"{_ITL}_sum") else f"{line}\n"
        for line in lines
    )


def _none_finished(text: str) -> str:
    """Long answers under way: counters of finished requests do not move."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith("vllm:request_time_per_output_token_seconds")
    )


def _no_engine_label(text: str) -> str:
    return text.replace('engine="0",', "")


REPLICAS = {
    "speculating": Replica(source="draft-k4"),
    "plain": Replica(source="none"),
    "parallel": Replica(source="draft-k4", paces=(1.0, 0.5)),
    "first-answers": Replica(source="draft-k4", rewrite=_none_finished),
    "idle": Replica(source="draft-k4", paces=(0.0,)),
    "twice": Replica(source="draft-k4"),
    "clash": Replica(source="draft-k4"),
    "clash-elsewhere": Replica(source="none", created=1_700_000_777.0),
    "restarted": Replica(source="draft-k4", reset_at=RESET_AT),
    "failing": Replica(source="draft-k4", serves_until=FAILS_AT),
    "young": Replica(source="draft-k4", serves_from=YOUNG_SINCE),
    "broken": Replica(source="draft-k4", rewrite=_nan_sum),
    "old-names": Replica(source="draft-k4", rewrite=_old_names),
    "both-names": Replica(source="draft-k4", rewrite=_both_names),
    "unlabelled-engine": Replica(source="draft-k4", rewrite=_no_engine_label),
    "nameless": Replica(source="draft-k4"),
    "bare": Replica(source="draft-k4", rewrite=lambda text: "process_start_time_seconds 1\n"),
}
"""By path of the exporter; the Pod has the same name, save for what `_pod` says."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A running Prometheus with its scraped replicas.

    Attributes:
        url: Address of Prometheus.
        exporter: What it scrapes.
        ready_at: Epoch seconds at which the exporter was `READY_AT` old. Queries evaluated at this
            time say the same however long the tests take.
    """

    url: str
    exporter: Exporter
    ready_at: float

    def endpoint(self) -> Endpoint:
        """Prometheus as the reader is to ask it."""
        return Endpoint(name="real", url=self.url)


def _labels(path: str) -> dict[str, str]:
    labels = {"__metrics_path__": f"/{path}/metrics", "namespace": NAMESPACE, "cluster": 'a"b\\c'}
    # Two different servers under one Pod name, and a series that names no Pod.
    pod = {"clash-elsewhere": "clash", "nameless": ""}.get(path, path)
    return labels | ({"pod": pod} if pod else {}) | {"instance": f"{path}:8000"}


def scrape_config(address: str) -> dict[str, object]:
    """A Prometheus configuration with one target per replica; one replica is in two jobs."""
    targets = [{"targets": [address], "labels": _labels(path)} for path in REPLICAS]
    again = [{"targets": [address], "labels": _labels("twice")}]
    interval = f"{round(SCRAPE_SECONDS)}s"
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [
            {"job_name": "pods", "static_configs": targets},
            {"job_name": "pods-again", "static_configs": again},
        ],
    }
