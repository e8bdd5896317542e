"""Who wrote what, and what an operator inside the cluster asked: the audit log as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that the API server has answered."""

    time: str
    """When it was received, RFC 3339."""
    user: str
    user_agent: str
    verb: str
    resource: str
    """With its group and subresource: `deployments.apps`, `pods/status`, …"""
    namespace: str
    name: str
    code: int
    """The HTTP status of the answer; of a watch that is open still, that of its beginning."""
    path: str
    """Path and query of the request."""


Write = Request
"""One create, update, patch or delete."""


def read_requests(log: Path) -> list[Request]:
    """All requests in the log; a last line that is still being written is left out.

    Reads are there only of service accounts of `control_plane.OPERATOR_NAMESPACE`.
    """
    lines = log.read_text().split("\n")[:-1]
    return [_request(json.loads(line)) for line in lines]


def read_writes(log: Path) -> list[Write]:
    """All writes in the log."""
    return [each for each in read_requests(log) if each.verb not in _READS]


def _request(event: dict[str, object]) -> Request:
    target = _mapping(event.get("objectRef"))
    resource = ".".join(
        str(part) for part in (target.get("resource"), target.get("apiGroup")) if part
    )
    if subresource := target.get("subresource"):
        resource = f"{resource}/{subresource}"
    return Request(
        time=str(event["requestReceivedTimestamp"]),
        user=str(_mapping(event["user"]).get("username", "")),
        user_agent=str(event.get("userAgent", "")),
        verb=str(event["verb"]),
        resource=resource,
        namespace=str(target.get("namespace", "")),
        name=str(target.get("name", "")),
        code=int(str(_mapping(event.get("responseStatus")).get("code", 0))),
        path=str(event.get("requestURI", "")),
    )


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
