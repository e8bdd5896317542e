"""What an API server made of a status that it did not keep whole.

A CRD that is older than the operator has no place for every field. What comes back is then the rest
(`ReportingApi` leaves out what the API server refuses), and to compare with that would be to write
the same at every tick.
"""

import logging
from collections.abc import Mapping
from typing import Any

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key

log = logging.getLogger(__name__)

Document = Mapping[str, Any]


class Pruned:
    """Remembers of each serving the last status that did not come back as it was written."""

    def __init__(self) -> None:
        self._of: dict[Key, tuple[Document, Document]] = {}
        self._complained: frozenset[str] = frozenset()

    def stands(self, serving: ServingObject, document: Document) -> bool:
        """Tell whether a status is what stands there, as far as it can stand there."""
        if document == serving.status:
            return True
        return self._of.get((serving.namespace, serving.name)) == (document, serving.status)

    def written(self, document: Document, answer: ServingObject) -> None:
        """Take note of what became of a status that was written."""
        key = (answer.namespace, answer.name)
        if answer.status == document:
            self._of.pop(key, None)
            return
        self._of[key] = (document, answer.status)
        lost = frozenset(document.keys() - answer.status.keys())
        if lost - self._complained:
            self._complained |= lost
            log.warning(
                "the CRD does not know status.%s: it is older than the operator; apply crds/",
                ", status.".join(sorted(lost)),
            )
