"""Pods on an API server without nodes: somebody says that they run, and tells idle telemetry."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from kubernetes import client, config

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from ridgeline.terms.names import PROFILE_LABEL
from tests.cluster.handle import Cluster

EVERY_S: Final = 0.25

_IDLE: Final[Mapping[str, str]] = {
    "sample_age": "0.5",
    "decode_concurrency": "0",
    "request_steps": "0",
    "generated_tokens": "0",
    "first_tokens": "0",
    "engine_steps": "0",
    "running": "0",
    "waiting": "0",
    "scrapes": "6",
}
_SPECULATING: Final[Mapping[str, str]] = {**_IDLE, "drafts": "0", "draft_tokens": "0"}


class Pods:
    """Lets every Pod of a namespace run and be Ready; use as a context manager.

    Attributes:
        url: A Prometheus that has scraped them all and saw no request.
    """

    def __init__(self, cluster: Cluster, namespace: str, window_seconds: float) -> None:
        self._namespace = namespace
        self._core = client.CoreV1Api(config.new_client_from_config(str(cluster.kubeconfig)))
        self._ended = threading.Event()
        self._ready: dict[str, bool] = {}
        context = query_context(Endpoint(name="default", url="http://x"), window_seconds)
        self._names = {query.render(context): name for name, query in REGISTRY.items()}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._threads = [
            threading.Thread(target=self._run, daemon=True),
            threading.Thread(target=self._server.serve_forever, daemon=True),
        ]

    def __enter__(self) -> Pods:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        for each in self._threads:
            each.join(timeout=30.0)
        self._core.api_client.close()

    def answer(self, promql: str, time: str) -> list[dict[str, object]]:
        """The series of a query: one engine in each Ready Pod."""
        name = self._names.get(promql, "")
        found: list[dict[str, object]] = []
        for pod, speculates in dict(self._ready).items():
            value = (_SPECULATING if speculates else _IDLE).get(name)
            if value is not None:
                labels = {"namespace": self._namespace, "pod": pod, "engine": "0"}
                found.append({"metric": labels, "value": [float(time), value]})
        return found

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            pods = self._core.list_namespaced_pod(self._namespace).items
            for pod in pods:
                if pod.metadata.deletion_timestamp is None and pod.status.phase != "Running":
                    self._start(pod)
            # Nothing tells of its profile but the label: that is what a real server would run.
            self._ready = {
                pod.metadata.name: (pod.metadata.labels or {}).get(PROFILE_LABEL, "none") != "none"
                for pod in pods
                if pod.status.phase == "Running"
            }

    def _start(self, pod: Any) -> None:
        now = pod.metadata.creation_timestamp.isoformat()
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        containers = [
            {
                "name": each.name,
                "image": each.image,
                "imageID": each.image,
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for each in pod.spec.containers
        ]
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": containers}
        try:
            self._core.patch_namespaced_pod_status(
                pod.metadata.name, self._namespace, {"status": status}
            )
        except client.ApiException as error:
            if error.status not in (404, 409):
                raise


def _handler(pods: Pods) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            form = urllib.parse.parse_qs(self.rfile.read(length).decode())
            if self.path.endswith("/query"):
                kind, found = "vector", pods.answer(form["query"][0], form["time"][0])
            else:
                kind, found = "matrix", []
            data = {"resultType": kind, "result": found}
            body = json.dumps({"status": "success", "data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep queries out of the tests' output."""

    return Handler
