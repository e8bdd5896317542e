"""Writers who do not know of us, and servings that go: undone twice, given back, kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.waiting import wait_until
from tests.e2e.rooms import nothing_happens
from tests.scene.manifests import Object
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

PATIENCE_S = 60
"""A serving that was deleted may be created again within this time."""


def _config(scene: Placed) -> str | None:
    """The speculative config in the target's template; None without an env item."""
    container = scene.target()["spec"]["template"]["spec"]["containers"][0]
    items = [each for each in container["env"] if each["name"] == "SPECULATION_CONFIG"]
    return str(items[0].get("value", "")) if items else None


def _self_heal(scene: Placed) -> None:
    """Put the target back to what Git says, as a controller that has not heard of us."""
    live = scene.target()
    healed: Object = scene.scene.deployment()
    healed["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    # Who only takes fields out leaves no trace in managedFields; this one also sets one.
    healed["spec"]["revisionHistoryLimit"] = live["metadata"]["generation"] + 5
    options = ("--field-manager=argocd-controller", "-o", "name")
    scene.cluster.kubectl("replace", *options, "-f", "-", input_object=healed)


def test_a_controller_that_undoes_us_twice_is_not_fought(
    scene_of: Callable[..., Placed], audit: AuditLog
) -> None:
    scene = scene_of("healed", max_unavailable=0)
    scene.put()
    scene.wait_rolled("eagle")

    _self_heal(scene)
    # It may not have known: the profile is decided for anew, once.
    scene.wait(lambda: _config(scene) is None, "Git's template")
    scene.wait(lambda: _config(scene) not in (None, ""), "the profile again")
    scene.wait_rolled("eagle")
    assert scene.roll()["undoneTimes"] == 1

    _self_heal(scene)
    scene.wait_condition("Stalled", "True", "UndoneByOthers")
    told = scene.full_condition("Stalled")
    assert told is not None
    assert "'argocd-controller'" in told["message"]
    assert "2 times" in told["message"]
    assert nothing_happens(lambda: _config(scene) is None)
    assert len(audit.profile_writes(scene.scene.namespace, scene.scene.name)) == 2


def test_a_serving_that_goes_leaves_or_takes_its_profile_as_it_says(
    scene_of: Callable[..., Placed],
) -> None:
    scenes = {
        "Restore": scene_of("given-back", max_unavailable=0),
        "Keep": scene_of("kept", max_unavailable=0),
    }
    for what, scene in scenes.items():
        serving = scene.scene.serving()
        serving["spec"]["onDelete"] = what
        scene.put_target()
        scene.put_serving(serving)
    for scene in scenes.values():
        scene.wait_rolled("eagle")
        name, namespace = scene.scene.name, scene.scene.namespace
        scene.cluster.kubectl("delete", f"sps/{name}", "-n", namespace, "-o", "name")
    given_back, kept = scenes["Restore"], scenes["Keep"]
    wait_until(
        lambda: given_back.owned_by("ridgeline-profile") is None,
        "the operator's fields given up",
        timeout_s=PATIENCE_S + 60,
    )
    assert _config(given_back) is None
    template = given_back.target()["spec"]["template"]
    assert "ridgeline.dev/profile" not in template["metadata"]["labels"]
    assert "ridgeline.dev/serving" not in (given_back.target()["metadata"].get("annotations") or {})
    assert _config(kept) not in (None, "")


def test_an_autoscaler_may_scale_a_target_in_its_canary(
    scene_of: Callable[..., Placed],
) -> None:
    rollout = {"canary": {"when": "Always", "deadlineSeconds": 200}, "trial": "Never"}
    scene = scene_of("scaled", replicas=2, max_unavailable=0, quiet_profile="none", rollout=rollout)
    scene.put()
    scene.wait_reason("BestProfileActive")
    scene.want("eagle")
    scene.wait(lambda: scene.target()["spec"].get("paused"), "a target held back")
    name, namespace = scene.scene.name, scene.scene.namespace
    scale = ("scale", f"deployment/{name}", "-n", namespace, "--replicas=4", "-o", "name")
    scene.cluster.kubectl(*scale)
    scene.wait(
        lambda: (scene.target().get("status") or {}).get("availableReplicas", 0) >= 4, "four Pods"
    )
    assert scene.roll()["state"] == "Canary"
    words = ("annotate", f"sps/{name}", "-n", namespace, "-o", "name")
    scene.cluster.kubectl(*words, "ridgeline.dev/force-profile=eagle")
    scene.wait_rolled("eagle")
    assert scene.target()["spec"]["replicas"] == 4
    owned = scene.owned_by("ridgeline-profile")
    assert owned is not None
    assert "f:replicas" not in owned["f:spec"]
