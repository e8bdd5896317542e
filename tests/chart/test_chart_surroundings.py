"""What stands around the operator: monitors, dashboards, network policy, disruption budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ridgeline.settings.config import parse_config
from ridgeline.terms.names import PROFILE_LABEL
from tests.chart.rendering import (
    CHART,
    NAMESPACE,
    Chart,
    HelmRefusesError,
    Object,
    config_of,
    container_of,
    of_kind,
    one,
    pod_of,
)

VLLM = {"vllmPodMonitor": {"enabled": True, "selector": {"matchLabels": {"app": "vllm"}}}}


@pytest.fixture(scope="module")
def observed(chart: Chart) -> list[Object]:
    """With everything that stands around it, set to something else than its default."""
    return chart.render(file="observed")


def matches(selector: Object, labels: dict[str, str]) -> bool:
    """Whether a label selector chooses an object (matchLabels, and In of matchExpressions)."""
    for each in selector.get("matchExpressions", ()):
        assert each["operator"] == "In"
        if labels.get(each["key"]) not in each["values"]:
            return False
    return bool(selector.get("matchLabels", {}).items() <= labels.items())


def test_the_service_monitor_finds_the_service_and_its_port(chart: Chart) -> None:
    objects = chart.render({"serviceMonitor": {"enabled": True}})
    spec, service = one(objects, "ServiceMonitor")["spec"], one(objects, "Service")
    assert matches(spec["selector"], service["metadata"]["labels"])
    assert spec["namespaceSelector"] == {"matchNames": [service["metadata"]["namespace"]]}
    (endpoint,) = spec["endpoints"]
    assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
    assert endpoint["path"] == "/metrics"


def test_labels_of_the_operators_series_are_not_renamed(chart: Chart) -> None:
    """`namespace` and `endpoint` are labels of a target, too."""
    objects = chart.render({"serviceMonitor": {"enabled": True}})
    (endpoint,) = one(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True


def test_a_service_monitor_without_a_service_is_refused(chart: Chart) -> None:
    values = {"serviceMonitor": {"enabled": True}, "service": {"enabled": False}}
    with pytest.raises(HelmRefusesError, match=r"set service\.enabled"):
        chart.render(values)


def test_the_pod_monitor_gives_series_the_profile(chart: Chart) -> None:
    spec = one(chart.render(VLLM), "PodMonitor")["spec"]
    assert spec["podTargetLabels"] == [PROFILE_LABEL]
    assert spec["selector"] == {"matchLabels": {"app": "vllm"}}
    assert spec["namespaceSelector"] == {"any": True}
    (endpoint,) = spec["podMetricsEndpoints"]
    assert endpoint["path"] == "/metrics"
    assert "honorLabels" not in endpoint


def test_a_rate_window_has_four_scrapes(chart: Chart, defaults: list[Object]) -> None:

    (endpoint,) = one(chart.render(VLLM), "PodMonitor")["spec"]["podMetricsEndpoints"]
    window = parse_config(config_of(defaults)).rate_window_seconds
    assert 4 * int(endpoint["interval"].removesuffix("s")) <= window


def test_the_pod_monitor_looks_where_the_operator_looks(chart: Chart) -> None:
    named = one(chart.render({**VLLM, "watchNamespaces": ["one", "two"]}), "PodMonitor")
    assert named["spec"]["namespaceSelector"] == {"matchNames": ["one", "two"]}


def test_a_pod_monitor_of_every_pod_is_refused(chart: Chart) -> None:
    with pytest.raises(HelmRefusesError, match="selector"):
        chart.render({"vllmPodMonitor": {"enabled": True}})


def test_what_can_be_chosen_of_monitors_arrives(observed: list[Object]) -> None:
    for kind, endpoints in (
        ("ServiceMonitor", "endpoints"),
        ("PodMonitor", "podMetricsEndpoints"),
    ):
        monitor = one(observed, kind)
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
        assert monitor["metadata"]["annotations"] == {"example.com/by": "platform"}
        (endpoint,) = monitor["spec"][endpoints]
        interval = {"ServiceMonitor": ("15s", "10s"), "PodMonitor": ("10s", "5s")}[kind]
        assert (endpoint["interval"], endpoint["scrapeTimeout"]) == interval
        assert endpoint["relabelings"] == [{"targetLabel": "cluster", "replacement": "eu-1"}]
        assert len(endpoint["metricRelabelings"]) == 1
    spec = one(observed, "PodMonitor")["spec"]
    assert spec["podTargetLabels"] == [PROFILE_LABEL, "app"]
    assert spec["namespaceSelector"] == {"matchNames": ["inference"]}
    assert spec["podMetricsEndpoints"][0]["port"] == "metrics"


def boards(objects: list[Object], label: str) -> dict[str, Object]:
    """Dashboard's file → its ConfigMap."""
    found = {}
    for each in of_kind(objects, "ConfigMap"):
        if label in each["metadata"]["labels"]:
            (name,) = each["data"]
            found[name] = each
    return found


