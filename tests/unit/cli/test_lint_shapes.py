"""Values of another shape than Kubernetes wants: one finding each, which names the field."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.lint_inputs import LLAMA, Body, Lint, container, default, serving, target


def broken(field: str, value: Any) -> Body:
    """Return a Deployment that takes a profile, with a value in the place of another."""
    body = target(LLAMA)
    pod = body["spec"]["template"]["spec"]
    holder = {
        "name": body["metadata"],
        "replicas": body["spec"],
        "env": pod["containers"][0],
        "containers": pod,
    }[field]
    holder[field] = value
    return body


CASES = [
    ("name", 5, {"metadata.name"}),
    ("replicas", math.nan, {"spec.replicas"}),
    ("replicas", "2", {"spec.replicas"}),
    ("replicas", "many", {"spec.replicas"}),
    ("replicas", -1, {"spec.replicas"}),
    ("replicas", True, {"spec.replicas"}),
    ("env", [3], {"env[0]"}),
    ("containers", [3, None], {"containers[0]", "containers[1]"}),
    ("containers", [container(LLAMA), None], {"containers[1]"}),
    ("replicas", 0, set()),
    ("replicas", None, set()),
]


@pytest.mark.parametrize(("field", "value", "flags"), CASES)
def test_one_finding_names_the_field(
    field: str, value: Any, flags: set[str], tmp_path: Path
) -> None:
    found = Lint(tmp_path).found([broken(field, value)])
    told = [each for each in found if each["check"] == "ManifestValue"]
    assert sorted(each["flag"] for each in told) == sorted(flags)
    assert all("the API server refuses the object" in each["consequence"] for each in told)


def test_a_target_of_a_wrong_shape_is_told_once(tmp_path: Path) -> None:
    none = serving()
    bodies = [broken("replicas", math.nan), default(), none]
    found = Lint(tmp_path).found(bodies)
    assert [each["flag"] for each in found if each["severity"] == "Error"] == ["spec.replicas"]


def test_a_list_of_names_in_another_kind_is_no_pod(tmp_path: Path) -> None:
    other = {"apiVersion": "example.dev/v1", "kind": "Limits", "spec": {"containers": ["a", "b"]}}
    assert Lint(tmp_path).run(Lint(tmp_path).file([other]))[0] == 2
