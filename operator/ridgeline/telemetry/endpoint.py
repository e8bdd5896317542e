"""A telemetry endpoint: where Prometheus (or what speaks its HTTP API) is and how it is asked.

One value configures both the client of the tick and the library used for history downloads, so that
the two can never ask different servers. Secrets are never part of it: it names the files that hold
them, which are read anew for every tick, since mounted tokens rotate.
"""

import base64
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from ridgeline.telemetry.errors import CredentialsError
from ridgeline.telemetry.tls import ClientCertificate, ssl_context

if TYPE_CHECKING:
    from prometheus_api_client import PrometheusConnect

_LABEL_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SHORTEST_SECRET: Final = 4
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")

MatchOperator = Literal["=", "!=", "=~", "!~"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """A token in a file, sent as `Authorization: Bearer …`."""

    token_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    """A user name, and a password in a file."""

    username: str
    password_file: Path


Auth = BearerToken | BasicAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """A static label matcher that every query of an endpoint carries, such as `cluster="a"`.

    Raises:
        ValueError: The label is no Prometheus label name, or the operator is none of PromQL's.
    """

    label: str
    value: str
    operator: MatchOperator = "="

    def __post_init__(self) -> None:
        _require_label("matchers", self.label)
        if self.operator not in ("=", "!=", "=~", "!~"):
            raise ValueError(
                f"matchers: operator {self.operator!r} of label {self.label!r} is unknown; "
                "use one of =, !=, =~, !~"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How one telemetry endpoint is reached and how its series name namespace and Pod.

    Attributes:
        name: Name by which a serving's `telemetry` field refers to it.
        url: Base address, `/api/v1/query` is appended. No user name, password, query or fragment.
        auth: Credentials, `None` for none.
        headers: Extra headers, such as a tenant's; not shown in `repr`, they may be secret.
        parameters: Extra parameters of every query, such as Thanos's `partial_response`; shown in
            `repr`, so never a secret.
        verify: Whether the server's certificate is checked.
        ca_file: Certificates to trust instead of the system's.
        client_certificate: What to show a server that asks who comes; `None` for nothing.
        timeout_seconds: Deadline of all queries of one tick together.
        namespace_label: Label that holds the Pod's namespace.
        pod_label: Label that holds the Pod's name.
        matchers: Static matchers added to every selector.
        max_answer_bytes: Largest answer that is read, after decompression.
        max_series: Most series that one answer may have.

    Raises:
        ValueError: A field cannot be used; the message names it and the way out.
    """

    name: str
    url: str
    auth: Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    verify: bool = True
    ca_file: Path | None = None
    client_certificate: ClientCertificate | None = None
    timeout_seconds: float = 10.0
    namespace_label: str = "namespace"
    pod_label: str = "pod"
    matchers: tuple[Matcher, ...] = ()
    max_answer_bytes: int = 64 * 1024 * 1024
    max_series: int = 200_000

    def __post_init__(self) -> None:
        _require_url(self.url)
        _require_label("namespace_label", self.namespace_label)
        _require_label("pod_label", self.pod_label)
        _require_distinct_labels(self.namespace_label, self.pod_label)
        for header, value in self.headers.items():
            _require_header(header, value)
        _require_parameters(self.parameters)
        for what, limit in (
            ("timeout_seconds", self.timeout_seconds),
            ("max_answer_bytes", self.max_answer_bytes),
            ("max_series", self.max_series),
        ):
            if not 0 < limit < float("inf"):
                raise ValueError(f"{what}: {limit!r} must be a finite number above 0")
        object.__setattr__(self, "url", self.url.rstrip("/"))
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def request_headers(self) -> dict[str, str]:
        """Headers of a request, the credentials read now.

        Raises:
            CredentialsError: A credential file cannot be read or holds no usable text.
        """
        headers = dict(self.headers)
        match self.auth:
            case BearerToken(token_file=path):
                headers["Authorization"] = f"Bearer {_secret(self.name, path)}"
            case BasicAuth(username=username, password_file=path):
                pair = f"{username}:{_secret(self.name, path)}"
                headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
            case None:
                pass
        return headers

    def secrets(self, headers: Mapping[str, str]) -> tuple[str, ...]:
        """Texts of `headers` (as `request_headers` gave them) that no message may repeat."""
        values = [value for name, value in headers.items() if name in self.headers]
        authorization = headers.get("Authorization", "")
        token = authorization.partition(" ")[2]
        values += [authorization, token]
        if isinstance(self.auth, BasicAuth):
            values.append(base64.b64decode(token).decode().partition(":")[2])
        # A text of a few letters occurs by chance, and blotting it out would garble every message.
        long_enough = {value for value in values if len(value) >= _SHORTEST_SECRET}
        return tuple(sorted(long_enough, key=len, reverse=True))

    def ssl_context(self) -> ssl.SSLContext | bool:
        """What aiohttp's `ssl` argument takes: a context, or whether to verify.

        Raises:
            CredentialsError: The CA file or the client certificate cannot be used.
        """
        return ssl_context(
            verify=self.verify, ca_file=self.ca_file, client_certificate=self.client_certificate
        )

    def as_prometheus_connect(self) -> "PrometheusConnect":
        """The same connection for prometheus-api-client, for history and range downloads.

        It never retries by itself, and its credentials are those of this moment.

        Raises:
            CredentialsError: A credential file cannot be read or holds no usable text.
        """
        # Imported here: it pulls in requests, which the tick does not need.
        from prometheus_api_client import PrometheusConnect
        from requests import Session
        from urllib3.util import Retry

        session = Session()
        session.trust_env = False
        session.verify = str(self.ca_file) if self.verify and self.ca_file else self.verify
        if self.client_certificate is not None:
            pair = self.client_certificate
            session.cert = (str(pair.certificate_file), str(pair.key_file))
        session.params = dict(self.parameters)
        return PrometheusConnect(
            url=self.url,
            headers=self.request_headers(),
            session=session,
            retry=Retry(total=0),
            timeout=max(1, round(self.timeout_seconds)),
        )


def _secret(endpoint: str, path: Path) -> str:
    """The text of a credential file without surrounding white space."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CredentialsError(
            f"endpoint {endpoint!r}: credential file {path} cannot be read: {error.strerror}; "
            "mount the secret there or correct the path"
        ) from error
    except UnicodeDecodeError as error:
        raise CredentialsError(f"endpoint {endpoint!r}: {path} is not text") from error
    if not _PRINTABLE.fullmatch(text):
        raise CredentialsError(
            f"endpoint {endpoint!r}: credential file {path} is empty or holds blanks, control or "
            "non-ASCII characters; put the bare token or password there"
        )
    return text


def _require_url(url: str) -> None:
    """Refuse addresses that cannot be asked or that would carry a secret into messages.

    The address itself is never repeated: one that is wrong may hold a password in a place where
    no parser finds it.
    """
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ValueError("url: it holds a user name or password; use auth with a file instead")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url: it is not an http:// or https:// address with a host")
    if parts.query or parts.fragment:
        raise ValueError("url: it must end with the path; no ?query and no #fragment")
    try:
        parts.port  # noqa: B018 (reading it checks it)
    except ValueError:
        raise ValueError("url: its port is not a number from 0 to 65535") from None


def _require_label(what: str, label: str) -> None:
    if not _LABEL_NAME.fullmatch(label):
        raise ValueError(
            f"{what}: {label!r} is not a label name; use letters, digits and _, no digit first"
        )


def _require_distinct_labels(namespace_label: str, pod_label: str) -> None:
    """Namespace, Pod and vLLM's `engine` must be three labels, else their series would merge."""
    if len({namespace_label, pod_label, "engine"}) != 3:
        raise ValueError(
            f"namespace_label {namespace_label!r} and pod_label {pod_label!r} must differ from "
            "each other and from 'engine'"
        )


def _require_header(name: str, value: str) -> None:
    """Refuse headers that HTTP forbids or that would replace the credentials."""
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError(f"headers: {name!r} is not a header name")
    if name.lower() in ("authorization", "content-type", "content-length", "host"):
        raise ValueError(f"headers: {name!r} cannot be set; use auth for credentials")
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise ValueError(f"headers: the value of {name!r} holds control characters")


def _require_parameters(parameters: Mapping[str, str]) -> None:
    """Refuse parameters that would replace what every query sends."""
    for name in parameters:
        if not name or name in ("query", "time", "timeout"):
            raise ValueError(f"parameters: {name!r} cannot be set; every query sends its own")
