"""Canaries that real telemetry judges: one that is better, one that is slower than promised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from tests.e2e.test_e2e_sizing import _service_url as service_url
from tests.scene.load import Load
from tests.scene.placed import Placed

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

USERS = 12
JUDGED_S = 240.0
QUICK = {"STAND_IN_STARTUP_SECONDS": "3", "STAND_IN_SHUTDOWN_SECONDS": "0"}
CASES: dict[str, dict[str, str]] = {
    "better": QUICK,
    "slower": {**QUICK, "STAND_IN_STEP_FACTOR": "eagle=4"},
}
"""Scene → settings of its servers: EAGLE makes about two tokens of each step of theirs."""


def test_a_better_canary_leads_the_rest_and_a_slower_one_is_taken_back(
    scene_of: Callable[..., Placed],
) -> None:
    rollout = {"canary": {"when": "Always", "deadlineSeconds": 300}, "trial": "Never"}
    scenes = {
        name: scene_of(
            f"judged-{name}",
            replicas=2,
            max_unavailable=0,
            quiet_profile="none",
            rollout=rollout,
            stand_in=stand_in,
            # Both are asked for EAGLE at whatever load: what the canary shows is to decide.
            up_to=200,
            return_below=190,
        )
        for name, stand_in in CASES.items()
    }
    for scene in scenes.values():
        scene.put()
    with contextlib.ExitStack() as loads:
        for scene in scenes.values():
            scene.wait_reason("BestProfileActive")
            loads.enter_context(Load(service_url(scene), users=USERS))
        for scene in scenes.values():
            scene.edit_serving(cutoff={"ranges": _eagle_always()})
        better, slower = scenes["better"], scenes["slower"]
        better.wait(lambda: _state(better) == "Finished", "the rest", timeout_s=JUDGED_S)
        slower.wait(lambda: _state(slower) == "Restored", "the way back", timeout_s=JUDGED_S)

    assert better.roll()["reason"] == "CanaryBetter"
    assert "less time per token" in better.roll()["message"]
    assert slower.roll()["reason"] == "CanarySlower"
    assert "more time per token" in slower.roll()["message"]
    (entry,) = slower.status()["quarantine"]
    assert entry["reason"] == "CanarySlower"
    assert "paused" not in slower.target()["spec"]
    assert slower.status()["activeProfile"] == "none"


def _eagle_always() -> list[dict[str, object]]:
    eagle = {"profile": "eagle", "upToConcurrency": 200, "returnBelowConcurrency": 190}
    return [eagle, {"profile": "none"}]


def _state(scene: Placed) -> str:
    return str(scene.roll().get("state", ""))
