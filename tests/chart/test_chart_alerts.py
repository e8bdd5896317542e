"""The alerts fire when they should and not otherwise, say what is wrong, and have a runbook."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml

from ridgeline.policy.conditions import NEEDS_A_PERSON
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState
from tests.chart.alerting import (
    CASES,
    OF_OTHERS,
    SERVING_ENABLED,
    exported,
    metric_names,
    promtool,
    promtool_test,
    rules_of,
    spec_of,
)
from tests.chart.rendering import CHART, Chart, Object, of_kind, one
from tests.cluster.paths import REPO

RUNBOOKS = REPO / "docs" / "runbooks"
AT_ONCE = {"RidgelineProfileQuarantined", "RidgelineFlapping"}
SILENT = [(name, why) for name, case in CASES.items() for why in case["silent"]]


@pytest.fixture(scope="module")
def spec(chart: Chart) -> Object:
    """The PrometheusRule with the chart's thresholds."""
    return spec_of(chart)


@pytest.fixture(scope="module")
def rules(spec: Object) -> dict[str, Object]:
    """Alert name → rule."""
    return rules_of(spec)


def test_every_alert_is_tested(rules: dict[str, Object]) -> None:
    assert rules.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_it_fires_and_says_what_is_wrong(
    name: str, spec: Object, rules: dict[str, Object], promtool_binary: Path, tmp_path: Path
) -> None:
    case, rule = CASES[name]["fires"], rules[name]
    alert = {
        "exp_labels": {**case["labels"], **rule["labels"]},
        "exp_annotations": {**rule["annotations"], "description": case["tells"]},
    }
    test = promtool_test(name, case, [alert])
    assert promtool(promtool_binary, tmp_path, spec, test) == ""


@pytest.mark.parametrize(("name", "why"), SILENT)
def test_it_does_not_fire(
    name: str, why: str, spec: Object, promtool_binary: Path, tmp_path: Path
) -> None:
    test = promtool_test(name, CASES[name]["silent"][why], [])
    assert promtool(promtool_binary, tmp_path, spec, test) == ""


@pytest.mark.parametrize("name", sorted(CASES.keys() - AT_ONCE))
def test_it_waits_before_it_fires(
    name: str, spec: Object, rules: dict[str, Object], promtool_binary: Path, tmp_path: Path
) -> None:
    minutes = _minutes(rules[name]["for"])
    assert minutes > 0
    early = {**CASES[name]["fires"], "at": f"{minutes - 1}m"}
    assert promtool(promtool_binary, tmp_path, spec, promtool_test(name, early, [])) == ""


def _minutes(duration: str) -> int:
    return int(duration[:-1]) * {"m": 1, "h": 60}[duration[-1]]


def test_rules_that_are_wrong_are_found(
    spec: Object, promtool_binary: Path, tmp_path: Path
) -> None:
    broken = copy.deepcopy(spec)
    rules_of(broken)["RidgelineNoLeader"]["expr"] = "max("
    assert "RidgelineNoLeader" in promtool(promtool_binary, tmp_path, broken)


def test_every_metric_is_one_that_the_operator_exports(rules: dict[str, Object]) -> None:
    for name, rule in rules.items():
        used = metric_names(rule["expr"])
        assert used, name
        assert used - OF_OTHERS <= exported(), name


def test_the_names_that_are_compared_are_all_there_is() -> None:
    assert metric_names(
        'sum by (ridgeline_dev_profile) (ridgeline_serving_x{x="ridgeline_no"}[5m])'
    ) == {"ridgeline_serving_x"}
    assert {"ridgeline_pass_seconds_count", "ridgeline_rolls_total", "ridgeline_leader"} <= (
        exported()
    )


def test_every_alert_has_severity_words_and_a_runbook_that_names_it(
    rules: dict[str, Object],
) -> None:
    for name, rule in rules.items():
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        annotations = rule["annotations"]
        assert annotations.keys() == {"summary", "description", "runbook_url"}
        page = RUNBOOKS / annotations["runbook_url"].rpartition("/")[2]
        assert name in page.read_text(), f"{page.name} does not name {name}"