def test_the_dashboards_are_the_files(chart: Chart) -> None:
    found = boards(chart.render({"dashboards": {"enabled": True}}), "grafana_dashboard")
    files = {f"ridgeline-{path.name}": path for path in (CHART / "dashboards").glob("*.json")}
    assert len(files) == 2
    assert found.keys() == files.keys()
    for name, each in found.items():
        assert json.loads(each["data"][name]) == json.loads(files[name].read_text())
        assert each["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert each["metadata"]["annotations"] == {"grafana_folder": "ridgeline"}


def test_label_and_folder_of_the_dashboards_can_be_chosen(
    chart: Chart, observed: list[Object]
) -> None:
    found = boards(observed, "dashboard")
    assert len(found) == 2
    for each in found.values():
        assert each["metadata"]["labels"]["dashboard"] == "yes"
        assert each["metadata"]["annotations"] == {
            "example.com/folder": "inference",
            "example.com/by": "platform",
        }
    values = {"dashboards": {"enabled": True, "folderAnnotation": ""}}
    for each in boards(chart.render(values), "grafana_dashboard").values():
        assert "annotations" not in each["metadata"]


def test_it_is_off_by_default(defaults: list[Object]) -> None:
    assert not boards(defaults, "grafana_dashboard")
    assert not of_kind(defaults, "NetworkPolicy")


def policy(chart: Chart, **values: Any) -> Object:
    """The network policy's spec."""
    objects = chart.render({"networkPolicy": {"enabled": True}, **values})
    spec: Object = one(objects, "NetworkPolicy")["spec"]
    return spec


def ports(rule: Object) -> set[Any]:
    """Ports and protocols of a rule."""
    return {(each["port"], each["protocol"]) for each in rule["ports"]}


def test_the_operator_may_ask_three_things_and_be_asked_at_one_port(chart: Chart) -> None:
    spec = policy(chart)
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    (ingress,) = spec["ingress"]
    assert ports(ingress) == {("http", "TCP")}
    dns, api, telemetry = spec["egress"]
    assert ports(dns) == {(53, "UDP"), (53, "TCP")}
    assert ports(api) == {(443, "TCP"), (6443, "TCP")}
    assert ports(telemetry) == {(9090, "TCP")}


def test_the_policy_is_about_the_operator_and_its_test(chart: Chart, chart_test: Object) -> None:
    objects = chart.render({"networkPolicy": {"enabled": True}})
    selector = one(objects, "NetworkPolicy")["spec"]["podSelector"]
    assert matches(selector, pod_of(objects)["metadata"]["labels"])
    assert matches(selector, chart_test["metadata"]["labels"])
    own = pod_of(objects)["metadata"]["labels"]
    assert not matches(selector, {**own, "app.kubernetes.io/instance": "other"})
    assert not matches(selector, {**own, "app.kubernetes.io/name": "grafana"})


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [
        ({"url": "https://prometheus.example"}, 443),
        ({"url": "http://prometheus.example/path"}, 80),
        ({"url": "http://prometheus.example:9091/path"}, 9091),
        ({"url": "http://[fd00::1]:9092"}, 9092),
        ({"url": "http://[fd00::1]"}, 80),
        ({"source": "Pods"}, 8000),
        ({"source": "Pods", "pods": {"port": 8123}}, 8123),
    ],
)
def test_the_ports_of_telemetry_come_from_the_addresses(
    chart: Chart, endpoint: Object, port: int
) -> None:
    again = {"name": "again", **endpoint}
    other = {"name": "other", "url": "http://other:7"}
    spec = policy(chart, telemetry={"endpoints": [endpoint, again, other]})
    assert ports(spec["egress"][2]) == {(port, "TCP"), (7, "TCP")}
    assert len(spec["egress"][2]["ports"]) == 2


def test_what_can_be_chosen_of_the_policy_arrives(observed: list[Object]) -> None:
    spec = one(observed, "NetworkPolicy")["spec"]
    monitoring = {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}
    assert spec["ingress"][0]["from"] == [{"namespaceSelector": monitoring}]
    dns, api, telemetry, extra = spec["egress"]
    assert "kube-system" in str(dns["to"])
    assert api["to"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert ports(api) == {(6443, "TCP")}
    assert telemetry["to"] == [{"namespaceSelector": monitoring}]
    assert ports(telemetry) == {(9091, "TCP")}
    assert ports(extra) == {(3128, "TCP")}


@pytest.mark.parametrize("replicas", [0, 1])
def test_one_replica_is_in_the_way_of_no_drain(chart: Chart, replicas: int) -> None:
    assert not of_kind(chart.render({"replicas": replicas}), "PodDisruptionBudget")


def test_of_several_replicas_one_at_a_time_may_go(chart: Chart) -> None:
    objects = chart.render({"replicas": 2})
    spec = one(objects, "PodDisruptionBudget")["spec"]
    assert spec["maxUnavailable"] == 1
    assert "minAvailable" not in spec
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert matches(spec["selector"], pod_of(objects)["metadata"]["labels"])
    off = {"replicas": 2, "podDisruptionBudget": {"enabled": False}}
    assert not of_kind(chart.render(off), "PodDisruptionBudget")


def test_no_selector_of_the_operator_finds_the_pod_of_the_test(
    chart: Chart, chart_test: Object
) -> None:
    objects = chart.render({"replicas": 2})
    labels = chart_test["metadata"]["labels"]
    assert not matches(one(objects, "PodDisruptionBudget")["spec"]["selector"], labels)
    assert not matches(one(objects, "Deployment")["spec"]["selector"], labels)
    assert not matches({"matchLabels": one(objects, "Service")["spec"]["selector"]}, labels)


def test_further_arguments_come_last(observed: list[Object]) -> None:
    """Of an option that is given twice the last one counts."""
    assert container_of(observed)["args"][-1] == "--log-level=warning"
    assert one(observed, "Deployment")["metadata"]["namespace"] == NAMESPACE
