"""What stands in Git: a Deployment as the docs recommend it, its default, and its serving."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ridgeline.terms.names import PROFILE_ENV
from tests.scene.manifests import Scene

Object = dict[str, Any]

# The bare API server never pulls it; its tag tells the operator which engine it is.
IMAGE = "vllm/vllm-openai:v0.32.0"


def scene(namespace: str, name: str) -> Scene:
    """A scene without nodes and load: it is rolled by turning its cut-off table round in Git."""
    return Scene(
        namespace=namespace,
        name=name,
        replicas=2,
        gpus=0,
        busier_seconds=1,
        quieter_seconds=1,
        cooldown_seconds=0,
        quiet_profile="none",
    )


@dataclass(kw_only=True)
class Repository:
    """The manifests of one application, changed by commits.

    Attributes:
        scene: Names and figures.
        objects: The manifests by kind and name, as they stand now.
    """

    scene: Scene
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = self.scene.default_config()
        config["metadata"]["name"] = self.config_name
        for each in (config, self._deployment(), self.scene.serving()):
            self.put(each)

    @property
    def name(self) -> str:
        """Name of Deployment and serving."""
        return self.scene.name

    @property
    def config_name(self) -> str:
        """Name of the ConfigMap with the empty default: each application has its own."""
        return f"{self.scene.name}-no-speculation"

    def manifests(self) -> list[Object]:
        """What a tool reads."""
        return copy.deepcopy(list(self.objects.values()))

    def put(self, body: Object) -> None:
        """Commit a manifest."""
        self.objects[body["kind"], body["metadata"]["name"]] = copy.deepcopy(body)

    def remove(self, kind: str, name: str) -> None:
        """Commit the removal of a manifest."""
        del self.objects[kind, name]

    @property
    def deployment(self) -> Object:
        """The Deployment's manifest; a change of it is a commit."""
        return self.objects["Deployment", self.name]

    @property
    def container(self) -> Object:
        """Its container; a change of it is a commit."""
        container: Object = self.deployment["spec"]["template"]["spec"]["containers"][0]
        return container

    def want(self, profile: str) -> None:
        """Commit a cut-off table by which a profile is the best one without load."""
        spec = self.objects["SpeculativeServing", self.name]["spec"]
        ranges = copy.deepcopy(spec["cutoff"]["ranges"])
        first, last = ranges
        other = "none" if profile == "eagle" else "eagle"
        spec["cutoff"]["ranges"] = [{**first, "profile": profile}, {**last, "profile": other}]

    def put_item(self, value: str) -> None:
        """Commit an env item of the operator's name: what the docs warn of."""
        self.container["env"].append({"name": PROFILE_ENV, "value": value})

    def remove_item(self) -> None:
        """Commit its removal."""
        kept = [each for each in self.container["env"] if each["name"] != PROFILE_ENV]
        self.container["env"] = kept

    def _deployment(self) -> Object:
        body = self.scene.deployment()
        pod = body["spec"]["template"]["spec"]
        del pod["nodeSelector"]
        container = pod["containers"][0]
        container["image"] = IMAGE
        # Empty lists of resources would not come back from the API server.
        del container["resources"]
        container["envFrom"] = [{"configMapRef": {"name": self.config_name}}]
        return body
