"""KServe's objects on a real API server, and what its controllers do to a Deployment.

The schemas are written for these tests, with names and kinds of lists as in kserve/kserve's
config/crd/full (an `env` that is keyed by name), and of one kind once more with an `env` that is
one value. The controller makes a Deployment of a parent in one of the two ways of KServe: it
replaces the Deployment, or (before PR 4445) merges into it and takes nothing out.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import ClusterError
from ridgeline.terms.names import PROFILE_ENV
from tests.component.cluster.workloads import path, until

GROUP = "serving.kserve.io"
ISVC, LLM = "inferenceservices", "llminferenceservices"

_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_ENV = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
    },
}
_ARGS = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_ISVC_SPEC = _object(
    predictor=_object(
        labels=_TEXTS,
        annotations=_TEXTS,
        model=_object(storageUri={"type": "string"}, args=_ARGS, env=_ENV),
    )
)


def _llm_spec(env: dict[str, Any]) -> dict[str, Any]:
    properties = {"name": {"type": "string"}, "image": {"type": "string"}, "args": _ARGS}
    containers = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"required": ["name"], **_object(**properties, env=env)},
    }
    template = _object(containers=containers)
    return _object(labels=_TEXTS, annotations=_TEXTS, template=template)


def crd(kind: str, plural: str, versions: dict[str, Any]) -> dict[str, Any]:
    """A CRD that stores its first version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": number == 0,
                    "schema": {"openAPIV3Schema": _object(spec=schema)},
                }
                for number, (name, schema) in enumerate(versions.items())
            ],
        },
    }


FULL_ISVC = crd("InferenceService", ISVC, {"v1beta1": _ISVC_SPEC})
_ENV_AS_ONE = {key: value for key, value in _ENV.items() if not key.startswith("x-")}
TWO_LLM = crd(
    "LLMInferenceService",
    LLM,
    {"v1alpha1": _llm_spec(_ENV), "v1alpha2": _llm_spec(_ENV_AS_ONE)},
)
"""Two schemas of one kind: an env list keyed by name, and one that is one value."""


@dataclass(frozen=True)
class Kind:
    """A kind of parent: how it is written down, and which Deployment comes of it."""

    version: str
    plural: str
    kind: str
    suffix: str
    container: str

    def where(self, room: str, name: str) -> str:
        """Path of one parent."""
        return path_of(f"{GROUP}/{self.version}", self.plural, room, name)

    def spec(self, env: list[dict[str, str]] | None) -> dict[str, Any]:
        """A spec whose container reads the env item."""
        reads = {"args": ["--model=m", f"--speculative-config=$({PROFILE_ENV})"]}
        held = reads if env is None else {**reads, "env": env}
        if self.plural == ISVC:
            return {"predictor": {"model": {"storageUri": "hf://org/m", **held}}}
        main = {"name": self.container, "image": "vllm/vllm-openai:v0.11.0", **held}
        return {"template": {"containers": [main]}}

    def template(self, body: dict[str, Any]) -> dict[str, Any]:
        """Pod template of the Deployment that a parent asks for."""
        spec = body["spec"]
        told = spec["predictor"] if self.plural == ISVC else spec
        held = (
            spec["predictor"]["model"] if self.plural == ISVC else spec["template"]["containers"][0]
        )
        container = {
            "name": self.container,
            "image": "vllm/vllm-openai:v0.11.0",
            "args": held["args"],
            "env": held.get("env") or [],
            "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
        }
        app = {"app": body["metadata"]["name"]}
        return {
            "metadata": {
                "labels": {**(told.get("labels") or {}), **app},
                "annotations": told.get("annotations") or {},
            },
            "spec": {"containers": [container]},
        }


SERVICE = Kind("v1beta1", ISVC, "InferenceService", "-predictor", "kserve-container")
LLM_SERVICE = Kind("v1alpha1", LLM, "LLMInferenceService", "-kserve", "main")
LLM_AS_ONE = Kind("v1alpha2", LLM, "LLMInferenceService", "-kserve", "main")


async def create_parent(
    api: KubernetesApi, kind: Kind, room: str, name: str, *, env: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """Create a parent with a plain POST."""
    body = {
        "apiVersion": f"{GROUP}/{kind.version}",
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": room},
        "spec": kind.spec(env),
    }
    collection = path_of(f"{GROUP}/{kind.version}", kind.plural, room)
    return await api.request("POST", collection, body=body, query={"fieldManager": "chart"})


class Controller:
    """Keeps the Deployment of one parent as the parent asks for."""

    def __init__(
        self, api: KubernetesApi, kind: Kind, room: str, name: str, *, merges: bool = False
    ) -> None:
        self._api = api
        self.kind = kind
        self._room = room
        self._name = name
        self._merges = merges
        self.deployment = f"{name}{kind.suffix}"

    async def once(self) -> None:
        """Make the Deployment so, where it is not."""
        parent = await self._api.request("GET", self.kind.where(self._room, self._name))
        wanted = self._wanted(parent)
        try:
            live = await self._api.request("GET", path(self._room, self.deployment))
        except ClusterError:
            collection = path_of("apps/v1", "deployments", self._room)
            await self._api.request("POST", collection, body=wanted, query=_MANAGER)
            return
        where = path(self._room, self.deployment)
        if self._merges:
            await self._api.request(
                "PATCH",
                where,
                body=wanted,
                query=_MANAGER,
                content_type="application/strategic-merge-patch+json",
            )
        else:
            wanted["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            rehearsed = await self._api.request(
                "PUT", where, body=wanted, query={**_MANAGER, "dryRun": "All"}
            )
            if rehearsed["spec"] != live["spec"]:
                await self._api.request("PUT", where, body=wanted, query=_MANAGER)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Work as long as this is entered; the Deployment is there from the beginning."""
        await self.once()

        async def observed() -> bool:
            live = await self._api.request("GET", path(self._room, self.deployment))
            seen = (live.get("status") or {}).get("observedGeneration", 0)
            return bool(seen >= live["metadata"]["generation"])

        await until(observed, "the Deployment controller saw the Deployment")
        task = asyncio.create_task(self._for_ever())
        try:
            yield
        finally:
            task.cancel()

    async def _for_ever(self) -> None:
        while True:
            with suppress(ClusterError):  # where somebody was faster the next round looks again
                await self.once()
            await asyncio.sleep(0.1)

    def _wanted(self, parent: dict[str, Any]) -> dict[str, Any]:
        template = self.kind.template(parent)
        metadata = parent["metadata"]
        owner = {
            "apiVersion": f"{GROUP}/{self.kind.version}",
            "kind": self.kind.kind,
            "name": self._name,
            "uid": metadata["uid"],
            "controller": True,
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": self.deployment,
                "namespace": self._room,
                "ownerReferences": [owner],
            },
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": self._name}},
                "template": template,
            },
        }


_MANAGER = {"fieldManager": "kserve"}
