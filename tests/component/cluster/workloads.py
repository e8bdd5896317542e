"""Deployments as a chart makes them, and our write to them with the operator's own patience."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import StaleVersionError
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.target import ProfileWrite, TargetApi
from ridgeline.terms.names import API_VERSION, PROFILE_ENV, SERVING_KIND

EAGLE = '{"method":"eagle","model":"org/head","num_speculative_tokens":4}'


def deployment(
    namespace: str,
    name: str,
    *,
    replicas: int = 0,
    env: list[dict[str, Any]] | None = None,
    container: str = "vllm",
    labels: Mapping[str, str] | None = None,
    image: str = "vllm/vllm-openai:v0.11.0",
) -> dict[str, Any]:
    """A Deployment that reads the env item, with a default from a ConfigMap."""
    vllm: dict[str, Any] = {
        "name": container,
        "image": image,
        "args": ["--model=m", f"--speculative-config=$({PROFILE_ENV})"],
        "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
    }
    if env is not None:
        vllm["env"] = env
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name, **(labels or {})}},
                "spec": {"containers": [vllm]},
            },
        },
    }


def serving(room: str, name: str) -> dict[str, Any]:
    """A serving of the Deployment of the same name."""
    return {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": {"name": name, "namespace": room},
        "spec": {
            "targetRef": {"name": name},
            "profiles": [
                {"name": "eagle2", "method": "Eagle", "model": "o/h", "numSpeculativeTokens": 4},
                {"name": "none", "method": "Disabled"},
            ],
        },
    }


def item(value: str) -> dict[str, Any]:
    """The env item as a chart would write it."""
    return {"name": PROFILE_ENV, "value": value}


def path(namespace: str, name: str) -> str:
    """Path of a Deployment."""
    return path_of("apps/v1", "deployments", namespace, name)


async def create(api: KubernetesApi, body: dict[str, Any], manager: str = "chart") -> None:
    """Create a Deployment with a plain POST, as kubectl create and Helm 3 do."""
    collection = path_of("apps/v1", "deployments", body["metadata"]["namespace"])
    await api.request("POST", collection, body=body, query={"fieldManager": manager})


async def apply_as(
    api: KubernetesApi, manager: str, body: dict[str, Any], *, force: bool = False
) -> dict[str, Any]:
    """Apply a Deployment server-side, as Helm 4 and Flux do."""
    where = path(body["metadata"]["namespace"], body["metadata"]["name"])
    return await api.apply(where, body, manager=manager, force=force)


def write_of(live: DeploymentObject, profile: str, config: str, **other: Any) -> ProfileWrite:
    """The write that gives a Deployment a profile."""
    given = {
        "namespace": live.namespace,
        "deployment": live.name,
        "uid": live.uid,
        "resource_version": live.resource_version,
        "container": "vllm",
        "serving": "sps",
        "profile": profile,
        "config": config,
    }
    return ProfileWrite(**{**given, **other})


async def give(
    api: KubernetesApi, namespace: str, name: str, profile: str, config: str
) -> DeploymentObject:
    """Give a Deployment a profile; read it anew while its controller moves it under our hands."""
    target = TargetApi(api)
    for _ in range(20):
        live = await target.read(namespace, name)
        try:
            return await target.apply(write_of(live, profile, config))
        except StaleVersionError:
            await asyncio.sleep(0.1)
    raise AssertionError(f"Deployment {name} never stood still")


async def settled(api: KubernetesApi, namespace: str, name: str) -> dict[str, Any]:
    """Wait until the Deployment controller has nothing more to write, and return the object."""
    before: dict[str, Any] = {}

    async def quiet() -> bool:
        nonlocal before
        now = await api.request("GET", path(namespace, name))
        observed: int = (now.get("status") or {}).get("observedGeneration", 0)
        same: bool = _version(now) == _version(before)
        before = now
        return same and observed >= now["metadata"].get("generation", 0)

    await until(quiet, f"Deployment {name} stands still", every_seconds=0.4)
    return before


async def until(
    done: Callable[[], Awaitable[object]],
    what: str,
    *,
    within_seconds: float = 30.0,
    every_seconds: float = 0.1,
) -> None:
    """Ask until the answer is true."""
    end = asyncio.get_running_loop().time() + within_seconds
    while not await done():
        if asyncio.get_running_loop().time() > end:
            raise AssertionError(f"{what}: not within {within_seconds:.0f} s")
        await asyncio.sleep(every_seconds)


def _version(body: Mapping[str, Any]) -> str:
    return str((body.get("metadata") or {}).get("resourceVersion", ""))


def vllm_container(body: Mapping[str, Any]) -> dict[str, Any]:
    """The container of a Deployment's template."""
    found: dict[str, Any] = body["spec"]["template"]["spec"]["containers"][0]
    return found


def owners(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every manager's fields of the object itself, by name."""
    entries = body["metadata"].get("managedFields") or ()
    return {each["manager"]: each["fieldsV1"] for each in entries if not each.get("subresource")}
