"""`ridgeline check`: whether what was installed fits together, asked from inside the cluster.

It asks with the operator's own configuration and account, so what it finds is what the operator
finds. `helm test` runs it.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import typer

from ridgeline import __version__
from ridgeline.cli.output import Output, OutputForm, dump
from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.controller.clock import system_clock
from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config
from ridgeline.settings.endpoints import EndpointConfig
from ridgeline.telemetry.client import PrometheusClient
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import TelemetryError
from ridgeline.terms.names import API_VERSION, POLICY_PLURAL, SERVING_PLURAL

VERSION_LABEL: Final = "app.kubernetes.io/version"

_QUERY: Final = "count(vllm:generation_tokens_total) or vector(0)"
"""Answered by everything that speaks the API; tells how many engines are scraped."""


class Api(Protocol):
    """What is asked of the API server."""

    async def request(
        self, method: str, path: str, *, query: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Make one call."""


Connect = Callable[[], AbstractAsyncContextManager[Api]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer to one question: what was asked, what came of it, whether that is right."""

    asked: str
    told: str
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What ought to be there; `None` for what is not asked.

    Attributes:
        version: Version of the chart.
        deployment: Name of the operator's Deployment, in the namespace of its Lease.
    """

    version: str | None = None
    deployment: str | None = None


def check(
    config: Annotated[Path, typer.Option(help="The operator's configuration file (YAML).")] = Path(
        "/etc/ridgeline/config.yaml"
    ),
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            envvar="KUBECONFIG", help="Kubeconfig file; without one, the Pod's service account."
        ),
    ] = None,
    expect_version: Annotated[
        str | None, typer.Option(help="Version that everything must have, the chart's.")
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(help="The operator's Deployment, in the Lease's namespace; must be ready."),
    ] = None,
    output: OutputForm = Output.TABLE,
) -> None:
    """Ask whether an installation fits together: CRDs, telemetry, versions.

    It changes nothing.

    Examples:
      ridgeline check --config config.yaml --kubeconfig ~/.kube/config
      kubectl exec -n ridgeline deploy/ridgeline -- ridgeline check

    Exit status:
      0 when everything is right.
      1 when something is not, or cannot be asked, the configuration among it.
      2 for wrong usage.
    """
    expected = Expected(version=expect_version, deployment=deployment)
    try:
        settings = load_config(config)
        findings = asyncio.run(findings_of(settings, _connection(kubeconfig), expected))
    except (InvalidConfigError, ClusterError) as error:
        typer.echo(f"ridgeline check: {error}", err=True)
        sys.exit(1)
    if output.is_document:
        dump([asdict(each) for each in findings], output)
    else:
        for each in findings:
            typer.echo(f"{'ok  ' if each.right else 'FAIL'}  {each.asked}: {each.told}")
    sys.exit(0 if all(each.right for each in findings) else 1)


async def findings_of(
    config: OperatorConfig, connect: Connect, expected: Expected
) -> list[Finding]:
    """Return what was found, in the order in which it is told.

    Raises:
        ClusterError: There is no way to connect to the API server.
    """
    findings = []
    if expected.version is not None:
        findings.append(_compared("version of this image", __version__, expected.version))
    async with connect() as api:
        for namespace in config.namespaces or (None,):
            findings += [
                await _served(api, plural, namespace) for plural in (SERVING_PLURAL, POLICY_PLURAL)
            ]
        if expected.deployment is not None:
            findings += await _operator(
                api, config.lease.namespace, expected.deployment, expected.version
            )
    return [*findings, *[await _telemetry(each) for each in config.telemetry]]


async def _served(api: Api, plural: str, namespace: str | None) -> Finding:
    where = f" in {namespace}" if namespace is not None else ""
    asked = f"{plural}{where}"

    async def ask() -> Finding:
        await api.request("GET", path_of(API_VERSION, plural, namespace), query={"limit": "1"})
        return Finding(asked=asked, told=f"{API_VERSION} is served", right=True)

    return await _asked(asked, ask, missing="the CRDs are not installed: kubectl apply -f crds/")


async def _operator(
    api: Api, namespace: str, name: str, version: str | None
) -> tuple[Finding, ...]:
    asked = f"Deployment {namespace}/{name}"
    read: dict[str, Any] = {}

    async def ask() -> Finding:
        read.update(await api.request("GET", path_of("apps/v1", "deployments", namespace, name)))
        ready = (read.get("status") or {}).get("readyReplicas") or 0
        wanted = (read.get("spec") or {}).get("replicas", 1)
        told = f"{ready} of {wanted} Pods are ready"
        return Finding(asked=asked, told=told, right=ready >= wanted)

    found = await _asked(asked, ask, missing="it does not exist")
    if not read or version is None:
        return (found,)
    labels = read["metadata"].get("labels") or {}
    running = str(labels.get(VERSION_LABEL))
    return (found, _compared(f"version of {asked}", running, version))


async def _asked(asked: str, ask: Callable[[], Awaitable[Finding]], *, missing: str) -> Finding:
    try:
        return await ask()
    except NotFoundError:
        return Finding(asked=asked, told=missing, right=False)
    except ClusterError as error:
        return Finding(asked=asked, told=str(error), right=False)


async def _telemetry(config: EndpointConfig) -> Finding:
    asked, endpoint = f"telemetry endpoint {config.name}", config.endpoint()
    if not isinstance(endpoint, Endpoint):
        return Finding(asked=asked, told="Pods are read by themselves", right=True)
    try:
        async with PrometheusClient(endpoint) as client:
            answer = await client.query(
                _QUERY,
                time=system_clock(),
                deadline=asyncio.get_running_loop().time() + endpoint.timeout_seconds,
                credentials=client.credentials(),
            )
    except TelemetryError as error:
        return Finding(asked=asked, told=str(error), right=False)
    engines = sum(value or 0.0 for _, value in answer.samples)
    return Finding(asked=asked, told=f"it answers; it has {engines:.0f} vLLM engines", right=True)


def _compared(asked: str, found: str, expected: str) -> Finding:
    right = found == expected
    return Finding(asked=asked, told=found if right else f"{found}, not {expected}", right=right)


def _connection(kubeconfig: str | None) -> Connect:
    @asynccontextmanager
    async def connect() -> AsyncIterator[Api]:
        api = await KubernetesApi.connect(kubeconfig, user_agent=f"ridgeline-check/{__version__}")
        try:
            yield api
        finally:
            await api.close()

    return connect
