"""`ridgeline check`: what `helm test` asks from inside the cluster."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline import __version__
from ridgeline.cli.check import Expected, Finding, findings_of
from ridgeline.cli.main import app
from ridgeline.cluster.errors import ClusterError, NotFoundError, RefusedError
from ridgeline.settings.config import OperatorConfig, parse_config

VECTOR = (
    b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"8"]}]}}'
)


class Api:
    """An API server that answers the paths it knows."""

    def __init__(self, answers: dict[str, dict[str, Any] | ClusterError]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, *, query: dict[str, str] | None = None
    ) -> dict[str, Any]:
        assert method == "GET"
        self.asked.append(path)
        answer = self.answers.get(path, NotFoundError("the server could not find it"))
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def connect(self) -> AbstractAsyncContextManager["Api"]:
        @asynccontextmanager
        async def connected() -> AsyncIterator["Api"]:
            yield self

        return connected()


CRDS: dict[str, dict[str, Any] | ClusterError] = {
    "/apis/ridgeline.dev/v1alpha1/speculativeservings": {},
    "/apis/ridgeline.dev/v1alpha1/speculationpolicies": {},
}
OPERATOR = "/apis/apps/v1/namespaces/system/deployments/ridgeline"


def deployment(version: str = __version__, ready: int | None = 1) -> dict[str, Any]:
    labels = {"app.kubernetes.io/version": version}
    status = {} if ready is None else {"readyReplicas": ready}
    return {"metadata": {"labels": labels}, "spec": {"replicas": 1}, "status": status}


@contextmanager
def prometheus(status: int = 200, body: bytes = VECTOR) -> Iterator[str]:
    """Something that answers every query with one text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def config(*endpoints: dict[str, object], namespaces: tuple[str, ...] = ()) -> OperatorConfig:
    return parse_config(
        {
            "namespaces": list(namespaces),
            "telemetry": list(endpoints or ({"source": "Pods"},)),
            "lease": {"namespace": "system"},
        }
    )


async def found(
    api: Api, settings: OperatorConfig | None = None, **expected: str
) -> dict[str, Finding]:
    findings = await findings_of(settings or config(), api.connect, Expected(**expected))
    by_name = {each.asked: each for each in findings}
    assert len(by_name) == len(findings)
    return by_name


async def test_an_installation_that_fits_together() -> None:
    with prometheus() as url:
        api = Api({**CRDS, OPERATOR: deployment()})
        findings = await found(
            api, config({"url": url}), version=__version__, deployment="ridgeline"
        )
    assert [each.asked for each in findings.values() if not each.right] == []
    assert set(findings) == {
        "version of this image",
        "speculativeservings",
        "speculationpolicies",
        "Deployment system/ridgeline",
        "version of Deployment system/ridgeline",
        "telemetry endpoint default",
    }
    assert "8 vLLM engines" in findings["telemetry endpoint default"].told


async def test_crds_that_are_not_there_are_told_with_the_way_out() -> None:
    findings = await found(Api({}))
    for plural in ("speculativeservings", "speculationpolicies"):
        assert not findings[plural].right
        assert "kubectl apply -f crds/" in findings[plural].told


async def test_a_missing_right_is_told_in_the_servers_words() -> None:
    refused = RefusedError("speculativeservings is forbidden")
    api = Api({**CRDS, "/apis/ridgeline.dev/v1alpha1/speculativeservings": refused})
    findings = await found(api)
    assert findings["speculativeservings"] == Finding(
        asked="speculativeservings", told="speculativeservings is forbidden", right=False
    )
    assert findings["speculationpolicies"].right


async def test_with_named_namespaces_it_asks_there_and_nowhere_else() -> None:
    room = "/apis/ridgeline.dev/v1alpha1/namespaces/one"
    api = Api({f"{room}/speculativeservings": {}, f"{room}/speculationpolicies": {}})
    findings = await found(api, config(namespaces=("one", "two")))
    assert findings["speculativeservings in one"].right
    assert not findings["speculativeservings in two"].right
    assert all("/namespaces/" in each for each in api.asked)


@pytest.mark.parametrize(
    ("running", "version", "wrong"),
    [
        (deployment("0.0.9"), __version__, "version of Deployment system/ridgeline"),
        (deployment(), "9.9.9", "version of this image"),
        (deployment(ready=None), __version__, "Deployment system/ridgeline"),
    ],
)
async def test_another_version_and_pods_that_are_not_ready_are_found(
    running: dict[str, Any], version: str, wrong: str
) -> None:
    findings = await found(
        Api({**CRDS, OPERATOR: running}), version=version, deployment="ridgeline"
    )
    assert not findings[wrong].right
    assert findings["speculativeservings"].right


async def test_an_operator_that_is_not_there_is_found() -> None:
    findings = await found(Api(CRDS), version=__version__, deployment="ridgeline")
    assert findings["Deployment system/ridgeline"].told == "it does not exist"
    assert "version of Deployment system/ridgeline" not in findings


async def test_every_endpoint_is_asked_and_a_silent_one_is_told() -> None:
    with prometheus() as url, prometheus(503, b"down") as broken:
        settings = config({"name": "good", "url": url}, {"name": "bad", "url": broken})
        findings = await found(Api(CRDS), settings)
    assert findings["telemetry endpoint good"].right
    assert not findings["telemetry endpoint bad"].right
    assert "503" in findings["telemetry endpoint bad"].told


async def test_pods_that_are_scraped_directly_need_no_store() -> None:
    assert (await found(Api(CRDS)))["telemetry endpoint default"].right


def test_the_exit_status_tells_and_so_does_every_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("telemetry: [{source: Pods}]")

    def with_api(api: Api) -> Callable[[str | None], object]:
        return lambda _: api.connect

    monkeypatch.setattr("ridgeline.cli.check._connection", with_api(Api(CRDS)))
    result = CliRunner().invoke(app, ["check", "--config", str(file)])
    assert result.exit_code == 0
    assert all(line.startswith("ok") for line in result.stdout.splitlines())

    monkeypatch.setattr("ridgeline.cli.check._connection", with_api(Api({})))
    result = CliRunner().invoke(app, ["check", "--config", str(file)])
    assert result.exit_code == 1
    assert "FAIL  speculativeservings: the CRDs are not installed" in result.stdout


def test_a_broken_configuration_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("telemetry: []")
    result = CliRunner().invoke(app, ["check", "--config", str(file)])
    assert result.exit_code == 1
    assert "telemetry" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
