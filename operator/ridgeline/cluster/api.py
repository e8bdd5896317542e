"""The one door to the Kubernetes API: JSON in, JSON out, errors told apart.

The generated models of the client are left aside: requests and answers stay plain JSON, which is
what server-side apply and trimming want, and costs a fraction of the decoding.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.exceptions import ApiException

from ridgeline.cluster.accounting import Accounting, ApiObserver
from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    Conflict,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
    UnavailableError,
    UndeclaredFieldError,
)
from ridgeline.cluster.kubeconfig import UNUSABLE, check_kubeconfig, unusable
from ridgeline.cluster.renewal import Renewal
from ridgeline.cluster.rest import Rest
from ridgeline.cluster.undeclared import undeclared_fields

APPLY: Final = "application/apply-patch+yaml; charset=utf-8"
"""Content type of server-side apply. The parameter makes the client send our bytes as they are."""

_NOT_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON may hold as they are and YAML may not."""

_RETRY_LATER: Final = frozenset({401, 410, 429, 500, 502, 503, 504})
"""Answers that say nothing about the request itself. 401: tokens expire and are read anew; 410: a
listing took longer than its continue token lives."""

_BEARER: Final = re.compile(r"^bearer\s+", re.IGNORECASE)
_CONFLICT_WITH: Final = re.compile(r'conflict with "(?P<manager>[^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """How to reach and convince the API server, for the watch streams. Never logged."""

    server: str
    ca_path: str | None
    verify: bool
    token: str | None = field(repr=False)
    certificate_path: str | None
    private_key_path: str | None


class KubernetesApi:
    """Calls to one API server. Use `connect` to make one, `close` to end it.

    Attributes:
        client: The connection.
        timeout_seconds: A call without an answer is given up after this.
        rest: How long the API server asked to be left alone.
    """

    def __init__(
        self, client: ApiClient, timeout_seconds: float = 10.0, rest: Rest | None = None
    ) -> None:
        self.client = client
        self.timeout_seconds = timeout_seconds
        self.rest = rest or Rest()
        self._server = f"the Kubernetes API at {address_of(client.configuration.host)}"

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | None,
        *,
        user_agent: str,
        timeout_seconds: float = 10.0,
        observer: ApiObserver | None = None,
    ) -> "KubernetesApi":
        """Connect by a kubeconfig file, or by the Pod's service account when it is `None`.

        Args:
            kubeconfig: The file.
            user_agent: What the API server's audit log shows.
            timeout_seconds: A call without an answer is given up after this.
            observer: Is told of every call, those of the election too.

        Raises:
            ClusterError: There is neither a usable kubeconfig nor a service account.
        """
        configuration = await _configuration(kubeconfig)
        renewal = renewal_of(kubeconfig, configuration)
        counted = () if observer is None else (Accounting(observer),)
        configuration.client_session_kwargs = {"middlewares": (renewal, *counted)}
        try:
            client = ApiClient(configuration=configuration)
            renewal.guard(client.rest_client.ssl_context)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"cannot connect to Kubernetes: the certificates or keys of "
                f"{kubeconfig or 'the service account'} cannot be used; correct them"
            ) from error
        client.user_agent = user_agent
        return cls(client, timeout_seconds)

    @staticmethod
    async def credentials(kubeconfig: str | None) -> Credentials:
        """Read credentials anew: tokens in files and from plugins expire.

        Raises:
            ClusterError: There is neither a usable kubeconfig nor a service account.
        """
        configuration = await _configuration(kubeconfig)
        bearer = configuration.api_key.get("BearerToken") or ""
        return Credentials(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            verify=configuration.verify_ssl,
            # The client writes "Bearer" for kubeconfigs and "bearer" for service accounts.
            token=_BEARER.sub("", bearer).strip() or None,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
        )

    @staticmethod
    async def usual_namespace(kubeconfig: str | None) -> str:
        """Return the namespace of the kubeconfig's current context, `default` without one.

        Raises:
            ClusterError: The kubeconfig cannot be read.
        """
        if kubeconfig is None:
            return "default"
        check_kubeconfig(kubeconfig)
        try:
            _, context = config.list_kube_config_contexts(config_file=kubeconfig)
        except UNUSABLE as error:
            raise unusable(kubeconfig, error) from None
        return str((context.get("context") or {}).get("namespace") or "default")

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | bytes | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Make one call and return the object that the API server answers.

        While the API server asks to be left alone, no call is made at all.

        Raises:
            ClusterError: One of its kinds, see `errors`.
        """
        if self.rest.seconds_left > 0.0:
            # Always the same words: a log tells each trouble once.
            raise UnavailableError(f"{self._server} asked to be left alone for a while")
        serialized = await self.client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        patience = self._patience_seconds(method)
        try:
            response = await self.client.call_api(*serialized, _request_timeout=patience)
            data = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = _why_unreachable(error, patience)
            raise UnavailableError(
                f"{self._server} did not answer {method} {path}: {why}"
            ) from error
        except ApiException as error:
            raise UnavailableError(f"{self._server} did not answer: {error.reason}") from error
        self.rest.heard(response.status, response.headers.get("Retry-After"))
        if response.status >= 400:
            raise error_of(response.status, data)
        answer = _json_object(data)
        if answer is None:
            # A proxy or load balancer in between, say, with a page of its own.
            raise UnavailableError(f"{method} {path} was answered with something else than JSON")
        return answer

    def _patience_seconds(self, method: str) -> float:  # noqa: ARG002 (for those that tell writes)
        """Return after how many seconds a call is given up that is about to be sent."""
        return self.timeout_seconds

    async def apply(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        manager: str,
        force: bool,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Server-side apply `body` as field manager `manager`."""
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        return await self.request(
            "PATCH", path, query=query, body=yaml_bytes(body), content_type=APPLY
        )

    async def pages(
        self, path: str, *, page_size: int, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """List a collection page by page."""
        parameters = {**(query or {}), "limit": str(page_size)}
        while True:
            answer = await self.request("GET", path, query=parameters)
            yield answer.get("items") or []
            token = (answer.get("metadata") or {}).get("continue")
            if not token:
                return
            parameters["continue"] = token


def renewal_of(kubeconfig: str | None, in_use: Configuration | None = None) -> Renewal:
    """Return what reads the credentials of a connection anew when they are refused.

    Args:
        kubeconfig: Where they stand; `None` for the Pod's service account.
        in_use: Those of the connection; without, its token is left to who made the connection.
    """
    return Renewal(partial(_configuration, kubeconfig), in_use)


async def _configuration(kubeconfig: str | None) -> Configuration:
    configuration = Configuration()
    if kubeconfig is None:
        try:
            config.load_incluster_config(client_configuration=configuration)
        except (config.ConfigException, OSError) as error:
            raise ClusterError(
                "cannot connect to Kubernetes: there is no kubeconfig, and no service account of a "
                f"Pod ({str(error).rstrip('.')}); name a kubeconfig with --kubeconfig or KUBECONFIG"
            ) from error
        return configuration
    check_kubeconfig(kubeconfig)
    try:
        await config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
    except UNUSABLE as error:
        raise unusable(kubeconfig, error) from None
    return configuration


def address_of(url: str) -> str:
    """Return scheme, host and port of an address, and nothing else that stands in it."""
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        return "an address without http:// or https://"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _why_unreachable(error: Exception, timeout_seconds: float) -> str:
    """Why there was no answer, in words for a person instead of a client's objects."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection can be made"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_seconds:.3g} s"
    if isinstance(error, aiohttp.InvalidURL):
        return "the address is none that can be asked"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection"
    if isinstance(error, OSError):
        known = error.errno is not None and error.errno > 0
        text = os.strerror(error.errno) if known and error.errno else error.strerror
        return (text or "no connection can be made").lower()
    return "the answer broke off, or is no HTTP"


def yaml_bytes(body: Mapping[str, Any]) -> bytes:
    """Return JSON that is YAML, too, for server-side apply.

    JSON escapes characters beyond U+FFFF as pairs of surrogates, which YAML refuses, so they go out
    as they are. Half a pair, which no text should hold, becomes a question mark.
    """
    text = json.dumps(body, ensure_ascii=False)
    safe = _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return safe.encode("utf-8", errors="replace")


def path_of(group_version: str, plural: str, namespace: str | None = None, *rest: str) -> str:
    """Return the path of a collection or an object, its parts escaped."""
    root = "/api/v1" if group_version == "v1" else f"/apis/{group_version}"
    parts = [] if namespace is None else ["namespaces", namespace]
    return "/".join([root, *(quote(part, safe="") for part in (*parts, plural, *rest))])


def error_of(status: int, data: bytes) -> ClusterError:
    """Turn an error answer into the kind that tells what to do.

    The three kinds of 409 are told apart by their causes and words: a field-manager conflict has
    causes of type FieldManagerConflict; a uid mismatch says so; the rest is a resourceVersion that
    is not the current one. A uid that is not the live object's is a 409 only where there is no
    live object; else it is a 422 on the immutable field metadata.uid.
    """
    answer = _json_object(data) or {}
    message = str(answer.get("message") or data[:300].decode(errors="replace") or status)
    if status == 404:
        return NotFoundError(message)
    undeclared = undeclared_fields(message)
    if undeclared:
        return UndeclaredFieldError(message, undeclared)
    if status in _RETRY_LATER:
        return UnavailableError(message)
    if status == 422 and any(each.get("field") == "metadata.uid" for each in _causes(answer)):
        return AnotherObjectError(message)
    if status != 409:
        return RefusedError(message)
    conflicts = _field_conflicts(answer)
    if conflicts:
        return FieldConflictError(message, conflicts)
    if "uid" in message.lower() and ("precondition" in message.lower() or "mismatch" in message):
        return AnotherObjectError(message)
    return StaleVersionError(message)


def _json_object(data: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(data) if data else {}
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _causes(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    details = answer.get("details")
    return details.get("causes") or () if isinstance(details, dict) else ()


def _field_conflicts(answer: Mapping[str, Any]) -> tuple[Conflict, ...]:
    found = []
    for cause in _causes(answer):
        if cause.get("reason") != "FieldManagerConflict":
            continue
        named = _CONFLICT_WITH.search(cause.get("message", ""))
        found.append(
            Conflict(
                manager=named["manager"] if named else cause.get("message", "unknown"),
                field=cause.get("field", ""),
            )
        )
    return tuple(found)
