"""Kopf wiring: every watch event goes, trimmed, into the store. Nothing else happens here.

Only `on.event` handlers: they add no finalizer, no annotation and no state of their own.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import kopf

from ridgeline.cluster.accounting import ApiObserver, watched_session
from ridgeline.cluster.api import Credentials, KubernetesApi, renewal_of
from ridgeline.cluster.needed import needed_kinds
from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.objects import trim_deployment, trim_pod, trim_serving
from ridgeline.cluster.store import Key, Shelf, Stored, WatchStore
from ridgeline.cluster.surroundings import (
    Surroundings,
    trim_bound,
    trim_budget,
    trim_node,
    trim_spec,
)
from ridgeline.controller.nothing_kept import NoEssence, NoProgress
from ridgeline.terms.names import (
    ACCELERATOR_PLURAL,
    GROUP,
    POLICY_PLURAL,
    SERVING_PLURAL,
    VERSION,
)

PAGE_SIZE: Final = 500
_DELETED: Final = "DELETED"

S = TypeVar("S", bound=Stored)
Resource = tuple[str, str, str]
"""Group, version and plural name."""


def watch_registry(
    store: WatchStore,
    kubeconfig: str | None,
    surroundings: Surroundings | None = None,
    observer: ApiObserver | None = None,
) -> kopf.OperatorRegistry:
    """Return the handlers that keep the store up to date.

    Of the surroundings only those kinds are watched that could be listed. The observer is told of
    every call of the streams, and of every sign of life.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return _session(await KubernetesApi.credentials(kubeconfig), observer, kubeconfig)

    servings, deployments = (GROUP, VERSION, SERVING_PLURAL), ("apps", "v1", "deployments")
    _follow(registry, servings, trim_serving, store.put_serving, store.drop_serving)
    _follow(registry, deployments, trim_deployment, store.put_deployment, store.drop_deployment)
    _follow(
        registry,
        ("", "v1", "pods"),
        trim_pod,
        store.put_pod,
        store.drop_pod,
        # A Pod that was taken out of its Deployment, to be looked at by a person, say.
        release=store.release_pod,
    )
    if surroundings is not None:
        _follow_surroundings(registry, surroundings)
    return registry


@dataclass(frozen=True, kw_only=True)
class _Session(kopf.AiohttpSession):
    """Credentials that make a session of their own for whoever asks, as Kopf's own ones do.

    Kopf closes the session when it gives credentials up, and may ask with them again meanwhile: a
    closed session would leave that stream waiting for ever. Equal credentials are equal, so that
    Kopf does not try again what was refused.
    """

    told: kopf.ConnectionInfo = field(repr=False)
    observer: ApiObserver | None = field(compare=False, repr=False)
    kubeconfig: str | None = field(compare=False, repr=False)
    aiohttp_session: Any = field(init=False, compare=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        if name != "aiohttp_session":
            raise AttributeError(name)
        renewal, context = renewal_of(self.kubeconfig), self.told.as_ssl_context()
        renewal.guard(context)
        headers = self.told.as_http_headers()
        return watched_session(self.observer, ssl=context, headers=headers, around=renewal)


def _session(
    credentials: Credentials, observer: ApiObserver | None, kubeconfig: str | None = None
) -> _Session:
    told = kopf.ConnectionInfo(
        server=credentials.server,
        ca_path=credentials.ca_path,
        insecure=not credentials.verify,
        token=credentials.token,
        certificate_path=credentials.certificate_path,
        private_key_path=credentials.private_key_path,
    )
    return _Session(server=credentials.server, told=told, observer=observer, kubeconfig=kubeconfig)


def _follow_surroundings(registry: kopf.OperatorRegistry, around: Surroundings) -> None:
    @kopf.on.event("", "v1", "pods", registry=registry, id="bound_pod_changed")
    async def bound_pod_changed(event: kopf.RawEvent, **_: Any) -> None:
        item = trim_bound(event["object"])
        if item is not None and event["type"] != _DELETED:
            around.put_bound(item)
            return
        metadata = event["object"]["metadata"]
        around.drop_bound((metadata["namespace"], metadata["name"]), metadata["uid"])

    if around.policies.primed:
        policies = (GROUP, VERSION, POLICY_PLURAL)
        _follow(registry, policies, trim_spec, around.put_policy, around.drop_policy)
    accelerators = (GROUP, VERSION, ACCELERATOR_PLURAL)
    _follow_shelf(registry, accelerators, trim_spec, around.accelerators)
    _follow_shelf(registry, ("", "v1", "nodes"), trim_node, around.nodes)
    budgets = ("policy", "v1", "poddisruptionbudgets")
    _follow_shelf(registry, budgets, trim_budget, around.budgets)
    _follow_shelf(registry, ("", "v1", "resourcequotas"), trim_quota, around.quotas)
    autoscalers = ("autoscaling", "v2", "horizontalpodautoscalers")
    _follow_shelf(registry, autoscalers, trim_autoscaler, around.autoscalers)
    for group_version, plural, trim, shelf in needed_kinds(around):
        group, version = group_version.split("/")
        _follow_shelf(registry, (group, version, plural), trim, shelf)


def _follow_shelf(
    registry: kopf.OperatorRegistry, resource: Resource, trim: Callable[[Any], S], shelf: Shelf[S]
) -> None:
    if shelf.primed:
        _follow(registry, resource, trim, shelf.put, shelf.drop)


def _follow(
    registry: kopf.OperatorRegistry,
    resource: Resource,
    trim: Callable[[Any], S | None],
    put: Callable[[S], object],
    drop: Callable[[Key, str], object],
    release: Callable[[Key, str], object] | None = None,
) -> None:
    """Register a handler that keeps one kind up to date.

    Args:
        registry: Where it is registered.
        resource: The kind.
        trim: Returns what is kept of an object; `None` where it is of no concern.
        put: Keeps an object.
        drop: Forgets a deleted one.
        release: Forgets one that is of no concern any more.
    """

    @kopf.on.event(*resource, registry=registry, id=f"{resource[2]}_changed")
    async def changed(event: kopf.RawEvent, **_: Any) -> None:
        item = trim(event["object"])
        if item is None:
            metadata = event["object"]["metadata"]
            if release is not None:
                release((metadata.get("namespace", ""), metadata["name"]), metadata["uid"])
            return
        if event["type"] == _DELETED:
            drop((item.namespace, item.name), item.uid)
        else:
            put(item)


def watch_settings() -> kopf.OperatorSettings:
    """Return Kopf's settings: paged lists, no posting, no peering, nothing kept of objects."""
    settings = kopf.OperatorSettings()
    settings.watching.chunk_size = PAGE_SIZE
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.persistence.diffbase_storage = NoEssence()
    settings.persistence.progress_storage = NoProgress()
    return settings


def scope_of(namespaces: Collection[str]) -> dict[str, Any]:
    """Return Kopf's arguments for the namespaces to watch."""
    return {"namespaces": list(namespaces)} if namespaces else {"clusterwide": True}
