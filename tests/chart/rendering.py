"""Helm, asked to render the chart."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.paths import REPO

Object = dict[str, Any]

CHART = REPO / "charts" / "ridgeline"
VALUES = REPO / "tests" / "chart" / "values"
NAMESPACE = "ridgeline-system"
CLUSTER_SCOPED = {
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


class HelmRefusesError(RuntimeError):
    """Helm did not render; the text is its own."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The chart and the Helm that renders it."""

    helm: Path

    def render(
        self,
        values: Object | None = None,
        *,
        file: str | None = None,
        release: str = "ridgeline",
        namespace: str = NAMESPACE,
        options: tuple[str, ...] = (),
    ) -> list[Object]:
        """The objects for a file of `values/` and values on top of it; none of `helm test`.

        Raises:
            HelmRefusesError: Helm refuses the values.
        """
        given = ["--values", str(VALUES / f"{file}.yaml")] if file else []
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as more:
            yaml.safe_dump(values or {}, more)
            more.flush()
            command = ["template", release, str(CHART), "--namespace", namespace, "--skip-tests"]
            text = self.run(*command, *given, "--values", more.name, *options)
        return [each for each in yaml.safe_load_all(text) if each]

    def hooks(
        self,
        values: Object | None = None,
        *,
        file: str | None = None,
        options: tuple[str, ...] = (),
    ) -> list[Object]:
        """The objects of `helm test`.

        Raises:
            HelmRefusesError: Helm refuses the values.
        """
        template = "templates/tests/check.yaml"
        given = ["--values", str(VALUES / f"{file}.yaml")] if file else []
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as more:
            yaml.safe_dump(values or {}, more)
            more.flush()
            command = ["template", "ridgeline", str(CHART), "--namespace", NAMESPACE, *given]
            text = self.run(*command, "--values", more.name, "--show-only", template, *options)
        return [each for each in yaml.safe_load_all(text) if each]

    def run(self, *arguments: str) -> str:
        """Run Helm.

        Raises:
            HelmRefusesError: It failed.
        """
        result = subprocess.run(
            [str(self.helm), *arguments], capture_output=True, text=True, check=False, timeout=60
        )
        if result.returncode != 0:
            raise HelmRefusesError(f"{result.stdout}\n{result.stderr}")
        return result.stdout


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    """The objects of one kind."""
    return [each for each in objects if each["kind"] == kind]


def one(objects: list[Object], kind: str, name: str | None = None) -> Object:
    """The only object of a kind, or of a kind and name."""
    (found,) = (each for each in of_kind(objects, kind) if name in (None, each["metadata"]["name"]))
    return found


def pod_of(objects: list[Object]) -> Object:
    """The operator's Pod template."""
    template: Object = one(objects, "Deployment")["spec"]["template"]
    return template


def container_of(objects: list[Object]) -> Object:
    """The operator's container."""
    (container,) = pod_of(objects)["spec"]["containers"]
    found: Object = container
    return found


def config_of(objects: list[Object]) -> Object:
    """The operator's configuration."""
    name = next(
        each["configMap"]["name"]
        for each in pod_of(objects)["spec"]["volumes"]
        if each["name"] == "config"
    )
    content: Object = yaml.safe_load(one(objects, "ConfigMap", name)["data"]["config.yaml"])
    return content
