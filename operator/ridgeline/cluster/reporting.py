"""What is written about a serving: its status and Events. Never its spec."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import UndeclaredFieldError
from ridgeline.cluster.objects import ServingObject, trim_serving
from ridgeline.cluster.undeclared import without
from ridgeline.terms.names import (
    API_VERSION,
    EVENT_REPORTER,
    SERVING_KIND,
    SERVING_PLURAL,
    STATUS_MANAGER,
)
from ridgeline.terms.reasons import Reason

_NOTE_LIMIT: Final = 1024
"""Length limit of an Event's note (events.k8s.io/v1), in bytes of UTF-8."""

_MOST_REFUSALS: Final = 12
"""An answer may name one field that is not declared, and the next answer the next."""


class EventType(StrEnum):
    """Kubernetes' two types of Events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNote:
    """One Event to be sent about a serving.

    Attributes:
        type: Normal or Warning.
        reason: Why, in one word.
        action: What was done or is not done.
        note: The same for a person.
    """

    type: EventType
    reason: Reason
    action: str
    note: str


class ReportingApi:
    """Writes statuses and Events of servings."""

    def __init__(self, api: KubernetesApi, *, instance: str) -> None:
        self._api = api
        self._instance = instance

    async def apply_status(
        self, serving: ServingObject, status: Mapping[str, Any]
    ) -> ServingObject:
        """Replace the status of a serving by `status`, all of which is ours.

        It names the version that was read, so that a leader who was away cannot write over what
        its successor has recorded.

        The write names the version that was read: the API server does not look at the uid of a
        status, and would give one serving's history to the next of the same name.

        What the CRD does not declare is left out, rather than that nothing is told; the status in
        the answer is then another than `status`.

        Raises:
            NotFoundError: It does not exist any more.
            StaleVersionError: It was changed, or deleted and created anew, since it was read.
            ClusterError: Another failure, see `errors`.
        """
        for _ in range(_MOST_REFUSALS):
            try:
                return await self._apply(serving, status)
            except UndeclaredFieldError as error:
                known = _without(status, error)
                if known == status:
                    raise
                status = known
        return await self._apply(serving, status)

    async def _apply(self, serving: ServingObject, status: Mapping[str, Any]) -> ServingObject:
        body = {
            "apiVersion": API_VERSION,
            "kind": SERVING_KIND,
            "metadata": {
                "name": serving.name,
                "namespace": serving.namespace,
                "uid": serving.uid,
                "resourceVersion": serving.resource_version,
            },
            "status": status,
        }
        path = path_of(API_VERSION, SERVING_PLURAL, serving.namespace, serving.name, "status")
        return trim_serving(await self._api.apply(path, body, manager=STATUS_MANAGER, force=True))

    async def send_event(self, serving: ServingObject, event: EventNote, now: float) -> None:
        """Send one Event about a serving.

        Raises:
            ClusterError: See `errors`.
        """
        when = datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")
        seed = f"{serving.uid}/{event.reason}/{event.note}/{when}"
        digest = hashlib.sha256(seed.encode()).hexdigest()[:16]
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"{serving.name[:200].rstrip('.-')}.{digest}",
                "namespace": serving.namespace,
            },
            "eventTime": when.replace("+00:00", "Z"),
            "type": event.type.value,
            "reason": event.reason.value,
            "action": event.action,
            "note": _cut(event.note, _NOTE_LIMIT),
            "reportingController": f"ridgeline.dev/{EVENT_REPORTER}",
            "reportingInstance": self._instance[:128],
            "regarding": {
                "apiVersion": API_VERSION,
                "kind": SERVING_KIND,
                "namespace": serving.namespace,
                "name": serving.name,
                "uid": serving.uid,
            },
        }
        path = path_of("events.k8s.io/v1", "events", serving.namespace)
        await self._api.request("POST", path, body=body)


def _without(status: Mapping[str, Any], error: UndeclaredFieldError) -> Mapping[str, Any]:
    """Return a status without the fields of it that an answer names."""
    return without(status, [path[1:] for path in error.fields if path[:1] == ("status",)])


def _cut(text: str, limit: int) -> str:
    """Return `text` in at most `limit` bytes, with an ellipsis where something is missing."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    ellipsis = "…"
    return encoded[: limit - len(ellipsis.encode())].decode(errors="ignore") + ellipsis
