"""Kopf wiring: every watch event goes, trimmed, into the store. Nothing else happens here.

Only `on.event` handlers: they add no finalizer, no annotation and no state of their own.
"""

from collections.abc import Collection
from typing import Any, Final

import kopf

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.objects import trim_deployment, trim_pod, trim_serving
from ridgeline.cluster.store import WatchStore
from ridgeline.terms.names import GROUP, SERVING_PLURAL, VERSION

PAGE_SIZE: Final = 500
_DELETED: Final = "DELETED"


def watch_registry(store: WatchStore, kubeconfig: str | None) -> kopf.OperatorRegistry:
    """Return the handlers that keep the store up to date."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        credentials = await KubernetesApi.credentials(kubeconfig)
        return kopf.ConnectionInfo(
            server=credentials.server,
            ca_path=credentials.ca_path,
            insecure=not credentials.verify,
            token=credentials.token,
            certificate_path=credentials.certificate_path,
            private_key_path=credentials.private_key_path,
        )

    @kopf.on.event(GROUP, VERSION, SERVING_PLURAL, registry=registry)
    async def serving_changed(event: kopf.RawEvent, **_: Any) -> None:
        item = trim_serving(event["object"])
        if event["type"] == _DELETED:
            store.drop_serving((item.namespace, item.name), item.uid)
        else:
            store.put_serving(item)

    @kopf.on.event("apps", "v1", "deployments", registry=registry)
    async def deployment_changed(event: kopf.RawEvent, **_: Any) -> None:
        item = trim_deployment(event["object"])
        if event["type"] == _DELETED:
            store.drop_deployment((item.namespace, item.name), item.uid)
        else:
            store.put_deployment(item)

    @kopf.on.event("", "v1", "pods", registry=registry)
    async def pod_changed(event: kopf.RawEvent, **_: Any) -> None:
        item = trim_pod(event["object"])
        if item is None:
            return
        if event["type"] == _DELETED:
            store.drop_pod((item.namespace, item.name), item.uid)
        else:
            store.put_pod(item)

    return registry


def watch_settings() -> kopf.OperatorSettings:
    """Return Kopf's settings: paged lists, no posting, no peering."""
    settings = kopf.OperatorSettings()
    settings.watching.chunk_size = PAGE_SIZE
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.scanning.disabled = True
    return settings


def scope_of(namespaces: Collection[str]) -> dict[str, Any]:
    """Return Kopf's arguments for the namespaces to watch."""
    return {"namespaces": list(namespaces)} if namespaces else {"clusterwide": True}
