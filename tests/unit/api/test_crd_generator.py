"""What is generated: structural, described, bounded, and in step with the repository."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field

from ridgeline.api import crd
from ridgeline.api.fields import ApiModel, DnsLabel
from ridgeline.api.schema import NotStructural, Schema, structural_schema

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[3]
FORBIDDEN = {
    "$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "const", "additionalProperties",
    "exclusiveMinimum", "exclusiveMaximum", "x-ridgeline-unset-means",
}  # fmt: skip
POLICY_SHARED = (
    "cutoff", "stabilization", "cooldownSeconds", "maxSwitchesPerDay", "telemetry",
)  # fmt: skip


def version() -> dict[str, Any]:
    found: dict[str, Any] = crd.serving_definition()["spec"]["versions"][0]
    return found


def properties(part: str) -> dict[str, Any]:
    root = version()["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = root["properties"][part]["properties"]
    return found


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def own_nodes() -> Iterator[tuple[str, Schema]]:
    root = version()["schema"]["openAPIV3Schema"]
    for part in ("spec", "status"):
        yield from nodes(root["properties"][part], part)


def test_the_schema_has_nothing_that_a_structural_schema_must_not_have() -> None:
    for path, node in own_nodes():
        assert not FORBIDDEN & node.keys(), path
        assert node["type"] in {"object", "array", "string", "integer", "boolean"}, path


def test_every_field_is_described_and_every_list_and_string_bounded() -> None:
    count = 0
    for path, node in own_nodes():
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
    assert count > 60


def test_every_rule_has_a_message_that_says_what_to_do() -> None:
    rules = [rule for _, node in own_nodes() for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) >= 15
    for rule in rules:
        assert len(rule["message"]) > 30
        assert "\n" not in rule["rule"]


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


def test_the_columns_point_at_fields_that_exist() -> None:
    root = version()["schema"]["openAPIV3Schema"]
    for column in version()["additionalPrinterColumns"]:
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
    (written,) = (tmp_path / "crds").iterdir()
    assert written.read_text().startswith("# Generated by")
    assert yaml.safe_load(written.read_text()) == crd.serving_definition()
    capsys.readouterr()
    assert crd.main(["--check", *folders]) == 0
    assert crd.main(folders) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("folder", ["crds", "reference"])
@pytest.mark.parametrize("change", [lambda f: f.write_text("x: 1\n"), lambda f: f.unlink()])
def test_the_check_finds_a_file_that_differs_or_misses(
    folders: list[str],
    tmp_path: Path,
    capsys: Capture,
    folder: str,
    change: Callable[[Path], object],
) -> None:
    (written,) = (tmp_path / folder).iterdir()
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


def test_the_reference_page_has_every_field_rule_and_default() -> None:
    (page,) = crd.reference_files().values()
    for path, node in own_nodes():
        if "." in path and not path.endswith("[]"):
            assert f"| `{path}` |" in page, path
        for rule in node.get("x-kubernetes-validations", ()):
            assert f"| {rule['message']} |" in page
    assert "| `spec.cooldownSeconds` | whole number 0 to 604800 | 1800 |" in page
    assert "| `spec.mode` | `Automatic` or `RecommendOnly` | RecommendOnly † |" in page
    assert "When not set:" not in page
