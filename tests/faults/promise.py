"""How a roll ended, and whether that is what is promised."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.faults.sight import PROFILE_LABEL, Object, Sight

MANAGER = "ridgeline-profile"
SERVING_ANNOTATION = "ridgeline.dev/serving"

_CLOSED = frozenset({"Finished", "Restored", "Abandoned", "Undone"})
_BY_KUBERNETES = frozenset({"kube-controller-manager"})
_REVISION = "deployment.kubernetes.io/revision"

_CONTAINER = 'f:spec/f:template/f:spec/f:containers/k:{"name":"vllm"}'
_OURS = (
    f"f:metadata/f:annotations/f:{SERVING_ANNOTATION}",
    f"f:spec/f:template/f:metadata/f:labels/f:{PROFILE_LABEL}",
    f"{_CONTAINER}/f:name",
    f'{_CONTAINER}/f:env/k:{{"name":"SPECULATION_CONFIG"}}/',
)
"""The fields of a Deployment that the operator may own when no canary is held back."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What one serving and its target came to.

    Attributes:
        state: State of the roll.
        reason: Why it ended so; empty where it simply went on.
        decision: Reason of the last decision: what is held, and why.
        profiles: Profiles of the Pods that stay, one entry for each different one.
        wanted: Replicas that the Deployment asks for.
        staying: Pods that are not being deleted.
        serving: Pods that are Ready.
        pending: Pods that do not run yet.
        paused: Whether the target is paused.
        foreign: Fields that changed and are not the operator's to change.
    """

    state: str
    reason: str
    decision: str
    profiles: tuple[str, ...]
    wanted: int
    staying: int
    serving: int
    pending: int
    paused: bool
    foreign: tuple[str, ...]

    def broken(self) -> list[str]:
        """Say what of the promise is not kept; empty when all of it is."""
        told = []
        if self.state not in _CLOSED:
            told.append(f"the roll is still {self.state or 'not begun'} ({self.decision})")
        if len(self.profiles) != 1:
            told.append(f"Pods of the profiles {', '.join(map(repr, self.profiles))} side by side")
        if (self.staying, self.serving) != (self.wanted, self.wanted):
            told.append(f"{self.serving} of {self.staying} Pods serve, {self.wanted} are wanted")
        if self.pending:
            told.append(f"{self.pending} Pods are Pending")
        if self.paused:
            told.append("the target is paused")
        told += [f"changed, and not the operator's: {each}" for each in self.foreign]
        return told

    def told(self) -> str:
        """Return it for a table."""
        why = f" ({self.reason})" if self.reason else ""
        where = " and ".join(each or "as before" for each in self.profiles)
        return f"{self.state}{why}: all on {where}"


def ending(before: Object, now: Sight) -> Ending:
    """Look at the end of a roll.

    Args:
        before: The Deployment before its serving came, with managedFields.
        now: What stands there now.
    """
    return Ending(
        state=now.state,
        reason=now.reason,
        decision=now.decision,
        profiles=now.profiles,
        wanted=now.wanted,
        staying=len(now.pods),
        serving=len(now.serving_pods),
        pending=len(now.pending_pods),
        paused=now.paused,
        foreign=tuple(_foreign(before, now.target)),
    )


def _foreign(before: Object, now: Object) -> Iterator[str]:
    old, new = _without_ours(before), _without_ours(now)
    for part in ("spec", "labels", "annotations"):
        if old[part] != new[part]:
            yield f"{part}: {json.dumps(old[part])} became {json.dumps(new[part])}"
    owned, owned_before = _owned(now), _owned(before)
    for field in sorted(owned.get(MANAGER, set())):
        if not field.startswith(_OURS):
            yield f"{MANAGER} owns {field}"
    for manager in sorted((owned.keys() | owned_before.keys()) - {MANAGER} - _BY_KUBERNETES):
        for field in sorted(owned.get(manager, set()) ^ owned_before.get(manager, set())):
            yield f"{manager} owns {field} no longer, or anew"


def _without_ours(target: Object) -> Object:
    target = copy.deepcopy(target)
    spec, meta = target["spec"], target["metadata"]
    template = spec["template"]
    template["metadata"]["labels"].pop(PROFILE_LABEL, None)
    for container in template["spec"]["containers"]:
        env = container.get("env") or ()
        items = [each for each in env if each["name"] != "SPECULATION_CONFIG"]
        container["env"] = items
    annotations = meta.get("annotations") or {}
    hidden = (SERVING_ANNOTATION, _REVISION)
    kept = {key: value for key, value in annotations.items() if key not in hidden}
    spec.pop("paused", None)  # told by itself
    return {"spec": spec, "labels": meta.get("labels") or {}, "annotations": kept}


def _owned(target: Object) -> dict[str, set[str]]:
    owned: dict[str, set[str]] = {}
    for entry in target["metadata"]["managedFields"]:
        if entry.get("subresource"):
            continue
        owned.setdefault(entry["manager"], set()).update(_leaves(entry["fieldsV1"]))
    return owned


def _leaves(fields: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, under in fields.items():
        if name == ".":
            continue
        where = f"{path}/{name}" if path else name
        if under and set(under) != {"."}:
            yield from _leaves(under, where)
        else:
            yield where
