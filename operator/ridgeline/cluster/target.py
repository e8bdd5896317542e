"""Reading a target and writing its profile: the only writes to a workload.

One server-side apply carries one env item (or one container's argument list), one Pod-template
label and one annotation of the Deployment, nothing else. Nothing but an argument list is ever taken
over by force. The apply names the uid and the resourceVersion that were read, so that nothing lands
on another object or over a change that was not seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.args_write import ArgsWrite
from ridgeline.cluster.errors import Conflict, FieldConflictError
from ridgeline.cluster.hand_back import hand_back
from ridgeline.cluster.managed_fields import env_item, owns
from ridgeline.cluster.marker import CanaryMark, marker
from ridgeline.cluster.objects import DeploymentObject, trim_deployment
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION
from ridgeline.terms.rolls import OnDelete


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileWrite:
    """A profile to put into a Deployment.

    Attributes:
        namespace: Namespace of the Deployment and of its serving.
        deployment: Name of the Deployment.
        uid: Identity that was read.
        resource_version: Version that was read.
        container: Container that gets the env item.
        serving: Name of the serving that asks for it.
        profile: Name of the profile, for the label; `None` for no label of ours.
        config: Speculative config; empty for no speculation.
        on_delete: What is to happen to the profile when the serving is gone.
        canary: What is to be put back should the canary end without its serving: label and config
            from before, or nothing when our fields are to be given up. Given while the target is
            paused for a canary, which the write then asks for.
        args: The container's argument list with the config in it, which takes the place of the env
            item; `None` where the item carries the config.
    """

    namespace: str
    deployment: str
    uid: str
    resource_version: str
    container: str
    serving: str
    profile: str | None
    config: str
    on_delete: OnDelete = OnDelete.KEEP
    canary: CanaryMark | None = None
    args: ArgsWrite | None = None


class TargetApi:
    """Reads Deployments and applies profiles to them."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment as it is now.

        Raises:
            NotFoundError: It does not exist.
            ClusterError: Another failure, see `errors`.
        """
        return trim_deployment(
            await self._api.request("GET", path_of("apps/v1", "deployments", namespace, name))
        )

    async def apply(self, write: ProfileWrite, *, dry_run: bool = False) -> DeploymentObject:
        """Apply a profile and return the Deployment as it is then.

        A dry run is stricter than the API server: it also refuses an env item that another manager
        owns without a conflict (see `other_owners`).

        An argument list is taken over from whoever owns it, where nothing else is in the way: the
        forced apply names the version of which the API server has just said so.

        Raises:
            FieldConflictError: Another manager owns one of the three fields.
            StaleVersionError: The Deployment has changed since it was read.
            AnotherObjectError: It was deleted and created again.
            ClusterError: Another failure, see `errors`.
        """
        try:
            body = await self._send(write, force=False, dry_run=dry_run)
        except FieldConflictError as error:
            if write.args is None or {each.field for each in error.conflicts} != {_args(write)}:
                raise
            body = await self._send(write, force=True, dry_run=dry_run)
        by_item = dry_run and write.args is None
        others = other_owners(body, write.container) if by_item else ()
        if others:
            named = ", ".join(repr(each.manager) for each in others)
            raise FieldConflictError(f"{named} owns the env item {PROFILE_ENV}, too", others)
        return trim_deployment(body)

    async def _send(self, write: ProfileWrite, *, force: bool, dry_run: bool) -> dict[str, Any]:
        return await self._api.apply(
            path_of("apps/v1", "deployments", write.namespace, write.deployment),
            profile_patch(write),
            manager=PROFILE_MANAGER,
            force=force,
            dry_run=dry_run,
        )

    async def release(
        self, deployment: DeploymentObject, *, exact: bool = False
    ) -> DeploymentObject:
        """Give up everything that we own in a Deployment; return it as it is then.

        An apply that names nothing gives up all: env item, label and annotation go where nobody
        else owns them, and the default of Git applies again (which rolls the target, when it
        ran another profile). An argument list stays, as its maker wrote it (`hand_back`).

        Args:
            deployment: The Deployment as it was read.
            exact: Fail when it has changed since.

        Raises:
            StaleVersionError: It has changed since it was read (`exact`).
            ClusterError: Another failure, see `errors`.
        """
        path = path_of("apps/v1", "deployments", deployment.namespace, deployment.name)
        if deployment.args_ours:
            return await hand_back(self._api, path, deployment, exact=exact)
        version = {"resourceVersion": deployment.resource_version} if exact else {}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": deployment.name,
                "namespace": deployment.namespace,
                "uid": deployment.uid,
                **version,
            },
        }
        return trim_deployment(
            await self._api.apply(path, body, manager=PROFILE_MANAGER, force=False)
        )


def profile_patch(write: ProfileWrite) -> Mapping[str, Any]:
    """Return the body of the apply: the complete list of what we own in a Deployment."""
    paused = {"paused": True} if write.canary is not None else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": write.deployment,
            "namespace": write.namespace,
            "uid": write.uid,
            "resourceVersion": write.resource_version,
            "annotations": {SERVING_ANNOTATION: marker_text(write)},
        },
        "spec": {
            **paused,
            "template": {
                **_labels(write.profile),
                "spec": {"containers": [{"name": write.container, **_carrier(write)}]},
            },
        },
    }


def marker_text(write: ProfileWrite) -> str:
    """Return the value of the annotation that a write carries."""
    mark = write.args.mark if write.args is not None else None
    return marker(write.serving, write.on_delete, write.canary, mark)


def _carrier(write: ProfileWrite) -> Mapping[str, Any]:
    if write.args is not None:
        return {"args": list(write.args.words)}
    return {"env": [{"name": PROFILE_ENV, "value": write.config}]}


def _args(write: ProfileWrite) -> str:
    """Return the path of the argument list, as the API server writes it."""
    return f'.spec.template.spec.containers[name="{write.container}"].args'


def _labels(profile: str | None) -> Mapping[str, Any]:
    return {} if profile is None else {"metadata": {"labels": {PROFILE_LABEL: profile}}}


def other_owners(body: Mapping[str, Any], container: str) -> tuple[Conflict, ...]:
    """Return who else owns the env item of a Deployment, by its `managedFields`.

    The API server calls it no conflict when another manager's value is equal to ours, or empty and
    written without server-side apply. That manager's next write would take our profile out all the
    same, so it is one to us.
    """
    way = env_item(container)
    field = f'.spec.template.spec.containers[name="{container}"].env[name="{PROFILE_ENV}"]'
    return tuple(
        Conflict(manager=entry.get("manager", ""), field=field)
        for entry in body["metadata"].get("managedFields") or ()
        if entry.get("manager") != PROFILE_MANAGER
        and not entry.get("subresource")
        and owns(entry, way)
    )
