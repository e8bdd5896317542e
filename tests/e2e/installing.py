"""The operator installed by its chart, inside the cluster, as a person would install it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import CHART, Chart, Object, of_kind
from tests.cluster.audit import Request
from tests.cluster.control_plane import OPERATOR_NAMESPACE
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.operator_image import OPERATOR_IMAGE
from tests.e2e.rooms import TICK_S, WINDOW_S, prometheus_of

RELEASE = "ridgeline"
PREVIOUS_VERSION = "0.0.1"
ACCOUNT = f"system:serviceaccount:{OPERATOR_NAMESPACE}:{RELEASE}"

Right = tuple[str, str]
"""Group, resource and subresource; and a verb."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A release of the chart on a cluster."""

    cluster: Cluster
    chart: Chart

    def values(self, **more: Any) -> Object:
        """Values for this cluster: the image that was built, its Prometheus, short times."""
        registry, _, rest = OPERATOR_IMAGE.partition("/")
        repository, _, tag = rest.partition(":")
        return {
            "image": {
                "registry": registry,
                "repository": repository,
                "tag": tag,
                "pullPolicy": "Never",
            },
            "telemetry": {"endpoints": [{"url": prometheus_of(self.cluster)}]},
            "config": {
                "tickSeconds": TICK_S,
                "rateWindowSeconds": WINDOW_S,
                "relistSeconds": 10,
                "lease": {"durationSeconds": 5},
            },
            **more,
        }

    def put(self, values_file: str, chart: Path = CHART) -> None:
        """Install or upgrade, and wait until the operator is ready."""
        self.helm(
            *("upgrade", "--install", RELEASE, str(chart), "--values", values_file),
            # Other tests may have put the CRDs there by hand.
            *("--take-ownership", "--wait", "--timeout", "120s"),
        )

    def previous_chart(self, folder: Path) -> Path:
        """The chart as a package of a version that is lower than today's."""
        self.chart.run(
            *("package", str(CHART), "--version", PREVIOUS_VERSION, "--destination", str(folder))
        )
        return folder / f"ridgeline-{PREVIOUS_VERSION}.tgz"

    def versions(self) -> list[str]:
        """The charts of all revisions, from the first."""
        told = json.loads(self.helm("history", RELEASE, "--output", "json"))
        return [each["chart"].removeprefix("ridgeline-") for each in told]

    def helm(self, *arguments: str) -> str:
        """Run Helm on the cluster, in the release's namespace."""
        where = ("--kubeconfig", str(self.cluster.kubeconfig), "--namespace", OPERATOR_NAMESPACE)
        return self.chart.run(*arguments, *where)

    def pods(self) -> list[Object]:
        """The operator's Pods that are not on their way out."""
        chosen = ("-n", OPERATOR_NAMESPACE, "-l", "app.kubernetes.io/name=ridgeline")
        items: list[Object] = self.cluster.kubectl("get", "pods", *chosen)["items"]
        return [each for each in items if "deletionTimestamp" not in each["metadata"]]

    def log(self) -> str:
        """What the operator's Pods have written."""
        chosen = ("-l", "app.kubernetes.io/name=ridgeline", "--tail=200")
        try:
            text: str = self.cluster.kubectl("logs", "-n", OPERATOR_NAMESPACE, *chosen)
        except ClusterError as error:
            return str(error)
        return text

    def holder(self) -> str | None:
        """Who holds the Lease; None before there is one."""
        leases = self.cluster.kubectl("get", "leases", "-n", OPERATOR_NAMESPACE)["items"]
        ours = (each for each in leases if each["metadata"]["name"] == RELEASE)
        found: str | None = next((each["spec"].get("holderIdentity") for each in ours), None)
        return found

    def asked(self) -> list[Request]:
        """Everything that the operator asked of the API server, by its service account."""
        return [each for each in self.cluster.requests() if each.user == ACCOUNT]


def used(requests: list[Request]) -> set[Right]:
    """The rights that requests made use of."""
    rights = set()
    for each in requests:
        if not each.resource:
            continue  # Discovery, which everybody may do.
        name, _, subresource = each.resource.partition("/")
        resource, _, group = name.partition(".")
        tail = f"/{subresource}" if subresource else ""
        rights.add((f"{group}/{resource}{tail}", each.verb))
    return rights


def granted(objects: list[Object]) -> set[Right]:
    """The rights that rendered roles give to the operator."""
    roles = [*of_kind(objects, "Role"), *of_kind(objects, "ClusterRole")]
    return {
        (f"{group}/{resource}", verb)
        for role in roles
        if not role["metadata"]["name"].endswith(("-view", "-edit"))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def needs_own_cluster(cluster: Cluster) -> None:
    """Skip where images cannot be loaded or the audit log cannot be read."""
    if cluster.state_dir is None or cluster.audit_log is None:
        pytest.skip("needs a cluster of tests/cluster: it loads an image and reads the audit log")
