"""A reader for each telemetry endpoint of the configuration, and the Pods that a scraping one asks.

Which Pods are scraped follows from the watch store alone: no more is read from the API server, and
nothing in a namespaced object says where a request goes but a Pod's own address and port.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Protocol

from ridgeline.api import defaults
from ridgeline.cluster.objects import PodObject, ServingObject
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.settings.config import OperatorConfig
from ridgeline.settings.endpoints import EndpointConfig
from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import ScrapeTarget
from ridgeline.telemetry.snapshot import TelemetrySnapshot

LONGEST_BACKOFF_SECONDS: Final = 60.0
"""How late the recovery of a telemetry endpoint is noticed at most, unless it asked for longer."""


class Reader(Protocol):
    """A telemetry source that is closed at the end."""

    async def read(self, now: float) -> TelemetrySnapshot:
        """Read all servings' signals at once."""

    async def close(self) -> None:
        """Give back what is held."""


def readers_of(
    config: OperatorConfig, store: WatchStore, around: Surroundings
) -> dict[str, Reader]:
    """Return a reader for each endpoint, by its name."""
    backoff = Backoff(
        first_seconds=config.tick_seconds,
        longest_seconds=max(LONGEST_BACKOFF_SECONDS, config.tick_seconds),
    )
    window = float(config.rate_window_seconds)
    readers: dict[str, Reader] = {}
    for each in config.telemetry:
        endpoint = each.endpoint()
        if isinstance(endpoint, Endpoint):
            readers[each.name] = TelemetryReader(endpoint, window_seconds=window, backoff=backoff)
        else:
            targets = partial(scrape_targets, each, store, around)
            readers[each.name] = ScrapeReader(
                endpoint, targets, window_seconds=window, backoff=backoff
            )
    return readers


def scrape_targets(
    endpoint: EndpointConfig, store: WatchStore, around: Surroundings
) -> tuple[ScrapeTarget, ...]:
    """Return the live, Ready Pods of all servings that name the endpoint, each once."""
    found: dict[tuple[str, str], ScrapeTarget] = {}
    for serving in store.servings.all():
        if endpoint_of(serving, around) == endpoint.name:
            for pod in _pods_of(serving, store):
                if pod.address is not None:
                    found[pod.namespace, pod.name] = ScrapeTarget(
                        namespace=pod.namespace,
                        pod=pod.name,
                        process=f"{pod.uid}/{pod.started_at}",
                        host=pod.address,
                        port=dict(pod.ports).get(endpoint.pods.port_name, endpoint.pods.port),
                    )
    return tuple(found[key] for key in sorted(found))


def _pods_of(serving: ServingObject, store: WatchStore) -> Iterator[PodObject]:
    target = _mapping(serving.spec.get("targetRef")).get("name")
    for pod in store.pods_of(serving.namespace, str(target)):
        if pod.ready_since is not None and not pod.deleting:
            yield pod


def endpoint_of(serving: ServingObject, around: Surroundings) -> str:
    """Return the endpoint that a serving names: itself, by its policy, or by default.

    The specs are not checked here. One that is wrong is told by its own serving.
    """
    name = serving.spec.get("telemetry")
    if name is None:
        policy = _mapping(serving.spec.get("policyRef")).get("name")
        found = around.policies.get((serving.namespace, str(policy)))
        name = found.spec.get("telemetry") if found is not None else None
    return defaults.TELEMETRY if name is None else str(name)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
