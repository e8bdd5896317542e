"""Who wrote what: the API server's audit log as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Write:
    """One create, update, patch or delete that the API server has answered."""

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
    """The HTTP status of the answer."""


def read_writes(log: Path) -> list[Write]:
    """All writes in the log; a last line that is still being written is left out."""
    lines = log.read_text().split("\n")[:-1]
    return [_write(json.loads(line)) for line in lines]


def _write(event: dict[str, object]) -> Write:
    target = _mapping(event.get("objectRef"))
    resource = ".".join(
        str(part) for part in (target.get("resource"), target.get("apiGroup")) if part
    )
    if subresource := target.get("subresource"):
        resource = f"{resource}/{subresource}"
    return Write(
        time=str(event["requestReceivedTimestamp"]),
        user=str(_mapping(event["user"]).get("username", "")),
        user_agent=str(event.get("userAgent", "")),
        verb=str(event["verb"]),
        resource=resource,
        namespace=str(target.get("namespace", "")),
        name=str(target.get("name", "")),
        code=int(str(_mapping(event.get("responseStatus")).get("code", 0))),
    )


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
