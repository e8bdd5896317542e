"""The guard's rules, evaluated by a real API server for every field of every supported minor.

A server has one minor and takes valid Deployments only. So the rules are given a look-alike: a
custom resource whose schema lets everything through, with every field of every minor set.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from tests.chart.rendering import Object
from tests.cluster.handle import Cluster
from tests.crd.guard_mutants import MISSING, change, complete, get, values
from tests.crd.guard_server import Guarded, guarded, named
from tests.tools.guard import LEVELS
from tests.tools.guard_schema import ITEM, MINORS, Leaf, Path, leaves, schema_at

GROUP = "look-alike.ridgeline.dev"
LATER = "fieldOfALaterMinor"
CONTAINERS = ("spec", "template", "spec", "containers")
MAY: set[Path] = {("spec", "paused")}
SERVERS_OWN = ("apiVersion", "kind", "metadata")
"""What the API server itself minds in a custom resource; real Deployments show it."""


@pytest.fixture(scope="module")
def guard(control_plane: Cluster, helm_binary: File) -> Iterator[Guarded]:
    """The guard of the look-alike."""
    crd = _definition()
    control_plane.kubectl("create", "-f", "-", input_object=crd)
    try:
        control_plane.kubectl(
            "wait", "--for=condition=Established", "--timeout=30s", f"crd/deployments.{GROUP}"
        )
        with guarded(control_plane, helm_binary, group=GROUP) as found:
            yield found
    finally:
        control_plane.kubectl("delete", "crd", f"deployments.{GROUP}", "--wait=false")


@pytest.fixture(scope="module")
def everything(guard: Guarded) -> Object:
    """The look-alike with every field, as the API server holds it."""
    body: Object = {}
    for minor in MINORS:
        body = _merged(body, complete(minor))
    body["apiVersion"], body["kind"] = f"{GROUP}/v1", "Deployment"
    body["metadata"] = {"name": "all"}
    (container,) = get(body, CONTAINERS)
    container["env"].append({"name": "SPECULATION_CONFIG", "value": "{}"})
    answer = guard.person.call("POST", _path(guard).rpartition("/")[0], body)
    assert answer.taken, answer.message
    return answer.body


def test_what_it_may_write_is_taken(guard: Guarded, everything: Object) -> None:
    mutant = _with(everything, ("metadata", "annotations"), {"ridgeline.dev/serving": "one"})
    labels = ("spec", "template", "metadata", "labels")
    mutant = _with(mutant, (*labels, "ridgeline.dev/profile"), "eagle")
    answer = guard.operator.replace(_path(guard), mutant)
    assert answer.taken, answer.message


def test_no_field_of_any_minor_can_be_changed_or_removed(
    guard: Guarded, everything: Object
) -> None:
    let_through, tried = [], 0
    for leaf, minor in _all_leaves():
        for value in _others(minor, leaf, get(everything, leaf.path)):
            mutant = change(everything, leaf.path, value)
            answer = guard.operator.replace(_path(guard), mutant)
            tried += 1
            if not guard.refused(answer, named(leaf.path)):
                let_through.append((".".join(leaf.path), value, answer.status, answer.message))
    assert not let_through
    assert tried > 1400


def test_a_field_that_no_minor_has_yet_cannot_be_written_anywhere(
    guard: Guarded, everything: Object
) -> None:
    let_through = []
    places = {leaf.path[:size] for leaf, _ in _all_leaves() for size in range(len(leaf.path))}
    objects = [path for path in sorted(places) if isinstance(get(everything, path), dict)]
    for path in objects:
        mutant = _with(everything, (*path, LATER), "new")
        answer = guard.operator.replace(_path(guard), mutant)
        if not guard.refused(answer, named((*path, LATER))):
            let_through.append((".".join(path), answer.status, answer.message))
    assert not let_through
    assert len(objects) > 200
    for level in LEVELS:
        assert level.free_keys or level.path in objects or level.path == ("metadata",)


def test_nothing_changes_and_nothing_is_refused(guard: Guarded, everything: Object) -> None:
    answer = guard.operator.replace(_path(guard), everything)
    assert answer.taken, answer.message


def _all_leaves() -> Iterator[tuple[Leaf, str]]:
    """Every leaf that some minor has, with the newest minor that has it."""
    found = {leaf.path: (leaf, minor) for minor in MINORS for leaf in leaves(minor)}
    for path, each in found.items():
        if path[0] not in SERVERS_OWN and path not in MAY:
            yield each


def _others(minor: str, leaf: Leaf, now: Any) -> Iterator[Any]:
    yield next(each for each in values(leaf.path, leaf.schema) if each != now)
    above = schema_at(minor, leaf.path[:-1])
    if leaf.path[-1] != ITEM and leaf.path[-1] not in above.get("required", ()):
        yield MISSING


def _with(body: Object, path: Path, value: Any) -> Object:
    """The object with a value that may not have been there."""
    holder = get(body, path[:-1])
    changed: Object = {**holder, path[-1]: value}
    return change(body, path[:-1], changed) if len(path) > 1 else changed


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {
            key: _merged(one[key], value) if key in one else value for key, value in other.items()
        }
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(mine, theirs) for mine, theirs in zip(one, other, strict=True)]
    return other


def _path(guard: Guarded) -> str:
    return f"/apis/{GROUP}/v1/namespaces/{guard.namespace}/deployments/all"


def _definition() -> Object:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"deployments.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Deployment", "plural": "deployments"},
            "versions": [version],
        },
    }
