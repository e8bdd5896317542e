"""What Argo CD's actions on a serving are to do, and where they are offered."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.terms.names import FORCE_ANNOTATION

Object = dict[str, Any]

_ORDER: Final = ("metadata", "annotations", FORCE_ANNOTATION)


@dataclass(frozen=True, kw_only=True)
class Action:
    """One action.

    Attributes:
        title: What the button says.
        icon: Its icon, without the classes that all have.
        path: The field that it sets.
        value: What it sets it to; None takes the field out.
        situation: A situation in which it is offered.
    """

    title: str
    icon: str
    path: tuple[str, ...]
    value: Any
    situation: str


def _spec(title: str, icon: str, field: str, value: Any, situation: str) -> Action:
    return Action(title=title, icon=icon, path=("spec", field), value=value, situation=situation)


def _order(title: str, icon: str, value: str | None, situation: str) -> Action:
    return Action(title=title, icon=icon, path=_ORDER, value=value, situation=situation)


ACTIONS: Final[Mapping[str, Action]] = {
    "suspend": _spec("Suspend", "pause", "suspend", True, "healthy"),
    "resume": _spec("Resume", "play", "suspend", False, "suspended"),
    "automatic": _spec("Let it act", "robot", "mode", "Automatic", "recommend-only"),
    "recommend-only": _spec("Only recommend", "eye", "mode", "RecommendOnly", "healthy"),
    "promote-canary": _order("Promote the canary", "forward", "eagle2", "canary"),
    "take-canary-back": _order("Take the canary back", "backward", "none", "canary"),
    "end-order": _order("End the order of a profile", "eraser", None, "ordered"),
    "restore-on-delete": _spec(
        "Give the Deployment back on deletion", "undo", "onDelete", "Restore", "healthy"
    ),
    "keep-on-delete": _spec("Keep the profile on deletion", "lock", "onDelete", "Keep", "restores"),
}

ALWAYS_OFFERED: Final = frozenset({"suspend", "recommend-only", "restore-on-delete"})
"""Offered for a serving in mode Automatic of which nothing else is to be told."""

OFFERED: Final[Mapping[str, frozenset[str]]] = {
    "healthy": ALWAYS_OFFERED,
    "new": ALWAYS_OFFERED,
    "rolling": ALWAYS_OFFERED,
    "suspended": ALWAYS_OFFERED - {"suspend"} | {"resume"},
    "recommend-only": ALWAYS_OFFERED - {"recommend-only"} | {"automatic"},
    "canary": ALWAYS_OFFERED | {"promote-canary", "take-canary-back"},
    "ordered": ALWAYS_OFFERED | {"end-order"},
    "restores": ALWAYS_OFFERED - {"restore-on-delete"} | {"keep-on-delete"},
}
"""Situation → names of the actions that are offered in it."""


def listed(situation: str) -> list[Object]:
    """Every action as Argo CD lists it in a situation."""
    return [
        {
            "name": name,
            "disabled": name not in OFFERED[situation],
            "iconClass": f"fa fa-fw fa-{action.icon}",
            "displayName": action.title,
        }
        for name, action in ACTIONS.items()
    ]


def done(name: str, serving: Object) -> Object:
    """The serving after an action."""
    action, changed = ACTIONS[name], copy.deepcopy(serving)
    *parents, last = action.path
    place = changed
    for each in parents:
        place = place.setdefault(each, {})
    if action.value is None:
        place.pop(last, None)
    else:
        place[last] = action.value
    return changed
