"""The alerts as the chart renders them, and promtool, asked what they do."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry

from ridgeline.controller.metrics import OperatorMetrics
from tests.chart.rendering import Chart, Object, one
from tests.cluster.paths import REPO

CASES: dict[str, Any] = yaml.safe_load((REPO / "tests/chart/alert_cases.yaml").read_text())
SERVING_ENABLED = {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}
OF_OTHERS = {"kube_deployment_status_replicas_ready", "kube_deployment_spec_replicas"}
"""Metrics that alerts use and kube-state-metrics exports."""

_LABELS = re.compile(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)|\"[^\"]*\"")
_NAME = re.compile(r"\b(?:ridgeline|vllm|kube)[_:]\w+")


def spec_of(chart: Chart, values: Object | None = None, **options: Any) -> Object:
    """The rendered PrometheusRule's spec."""
    spec: Object = one(chart.render(values or SERVING_ENABLED, **options), "PrometheusRule")["spec"]
    return spec


def rules_of(spec: Object) -> dict[str, Object]:
    """Alert name → rule."""
    rules = [rule for group in spec["groups"] for rule in group["rules"]]
    found = {each["alert"]: each for each in rules}
    assert len(found) == len(rules)
    return found


def metric_names(query: str) -> set[str]:
    """Metrics that a query names."""
    return set(_NAME.findall(_LABELS.sub(" ", query)))


def exported(registry: CollectorRegistry | None = None) -> set[str]:
    """Every name of a series that the operator exports."""
    found = set()
    for family in (registry or OperatorMetrics().registry).collect():
        found |= {
            "counter": {f"{family.name}_total"},
            "histogram": {f"{family.name}_{end}" for end in ("bucket", "count", "sum")},
        }.get(family.type, {family.name})
    return found


def promtool(binary: Path, folder: Path, spec: Object, *tests: Object) -> str:
    """Check the rules, run tests on them, and return what promtool complains of; "" for nothing."""
    (folder / "rules.yaml").write_text(json.dumps({"groups": spec["groups"]}))
    told = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": list(tests)}
    (folder / "tests.yaml").write_text(json.dumps(told))
    for command in (("check", "rules", "rules.yaml"), ("test", "rules", "tests.yaml")):
        result = subprocess.run(
            [str(binary), *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            return f"{result.stdout}{result.stderr}"
    return ""


def promtool_test(name: str, case: Object, expected: list[Object]) -> Object:
    """One test of one alert, in promtool's form."""
    series = [{"series": each, "values": str(case["series"][each])} for each in case["series"]]
    asked = {"alertname": name, "eval_time": case["at"], "exp_alerts": expected}
    return {"interval": "1m", "input_series": series, "alert_rule_test": [asked]}
