"""Values of what stands around the operator that cannot be meant are refused, with their name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.chart.rendering import CHART, Chart, HelmRefusesError, of_kind
from tests.cluster.paths import REPO

BAD: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"floating tag {tag}": ({"image": {"tag": tag}}, "tag")
        for tag in ("main", "master", "edge")
    },
    "argument without dashes": ({"extraArgs": ["run"]}, "extraArgs"),
    "interval without unit": ({"serviceMonitor": {"interval": "30"}}, "interval"),
    "interval as a number": ({"vllmPodMonitor": {"interval": 30}}, "interval"),
    "unknown monitor value": ({"serviceMonitor": {"honorLabels": False}}, "honorLabels"),
    "namespace of vLLM": ({"vllmPodMonitor": {"namespaces": ["No_Name"]}}, "namespaces"),
    "port name": ({"vllmPodMonitor": {"port": "a-port-name-too-long"}}, "port"),
    "no selector": ({"vllmPodMonitor": {"enabled": True}}, "selector"),
    "unknown alert": ({"prometheusRule": {"alerts": {"loud": {"enabled": True}}}}, "loud"),
    "severity": ({"prometheusRule": {"alerts": {"noLeader": {"severity": "page"}}}}, "severity"),
    "time to wait": ({"prometheusRule": {"alerts": {"noLeader": {"for": "soon"}}}}, "for"),
    "threshold of none": (
        {"prometheusRule": {"alerts": {"noLeader": {"threshold": 1}}}},
        "threshold",
    ),
    "share above one": (
        {"prometheusRule": {"alerts": {"apiCallsFailing": {"threshold": 50}}}},
        "threshold",
    ),
    "runbooks elsewhere than on the web": (
        {"prometheusRule": {"runbookBaseUrl": "docs/runbooks"}},
        "runbookBaseUrl",
    ),
    "runbooks with a slash": (
        {"prometheusRule": {"runbookBaseUrl": "https://a/"}},
        "runbookBaseUrl",
    ),
    "dashboards without label": ({"dashboards": {"label": ""}}, "label"),
    "label value that is no text": ({"dashboards": {"labelValue": 1}}, "labelValue"),
    "port of the API server": ({"networkPolicy": {"apiServerPorts": [0]}}, "apiServerPorts"),
    "no way to the API server": ({"networkPolicy": {"apiServerPorts": []}}, "apiServerPorts"),
    "port of telemetry as text": (
        {"networkPolicy": {"telemetryPorts": ["9090"]}},
        "telemetryPorts",
    ),
    "unknown budget value": ({"podDisruptionBudget": {"minAvailable": 1}}, "minAvailable"),
}


@pytest.mark.parametrize(("values", "name"), BAD.values(), ids=BAD.keys())
def test_a_bad_value_is_refused_by_name(chart: Chart, values: dict[str, Any], name: str) -> None:
    with pytest.raises(HelmRefusesError) as refusal:
        chart.render(values)
    assert "don't meet the specifications of the schema" in str(refusal.value)
    assert name in str(refusal.value)


def test_every_alert_of_the_values_is_in_the_schema_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    alerts = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    keys = {each["key"] for group in alerts["groups"] for each in group["rules"]}
    told = schema["prometheusRule"]["properties"]["alerts"]["properties"]
    assert told.keys() == values["prometheusRule"]["alerts"].keys() == keys


def _open_objects(node: Any, path: str = "values") -> Iterator[str]:
    """Objects of the schema that name their fields and take others, too."""
    if isinstance(node, list):
        for number, each in enumerate(node):
            yield from _open_objects(each, f"{path}[{number}]")
    if not isinstance(node, dict):
        return
    named = node.get("type") == "object" and "properties" in node
    if named and node.get("additionalProperties") is not False and "$ref" not in node:
        yield path
    for key, each in node.items():
        yield from _open_objects(each, f"{path}.{key}")


def test_no_object_of_the_schema_takes_what_it_does_not_name() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert list(_open_objects(schema)) == []
    del schema["properties"]["serviceMonitor"]["additionalProperties"]
    assert list(_open_objects(schema)) == ["values.properties.serviceMonitor"]


def test_the_values_in_the_docs_are_taken(chart: Chart) -> None:
    text = (REPO / "docs" / "how-to" / "monitoring.md").read_text()
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    made = {each["kind"] for values in blocks for each in chart.render(values)}
    assert made >= {
        "ServiceMonitor",
        "PodMonitor",
        "PrometheusRule",
        "NetworkPolicy",
        "PodDisruptionBudget",
    }
    (spread,) = (values for values in blocks if "topologySpreadConstraints" in values)
    (deployment,) = of_kind(chart.render(spread), "Deployment")
    (constraint,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert constraint["labelSelector"]["matchLabels"].items() <= labels.items()
