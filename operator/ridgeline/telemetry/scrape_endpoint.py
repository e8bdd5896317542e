"""What a direct scrape is told: how Pods are asked, and which Pods there are."""

import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ridgeline.telemetry.tls import ClientCertificate, ssl_context

Scheme = Literal["http", "https"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeTarget:
    """One Pod to scrape.

    Attributes:
        namespace: The Pod's namespace.
        pod: Its name.
        process: What changes whenever another process answers: the Pod's uid and the start of its
            containers, say. A window never spans two processes.
        host: IP address.
        port: Port of the metrics page.
    """

    namespace: str
    pod: str
    process: str
    host: str
    port: int


Targets = Callable[[], Iterable[ScrapeTarget]]
"""Gives the Pods to scrape now: live and Ready ones, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsEndpoint:
    """How Pods are scraped directly. No credentials: any tenant's Pod could be the one that asks.

    Attributes:
        name: Name by which a serving's `telemetry` field refers to it.
        path: Path of the metrics page.
        scheme: `http` or `https`.
        verify: Whether a Pod's certificate is checked.
        ca_file: Certificates to trust instead of the system's.
        client_certificate: What to show a Pod that asks who comes; `None` for nothing.
        server_name: Name that Pods' certificates are for, since they are not for their addresses;
            `None` to expect the address.
        concurrency: Pods asked at once.
        timeout_seconds: Deadline of all Pods of one tick together.
        pod_timeout_seconds: Deadline of one Pod.
        max_answer_bytes: Largest page that is read, after decompression.
        max_series: Most of our series that one page may have.

    Raises:
        ValueError: A field cannot be used; the message names it and the way out.
    """

    name: str
    path: str = "/metrics"
    scheme: Scheme = "http"
    verify: bool = True
    ca_file: Path | None = None
    client_certificate: ClientCertificate | None = None
    server_name: str | None = None
    concurrency: int = 32
    timeout_seconds: float = 10.0
    pod_timeout_seconds: float = 3.0
    max_answer_bytes: int = 4 * 1024 * 1024
    max_series: int = 10_000

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or any(c in self.path for c in "?# \r\n"):
            raise ValueError(f"path: {self.path!r} must begin with / and hold no ?, # or blank")
        if self.scheme not in ("http", "https"):
            raise ValueError(f"scheme: {self.scheme!r} must be http or https")
        for what, limit in (
            ("concurrency", self.concurrency),
            ("timeout_seconds", self.timeout_seconds),
            ("pod_timeout_seconds", self.pod_timeout_seconds),
            ("max_answer_bytes", self.max_answer_bytes),
            ("max_series", self.max_series),
        ):
            if not 0 < limit < float("inf"):
                raise ValueError(f"{what}: {limit!r} must be a finite number above 0")

    @property
    def matchers(self) -> tuple[()]:
        """Label matchers, as a Prometheus endpoint has them: none, each Pod is asked itself."""
        return ()

    def ssl_context(self) -> ssl.SSLContext | bool:
        """What aiohttp's `ssl` argument takes: a context, or whether to verify.

        Raises:
            CredentialsError: The CA file or the client certificate cannot be used.
        """
        return ssl_context(
            verify=self.verify, ca_file=self.ca_file, client_certificate=self.client_certificate
        )
