"""The guard as the chart writes it, and that its rules know every field of every minor."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from ridgeline.settings.config import parse_config
from tests.chart.rendering import (
    CHART,
    NAMESPACE,
    Chart,
    HelmRefusesError,
    Object,
    config_of,
    of_kind,
    one,
    pod_of,
)
from tests.chart.test_kustomize_base import build
from tests.cluster.paths import REPO
from tests.tools import guard as tool
from tests.tools import guard_schema
from tests.tools.guard_schema import ITEM, MINORS

POLICY = "ValidatingAdmissionPolicy"
CONTAINER = ("spec", "template", "spec", "containers", ITEM)


def _rules(objects: list[Object]) -> Object:
    spec: Object = one(objects, POLICY)["spec"]
    return spec


def _variable(objects: list[Object], name: str) -> str:
    (found,) = (each for each in _rules(objects)["variables"] if each["name"] == name)
    return str(found["expression"])


def _condition(objects: list[Object]) -> str:
    (condition,) = _rules(objects)["matchConditions"]
    return str(condition["expression"])


def test_it_is_there_by_default_and_refuses(defaults: list[Object]) -> None:
    spec = one(defaults, f"{POLICY}Binding")["spec"]
    assert spec["policyName"] == one(defaults, POLICY)["metadata"]["name"]
    assert spec["validationActions"] == ["Deny", "Audit"]
    assert "matchResources" not in spec
    assert _rules(defaults)["failurePolicy"] == "Fail"
    assert {each["reason"] for each in _rules(defaults)["validations"]} == {"Forbidden"}


def test_it_sees_every_operation_and_every_subresource(defaults: list[Object]) -> None:
    assert _rules(defaults)["matchConstraints"]["resourceRules"] == [
        {
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "operations": ["*"],
            "resources": ["deployments", "deployments/*"],
        }
    ]


@pytest.mark.parametrize("file", [None, "everything", "namespaced"])
def test_it_binds_the_account_that_the_operator_has(chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    name = pod_of(objects)["spec"]["serviceAccountName"]
    account = f"system:serviceaccount:{NAMESPACE}:{name}"
    assert _condition(objects) == f"request.userInfo.username == '{account}'"


def test_it_can_be_left_out(chart: Chart) -> None:
    objects = chart.render({"guard": {"enabled": False}})
    assert not [each for each in objects if each["kind"].startswith(POLICY)]


def test_arguments_are_guarded_unless_the_values_say_otherwise(chart: Chart) -> None:
    strict, loose = chart.render(), chart.render({"guard": {"allowArgs": True}})
    assert _variable(strict, tool.CONTAINER_MAY) == "['env']"
    assert _variable(loose, tool.CONTAINER_MAY) == "['env', 'args']"
    assert _rules(strict)["validations"] == _rules(loose)["validations"]


@pytest.mark.parametrize(
    ("guard", "allowed"),
    [({}, False), ({"allowArgs": True}, True), ({"enabled": False, "allowArgs": True}, True)],
)
def test_the_operator_is_told_what_the_guard_admits(
    chart: Chart, guard: Object, allowed: bool
) -> None:
    found = config_of(chart.render({"guard": guard}))
    assert parse_config(found).allow_args is allowed


@pytest.mark.parametrize(
    "values", [{"guard": {"enabled": "yes"}}, {"guard": {"allowArgs": 1}}, {"guard": {"allow": 1}}]
)
def test_a_bad_value_is_refused(chart: Chart, values: Object) -> None:
    with pytest.raises(HelmRefusesError, match=next(iter(values["guard"]))):
        chart.render(values)


@pytest.mark.parametrize("minor", MINORS)
def test_every_field_of_the_minor_is_named_where_it_may_not_change(
    defaults: list[Object], minor: str
) -> None:
    levels = {level.name: (level.path, level.may) for level in tool.LEVELS if not level.free_keys}
    for name, (path, may) in {**levels, "container": (CONTAINER, ("env",))}.items():
        if fields := set(guard_schema.schema_at(minor, path)["properties"]) - set(may):
            named = set(ast.literal_eval(_variable(defaults, f"{name}Fields")))
            assert fields <= named, path
            assert not named & set(may)


def test_the_fields_that_may_change_are_those_that_the_operator_writes() -> None:
    may = {path: set(m) for path, m in ((level.path, level.may) for level in tool.LEVELS)}
    assert may == {
        (): {"metadata", "spec"},
        ("metadata",): {"annotations", "generation", "managedFields", "resourceVersion"},
        ("metadata", "annotations"): {"ridgeline.dev/serving"},
        ("spec",): {"paused", "template"},
        ("spec", "template"): {"metadata", "spec"},
        ("spec", "template", "metadata"): {"labels"},
        ("spec", "template", "metadata", "labels"): {"ridgeline.dev/profile"},
        ("spec", "template", "spec"): {"containers"},
    }


def test_the_minors_go_from_the_charts_oldest_to_the_newest_schema() -> None:
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    assert oldest == f">={MINORS[0]}.0-0"
    folder = files("kubernetes_validate") / "kubernetes-json-schema"
    names = (re.fullmatch(r"v(1\.\d+)\.0-local", each.name) for each in folder.iterdir())
    known = {match[1] for match in names if match}
    newest = max(known, key=lambda minor: int(minor.partition(".")[2]))
    assert MINORS[-1] == newest, "there is a newer schema: extend MINORS, generate, read the rules"


def test_the_rules_are_up_to_date() -> None:
    assert tool.main(["--check"]) == 0


def test_rules_that_drifted_are_told_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tool.FILE.read_text()
    drifted = tmp_path / "guard.yaml"
    drifted.write_text(text.replace("'hostNetwork',", ""))
    monkeypatch.setattr(tool, "FILE", drifted)
    monkeypatch.setattr(tool, "REPO", tmp_path)
    assert tool.main(["--check"]) == 1
    assert "guard.yaml" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert drifted.read_text() == text


def test_an_env_item_with_a_new_field_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    real = guard_schema.schema_at

    def later(minor: str, path: guard_schema.Path) -> guard_schema.Schema:
        schema = real(minor, path)
        if path[-2:] == ("env", ITEM) and minor == MINORS[-1]:
            return {"properties": {**schema["properties"], "valueFromVault": {}}}
        return schema

    monkeypatch.setattr(guard_schema, "schema_at", later)
    with pytest.raises(ValueError, match=rf"{MINORS[-1]}.*valueFromVault"):
        tool.rules()


def test_an_overlay_in_another_namespace_takes_the_account_along(
    kubectl_binary: Path, tmp_path: Path
) -> None:
    """The stanza of docs/how-to/guard.md."""
    page = (REPO / "docs" / "how-to" / "guard.md").read_text()
    (stanza,) = re.findall(r"```yaml\n(# kustomization\.yaml\n.*?)```", page, re.DOTALL)
    base = tmp_path / "base"
    base.symlink_to(REPO / "deploy" / "kustomize" / "base")
    overlay = tmp_path / "overlays" / "mine"
    overlay.mkdir(parents=True)
    (overlay / "kustomization.yaml").write_text(stanza)
    objects = build(kubectl_binary, overlay)
    namespace = one(objects, "Deployment")["metadata"]["namespace"]
    assert namespace != NAMESPACE
    assert _condition(objects) == (
        f"request.userInfo.username == 'system:serviceaccount:{namespace}:ridgeline'"
    )


def test_a_component_leaves_it_out(kubectl_binary: Path, tmp_path: Path) -> None:
    folder = REPO / "deploy" / "kustomize"
    before = build(kubectl_binary, folder / "base")
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump({"resources": ["base"], "components": ["component"]})
    )
    (tmp_path / "base").symlink_to(folder / "base")
    (tmp_path / "component").symlink_to(folder / "components" / "without-guard")
    after = build(kubectl_binary, tmp_path)
    assert of_kind(before, POLICY)
    assert [each for each in before if not each["kind"].startswith(POLICY)] == after
