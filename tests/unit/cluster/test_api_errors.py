"""Error answers, told apart by what to do about them."""

import json
from typing import Any

import pytest

from ridgeline.cluster.api import error_of, path_of
from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    Conflict,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
    UnavailableError,
)


def answer(message: str, *causes: dict[str, Any], **details: Any) -> bytes:
    body = {"kind": "Status", "message": message, "details": {"causes": list(causes), **details}}
    return json.dumps(body).encode()


def conflict(message: str, field: str = ".spec.x") -> dict[str, Any]:
    return {"reason": "FieldManagerConflict", "message": message, "field": field}


# Messages as Kubernetes 1.34 writes them; the component tests see the same from a real server.
STALE = (
    'Operation cannot be fulfilled on deployments.apps "a": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
NO_OBJECT = (
    'Operation cannot be fulfilled on deployments.apps "a": uid mismatch: the provided object '
    "specified uid 835f5c7d, and no existing object was found"
)
PRECONDITION = (
    "Operation cannot be fulfilled: Precondition failed: UID in precondition: a, "
    "UID in object meta: b"
)


@pytest.mark.parametrize(
    ("status", "data", "kind"),
    [
        (404, answer("not found"), NotFoundError),
        (409, answer(STALE), StaleVersionError),
        (409, answer(NO_OBJECT), AnotherObjectError),
        (409, answer(PRECONDITION), AnotherObjectError),
        (409, answer("Apply failed", conflict('conflict with "helm"')), FieldConflictError),
        (422, answer("invalid", {"field": "metadata.uid"}), AnotherObjectError),
        (422, answer("invalid", {"field": "spec.selector"}), RefusedError),
        (400, answer("bad"), RefusedError),
        (403, answer("forbidden"), RefusedError),
        (401, answer("Unauthorized"), UnavailableError),
        (410, answer("continue expired"), UnavailableError),
        (429, answer("too many"), UnavailableError),
        (500, answer("webhook"), UnavailableError),
        (502, b"<html>bad gateway</html>", UnavailableError),
        (503, b"", UnavailableError),
        (504, answer("timeout"), UnavailableError),
        (418, b"", RefusedError),
        (403, b"[1]", RefusedError),
        (403, b'{"details":"x"}', RefusedError),
        (409, b'{"details":{"causes":null}}', StaleVersionError),
    ],
)
def test_the_kind_tells_what_to_do(status: int, data: bytes, kind: type[ClusterError]) -> None:
    assert type(error_of(status, data)) is kind


def test_a_uid_in_a_name_is_no_other_object() -> None:
    message = STALE.replace('"a"', '"uid-service"')

    assert type(error_of(409, answer(message))) is StaleVersionError


def test_every_conflict_names_manager_and_field() -> None:
    error = error_of(
        409,
        answer(
            "Apply failed with 3 conflicts",
            conflict('conflict with "helm" using apps/v1', ".spec.a"),
            conflict('conflict with "flux"', ".spec.b"),
            conflict("conflict with somebody", ".spec.c"),
            {"reason": "FieldValueInvalid", "field": ".spec.d"},
        ),
    )

    assert isinstance(error, FieldConflictError)
    assert error.conflicts == (
        Conflict(manager="helm", field=".spec.a"),
        Conflict(manager="flux", field=".spec.b"),
        Conflict(manager="conflict with somebody", field=".spec.c"),
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (answer("the server's own words"), "the server's own words"),
        (b"plain words", "plain words"),
        (b"", "500"),
        ("ä".encode("latin-1") + b"x" * 1000, "\ufffd" + "x" * 299),
    ],
)
def test_the_message_is_the_servers_own(data: bytes, message: str) -> None:
    assert str(error_of(500, data)) == message


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("v1", "pods"), "/api/v1/pods"),
        (("v1", "pods", "ns"), "/api/v1/namespaces/ns/pods"),
        (("apps/v1", "deployments", "ns", "a"), "/apis/apps/v1/namespaces/ns/deployments/a"),
        (("g.io/v1", "xs", "ns", "a", "status"), "/apis/g.io/v1/namespaces/ns/xs/a/status"),
        (("v1", "pods", "a/../b", "c?d"), "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd"),
    ],
)
def test_paths(arguments: tuple[str, ...], path: str) -> None:
    assert path_of(*arguments) == path
