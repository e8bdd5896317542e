"""Annotations by which somebody asks that a Pod be left where it is. Calls nothing.

Node autoscalers read them: Karpenter the one, the cluster autoscaler the other. In a Pod template
they speak of every Pod to node autoscalers alone. On one Pod they were put there by hand, or by a
job that wants this Pod to live on.
"""

from collections.abc import Mapping
from typing import Any, Final

PROTECTIONS: Final = (
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
)
"""Key and the value that protects. Karpenter also takes a time since the Pod's start as a value;
whether that has passed is Karpenter's to know, so it is not taken for a protection here."""


def protected_by(metadata: Mapping[str, Any]) -> str | None:
    """Return the keys of the annotations that protect a Pod, by comma; `None` without any."""
    annotations = metadata.get("annotations") or {}
    return ", ".join(key for key, value in PROTECTIONS if annotations.get(key) == value) or None


def own_protection(of_pod: str | None, of_template: str | None) -> str | None:
    """Return what protects a Pod and does not come from its template; `None` when all does."""
    known = (of_template or "").split(", ")
    own = [key for key in (of_pod or "").split(", ") if key and key not in known]
    return ", ".join(own) or None
