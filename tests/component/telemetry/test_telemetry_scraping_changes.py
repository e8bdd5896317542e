"""Against a real Prometheus whose scraping is wrong or changes, and beside a direct scrape."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint, ScrapeTarget
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.cluster.prometheus import RunningPrometheus, start_prometheus
from tests.component.telemetry.exporter import Exporter, Replica, recorded_rate

pytestmark = pytest.mark.prometheus

WINDOW = 10.0
SPARSE_SECONDS = 12.0
BEGINS_AT = 13.0
READY_AT = 14.5
NAMESPACE = "inference"

CONCURRENCY = recorded_rate("draft-k4", "inter_token_latency_seconds_sum")

TOLERANCE = 0.12
"""A scrape can be late by a tenth of the window on a busy machine."""

STEADY = ("speculating", "plain", "parallel")


class Beginning(Replica):
    """A server that answers at once and exports nothing until it has loaded its model."""

    def text(self, seconds: float) -> str | None:
        if seconds < BEGINS_AT:
            return "process_start_time_seconds 1\n"
        return Replica(source=self.source).text(seconds)


REPLICAS = {
    "speculating": Replica(source="draft-k4"),
    "plain": Replica(source="none"),
    "parallel": Replica(source="draft-k4", paces=(1.0, 0.5)),
    "sparse": Replica(source="draft-k4"),
    "beginning": Beginning(source="draft-k4"),
    "no-namespace": Replica(source="draft-k4"),
    "no-engine": Replica(source="draft-k4", paces=(1.0, 0.5)),
    "renamed": Replica(source="draft-k4"),
}


def _job(name: str, address: str, *replicas: str, **more: object) -> dict[str, object]:
    targets = [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": f"/{replica}/metrics",
                "namespace": NAMESPACE,
                "pod": replica,
                "instance": replica,
            },
        }
        for replica in replicas
    ]
    return {"job_name": name, "static_configs": targets, **more}


def config(address: str, *, job: str = "vllm") -> str:
    """A configuration of which one job has this name."""
    dropped = {"action": "labeldrop"}
    sparse = f"{round(SPARSE_SECONDS)}s"
    jobs = [
        _job("pods", address, *STEADY, "beginning"),
        _job("sparse", address, "sparse", scrape_interval=sparse),
        _job(
            "no-namespace",
            address,
            "no-namespace",
            metric_relabel_configs=[{**dropped, "regex": "namespace"}],
        ),
        _job(
            "no-engine",
            address,
            "no-engine",
            metric_relabel_configs=[{**dropped, "regex": "engine"}],
        ),
        _job(job, address, "renamed"),
    ]
    settings = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    return json.dumps({"global": settings, "scrape_configs": jobs})


@dataclass(frozen=True, kw_only=True)
class Store:
    """A running Prometheus, what it scrapes, and when everything but the sparse was seen."""

    prometheus: RunningPrometheus
    exporter: Exporter
    ready_at: float

    async def read(self, at: float) -> TelemetrySnapshot:
        endpoint = Endpoint(name="real", url=self.prometheus.url)
        reader = TelemetryReader(endpoint, window_seconds=WINDOW)
        try:
            return await reader.read(at)
        finally:
            await reader.close()


@pytest.fixture(scope="module")
def store(prometheus_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Exporter(REPLICAS) as exporter:
        prometheus = start_prometheus(
            config(exporter.address), tmp_path_factory.mktemp("store"), binary=prometheus_binary
        )
        try:
            exporter.wait_until(READY_AT)
            yield Store(prometheus=prometheus, exporter=exporter, ready_at=time.time())
        finally:
            prometheus.stop()


@pytest.fixture
async def snapshot(store: Store) -> TelemetrySnapshot:
    found = await store.read(store.ready_at)
    assert found.error is None
    return found


def only(snapshot: TelemetrySnapshot, pod: str) -> EngineFacts:
    (engine,) = snapshot.engines[NAMESPACE, pod]
    return engine


def test_scrapes_further_apart_than_the_window_are_said(snapshot: TelemetrySnapshot) -> None:
    engine = only(snapshot, "sparse")
    assert engine.decode_concurrency is None
    assert 0 <= engine.age_seconds < SPARSE_SECONDS + 2
    (remark,) = (w for w in snapshot.warnings if "fewer than two samples" in w)
    assert "in the rate window of 10 s" in remark
    assert "scrape at least every 2.5 s, or raise rateWindowSeconds" in remark


def test_the_first_sample_of_a_server_is_no_load_of_zero(snapshot: TelemetrySnapshot) -> None:
    """One or two scrapes after it began to export: a rate is unknown or nearly so, never NaN."""
    engine = only(snapshot, "beginning")
    assert engine.not_finite == ()
    assert engine.age_seconds < 3
    assert engine.decode_concurrency is None or engine.decode_concurrency > 0


async def test_a_server_that_exports_nothing_yet_is_no_engine(store: Store) -> None:
    before = await store.read(store.ready_at - (READY_AT - BEGINS_AT) - 1.0)
    assert (NAMESPACE, "beginning") not in before.engines
    assert (NAMESPACE, "speculating") in before.engines


def test_series_that_lost_their_namespace_are_nobodys(snapshot: TelemetrySnapshot) -> None:
    assert not [pod for _, pod in snapshot.engines if pod == "no-namespace"]
    assert any("lack the label 'namespace' or 'pod'" in warning for warning in snapshot.warnings)


def test_engines_that_lost_their_label_are_one_and_too_few(snapshot: TelemetrySnapshot) -> None:
    """Prometheus keeps one of the two: the Pod shows fewer engines than it must have."""
    engine = only(snapshot, "no-engine")
    assert engine.engine == "0"
    assert len(snapshot.engines[NAMESPACE, "parallel"]) == 2


async def test_a_renamed_job_is_never_counted_twice_and_heals_within_a_window(
    store: Store,
) -> None:
    prometheus = store.prometheus
    prometheus.config_file.write_text(config(store.exporter.address, job="renamed-job"))
    prometheus.reload()
    seen = []
    for _ in range(12):
        await asyncio.sleep(1.0)
        engine = only(await store.read(time.time()), "renamed")
        assert engine.age_seconds < 4
        assert engine.decode_concurrency is not None
        seen.append(engine.decode_concurrency)
    assert max(seen) < CONCURRENCY * (1 + TOLERANCE)
    assert seen[-1] == pytest.approx(CONCURRENCY, rel=TOLERANCE)


@pytest.mark.parametrize("ahead", [-300.0, 300.0])
async def test_an_operator_whose_clock_is_wrong_sees_nothing(store: Store, ahead: float) -> None:
    """An instant query takes any time, and would answer with numbers of another time."""
    found = await store.read(time.time() + ahead)
    assert found.error is not None
    assert "synchronise the clocks" in found.error
    assert found.engines == {}


async def test_a_direct_scrape_reads_what_prometheus_reads(store: Store) -> None:
    def reader_of(replica: str) -> ScrapeReader:
        host, port = store.exporter.address.split(":")
        target = ScrapeTarget(
            namespace=NAMESPACE, pod=replica, process="1", host=host, port=int(port)
        )
        endpoint = PodsEndpoint(name="direct", path=f"/{replica}/metrics")
        return ScrapeReader(endpoint, lambda: [target], window_seconds=WINDOW)

    readers = {replica: reader_of(replica) for replica in STEADY}
    for _ in range(10):
        await asyncio.sleep(0.9)
        now = time.time()
        direct = {replica: await reader.read(now) for replica, reader in readers.items()}
    by_store = await store.read(time.time())
    for replica in STEADY:
        engines = direct[replica].engines[NAMESPACE, replica]
        others = by_store.engines[NAMESPACE, replica]
        assert [e.engine for e in engines] == [e.engine for e in others]
        for one, other in zip(engines, others, strict=True):
            _close(one, other)


def _close(one: EngineFacts, other: EngineFacts) -> None:
    """Every number is the same, as well as two series of scrapes can tell."""
    for field in dataclasses.fields(EngineFacts):
        if field.name == "age_seconds":
            continue
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert (a is None) == (b is None), field.name
        expected = pytest.approx(b, rel=TOLERANCE, abs=1e-6) if isinstance(b, float) else b
        if isinstance(b, tuple) and b and isinstance(b[0], float):
            expected = pytest.approx(b, rel=TOLERANCE)
        if field.name == "finished_per_second":
            a, expected = dict(a), pytest.approx(dict(b), rel=TOLERANCE)
        assert a == expected, field.name
