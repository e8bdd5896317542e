"""What is generated: structural, described, bounded, and in step with the repository."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field

from ridgeline.api import crd, kinds
from ridgeline.api.fields import ApiModel, DnsLabel
from ridgeline.api.schema import NotStructural, Schema, structural_schema

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[3]
FORBIDDEN = {
    "$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "const", "additionalProperties",
    "exclusiveMinimum", "exclusiveMaximum", "x-ridgeline-unset-means",
}  # fmt: skip
POLICY_SHARED = (
    "cutoff", "stabilization", "cooldownSeconds", "maxSwitchesPerDay", "objective", "schedules",
    "rollout", "telemetry",
)  # fmt: skip
every_kind = pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)


def version(kind: kinds.ResourceKind = kinds.SERVING) -> dict[str, Any]:
    found: dict[str, Any] = crd.definition(kind)["spec"]["versions"][0]
    return found


def properties(part: str, kind: kinds.ResourceKind = kinds.SERVING) -> dict[str, Any]:
    root = version(kind)["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = root["properties"][part]["properties"]
    return found


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def own_nodes(kind: kinds.ResourceKind = kinds.SERVING) -> Iterator[tuple[str, Schema]]:
    root = version(kind)["schema"]["openAPIV3Schema"]
    for part in ("spec", "status"):
        if part in root["properties"]:
            yield from nodes(root["properties"][part], part)


@every_kind
def test_the_schema_has_nothing_that_a_structural_schema_must_not_have(
    kind: kinds.ResourceKind,
) -> None:
    for path, node in own_nodes(kind):
        assert not FORBIDDEN & node.keys(), path
        assert node["type"] in {"object", "array", "string", "integer", "boolean"}, path


@every_kind
def test_every_field_is_described_and_every_list_and_string_bounded(
    kind: kinds.ResourceKind,
) -> None:
    count = 0
    for path, node in own_nodes(kind):
        count += 1
        assert path.endswith("[]") or node["description"].endswith("."), path
        if node["type"] == "array":
            assert node["maxItems"] >= 1, path
            assert node["x-kubernetes-list-type"] in {"map", "atomic"}, path
        if node["type"] == "string":
            assert "enum" in node or "maxLength" in node or node["format"] == "date-time", path
        if node["type"] == "integer":
            assert node["format"] in {"int32", "int64"}, path
            assert "minimum" in node, path
    assert count >= {"SpeculativeServing": 80}.get(kind.name, 14)


def test_every_rule_has_a_message_that_says_what_to_do() -> None:
    every = [node for kind in kinds.KINDS for _, node in own_nodes(kind)]
    rules = [rule for node in every for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) >= 30
    for rule in rules:
        assert len(rule["message"]) > 30
        assert "\n" not in rule["rule"]


def test_a_policy_shares_these_fields_and_no_others_and_says_them_as_a_serving_does() -> None:
    shared = properties("spec", kinds.POLICY)
    assert set(shared) == set(POLICY_SHARED)
    assert shared == {name: properties("spec")[name] for name in POLICY_SHARED}


@pytest.mark.parametrize("kind", [kinds.POLICY, kinds.ACCELERATOR], ids=lambda kind: kind.name)
def test_the_schema_of_what_is_only_read_writes_no_default_and_has_no_status(
    kind: kinds.ResourceKind,
) -> None:
    assert [path for path, node in own_nodes(kind) if "default" in node] == []
    assert "status" not in version(kind)["schema"]["openAPIV3Schema"]["properties"]
    assert "subresources" not in version(kind)


@pytest.mark.parametrize(
    ("kind", "scope", "short_name"),
    [
        (kinds.SERVING, "Namespaced", "sps"),
        (kinds.POLICY, "Namespaced", "spp"),
        (kinds.ACCELERATOR, "Cluster", "accel"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_scope_and_names(kind: kinds.ResourceKind, scope: str, short_name: str) -> None:
    spec = crd.definition(kind)["spec"]
    assert spec["scope"] == scope
    assert spec["names"]["shortNames"] == [short_name]
    assert spec["names"]["categories"] == ["speculation"]
    assert crd.definition(kind)["metadata"]["name"] == f"{spec['names']['plural']}.ridgeline.dev"


def test_fields_that_a_policy_shares_have_no_schema_default() -> None:
    for name in POLICY_SHARED:
        for path, node in nodes(properties("spec")[name], name):
            assert "default" not in node, path


def test_the_schema_writes_these_defaults_and_no_others() -> None:
    written = {path: node["default"] for path, node in own_nodes() if "default" in node}
    assert written == {
        "spec.targetRef.apiVersion": "apps/v1",
        "spec.targetRef.kind": "Deployment",
        "spec.mode": "RecommendOnly",
        "spec.suspend": False,
        "spec.conflictPolicy": "Hold",
        "spec.onDelete": "Keep",
        "spec.engine.unverified": "Hold",
        "spec.injection.mode": "Env",
    }


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("cooldownSeconds", "When not set: 1800."),
        ("maxSwitchesPerDay", "When not set: 6."),
        ("telemetry", "When not set: default."),
        ("stabilization.busierSeconds", "When not set: 60."),
        ("stabilization.quieterSeconds", "When not set: 600."),
    ],
)
def test_the_description_tells_the_default_that_settings_puts_in(path: str, told: str) -> None:
    node: dict[str, Any] = {"properties": properties("spec")}
    for name in path.split("."):
        node = node["properties"][name]
    assert node["description"].endswith(told)


def test_a_field_is_described_by_itself_and_an_item_by_its_kind() -> None:
    target = properties("spec")["targetRef"]["description"]
    assert target.endswith("changed only while the serving is suspended.")
    item = properties("spec")["profiles"]["items"]["description"]
    assert item.startswith("A named speculation setting")


def test_conditions_have_the_shape_of_metav1() -> None:
    conditions = properties("status")["conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    item = conditions["items"]
    assert set(item["required"]) == {"type", "status", "lastTransitionTime", "reason", "message"}
    assert item["properties"]["message"]["maxLength"] == 32768
    assert item["properties"]["observedGeneration"]["format"] == "int64"
    assert item["properties"]["lastTransitionTime"]["format"] == "date-time"


@every_kind
def test_the_columns_point_at_fields_that_exist(kind: kinds.ResourceKind) -> None:
    root = version(kind)["schema"]["openAPIV3Schema"]
    names = [column["name"] for column in version(kind)["additionalPrinterColumns"]]
    assert len(set(names)) == len(names) >= 5
    for column in version(kind)["additionalPrinterColumns"]:
        path = column["jsonPath"].split("[?")[0].removeprefix(".")
        node = root
        for step in path.replace("[0]", "").split("."):
            node = node.get("items", node)
            if node is root["properties"]["metadata"]:
                assert step == "creationTimestamp"
                break
            node = node["properties"][step]


@pytest.mark.parametrize(
    ("annotation", "told"),
    [
        (float, "not number"),
        (str, "bound the string"),
        (tuple[DnsLabel, ...], "bound the list"),
        (Annotated[tuple[DnsLabel, ...], Field(max_length=2)], "how the list is merged"),
        (int | DnsLabel, "one type"),
        (dict[str, int], "name the properties"),
        (int, "width of the number"),
    ],
)
def test_a_model_that_makes_no_good_schema_is_refused(annotation: Any, told: str) -> None:
    model = type(
        "Model",
        (ApiModel,),
        {"__annotations__": {"x": annotation}, "x": Field(description="X.")},
    )
    with pytest.raises(NotStructural, match=told):
        structural_schema(model)


def test_a_field_without_a_description_is_refused() -> None:
    class Model(ApiModel):
        x: DnsLabel

    with pytest.raises(NotStructural, match=r"Model\.x: describe the field"):
        structural_schema(Model)


def test_bounds_and_constants_are_said_the_structural_way() -> None:
    class Model(ApiModel):
        x: Annotated[int, Field(gt=0, lt=9, json_schema_extra={"format": "int32"})] = Field(
            description="X."
        )

    assert structural_schema(Model)["properties"]["x"] == {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 8,
        "description": "X.",
    }


def test_the_repository_is_in_step_with_the_models(capsys: Capture) -> None:
    folders = [str(ROOT / "crds"), "--reference", str(ROOT / "docs/reference")]
    assert crd.main(["--check", *folders]) == 0, capsys.readouterr().err


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    arguments = [str(tmp_path / "crds"), "--reference", str(tmp_path / "reference")]
    assert crd.main(arguments) == 0
    return arguments


def test_what_was_written_is_in_step_and_not_written_again(
    folders: list[str], tmp_path: Path, capsys: Capture
) -> None:
    for kind in kinds.KINDS:
        written = tmp_path / "crds" / f"ridgeline.dev_{kind.plural}.yaml"
        assert written.read_text().startswith("# Generated by")
        assert yaml.safe_load(written.read_text()) == crd.definition(kind)
        assert (tmp_path / "reference" / f"{kind.name.lower()}.md").is_file()
    assert len(list(tmp_path.glob("*/*"))) == 2 * len(kinds.KINDS)
    capsys.readouterr()
    assert crd.main(["--check", *folders]) == 0
    assert crd.main(folders) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("position", range(len(kinds.KINDS)))
@pytest.mark.parametrize("folder", ["crds", "reference"])
@pytest.mark.parametrize("change", [lambda f: f.write_text("x: 1\n"), lambda f: f.unlink()])
def test_the_check_finds_a_file_that_differs_or_misses(
    folders: list[str],
    tmp_path: Path,
    capsys: Capture,
    folder: str,
    change: Callable[[Path], object],
    position: int,
) -> None:
    written = sorted((tmp_path / folder).iterdir())[position]
    change(written)
    assert crd.main(["--check", *folders]) == 1
    assert f"{written} is out of step" in capsys.readouterr().err


def test_the_check_finds_a_crd_that_no_model_stands_for(
    folders: list[str], tmp_path: Path, capsys: Capture
) -> None:
    stray = tmp_path / "crds" / "old.yaml"
    stray.write_text("x: 1\n")
    assert crd.main(["--check", *folders]) == 1
    assert f"{stray} stands for no model" in capsys.readouterr().err


@every_kind
def test_the_reference_page_has_every_field_and_rule(kind: kinds.ResourceKind) -> None:
    page = crd.reference_files()[f"{kind.name.lower()}.md"]
    for path, node in own_nodes(kind):
        if "." in path and not path.endswith("[]"):
            assert f"| `{path}` |" in page, path
        for rule in node.get("x-kubernetes-validations", ()):
            assert f"| {rule['message'].replace('|', chr(92) + '|')} |" in page
    assert f"`kubectl get {kind.short_name}`" in page
    assert ("## Status" in page) is (kind is kinds.SERVING)


def test_the_reference_page_tells_defaults() -> None:
    page = crd.reference_files()["speculativeserving.md"]
    assert "| `spec.cooldownSeconds` | whole number 0 to 604800 | 1800 |" in page
    assert "| `spec.mode` | `Automatic` or `RecommendOnly` | RecommendOnly † |" in page
    for text in crd.reference_files().values():
        assert "When not set:" not in text


def test_the_reference_page_begins_with_what_is_required() -> None:
    page = crd.reference_files()["speculativeserving.md"]
    first = [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| `spec.")]
    top = [name for name in first if name.count(".") == 1]
    assert set(top[:2]) == {"`spec.targetRef`", "`spec.profiles`"}
