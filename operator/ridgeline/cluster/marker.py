"""The annotation on a target: who set its profile, and what is to happen without them."""

import json
from dataclasses import dataclass
from typing import Any

from ridgeline.engine.args_given import GivenFlag, given_flags
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgsMark:
    """What a container's argument list had of its own where the profile's flag stands in it.

    Attributes:
        container: Name of the container.
        given: The speculative flags of whoever made the list.
    """

    container: str
    given: tuple[GivenFlag, ...]


def marker(
    serving: str,
    on_delete: OnDelete = OnDelete.KEEP,
    canary: CanaryMark | None = None,
    args: ArgsMark | None = None,
) -> str:
    """Return the annotation's value: who set the profile, and what is to happen without them."""
    content: dict[str, Any] = {"serving": serving, "onDelete": on_delete.value}
    if args is not None:
        flags = [[each.before, *each.words] for each in args.given]
        content["args"] = {"container": args.container, "given": flags}
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
        args: What the argument list had of its own; `None` where the profile is not in it.
    """

    serving: str
    on_delete: OnDelete
    canary: CanaryMark | None
    args: ArgsMark | None = None


def marker_of(text: str | None) -> Marker | None:
    """Read the annotation's value; `None` when it is not ours or cannot be read.

    Anybody who may edit the target may write there: what is not of our form is nobody's.
    """
    try:
        content = json.loads(text or "")
        serving, canary, args = content["serving"], content.get("canary"), content.get("args")
        if not isinstance(serving, str):
            return None
        return Marker(
            serving=serving,
            on_delete=OnDelete(content.get("onDelete", OnDelete.KEEP)),
            canary=_canary_of(canary) if canary else None,
            args=_args_of(args) if args else None,
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _canary_of(content: dict[str, Any]) -> CanaryMark:
    label, config = content.get("label"), content.get("config")
    if not isinstance(label, str | None) or not isinstance(config, str | None):
        raise TypeError("what was there before a canary is text")
    return CanaryMark(label=label, config=config)


def _args_of(content: dict[str, Any]) -> ArgsMark:
    container, flags = content["container"], content["given"]
    if not isinstance(container, str):
        raise TypeError("a container's name is text")
    return ArgsMark(container=container, given=tuple(_flag_of(*each) for each in flags))


def _flag_of(before: Any, *words: Any) -> GivenFlag:
    if type(before) is not int or not all(isinstance(each, str) for each in words):
        raise TypeError("a flag is the number of words before it, and its words")
    # Whatever stands here is put into the arguments one day: one speculative flag, and no other.
    if [each.words for each in given_flags(words)] != [words]:
        raise ValueError("these words are no speculative flag")
    return GivenFlag(before=before, words=words)
