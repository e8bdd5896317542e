"""The replicas that the real Prometheus scrapes, and how."""

from dataclasses import dataclass
from pathlib import Path

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry import rewrites
from tests.component.telemetry.exporter import Exporter, Replica

WINDOW_SECONDS = 16.0
"""Long enough that a scrape which a busy machine misses costs a sixteenth."""
SCRAPE_SECONDS = 1.0
NAMESPACE = "inference"

READY_AT = 22.0
"""When tests begin to read, in seconds of the exporter: more than a window after its start."""
FAILS_AT = 18.0
RESET_AT = 14.5
YOUNG_SINCE = 16.0

RECORDINGS = Path(__file__).parents[4] / "shared" / "recordings"
"""Whole pages of a real server, beside the checkout on some machines."""

RECORDED = ("draft-k4/c16", "eagle-k3/c16", "none/c16", "dynamic-k4/c16", "dynamic-k4/c32")

REPLICAS = {
    "speculating": Replica(source="draft-k4"),
    "plain": Replica(source="none"),
    "parallel": Replica(source="draft-k4", paces=(1.0, 0.5)),
    "first-answers": Replica(source="draft-k4", rewrite=rewrites.none_finished),
    "idle": Replica(source="draft-k4", paces=(0.0,)),
    "twice": Replica(source="draft-k4"),
    "clash": Replica(source="draft-k4"),
    "clash-elsewhere": Replica(source="none", created=1_700_000_777.0),
    "restarted": Replica(source="draft-k4", reset_at=RESET_AT),
    "failing": Replica(source="draft-k4", serves_until=FAILS_AT),
    "young": Replica(source="draft-k4", serves_from=YOUNG_SINCE),
    "broken": Replica(source="draft-k4", rewrite=rewrites.nan_sum),
    "old-names": Replica(source="draft-k4", rewrite=rewrites.old_names),
    "both-names": Replica(source="draft-k4", rewrite=rewrites.both_names),
    "unlabelled-engine": Replica(source="draft-k4", rewrite=rewrites.no_engine_label),
    "nameless": Replica(source="draft-k4"),
    "saturated": Replica(source="draft-k4", rewrite=rewrites.saturated),
    "before-sources": Replica(source="draft-k4", rewrite=rewrites.before_sources),
    "before-reasons": Replica(source="draft-k4", rewrite=rewrites.before_reasons),
    "several-processes": Replica(source="draft-k4", rewrite=rewrites.several_processes),
    "shorter-drafts": Replica(source="draft-k4", rewrite=rewrites.shorter_drafts),
    "scheduled": Replica(source="dynamic-k4"),
    "scheduled-off": Replica(source="dynamic-k4-off"),
    "half-engine": Replica(
        source="draft-k4", paces=(1.0, 0.5), rewrite=rewrites.without_second_itl
    ),
    "lost-engine": Replica(
        source="draft-k4", paces=(1.0, 0.5), rewrite=rewrites.without_second_engine
    ),
    "even-plain": Replica(source="even-plain"),
    "even-speculating": Replica(source="even-speculating"),
    "crawling": Replica(source="crawling"),
    "gateway": Replica(source="draft-k4", rewrite=rewrites.two_pods_behind_one),
    "gpu-exporter": Replica(source="none", rewrite=rewrites.gpu_page),
    "gpu-exporter-unlabelled": Replica(source="none", rewrite=rewrites.other_gpu_page),
    "bare": Replica(source="draft-k4", rewrite=lambda text: "process_start_time_seconds 1\n"),
}
"""By path of the exporter; the Pod has the same name, save for what `_labels` says."""

STAND_INS = ("0.10.2", "0.11.0", "0.15.0", "0.16.0", "0.20.2", "0.33.0")
"""Versions on both sides of every change of names."""

REPLICAS |= {f"stand-in-{each}": Replica(source=f"stand-in-{each}") for each in STAND_INS}

if RECORDINGS.is_dir():
    REPLICAS |= {
        f"recorded-{name.replace('/', '-')}": Replica(source=str(RECORDINGS / name))
        for name in RECORDED
    }


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A running Prometheus with its scraped replicas.

    Attributes:
        url: Address of Prometheus.
        exporter: What it scrapes.
        snapshot: What a reader made of it when the exporter was `READY_AT` old.
    """

    url: str
    exporter: Exporter
    snapshot: TelemetrySnapshot

    def endpoint(self, **labels: str) -> Endpoint:
        """Prometheus as the reader is to ask it, with other labels where told."""
        return Endpoint(name="real", url=self.url, **labels)  # type: ignore[arg-type]


def _labels(path: str) -> dict[str, str]:
    labels = {"__metrics_path__": f"/{path}/metrics", "namespace": NAMESPACE, "cluster": 'a"b\\c'}
    if path == "gpu-exporter-unlabelled":
        # Prometheus adds no Pod of its own: the exporter's labels stay as they are.
        return {"__metrics_path__": labels["__metrics_path__"], "instance": path}
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
