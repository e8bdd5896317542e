"""The telemetry section of the operator's configuration file: where numbers come from.

Addresses and secrets stand only here (and in files that this names), never in a namespaced object.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from ridgeline.settings.config_model import ConfigModel, Name
from ridgeline.telemetry.endpoint import Auth, BasicAuth, BearerToken, Endpoint, Matcher
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint
from ridgeline.telemetry.tls import ClientCertificate

LEAST_TICKS_OF_WINDOW: Final = 4
"""Ticks that the rate window must be long where the tick is the scrape: a failed scrape or two must
not leave a Pod without rates."""

PortName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=15)]

_PROMETHEUS_ONLY: Final = (
    "url",
    "bearer_token_file",
    "username",
    "password_file",
    "headers",
    "parameters",
    "namespace_label",
    "pod_label",
    "matchers",
)


class MatcherConfig(ConfigModel):
    """A static label matcher that every query carries."""

    label: str
    value: str
    operator: Literal["=", "!=", "=~", "!~"] = "="


class PodsConfig(ConfigModel):
    """How Pods are scraped directly (`source: Pods`)."""

    port_name: PortName = Field(
        default="http", description="Container port, by its name, that serves the metrics page."
    )
    port: int = Field(
        default=8000, ge=1, le=65535, description="Port where a Pod declares none of that name."
    )
    path: str = Field(default="/metrics", description="Path of the metrics page.")
    scheme: Literal["http", "https"] = Field(default="http", description="`http` or `https`.")
    server_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description="Name that the Pods' certificates are for; not set: their address.",
    )
    concurrency: int = Field(default=32, ge=1, le=256, description="Pods asked at once.")
    timeout_seconds: float = Field(default=3.0, gt=0, le=60, description="Deadline of one Pod.")
    max_page_bytes: int = Field(
        default=4 * 1024 * 1024, ge=1024, le=2**30, description="Largest page that is read."
    )


class EndpointConfig(ConfigModel):
    """A telemetry endpoint: what speaks Prometheus's HTTP API, or the Pods themselves."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"source": {"const": "Pods"}}, "required": ["source"]},
            "else": {"required": ["url"]},
        }
    )

    name: Name = Field(default="default", description="Name that `spec.telemetry` refers to.")
    source: Literal["Prometheus", "Pods"] = Field(
        default="Prometheus",
        description="`Prometheus`: a store with its HTTP API. `Pods`: each Pod's metrics page.",
    )
    url: str | None = Field(
        default=None, description="Base address, without `/api/v1`. Required for `Prometheus`."
    )
    bearer_token_file: Path | None = Field(default=None, description="File with a bearer token.")
    username: str | None = Field(default=None, description="User name for basic authentication.")
    password_file: Path | None = Field(default=None, description="File with the password.")
    headers: dict[str, str] = Field(
        default_factory=dict, description="Extra headers, such as a tenant's.", repr=False
    )
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description="Extra parameters of every query, such as Thanos's `partial_response`.",
    )
    ca_file: Path | None = Field(default=None, description="Certificates to trust.")
    client_certificate_file: Path | None = Field(
        default=None, description="Certificate to show to a server that asks for one."
    )
    client_key_file: Path | None = Field(
        default=None, description="Key of that certificate, without a pass phrase."
    )
    insecure_skip_verify: bool = Field(
        default=False, description="Do not check the server's certificate."
    )
    timeout_seconds: float = Field(
        default=10.0, gt=0, le=300, description="Deadline of all queries of one tick together."
    )
    namespace_label: str = Field(
        default="namespace", description="Label of the series that holds the Pod's namespace."
    )
    pod_label: str = Field(
        default="pod", description="Label of the series that holds the Pod's name."
    )
    matchers: tuple[MatcherConfig, ...] = Field(
        default=(), description="Label matchers added to every selector (`cluster`, say)."
    )
    max_answer_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024,
        le=2**32,
        description="Largest answer to one query that is read, uncompressed.",
    )
    max_series: int = Field(
        default=200_000, ge=1, le=10_000_000, description="Most series that one answer may have."
    )
    pods: PodsConfig = Field(
        default_factory=PodsConfig, description="How Pods are scraped directly (`source: Pods`)."
    )

    @model_validator(mode="after")
    def _one_kind_of_credentials(self) -> "EndpointConfig":
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and passwordFile go together: set both or none")
        if self.bearer_token_file is not None and self.username is not None:
            raise ValueError("bearerTokenFile and username exclude each other: keep one")
        if (self.client_certificate_file is None) != (self.client_key_file is None):
            raise ValueError(
                "clientCertificateFile and clientKeyFile go together: set both or none"
            )
        return self

    @model_validator(mode="after")
    def _fields_of_the_source(self) -> "EndpointConfig":
        given = self.model_fields_set
        if self.source == "Prometheus":
            if self.url is None:
                raise ValueError("url is required for source Prometheus: set it")
            if "pods" in given:
                raise ValueError("pods is for source Pods only: remove it, or set source to Pods")
            return self
        alien = [name for name in _PROMETHEUS_ONLY if name in given]
        if alien:
            told = type(self).model_fields[alien[0]].alias or alien[0]
            raise ValueError(f"{told} is for source Prometheus only: remove it")
        return self

    @model_validator(mode="after")
    def _usable(self) -> "EndpointConfig":
        self.endpoint()
        return self

    def endpoint(self) -> Endpoint | PodsEndpoint:
        """Return the telemetry room's value of this endpoint."""
        if self.source == "Pods":
            return self._pods_endpoint()
        return Endpoint(
            name=self.name,
            url=self.url or "",
            auth=self._auth(),
            headers=self.headers,
            parameters=self.parameters,
            verify=not self.insecure_skip_verify,
            ca_file=self.ca_file,
            client_certificate=self._client_certificate(),
            timeout_seconds=self.timeout_seconds,
            namespace_label=self.namespace_label,
            pod_label=self.pod_label,
            matchers=tuple(
                Matcher(label=each.label, value=each.value, operator=each.operator)
                for each in self.matchers
            ),
            max_answer_bytes=self.max_answer_bytes,
            max_series=self.max_series,
        )

    def _pods_endpoint(self) -> PodsEndpoint:
        return PodsEndpoint(
            name=self.name,
            path=self.pods.path,
            scheme=self.pods.scheme,
            verify=not self.insecure_skip_verify,
            ca_file=self.ca_file,
            client_certificate=self._client_certificate(),
            server_name=self.pods.server_name,
            concurrency=self.pods.concurrency,
            timeout_seconds=self.timeout_seconds,
            pod_timeout_seconds=self.pods.timeout_seconds,
            max_answer_bytes=self.pods.max_page_bytes,
        )

    def _auth(self) -> Auth | None:
        if self.bearer_token_file is not None:
            return BearerToken(token_file=self.bearer_token_file)
        if self.username is not None and self.password_file is not None:
            return BasicAuth(username=self.username, password_file=self.password_file)
        return None

    def _client_certificate(self) -> ClientCertificate | None:
        if self.client_certificate_file is None or self.client_key_file is None:
            return None
        return ClientCertificate(
            certificate_file=self.client_certificate_file, key_file=self.client_key_file
        )
