"""Writing a profile through the object that made the Deployment, where it has an adapter.

    read Deployment and parent ─▶ dry run: is the item ours alone? ─▶ apply to the parent
      ─▶ wait until the Deployment has it ─▶ the Deployment as it is then
                       └─ it does not come ─▶ put the parent back, refuse

The Deployment itself is never written. To the rest of the operator it is as if it had been: the
write is done when the parent's controller has made it so, and has not happened when it did not.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import AnotherObjectError, RefusedError, StaleVersionError
from ridgeline.cluster.marker import marker
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.parent_fields import OurFields, fields_of, judged_alone, translated
from ridgeline.cluster.parents import ParentAdapter, adapter_of
from ridgeline.cluster.target import ProfileWrite, TargetApi
from ridgeline.terms.names import PROFILE_ENV, PROFILE_MANAGER
from ridgeline.terms.parents import ParentKind

PATIENCE_SECONDS: Final = 10.0
"""Time in which a parent's controller changes its Deployment: it is woken by the write itself, and
needs a few requests."""

POLL_SECONDS: Final = 0.25

SILENT_SECONDS: Final = 300.0
"""A parent whose controller did not follow is not written again for so long."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parent:
    """A parent as it was read.

    Attributes:
        adapter: How it is written.
        path: Where it is.
        body: The object.
        told: Its kind and name, for a person.
    """

    adapter: ParentAdapter
    path: str
    body: Json
    told: str

    def patch(self, fields: OurFields | None) -> Json:
        """Return the apply that makes `fields` all that we own here; `None` for nothing."""
        metadata = self.body["metadata"]
        named = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}
        body = {"apiVersion": self.body["apiVersion"], "kind": self.body["kind"], "metadata": named}
        return body if fields is None else {**body, **fields.body(self.adapter)}