def test_every_alert_is_told_with_its_defaults(rules: dict[str, Object]) -> None:
    page = (REPO / "docs" / "reference" / "alerts.md").read_text()
    rows = {
        cells[1].strip("`"): cells
        for cells in ([each.strip() for each in line.split("|")] for line in page.splitlines())
        if len(cells) > 6 and cells[1].startswith("`Ridgeline")
    }
    values = yaml.safe_load((CHART / "values.yaml").read_text())["prometheusRule"]["alerts"]
    assert rows.keys() == rules.keys()
    for name, rule in rules.items():
        _, _, key, severity, waits, threshold, told, *_ = rows[name]
        chosen = values[key.strip("`")]
        assert severity == chosen["severity"] == rule["labels"]["severity"]
        assert waits == chosen["for"] == rule["for"]
        assert threshold.partition(" ")[0] == str(chosen.get("threshold", "")), name
        assert f"({'../runbooks/' + rule['annotations']['runbook_url'].rpartition('/')[2]})" in told


def _reasons(rule: Object) -> set[str]:
    (found,) = re.findall(r'reason=~"([^"]*)"', rule["expr"])
    return set(found.split("|"))


def test_each_situation_that_needs_a_person_is_in_exactly_one_alert(
    rules: dict[str, Object],
) -> None:
    three = [
        _reasons(rules[f"Ridgeline{each}"])
        for each in ("ServingsStalled", "ResourcesRejected", "RolloutStalled")
    ]
    assert set().union(*three) == {each.value for each in NEEDS_A_PERSON}
    assert sum(map(len, three)) == len(NEEDS_A_PERSON)
    assert _reasons(rules["RidgelineSwitchBudgetSpent"]) <= {each.value for each in Reason}


def test_a_roll_that_takes_long_is_one_that_has_not_ended(rules: dict[str, Object]) -> None:
    (states,) = re.findall(r'state=~"([^"]*)"', rules["RidgelineRollTakesLong"]["expr"])
    ended = {RollState.FINISHED, RollState.RESTORED, RollState.ABANDONED, RollState.UNDONE}
    assert set(states.split("|")) == {each.value for each in set(RollState) - ended}


def test_what_can_be_chosen_arrives(chart: Chart, promtool_binary: Path, tmp_path: Path) -> None:
    spec = spec_of(chart, {}, file="observed")
    rules = rules_of(spec)
    assert promtool(promtool_binary, tmp_path, spec) == ""
    assert rules["RidgelineNoLeader"]["labels"] == {"severity": "critical", "team": "inference"}
    assert rules["RidgelineNoLeader"]["for"] == "2m"
    assert rules["RidgelineNoLeader"]["expr"] == 'max(ridgeline_leader{cluster="eu-1"}) == 0'
    assert rules["RidgelineFlapping"]["expr"].endswith(">= 3")
    assert "RidgelineSwitchBudgetSpent" not in rules
    assert rules["Own"]["expr"] == "vector(1) == 0"
    url = rules["RidgelineFlapping"]["annotations"]["runbook_url"]
    assert url == "https://docs.example/runbooks/flapping.md"


def test_without_a_service_monitor_every_series_counts(chart: Chart) -> None:
    rules = rules_of(spec_of(chart, {"prometheusRule": {"enabled": True}}))
    assert rules["RidgelineNoLeader"]["expr"] == "max(ridgeline_leader{}) == 0"


def test_the_job_is_the_one_that_the_service_monitor_makes(chart: Chart) -> None:
    objects = chart.render(SERVING_ENABLED, release="second")
    job = one(objects, "Service")["metadata"]["name"]
    rules = rules_of(one(objects, "PrometheusRule")["spec"])
    assert f'{{job="{job}"}}' in rules["RidgelineOperatorAbsent"]["expr"]
    assert job in rules["RidgelineOperatorNotReady"]["expr"]


def test_nothing_is_left_of_the_places_to_fill_in(spec: Object) -> None:
    assert not re.search(r"<(matchers|threshold|namespace|deployment)>", str(spec))


def test_without_any_alert_there_is_no_empty_group(chart: Chart) -> None:
    off = {key: {"enabled": False} for key in _keys()}
    values = {"prometheusRule": {"enabled": True, "alerts": off}}
    assert one(chart.render(values), "PrometheusRule")["spec"]["groups"] is None


def _keys() -> list[str]:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    return list(values["prometheusRule"]["alerts"])


def test_it_is_off_where_the_prometheus_operator_may_be_missing(defaults: list[Object]) -> None:
    for kind in ("PrometheusRule", "ServiceMonitor", "PodMonitor"):
        assert not of_kind(defaults, kind)
