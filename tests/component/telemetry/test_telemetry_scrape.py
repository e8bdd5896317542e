"""Over real HTTP: Pods that are scraped directly, and what goes wrong with them."""

import gzip
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint, ScrapeTarget
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.telemetry.tls import ClientCertificate
from tests.component.telemetry.certificates import client_side, server_side
from tests.component.telemetry.exporter import recorded_rate
from tests.component.telemetry.fake_pods import NAMESPACE, FakePod, fake_pods, load

NOW = 1_800_000_000.0
TICK = 15.0
WINDOW = 60.0

CONCURRENCY = recorded_rate("draft-k4", "inter_token_latency_seconds_sum")

CLOSE = 0.01
"""Relative: the seconds that real requests take are added to the scripted time."""


class Scene:
    """Pods, a reader of them, and the time, which passes from tick to tick."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pods = [FakePod(name=f"llm-{n}", page=lambda: load(self.seconds)) for n in range(3)]
        self.listed = list(self.pods)

    def targets(self) -> list[ScrapeTarget]:
        return [pod.target() for pod in self.listed]

    def reader(self, **fields: object) -> ScrapeReader:
        settings = {"name": "direct", "pod_timeout_seconds": 1.0} | fields
        endpoint = PodsEndpoint(**settings)  # type: ignore[arg-type]
        return ScrapeReader(endpoint, self.targets, window_seconds=WINDOW)

    async def ticks(self, reader: ScrapeReader, count: int) -> TelemetrySnapshot:
        for _ in range(count):
            snapshot = await reader.read(NOW + self.seconds)
            self.seconds += TICK
        return snapshot


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    async with fake_pods(*scene.pods):
        yield scene


def only(snapshot: TelemetrySnapshot, pod: str) -> EngineFacts:
    (engine,) = snapshot.engines[NAMESPACE, pod]
    return engine


def seen(snapshot: TelemetrySnapshot) -> set[str]:
    return {pod for _, pod in snapshot.engines}


async def test_a_recorded_load_is_read_as_a_prometheus_reads_it(scene: Scene) -> None:
    snapshot = await scene.ticks(scene.reader(), 5)
    assert snapshot.error is None
    assert snapshot.warnings == ()
    assert seen(snapshot) == {"llm-0", "llm-1", "llm-2"}
    assert snapshot.answered_at == snapshot.taken_at
    engine = only(snapshot, "llm-0")
    count = recorded_rate("draft-k4", "inter_token_latency_seconds_count")
    assert engine.decode_concurrency == pytest.approx(CONCURRENCY, rel=CLOSE)
    assert engine.request_steps_per_second == pytest.approx(count, rel=CLOSE)
    assert engine.step_seconds == pytest.approx(CONCURRENCY / count)
    assert engine.drafted_share == pytest.approx(1.0)
    assert engine.age_seconds < 1
    finished = dict(engine.finished_per_second or ())
    often = recorded_rate("draft-k4", 'request_success_total{finished_reason="length"}')
    assert finished.pop("length") == pytest.approx(often, rel=CLOSE)
    assert finished == dict.fromkeys(("abort", "error", "repetition", "stop"), 0.0)
    assert (engine.longest_answer_seconds, engine.longest_answer_unbounded) == (2.5, False)
    assert set(snapshot.query_seconds) == {"scrape"}


async def test_nothing_is_told_before_half_of_the_window_and_that_is_said(scene: Scene) -> None:
    reader = scene.reader()
    snapshot = await scene.ticks(reader, 2)
    assert snapshot.error is None
    assert snapshot.engines == {}
    (remark,) = snapshot.warnings
    assert "less than about half of the rate window of 60 s, the first is prod/llm-0" in remark
    # 30 s and not 45: two ticks are half of the window.
    assert seen(await scene.ticks(reader, 1)) == {"llm-0", "llm-1", "llm-2"}


async def test_no_pods_is_an_answer_without_engines(scene: Scene) -> None:
    scene.listed = []
    snapshot = await scene.ticks(scene.reader(), 1)
    assert (snapshot.error, snapshot.engines) == (None, {})
    assert snapshot.answered_at == NOW


async def test_no_credentials_and_no_cookies_are_sent(scene: Scene) -> None:
    for pod in scene.pods:
        pod.headers = {"Set-Cookie": "a=b"}
    await scene.ticks(scene.reader(), 2)
    sent = {name.lower() for pod in scene.pods for request in pod.requests for name in request}
    assert sent <= {"host", "accept", "accept-encoding", "user-agent"}


async def test_a_restart_begins_the_window_anew(scene: Scene) -> None:
    reader = scene.reader()
    await scene.ticks(reader, 5)
    began = scene.seconds
    scene.pods[0].page = lambda: load(scene.seconds - began)
    snapshot = await scene.ticks(reader, 1)
    assert seen(snapshot) == {"llm-1", "llm-2"}
    snapshot = await scene.ticks(reader, 2)
    assert only(snapshot, "llm-0").decode_concurrency == pytest.approx(CONCURRENCY, rel=CLOSE)


async def test_another_process_under_the_same_name_begins_the_window_anew(scene: Scene) -> None:
    reader = scene.reader()
    await scene.ticks(reader, 5)
    scene.pods[0].process = "2"
    assert seen(await scene.ticks(reader, 1)) == {"llm-1", "llm-2"}


async def test_a_pod_that_is_gone_is_forgotten_at_once(scene: Scene) -> None:
    reader = scene.reader()
    await scene.ticks(reader, 5)
    scene.listed = scene.pods[1:]
    assert seen(await scene.ticks(reader, 1)) == {"llm-1", "llm-2"}
    # Coming back, it has no window from before.
    scene.listed = list(scene.pods)
    assert seen(await scene.ticks(reader, 1)) == {"llm-1", "llm-2"}


BROKEN = [
    pytest.param({"status": 500}, "HTTP 500", id="500"),
    pytest.param({"status": 404}, "HTTP 404", id="404"),
    pytest.param(
        {"status": 302, "headers": {"Location": "http://169.254.169.254/"}}, "HTTP 302", id="302"
    ),
    pytest.param(
        {"page": lambda: "<html>"}, "the page holds none of vLLM's series", id="not a page"
    ),
    pytest.param(
        {"page": lambda: ""}, "the page holds none of vLLM's series", id="exports nothing yet"
    ),
    pytest.param(
        {"page": lambda: "vllm:num_requests_running one\n"}, "not a metrics page", id="corrupt"
    ),
    pytest.param(
        {"page": lambda: "x" * 200_000}, "the page exceeds max_answer_bytes", id="too large"
    ),
    pytest.param(
        {
            "page": lambda: gzip.compress(b"x" * 200_000),
            "headers": {"Content-Encoding": "gzip"},
        },
        "the page exceeds max_answer_bytes",
        id="gzip bomb",
    ),
    pytest.param({"delay": 30.0}, "no answer in time", id="black hole"),
]


@pytest.mark.parametrize(("fault", "words"), BROKEN)
async def test_a_pod_that_fails_ages_and_is_named_and_the_others_go_on(
    scene: Scene, fault: dict[str, object], words: str
) -> None:
    reader = scene.reader(max_answer_bytes=100_000, pod_timeout_seconds=0.3)
    await scene.ticks(reader, 5)
    for name, value in fault.items():
        setattr(scene.pods[1], name, value)
    snapshot = await scene.ticks(reader, 1)
    assert snapshot.error is None
    assert only(snapshot, "llm-1").age_seconds == pytest.approx(TICK, abs=1)
    assert only(snapshot, "llm-0").age_seconds < 1
    (remark,) = snapshot.warnings
    assert f"the first is prod/llm-1: {words}" in remark
    assert "NetworkPolicy" in remark
    # When half of the window is no longer covered nothing is told of it.
    assert seen(await scene.ticks(reader, 2)) == {"llm-0", "llm-2"}


async def test_when_all_fail_the_endpoint_fails_and_says_so_once(scene: Scene) -> None:
    reader = scene.reader()
    await scene.ticks(reader, 5)
    answered = NOW + scene.seconds - TICK
    for pod in scene.pods:
        pod.status = 503
    messages, asked = set(), []
    for _ in range(8):
        snapshot = await scene.ticks(reader, 1)
        messages.add(snapshot.error)
        asked.append(snapshot.asked)
        assert snapshot.engines == {}
        assert snapshot.answered_at == answered
    (message,) = messages
    assert message is not None
    assert message.startswith("endpoint 'direct': no Pod can be scraped, the first is prod/llm-0")
    # 15, 30 and 60 s after the first failure.
    assert asked == [True, True, False, True, False, False, False, True]
    for pod in scene.pods:
        pod.status = 200
    healed = await scene.ticks(reader, 8)
    assert healed.error is None
    assert seen(await scene.ticks(reader, 3)) == {"llm-0", "llm-1", "llm-2"}


async def test_black_holes_do_not_use_up_the_deadline_of_those_that_answer(scene: Scene) -> None:
    """One at a time, and the first by name never answers: it is asked after the others."""
    reader = scene.reader(concurrency=1, timeout_seconds=0.8, pod_timeout_seconds=0.5)
    scene.pods[0].delay = scene.pods[1].delay = 30.0
    snapshot = await scene.ticks(reader, 6)
    assert seen(snapshot) == {"llm-2"}
    assert only(snapshot, "llm-2").age_seconds < 1
    assert len(scene.pods[0].requests) < len(scene.pods[2].requests)


async def test_more_pods_than_the_deadline_allows_take_turns(scene: Scene) -> None:
    reader = scene.reader(concurrency=1, timeout_seconds=0.5, pod_timeout_seconds=0.5)
    for pod in scene.pods:
        pod.delay = 0.2
    snapshot = await scene.ticks(reader, 9)
    assert seen(snapshot) == {"llm-0", "llm-1", "llm-2"}
    assert all(len(pod.requests) >= 4 for pod in scene.pods)


async def test_no_more_pods_are_asked_at_once_than_allowed(scene: Scene) -> None:
    under_way, most = 0, 0

    def counted() -> str:
        nonlocal most
        most = max(most, under_way)
        return load(scene.seconds)

    for pod in scene.pods:
        answer = pod.answer

        async def wrapped(request, answer=answer):  # type: ignore[no-untyped-def]
            nonlocal under_way
            under_way += 1
            try:
                return await answer(request)
            finally:
                under_way -= 1

        pod.answer = wrapped  # type: ignore[method-assign]
        pod.page = counted
        pod.delay = 0.05
    async with fake_pods(*scene.pods):
        await scene.ticks(scene.reader(concurrency=2), 1)
    assert most == 2


async def test_over_tls_with_the_name_that_certificates_are_for(tmp_path: Path) -> None:
    server = server_side(tmp_path, name="vllm.example")
    pod = FakePod(name="llm-0", page=lambda: load(0))
    async with fake_pods(pod, tls=server.context):
        for settings, words in (
            ({"ca_file": server.ca, "server_name": "vllm.example"}, None),
            ({"ca_file": server.ca}, "certificate verify failed"),
            ({"server_name": "vllm.example"}, "certificate verify failed"),
        ):
            endpoint = PodsEndpoint(name="direct", scheme="https", **settings)
            reader = ScrapeReader(endpoint, lambda: [pod.target()], window_seconds=WINDOW)
            error = (await reader.read(NOW)).error
            assert error is None if words is None else words in str(error)


async def test_a_pod_that_asks_who_comes_is_shown_a_certificate(tmp_path: Path) -> None:
    client = client_side(tmp_path)
    server = server_side(tmp_path, name="vllm.example", trusted=client.ca)
    pod = FakePod(name="llm-0", page=lambda: load(0))

    async def error_with(certificate: ClientCertificate | None) -> str | None:
        endpoint = PodsEndpoint(
            name="direct",
            scheme="https",
            ca_file=server.ca,
            server_name="vllm.example",
            client_certificate=certificate,
        )
        reader = ScrapeReader(endpoint, lambda: [pod.target()], window_seconds=WINDOW)
        return (await reader.read(NOW)).error

    async with fake_pods(pod, tls=server.context):
        assert await error_with(client.pair) is None
        assert "no Pod can be scraped" in str(await error_with(None))
        missing = ClientCertificate(certificate_file=tmp_path / "no.crt", key_file=tmp_path / "no")
        assert "client certificate" in str(await error_with(missing))


def test_unencrypted_is_the_default() -> None:
    assert PodsEndpoint(name="direct").scheme == "http"
    assert not isinstance(PodsEndpoint(name="direct").ssl_context(), ssl.SSLContext)
