"""No namespaced object says where the operator sends a request, or with which secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ridgeline.api import crd, kinds
from ridgeline.api.errors import InvalidServing
from ridgeline.api.serving import parse_serving

Schema = dict[str, Any]
SPEAKING = frozenset(
    [
        "url",
        "uri",
        "host",
        "hostname",
        "address",
        "endpoint",
        "server",
        "proxy",
        "header",
        "headers",
        "token",
        "secret",
        "password",
        "credential",
        "credentials",
        "kubeconfig",
        "certificate",
        "file",
        "path",
        "command",
        "image",
        "script",
        "webhook",
    ]
)
"""Words in the name of a field that leads somewhere, or holds a secret."""

ADDRESSES = [
    "http://evil.example",
    "evil.example:9090",
    "//evil.example",
    "169.254.169.254",
    "file:///etc/passwd",
    "../default",
    "default/../x",
    "",
]


def fields(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from fields(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from fields(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], f"{path}{{}}")


def speaks(path: str) -> bool:
    name = path.rpartition(".")[2].removesuffix("PerToken")
    words = re.findall(r"[A-Z]?[a-z]+", name)
    return bool(SPEAKING & {each.lower() for each in words})


def spec_fields(kind: kinds.ResourceKind) -> list[tuple[str, Schema]]:
    (version,) = crd.definition(kind)["spec"]["versions"]
    return list(fields(version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec"))


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_no_field_of_a_spec_leads_anywhere(kind: kinds.ResourceKind) -> None:
    found = spec_fields(kind)
    assert len(found) > 5
    assert [path for path, _ in found if speaks(path)] == []


def test_fields_that_would_are_found() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"webhookUrl": {"type": "string"}}}}}}
    assert [path for path, _ in fields(schema, "spec") if speaks(path)] == ["spec.a[].webhookUrl"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_endpoint_is_named_and_never_addressed(address: str) -> None:
    body = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculativeServing",
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {
            "targetRef": {"name": "s"},
            "telemetry": address,
            "profiles": [
                {"name": "eagle", "method": "Eagle", "model": "o/h", "numSpeculativeTokens": 4},
                {"name": "none", "method": "Disabled"},
            ],
        },
    }
    with pytest.raises(InvalidServing, match="telemetry"):
        parse_serving(body)
    body["spec"]["telemetry"] = "default"  # type: ignore[index]
    parse_serving(body)
