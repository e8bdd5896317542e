"""The observer finds each broken promise, and nothing where none is broken."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.soak.api_server import DEPLOYMENTS, EVENTS, SERVINGS, Request
from tests.soak.rest import wrong_at_rest
from tests.soak.servings import SWITCHES_A_DAY, whole
from tests.soak.stage import Stage

EAGLE = '{"method":"eagle"}'


def _stage(max_rolls: int = 1) -> Stage:
    return Stage((whole("aya"), whole("qwen")), max_rolls=max_rolls)


def _apply(
    stage: Stage, name: str = "aya", profile: str = "none", config: str = "", **more: Any
) -> Request:
    told = stage.cluster.deployment(name)
    marker = f'{{"serving":"{name}","onDelete":"Keep"}}'
    container = {"name": "vllm", "env": [{"name": "SPECULATION_CONFIG", "value": config}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": told.uid,
            "resourceVersion": told.resource_version,
            "annotations": {"ridgeline.dev/serving": marker},
        },
        "spec": {
            **more,
            "template": {
                "metadata": {"labels": {"ridgeline.dev/profile": profile}},
                "spec": {"containers": [container]},
            },
        },
    }
    return Request(
        who="a",
        method="PATCH",
        path=f"{DEPLOYMENTS}default/deployments/{name}",
        query={"fieldManager": "ridgeline-profile", "force": "false"},
        body=body,
    )


def _status(stage: Stage, status: dict[str, Any], name: str = "aya") -> Request:
    serving = stage.cluster.serving(name)
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": serving.uid,
        "resourceVersion": serving.resource_version,
    }
    kind = {"apiVersion": "ridgeline.dev/v1alpha1", "kind": "SpeculativeServing"}
    return Request(
        who="a",
        method="PATCH",
        path=f"{SERVINGS}default/speculativeservings/{name}/status",
        query={"fieldManager": "ridgeline-status", "force": "true"},
        body={**kind, "metadata": metadata, "status": status},
    )


def _send(stage: Stage, request: Request) -> None:
    stage.judge.asked(request, held=True)
    status, body = stage.server.answer(request)
    assert status == 200, body


def _intended(**fields: Any) -> dict[str, Any]:
    return {
        "rollout": {
            "to": "none",
            "state": "Intended",
            "startTime": "2026-11-28T10:00:00Z",
            "stageTime": "2026-11-28T10:00:00Z",
            "targetUID": "deployment-1",
            "targetGeneration": 1,
            "servingGeneration": 1,
            "way": "Whole",
            "updatedReplicas": 0,
            "availableReplicas": 4,
            "replicas": 4,
            **fields,
        }
    }


def test_a_roll_that_is_announced_begun_and_ended_breaks_nothing() -> None:
    stage = _stage()
    _send(stage, _status(stage, _intended()))
    _send(stage, _apply(stage))
    stage.advance(300.0)
    stage.judge.look()
    _send(stage, _apply(stage, profile="eagle2", config=EAGLE))
    assert stage.judge.found == []
    assert stage.judge.rolls == 2


def _without_lease(stage: Stage) -> None:
    stage.judge.asked(_apply(stage), held=False)


def _foreign_field(stage: Stage) -> None:
    stage.judge.asked(_apply(stage, replicas=3), held=True)


def _forced(stage: Stage) -> None:
    request = _apply(stage)
    query = {"fieldManager": "ridgeline-profile", "force": "true"}
    stage.judge.asked(replace(request, query=query), held=True)


def _unguarded(stage: Stage) -> None:
    request = _apply(stage)
    del request.body["metadata"]["resourceVersion"]
    stage.judge.asked(request, held=True)


def _another_path(stage: Stage) -> None:
    request = _apply(stage)
    stage.judge.asked(replace(request, path="/api/v1/namespaces/default/secrets/x"), held=True)


def _second_roll(stage: Stage) -> None:
    _send(stage, _apply(stage))
    stage.advance(10.0)
    _send(stage, _apply(stage, profile="eagle2", config=EAGLE))


def _to_and_fro(stage: Stage) -> None:
    _send(stage, _apply(stage, profile="eagle2", config=EAGLE))
    stage.advance(300.0)
    stage.judge.look()
    for config in ("", EAGLE, ""):
        _send(stage, _apply(stage, profile="eagle2" if config else "none", config=config))
        stage.advance(0.2)


def _beyond_budget(stage: Stage) -> None:
    for name in ("aya", "qwen"):
        uid = stage.cluster.deployment(name).uid
        status = _intended(state="Rolling", targetUID=uid)
        _send(stage, _status(stage, status, name))
        _send(stage, _apply(stage, name))


def _too_many_switches(stage: Stage) -> None:
    for number in range(SWITCHES_A_DAY + 1):
        config = "" if number % 2 else EAGLE
        _send(stage, _apply(stage, profile=f"p{number}", config=config))
        stage.advance(600.0)
        stage.judge.look()


def _obeyed_for_ever(stage: Stage) -> None:
    stage.force("aya", "eagle2")
    for number in range(9):
        config = "" if number % 2 else EAGLE
        _send(stage, _apply(stage, profile=f"p{number}", config=config))
        stage.advance(600.0)
        stage.judge.look()


def _blind(stage: Stage) -> None:
    stage.lie("error", "aya")
    stage.judge.look()
    stage.advance(120.0)
    _send(stage, _status(stage, _intended()))


def _given_up(stage: Stage) -> None:
    _send(stage, _apply(stage))
    stage.advance(300.0)
    request = _apply(stage)
    del request.body["spec"], request.body["metadata"]["annotations"]
    _send(stage, request)


def _not_finite(stage: Stage) -> None:
    status = {"control": {"demand": math.nan}}
    stage.judge.asked(_status(stage, status), held=True)


def _unknown_field(stage: Stage) -> None:
    stage.judge.asked(_status(stage, {"mood": "fine"}), held=True)


def _empty_event(stage: Stage) -> None:
    event = Request(who="a", method="POST", path=f"{EVENTS}default/events", query={}, body={})
    stage.judge.asked(event, held=True)


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        (_without_lease, "without the Lease"),
        (_foreign_field, "names the field spec.replicas"),
        (_forced, "it is made with"),
        (_unguarded, "does not carry metadata.resourceVersion"),
        (_another_path, "asks for PATCH /api/v1/namespaces/default/secrets/x"),
        (_second_roll, "begins while another of it is under way"),
        (_to_and_fro, "begins while another of it is under way"),
        (_beyond_budget, "beyond the budget"),
        (_too_many_switches, "times in a day"),
        (_obeyed_for_ever, "by order, again and again"),
        (_blind, "is decided, blind for"),
        (_given_up, "are given up while its serving goes on"),
        (_not_finite, "is nan"),
        (_unknown_field, "Additional properties"),
        (_empty_event, "no note or no reason"),
    ],
)
def test_a_broken_promise_is_found(deed: Callable[[Stage], None], told: str) -> None:
    stage = _stage()
    deed(stage)
    assert any(told in each for each in stage.judge.found), stage.judge.found


def test_putting_back_what_was_there_is_no_second_roll() -> None:
    stage = _stage()
    _send(stage, _apply(stage))
    stage.advance(300.0)
    stage.judge.look()
    _send(stage, _apply(stage, profile="eagle2", config=EAGLE))
    stage.advance(10.0)
    _send(stage, _apply(stage))
    assert stage.judge.found == []
    assert stage.judge.undone == 1


async def test_what_does_not_say_why_it_stands_there_is_found() -> None:
    stage = _stage()
    stage.users.update(aya=160.0)
    found = "\n".join(wrong_at_rest(stage))
    assert "aya at rest: it does not say why it does nothing" in found
    stage.pause("qwen", True)
    assert "qwen at rest: its target is left paused" in "\n".join(wrong_at_rest(stage))


async def test_a_wrong_profile_is_found_whatever_the_serving_says() -> None:
    stage = _stage()
    stage.users.update(aya=160.0)
    told = {"lastDecision": {"reason": "BestProfileActive", "message": "all is well"}}
    _send(stage, _status(stage, {**told, "observedGeneration": 1}))
    assert any("40 requests per replica" in each for each in wrong_at_rest(stage))
