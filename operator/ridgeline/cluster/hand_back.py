"""Giving an argument list back that was taken over.

    read ─▶ apply the maker's list, without our label, item and pause ─▶ take our entry out of
    managedFields, with the annotation

An apply that names nothing would delete a list that nobody else owns. So its maker's content is put
back first, and then only the ownership is given up: the list stays, and belongs to whoever applies
it next. A process killed between the two leaves a list that is its maker's already, and an
annotation that says that there is something to give back.
"""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.cluster import managed_fields
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.args_write import makers_args
from ridgeline.cluster.errors import AnotherObjectError, StaleVersionError
from ridgeline.cluster.objects import DeploymentObject, trim_deployment
from ridgeline.terms.names import PROFILE_MANAGER, SERVING_ANNOTATION

MERGE_PATCH: Final = "application/merge-patch+json"

_ATTEMPTS: Final = 10
"""Tries of each of the two writes: the Deployment controller writes its status at the same time."""

Json = Mapping[str, Any]


async def hand_back(
    api: KubernetesApi, path: str, seen: DeploymentObject, *, exact: bool
) -> DeploymentObject:
    """Give up all that we own in a Deployment, an argument list included; return it as it is then.

    Args:
        api: The API server.
        path: Where the Deployment is.
        seen: The Deployment as it was read.
        exact: Fail when it has changed since.

    Raises:
        StaleVersionError: It has changed since it was read (`exact`), or never stands still.
        AnotherObjectError: It was deleted and created again.
        ClusterError: Another failure, see `errors`.
    """
    body = await _restore(api, path, seen, exact=exact)
    for _ in range(_ATTEMPTS):
        if not managed_fields.ours(body["metadata"].get("managedFields") or ()):
            return trim_deployment(body)
        try:
            body = await api.request(
                "PATCH",
                path,
                query={"fieldManager": PROFILE_MANAGER},
                body=_disowned(body),
                content_type=MERGE_PATCH,
            )
        except StaleVersionError:
            body = await _read(api, path, seen.uid)
    raise _restless(seen)


async def _restore(
    api: KubernetesApi, path: str, seen: DeploymentObject, *, exact: bool
) -> dict[str, Any]:
    """Put the maker's lists back; return the object as it is then."""
    for _ in range(_ATTEMPTS):
        body = await _read(api, path, seen.uid)
        live = trim_deployment(body)
        if exact and live.resource_version != seen.resource_version:
            raise StaleVersionError(f"Deployment {seen.name} was changed since it was read")
        patch = _restored(body, live)
        try:
            return await api.apply(path, patch, manager=PROFILE_MANAGER, force=False)
        except StaleVersionError:
            if exact:
                raise
    raise _restless(seen)


def _restless(seen: DeploymentObject) -> StaleVersionError:
    return StaleVersionError(f"Deployment {seen.name} does not stand still: try again")


async def _read(api: KubernetesApi, path: str, uid: str) -> dict[str, Any]:
    body = await api.request("GET", path)
    if body["metadata"]["uid"] != uid:
        raise AnotherObjectError("the Deployment was deleted and created again")
    return body


def _restored(body: Json, live: DeploymentObject) -> Json:
    """Return the apply that leaves us nothing but lists as their makers wrote them.

    A list that somebody else owns as well is that of its maker by now, and just given up.
    """
    alone = [each for each in live.args_ours if not _shared(body, each)]
    containers = [
        {"name": each.name, "args": list(makers_args(live, each))}
        for each in live.containers
        if each.name in alone
    ]
    kept = {"annotations": {SERVING_ANNOTATION: live.marker}} if live.marker and alone else {}
    spec = {"spec": {"template": {"spec": {"containers": containers}}}} if containers else {}
    return {**_head(body), "metadata": {**_head(body)["metadata"], **kept}, **spec}


def _shared(body: Json, container: str) -> bool:
    way = managed_fields.args_of(container)
    entries = body["metadata"].get("managedFields") or ()
    return any(
        managed_fields.owns(each, way) for each in entries if not managed_fields.is_ours(each)
    )


def _disowned(body: Json) -> Json:
    """Return the patch that takes our entry and annotation out, and nothing else."""
    metadata = body["metadata"]
    others = [each for each in metadata["managedFields"] if not managed_fields.is_ours(each)]
    annotated = SERVING_ANNOTATION in (metadata.get("annotations") or {})
    return {
        "metadata": {
            **{key: metadata[key] for key in ("uid", "resourceVersion")},
            **({"annotations": {SERVING_ANNOTATION: None}} if annotated else {}),
            # One empty entry is how the API server is told that nobody owns anything.
            "managedFields": others or [{}],
        }
    }


def _head(body: Json) -> dict[str, Any]:
    metadata = body["metadata"]
    named = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named}
