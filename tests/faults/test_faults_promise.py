"""The check of the promise sees what breaks it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.promise import MANAGER, SERVING_ANNOTATION, ending
from tests.faults.sight import PROFILE_LABEL, Sight
from tests.scene.manifests import Scene

Object = dict[str, Any]

GIT: Object = {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:nodeSelector": {}}}}}
ITEM = 'k:{"name":"SPECULATION_CONFIG"}'
OURS = {
    "f:metadata": {"f:annotations": {f"f:{SERVING_ANNOTATION}": {}}},
    "f:spec": {
        "f:template": {
            "f:metadata": {"f:labels": {f"f:{PROFILE_LABEL}": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"vllm"}': {
                        ".": {},
                        "f:name": {},
                        "f:env": {ITEM: {".": {}, "f:name": {}, "f:value": {}}},
                    }
                }
            },
        }
    },
}


def _before() -> Object:
    target = Scene(namespace="inference", replicas=2).deployment()
    target["metadata"]["generation"] = 1
    target["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": GIT}]
    return target


def _pod(profile: str | None = "eagle", *, ready: bool = True) -> Object:
    labels = {} if profile is None else {PROFILE_LABEL: profile}
    condition = {"type": "Ready", "status": str(ready)}
    phase = "Running" if ready else "Pending"
    return {"metadata": {"labels": labels}, "status": {"phase": phase, "conditions": [condition]}}


def _sight(
    change: Callable[[Object], object] = lambda target: None,
    *,
    pods: tuple[Object, ...] = (_pod(), _pod()),
    state: str = "Finished",
) -> Sight:
    target = copy.deepcopy(_before())
    template = target["spec"]["template"]
    template["metadata"]["labels"][PROFILE_LABEL] = "eagle"
    item = {"name": "SPECULATION_CONFIG", "value": "{}"}
    template["spec"]["containers"][0]["env"].append(item)
    target["metadata"]["annotations"] = {SERVING_ANNOTATION: "{}"}
    target["metadata"]["managedFields"].append(
        {"manager": MANAGER, "fieldsV1": copy.deepcopy(OURS)}
    )
    change(target)
    serving = {"status": {"rollout": {"state": state}, "lastDecision": {"reason": "Why"}}}
    return Sight(serving=serving, target=target, pods=pods)


def _fields_of(target: Object, number: int) -> Object:
    fields: Object = target["metadata"]["managedFields"][number]["fieldsV1"]
    return fields


def test_a_roll_that_ended_as_promised_breaks_nothing() -> None:
    found = ending(_before(), _sight())
    assert found.broken() == []
    assert found.told() == "Finished: all on eagle"


@pytest.mark.parametrize(
    ("sight", "told"),
    [
        (_sight(state="Canary"), "the roll is still Canary (Why)"),
        (_sight(pods=(_pod(), _pod(None))), "Pods of the profiles '', 'eagle' side by side"),
        (_sight(pods=(_pod(),)), "1 of 1 Pods serve, 2 are wanted"),
        (_sight(pods=(_pod(), _pod(), _pod(ready=False))), "1 Pods are Pending"),
        (_sight(lambda target: target["spec"].update(paused=True)), "the target is paused"),
        (_sight(lambda target: target["spec"].update(replicas=3)), "spec: "),
        (_sight(lambda target: target["metadata"].update(labels={"a": "b"})), "labels: "),
        (
            _sight(lambda target: target["metadata"]["annotations"].update(a="b")),
            "annotations: ",
        ),
        (
            _sight(lambda target: _fields_of(target, 1)["f:spec"].update({"f:paused": {}})),
            f"{MANAGER} owns f:spec/f:paused",
        ),
        (
            _sight(lambda target: _fields_of(target, 0)["f:spec"].pop("f:replicas")),
            "kubectl owns f:spec/f:replicas no longer",
        ),
    ],
)
def test_what_breaks_the_promise_is_named(sight: Sight, told: str) -> None:
    assert any(told in each for each in ending(_before(), sight).broken())
