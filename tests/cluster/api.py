"""The few calls the supervisor and the fixtures make to an API server, without a client library."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.errors import ClusterError


@dataclass(frozen=True, kw_only=True)
class Api:
    """An API server as one user of it; made from a kubeconfig with a token."""

    server: str
    token: str
    context: ssl.SSLContext

    def call(self, method: str, path: str, body: object = None, *, content: str = "json") -> Any:
        """The decoded answer; None when there is no such object.

        `content` is the subtype of the body: `json`, `json-patch+json`, ….

        Raises:
            ClusterError: the API server refused the call.
            OSError: it cannot be reached.
        """
        request = urllib.request.Request(
            f"{self.server}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": f"application/{content}",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=10, context=self.context) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            if error.code == 404:
                return None
            raise ClusterError(f"{method} {path} answered {error.code}: {text}") from error

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        request = urllib.request.Request(
            f"{self.server}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5, context=self.context) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False


def load_api(kubeconfig: Path) -> Api:
    """The API of a kubeconfig that this package wrote (JSON, one context, a token)."""
    config = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Api(
        server=cluster["server"],
        token=config["users"][0]["user"]["token"],
        context=ssl.create_default_context(cadata=authority),
    )
