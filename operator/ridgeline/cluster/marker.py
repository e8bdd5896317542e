"""The annotation on a target: who set its profile, and what is to happen without them."""

import json
from dataclasses import dataclass
from typing import Any

from ridgeline.terms.rolls import OnDelete


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryMark:
    """What a target holds before its canary is judged.

    Attributes:
        label: Profile that the template's label named before; `None` when it had none of ours.
        config: Speculative config before; `None` likewise.
    """

    label: str | None
    config: str | None


def marker(
    serving: str, on_delete: OnDelete = OnDelete.KEEP, canary: CanaryMark | None = None
) -> str:
    """Return the annotation's value: who set the profile, and what is to happen without them."""
    content: dict[str, Any] = {"serving": serving, "onDelete": on_delete.value}
    if canary is not None:
        content["canary"] = {"label": canary.label, "config": canary.config}
    return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The annotation's value, read back.

    Attributes:
        serving: Name of the serving that set the profile.
        on_delete: What is to happen when it is gone.
        canary: What to put back when the target is paused for a canary.
    """

    serving: str
    on_delete: OnDelete
    canary: CanaryMark | None


def marker_of(text: str | None) -> Marker | None:
    """Read the annotation's value; `None` when it is not ours or cannot be read.

    Anybody who may edit the target may write there: what is not of our form is nobody's.
    """
    try:
        content = json.loads(text or "")
        serving, canary = content["serving"], content.get("canary")
        if not isinstance(serving, str):
            return None
        return Marker(
            serving=serving,
            on_delete=OnDelete(content.get("onDelete", OnDelete.KEEP)),
            canary=_canary_of(canary) if canary else None,
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _canary_of(content: dict[str, Any]) -> CanaryMark:
    label, config = content.get("label"), content.get("config")
    if not isinstance(label, str | None) or not isinstance(config, str | None):
        raise TypeError("what was there before a canary is text")
    return CanaryMark(label=label, config=config)
