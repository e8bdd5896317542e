"""Claimed devices and PodGroups as a real API server lists and streams them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.gangs import COSCHEDULING
from ridgeline.cluster.listing import relist
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.run import Operator
from ridgeline.policy.placement import PodNeeds
from ridgeline.settings.config import parse_config
from ridgeline.terms.names import SERVING_PLURAL
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import create, deployment, serving, until

pytestmark = pytest.mark.usefixtures("crds")

DRA = "resource.k8s.io/v1"
POD_GROUPS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        # Without it the API server takes nobody's definition in this group.
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": COSCHEDULING,
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"minMember": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def device_class(name: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]
    return _body(DRA, "DeviceClass", name, spec={"selectors": selectors})


def resource_slice(name: str, driver: str, count: int = 4) -> dict[str, Any]:
    spec = {
        "driver": f"{driver}.example.com",
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": f"gpu-{index}", "attributes": {"type": {"string": "gpu"}}}
            for index in range(count)
        ],
    }
    return _body(DRA, "ResourceSlice", name, spec=spec)


def asking(device_class_name: str, count: int) -> dict[str, Any]:
    exactly = {"deviceClassName": device_class_name, "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def allocation(name: str, driver: str, *devices: str) -> dict[str, Any]:
    results = [
        {"request": "gpu", "driver": f"{driver}.example.com", "pool": name, "device": device}
        for device in devices
    ]
    return {"allocation": {"devices": {"results": results}}}


def claiming(room: str, name: str) -> dict[str, Any]:
    """A Deployment of no replicas whose Pods would claim devices, and belong to a gang."""
    body = deployment(room, name, labels={"scheduling.x-k8s.io/pod-group": name})
    claims = [{"name": "gpu", "resourceClaimTemplateName": name}]
    body["spec"]["template"]["spec"]["resourceClaims"] = claims
    return body


def _body(
    version: str, kind: str, name: str, namespace: str | None = None, **more: Any
) -> dict[str, Any]:
    where = {} if namespace is None else {"namespace": namespace}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **where}, **more}


async def post(api: KubernetesApi, plural: str, body: dict[str, Any]) -> None:
    where = path_of(body["apiVersion"], plural, body["metadata"].get("namespace"))
    await api.request("POST", where, body=body)


@pytest.fixture
async def claimed(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str
) -> AsyncIterator[str]:
    """Four devices on one node, two of them in a claim, and a target that asks for one each."""
    control_plane.kubectl("apply", "-f", "-", input_object=POD_GROUPS)
    control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")
    await post(api, "deviceclasses", device_class(name))
    await post(api, "resourceslices", resource_slice(name, name))
    template = _body(DRA, "ResourceClaimTemplate", name, room, spec={"spec": asking(name, 1)})
    await post(api, "resourceclaimtemplates", template)
    claim = _body(DRA, "ResourceClaim", f"{name}-held", room, spec=asking(name, 2))
    await post(api, "resourceclaims", claim)
    where = path_of(DRA, "resourceclaims", room, f"{name}-held")
    held = {"status": allocation(name, name, "gpu-0", "gpu-1")}
    await api.request(
        "PATCH",
        f"{where}/status",
        body=held,
        content_type="application/merge-patch+json",
    )
    group = _body(f"{COSCHEDULING}/v1alpha1", "PodGroup", name, room, spec={"minMember": 3})
    await post(api, "podgroups", group)
    await create(api, claiming(room, name))
    yield name
    for version, plural, which in (
        (DRA, "resourceslices", name),
        (DRA, "resourceslices", f"{name}-2"),
        (DRA, "deviceclasses", name),
    ):
        with contextlib.suppress(NotFoundError):
            await api.request("DELETE", path_of(version, plural, None, which))


async def test_what_a_server_tells_of_devices_and_groups_is_counted(
    api: KubernetesApi, room: str, claimed: str
) -> None:
    store, around = WatchStore(), Surroundings()
    await relist(api, store, (), around)
    assert around.looked_into == frozenset(), "no serving has it as its target"
    await post(api, SERVING_PLURAL, serving(room, claimed))
    await relist(api, store, (), around)
    assert {DRA, COSCHEDULING} <= around.looked_into
    target = store.deployments.get((room, claimed))
    assert target is not None
    assert free(around, room, target.shape.needs, claimed) == 2
    gang = around.gang_told(room, target.shape.gang)
    assert gang is not None
    assert (gang.name, gang.least) == (claimed, 3)


async def test_kinds_that_are_needed_later_are_followed_without_a_restart(
    control_plane: Cluster, api: KubernetesApi, room: str, claimed: str
) -> None:
    """The first listing finds no target that needs them; from the second on they are watched."""
    config = {
        "tickSeconds": 1,
        "port": 0,
        # After the one that comes soon after the start, none in the time of this test.
        "relistSeconds": 3000,
        "namespaces": [],
        "lease": {"namespace": room, "durationSeconds": 5},
        "telemetry": [{"url": "http://127.0.0.1:9"}],
    }
    operator, stop = Operator(parse_config(config), str(control_plane.kubeconfig)), asyncio.Event()
    running = asyncio.create_task(operator.run(stop))
    around, store = operator._around, operator._store
    try:
        await until(lambda: told(store.primed), "the first listing")
        await post(api, SERVING_PLURAL, serving(room, claimed))
        await until(lambda: told(DRA in operator._followed), "the streams of devices")
        target = store.deployments.get((room, claimed))
        assert target is not None
        needs = target.shape.needs
        await post(api, "resourceslices", resource_slice(f"{claimed}-2", claimed, 3))
        await until(
            lambda: told(free(around, room, needs, f"{claimed}-2") == 3), "the slice made since"
        )
        where = path_of(DRA, "resourceclaims", room, f"{claimed}-held")
        await api.request("DELETE", where)
        await until(lambda: told(free(around, room, needs, claimed) == 4), "the claim that went")
        assert not running.done()
    finally:
        stop.set()
        await asyncio.wait_for(running, 30)


async def told(value: bool) -> bool:
    return value


def free(around: Surroundings, room: str, needs: PodNeeds, node: str) -> int | None:
    """Pods that one node has devices for; `None` when that cannot be told."""
    found = around.devices.count(room, needs)
    return None if found.pods is None else found.pods.get(node, 0)
