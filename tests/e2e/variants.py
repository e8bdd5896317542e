"""Scenes that differ from the usual one in what people write into Deployment and serving."""

from __future__ import annotations

import copy
from collections.abc import Callable

from tests.scene.manifests import Object
from tests.scene.placed import Placed

Change = Callable[[Object], None]


def target_with(scene: Placed, *changes: Change) -> Object:
    """The scene's Deployment after changes to it."""
    return _changed(scene.scene.deployment(), changes)


def serving_with(scene: Placed, *changes: Change) -> Object:
    """The scene's serving after changes to it."""
    return _changed(scene.scene.serving(), changes)


def _changed(body: Object, changes: tuple[Change, ...]) -> Object:
    body = copy.deepcopy(body)
    for change in changes:
        change(body)
    return body


def on_nodes(*nodes: str) -> Change:
    """Let the Pods run on these nodes, whatever GPU they have, and one on each at most."""

    def change(deployment: Object) -> None:
        template = deployment["spec"]["template"]
        pod = template["spec"]
        del pod["nodeSelector"]
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [here]}]}
        pod["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms},
        }
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": dict(template["metadata"]["labels"])},
                # Else the Pods of the old template count, and a roll could put two on one node.
                "matchLabelKeys": ["pod-template-hash"],
            }
        ]

    return change


def sized_by_accelerator(serving: Object) -> None:
    """Leave the cut-offs to the accelerator alone."""
    serving["spec"]["cutoff"] = {"strategy": "Ridge"}


def spec(**fields: object) -> Change:
    """Set fields of a spec."""

    def change(body: Object) -> None:
        body["spec"].update(fields)

    return change


def pod_spec(**fields: object) -> Change:
    """Set fields of the Pod template's spec."""

    def change(deployment: Object) -> None:
        deployment["spec"]["template"]["spec"].update(fields)

    return change


def container(**fields: object) -> Change:
    """Set fields of the container that runs the server."""

    def change(deployment: Object) -> None:
        deployment["spec"]["template"]["spec"]["containers"][0].update(fields)

    return change
