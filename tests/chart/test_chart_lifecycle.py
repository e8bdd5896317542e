"""Upgrades and uninstalling: servings stay, targets go on, nothing is stuck or left to guess."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.terms import names
from tests.chart.rendering import CHART, NAMESPACE, VALUES, Chart, Object, of_kind, one
from tests.cluster.paths import REPO

FILES = (None, *sorted(path.stem for path in VALUES.glob("*.yaml")))
UNINSTALL = REPO / "docs" / "how-to" / "uninstall.md"
KEEP = "helm.sh/resource-policy"


def test_nothing_but_the_test_is_a_hook(chart: Chart) -> None:
    """No hook deletes anything, and none that failed could hold an uninstallation up."""
    for file in FILES:
        for each in chart.render(file=file):
            annotations = each["metadata"].get("annotations") or {}
            assert not [key for key in annotations if key.startswith("helm.sh/hook")]


def test_crds_stay_and_nothing_else_does(defaults: list[Object]) -> None:
    kept = [
        each for each in defaults if (each["metadata"].get("annotations") or {}).get(KEEP) == "keep"
    ]
    assert len(kept) == 3
    assert {each["kind"] for each in kept} == {"CustomResourceDefinition"}


def test_crds_are_upgraded_with_the_chart(defaults: list[Object]) -> None:
    """Helm never touches what lies in a chart's own crds/ again."""
    assert not (CHART / "crds").exists()
    assert len(of_kind(defaults, "CustomResourceDefinition")) == 3


def test_no_serving_is_part_of_a_release(chart: Chart) -> None:
    own = {names.SERVING_KIND, names.POLICY_KIND, names.ACCELERATOR_KIND}
    for file in FILES:
        assert not own & {each["kind"] for each in chart.render(file=file)}


def test_what_cannot_be_changed_does_not_change_between_versions(
    chart: Chart, tmp_path: Path
) -> None:
    """Selector and names of another version of the chart, with other labels, are the same."""
    other = tmp_path / "ridgeline"
    shutil.copytree(CHART, other)
    about = yaml.safe_load((other / "Chart.yaml").read_text())
    (other / "Chart.yaml").write_text(yaml.safe_dump({**about, "version": "9.9.9"}))
    text = chart.run("template", "ridgeline", str(other), "--namespace", NAMESPACE, "--skip-tests")
    newer = [each for each in yaml.safe_load_all(text) if each]
    labelled = chart.render({"commonLabels": {"team": "a"}, "podLabels": {"tier": "b"}})
    before = chart.render()
    for after in (newer, labelled):
        for kind in ("Deployment", "Service"):
            assert one(after, kind)["spec"]["selector"] == one(before, kind)["spec"]["selector"]
        for kind in ("ClusterRoleBinding", "RoleBinding"):
            assert one(after, kind)["roleRef"] == one(before, kind)["roleRef"]
        assert _keys(after) == _keys(before)


def _keys(objects: list[Object]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in objects}


def test_chart_yaml_tells_the_crds(defaults: list[Object]) -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    told = yaml.safe_load(about["annotations"]["artifacthub.io/crds"])
    there = {
        (each["spec"]["names"]["kind"], version["name"], each["metadata"]["name"])
        for each in of_kind(defaults, "CustomResourceDefinition")
        for version in each["spec"]["versions"]
    }
    assert {(each["kind"], each["version"], each["name"]) for each in told} == there


def test_the_page_names_all_that_stays(defaults: list[Object], chart: Chart) -> None:
    text = UNINSTALL.read_text()
    deleted = set(re.findall(r"[a-z]+\.ridgeline\.dev", text))
    assert deleted == {
        each["metadata"]["name"] for each in of_kind(defaults, "CustomResourceDefinition")
    }
    assert f"lease {one(defaults, 'Deployment')['metadata']['name']} " in text
    (left,) = re.findall(r"kubectl delete (\S+) (\S+-test) ", text)
    assert left == ("pod,role,rolebinding", one(chart.hooks(), "Pod")["metadata"]["name"])


@pytest.fixture(scope="module")
def helm3(helm3_binary: Path) -> Chart:
    """Helm 3."""
    found = Chart(helm=helm3_binary)
    assert found.run("version", "--short").startswith("v3.")
    return found


@pytest.mark.parametrize("file", FILES)
def test_helm_3_renders_the_same(chart: Chart, helm3: Chart, file: str | None) -> None:
    # A Helm 3 that was built without its linker flags takes a cluster of 1.20 for granted.
    minor = ("--kube-version", "1.34.0")
    assert helm3.render(file=file, options=minor) == chart.render(file=file, options=minor)
    assert helm3.hooks(file=file, options=minor) == chart.hooks(file=file, options=minor)


def test_helm_3_lints_and_refuses_bad_values(helm3: Chart) -> None:
    assert "[WARNING]" not in helm3.run("lint", "--strict", str(CHART))
    bad: tuple[Any, ...] = ("template", "x", str(CHART), "--set", "replica=2")
    with pytest.raises(RuntimeError, match="replica"):
        helm3.run(*bad)