class ParentTargetApi:
    """Reads Deployments, and applies profiles to them or to what made them (`ports.Targets`)."""

    def __init__(
        self,
        api: KubernetesApi,
        kinds: frozenset[ParentKind],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._plain = TargetApi(api)
        self._kinds = kinds
        self._clock = clock
        self._sleep = sleep
        self._silent_until: dict[str, float] = {}

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment as it is now.

        Raises:
            NotFoundError: It does not exist.
            ClusterError: Another failure, see `errors`.
        """
        return await self._plain.read(namespace, name)

    async def apply(self, write: ProfileWrite, *, dry_run: bool = False) -> DeploymentObject:
        """Apply a profile; return the Deployment as it is then.

        A dry run through a parent returns the Deployment as it is: what its controller would make
        of it cannot be asked.

        Raises:
            FieldConflictError: Another manager owns one of our fields.
            StaleVersionError: Deployment or parent has changed since it was read.
            AnotherObjectError: One of them was deleted and created again.
            RefusedError: The parent cannot be written, or its controller does not follow.
            ClusterError: Another failure, see `errors`.
        """
        seen = await self._plain.read(write.namespace, write.deployment)
        adapter = adapter_of(seen.shape.parent, seen.name, self._kinds)
        if adapter is None:
            return await self._plain.apply(write, dry_run=dry_run)
        _require_same(seen, write.uid, write.resource_version)
        parent = await self._parent(seen, adapter)
        _require_writable(parent, write)
        if write.profile is None:
            # Nothing of ours was there before: what is put back is that nothing of ours is there.
            return seen if dry_run else await self._release(parent, seen)
        self._require_heard(parent)
        fields = OurFields(
            config=write.config,
            label=write.profile,
            annotation=marker(write.serving, write.on_delete),
        )
        judged_alone(await self._send(parent, fields, dry_run=True), parent.adapter, parent.told)
        if dry_run:
            return seen
        await self._send(parent, fields)
        live = await self._until(seen, lambda each: _carries(each, adapter, fields))
        if live is None:
            await self._take_back(parent)
        return live or await self._unheard(parent)

    async def release(
        self, deployment: DeploymentObject, *, exact: bool = False
    ) -> DeploymentObject:
        """Give up everything that we own in a Deployment or its parent; return it as it is then.

        Raises:
            StaleVersionError: It has changed since it was read (`exact`).
            ClusterError: Another failure, see `errors`.
        """
        adapter = adapter_of(deployment.shape.parent, deployment.name, self._kinds)
        if adapter is None:
            return await self._plain.release(deployment, exact=exact)
        seen = await self._plain.read(deployment.namespace, deployment.name)
        version = deployment.resource_version if exact else seen.resource_version
        _require_same(seen, deployment.uid, version)
        return await self._release(await self._parent(seen, adapter), seen)

    async def _release(self, parent: _Parent, seen: DeploymentObject) -> DeploymentObject:
        """Give all up; where the parent's controller keeps what is gone, leave it without effect.

        Some controllers merge what they want into the Deployment and take nothing out of it (KServe
        did before kserve/kserve PR 4445). The item that stays is then given the empty value, and
        label and annotation name nobody.
        """
        ours = fields_of(parent.body, parent.adapter)
        if ours is not None:
            await self._send(parent, None)
        live = await self._until(seen, _is_free)
        if live is not None:
            return live
        parent = await self._parent(seen, parent.adapter)
        left = await self._plain.read(seen.namespace, seen.name)
        value = _value(left, parent.adapter)
        # Nothing may be ours here because we were killed after the first of these two writes.
        kept = bool(value) and (ours is None or value == ours.config)
        fields = OurFields(config="" if kept else None, label="", annotation="")
        await self._send(parent, fields)
        live = await self._until(seen, lambda each: _carries(each, parent.adapter, fields))
        return live or await self._unheard(parent)

    async def _take_back(self, parent: _Parent) -> None:
        """Put into a parent what we owned there before; what others changed meanwhile stays."""
        now = await self._api.request("GET", parent.path)
        if now["metadata"]["uid"] == parent.body["metadata"]["uid"]:
            ours = fields_of(parent.body, parent.adapter)
            await self._send(replace(parent, body=now), ours)

    async def _unheard(self, parent: _Parent) -> DeploymentObject:
        self._silent_until[parent.body["metadata"]["uid"]] = self._clock() + SILENT_SECONDS
        self._require_heard(parent)
        raise AssertionError("a parent that was just found silent is heard")

    def _require_heard(self, parent: _Parent) -> None:
        until = self._silent_until.get(parent.body["metadata"]["uid"], 0.0)
        if self._clock() < until:
            raise RefusedError(
                f"{parent.told} was given the profile and its Deployment did not have it within "
                f"{PATIENCE_SECONDS:.0f} s, so it was taken back: see whether its controller runs "
                "and passes env, labels and annotations on; it is tried again every "
                f"{SILENT_SECONDS / 60:.0f} min"
            )

    async def _parent(self, seen: DeploymentObject, adapter: ParentAdapter) -> _Parent:
        owner = seen.shape.parent
        if owner is None:
            raise AssertionError("an adapter is found by the owner")
        version = f"{owner.group}/{owner.version}"
        path = path_of(version, adapter.plural, seen.namespace, owner.name)
        body = await self._api.request("GET", path)
        if body["metadata"]["uid"] != owner.uid:
            raise AnotherObjectError(f"{owner.told} was deleted and created again")
        return _Parent(adapter=adapter, path=path, body=body, told=owner.told)

    async def _send(
        self, parent: _Parent, fields: OurFields | None, *, dry_run: bool = False
    ) -> Json:
        with translated(parent.adapter, parent.told):
            return await self._api.apply(
                parent.path,
                parent.patch(fields),
                manager=PROFILE_MANAGER,
                force=False,
                dry_run=dry_run,
            )

    async def _until(
        self, seen: DeploymentObject, done: Callable[[DeploymentObject], bool]
    ) -> DeploymentObject | None:
        """Read a Deployment until it is as it should be; `None` when it does not become so."""
        end = self._clock() + PATIENCE_SECONDS
        while True:
            live = await self._plain.read(seen.namespace, seen.name)
            if live.uid != seen.uid:
                raise AnotherObjectError(f"Deployment {seen.name} was deleted and created again")
            if done(live):
                return live
            if self._clock() >= end:
                return None
            await self._sleep(POLL_SECONDS)


def _require_same(seen: DeploymentObject, uid: str, resource_version: str) -> None:
    if seen.uid != uid:
        raise AnotherObjectError(f"Deployment {seen.name} was deleted and created again")
    if seen.resource_version != resource_version:
        raise StaleVersionError(f"Deployment {seen.name} was changed since it was read")


def _require_writable(parent: _Parent, write: ProfileWrite) -> None:
    adapter = parent.adapter
    if write.canary is not None:
        raise RefusedError(f"{parent.told} cannot hold a rollout back for a canary")
    if write.args is not None:
        raise RefusedError(
            f"{parent.told} is written by its env alone: use injection mode Env for this serving"
        )
    if write.container != adapter.container:
        raise RefusedError(
            f"only container {adapter.container!r} is written through {parent.told}, and "
            f"spec.targetRef.containerName is {write.container!r}"
        )
    if adapter.holder(parent.body) is None:
        raise RefusedError(
            f"{parent.told} has no {adapter.place.removesuffix('.env')}: the operator adds an env "
            "item to what is there, and makes no container of its own; write it there, or set "
            f"{PROFILE_ENV} by hand"
        )


def _value(live: DeploymentObject, adapter: ParentAdapter) -> str | None:
    """Return the value of the item in a Deployment; `None` without one."""
    found = next((each for each in live.containers if each.name == adapter.container), None)
    items = found.env if found is not None else ()
    item = next((each for each in reversed(items) if each.name == PROFILE_ENV), None)
    return None if item is None else item.value or ""


def _carries(live: DeploymentObject, adapter: ParentAdapter, fields: OurFields) -> bool:
    has_item = fields.config is None or _value(live, adapter) == fields.config
    return has_item and live.template_profile == fields.label and live.marker == fields.annotation


def _is_free(live: DeploymentObject) -> bool:
    """Tell whether nothing names us any more; an item that is there is the parent's default."""
    return not live.template_profile and not live.marker
