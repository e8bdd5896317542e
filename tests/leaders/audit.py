"""The audit log of an API server, as somebody reads it who knows nothing of what wrote it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request that the API server has answered.

    Attributes:
        at: Epoch seconds at which it was received.
        done: Epoch seconds at which it was answered.
        user: Who, by the name that the API server knows.
        agent: With which program.
        verb: create, update, patch, delete, …
        resource: With group and subresource: `deployments.apps`, `deployments.apps/status`, …
        namespace: Where; empty for what has none.
        name: Name of the object; of a creation it may be told by its answer alone.
        code: HTTP status of the answer.
        query: Parameters of the request.
        body: What was sent; empty where the log does not tell bodies.
        answer: The object that was answered; likewise.
    """

    at: float
    done: float
    user: str
    agent: str = ""
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    query: dict[str, str] = field(default_factory=dict)
    body: Object = field(default_factory=dict)
    answer: Object = field(default_factory=dict)

    @property
    def stored(self) -> bool:
        """Whether it was taken and was more than a rehearsal."""
        return self.code < 300 and "dryRun" not in self.query

    @property
    def version(self) -> int | None:
        """The revision of the store at which the object is as it was answered."""
        return version_of(self.answer) if self.stored else None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name


def version_of(found: Object) -> int | None:
    """The resourceVersion of an object, as the number that it is; None without one.

    All objects of one API server share one count, so that these numbers tell what was written
    before what.
    """
    text = str((found.get("metadata") or {}).get("resourceVersion") or "")
    return int(text) if text.isdecimal() else None


def entry_of(line: str | bytes) -> Entry:
    """Read a line of the log."""
    event = json.loads(line)
    target = event.get("objectRef") or {}
    resource = ".".join(each for each in (target.get("resource"), target.get("apiGroup")) if each)
    if target.get("subresource"):
        resource = f"{resource}/{target['subresource']}"
    answer = _object(event.get("responseObject"))
    query = parse_qs(urlsplit(str(event.get("requestURI", ""))).query, keep_blank_values=True)
    return Entry(
        at=_epoch(event["requestReceivedTimestamp"]),
        done=_epoch(event["stageTimestamp"]),
        user=str(event["user"].get("username", "")),
        agent=str(event.get("userAgent", "")),
        verb=str(event["verb"]),
        resource=resource,
        namespace=str(target.get("namespace", "")),
        name=str(target.get("name") or (answer.get("metadata") or {}).get("name") or ""),
        code=int((event.get("responseStatus") or {}).get("code", 0)),
        query={key: values[-1] for key, values in query.items()},
        body=_object(event.get("requestObject")),
        answer=answer,
    )


def epoch_of(time: object) -> float | None:
    """Epoch seconds of a time as Kubernetes writes it; None for what is none."""
    try:
        return _epoch(str(time))
    except ValueError:
        return None


class Tail:
    """Reads a log that grows, from its present end on, or from its beginning."""

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._offset = 0 if from_start else path.stat().st_size
        self._whole = from_start or self._at_line()

    def read(self) -> list[Entry]:
        """What was added since; a last line that is still being written comes next time."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        end = text.rfind(b"\n") + 1
        self._offset += end
        lines = text[:end].split(b"\n")
        if not self._whole and end:
            lines, self._whole = lines[1:], True
        return [entry_of(each) for each in lines if each]

    def _at_line(self) -> bool:
        if self._offset == 0:
            return True
        with self._path.open("rb") as log:
            log.seek(self._offset - 1, os.SEEK_SET)
            return log.read(1) == b"\n"


def _epoch(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}
