"""What people order beside the cut-offs: a profile by annotation, a freeze, their fields back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.e2e.plugin import ridgeline
from tests.e2e.rooms import nothing_happens
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

FORCE = "ridgeline.dev/force-profile"


def _force(scene: Placed, order: str) -> None:
    """Annotate the serving with `PROFILE`, or take the order back with `-`."""
    words = (f"sps/{scene.scene.name}", "-n", scene.scene.namespace, "--overwrite")
    change = f"{FORCE}-" if order == "-" else f"{FORCE}={order}"
    scene.cluster.kubectl("annotate", *words, change)


def _seen(scene: Placed) -> bool:
    """Whether the operator has looked at the serving's newest spec."""
    generation: int = scene.serving()["metadata"]["generation"]
    return bool(scene.status().get("observedGeneration") == generation)


def _template_label(scene: Placed) -> str | None:
    labels = scene.target()["spec"]["template"]["metadata"]["labels"]
    label: str | None = labels.get("ridgeline.dev/profile")
    return label


def test_an_ordered_profile_is_rolled_at_once_also_where_the_operator_only_recommends(
    scene_of: Callable[..., Placed], audit: AuditLog
) -> None:
    # Neither a dwell nor a cooldown that never ends is waited for.
    scene = scene_of("forced", mode="RecommendOnly", quiet_profile="none", cooldown_seconds=3600)
    scene.put()
    scene.wait_reason("BestProfileActive")

    _force(scene, "egale")
    scene.wait_condition("Ready", "False", "ForcedProfileUnknown")
    assert nothing_happens(lambda: scene.condition("Ready") == ("False", "ForcedProfileUnknown"))
    (event,) = scene.events("ForcedProfileUnknown")
    for part in (FORCE, "'egale'", "eagle, none"):
        assert part in event["note"]
    assert audit.tries(scene.scene.namespace, "forced") == []

    _force(scene, "eagle")
    scene.wait_rolled("eagle")
    scene.wait_reason("Forced")
    assert scene.condition("Ready") == ("True", "Operating")
    status = scene.status()
    assert status["activeProfile"] == status["desiredProfile"] == "eagle"
    assert [each["reason"] for each in status["switchHistory"]] == ["Forced"]
    # It stays, although the table asks for none.
    assert nothing_happens(lambda: scene.reason() == "Forced")
    assert _template_label(scene) == "eagle"

    # With the order the cooldown of the roll comes back into force.
    _force(scene, "-")
    scene.wait_reason("Cooldown")
    assert scene.status()["recommendedProfile"] == "none"
    assert len(audit.profile_writes(scene.scene.namespace, "forced")) == 1


def test_the_freeze_switch_holds_without_a_restart_and_then_one_rolls_after_the_other(
    scene_of: Callable[..., Placed], operator: OperatorProcess, audit: AuditLog
) -> None:
    slow = {"STAND_IN_STARTUP_SECONDS": "4", "STAND_IN_SHUTDOWN_SECONDS": "0"}
    scenes = [scene_of(name, quiet_profile="none", stand_in=slow) for name in ("ice-a", "ice-b")]
    for scene in scenes:
        scene.put()
    for scene in scenes:
        scene.wait_reason("BestProfileActive")
        assert scene.condition("Suspended") == ("False", "NotSuspended")

    operator.configure(freeze=True)
    for scene in scenes:
        scene.wait_condition("Suspended", "True", "Frozen")
        scene.want("eagle")
    # A person's order does not melt it either.
    _force(scenes[0], "eagle")
    for scene in scenes:
        scene.wait(partial(_seen, scene), "a look at the new spec")
    assert nothing_happens(lambda: all(each.reason() == "Frozen" for each in scenes))
    _force(scenes[0], "-")
    for scene in scenes:
        assert scene.condition("Ready") == ("True", "Operating")
        assert audit.tries(scene.scene.namespace, scene.scene.name) == []
        (event,) = scene.events("Frozen")
        assert event["type"] == "Normal"

    operator.configure(freeze=False)
    for scene in scenes:
        scene.wait_rolled("eagle")
        assert scene.condition("Suspended") == ("False", "NotSuspended")
    assert operator.running

    # Both are on H100, where one roll at a time may be under way.
    waited = [each for scene in scenes for each in scene.events("WaitingForRollBudget")]
    (told,) = waited
    assert "maxConcurrentRollsPerPool" in told["note"]
    assert "h100-sxm" in told["note"]
    first, second = sorted(
        (scene.roll() for scene in scenes), key=lambda roll: str(roll["startTime"])
    )
    assert first["finishTime"] <= second["startTime"]


def test_a_released_target_is_as_git_has_it(
    scene_of: Callable[..., Placed], audit: AuditLog
) -> None:
    scene = scene_of("released")
    scene.put_target()
    before = scene.target()
    scene.put_serving()
    scene.wait_rolled("eagle")
    scene.edit_serving(suspend=True)
    scene.wait_condition("Suspended", "True", "Suspended")

    done = ridgeline(scene, "release")

    assert done.returncode == 0, done.stderr
    assert "released" in done.stdout
    scene.wait(scene.settled, "the replicas of Git's template")
    after = scene.target()
    assert after["spec"] == before["spec"]
    assert "ridgeline.dev/serving" not in after["metadata"]["annotations"]
    assert scene.owned_by("ridgeline-profile") is None
    # The same template has the same hash: Git's ReplicaSet serves again.
    assert len(scene.replica_sets()) == 2
    # Who suspended the serving before is not told that somebody undid the profile.
    assert nothing_happens(lambda: scene.condition("Ready") == ("True", "Operating"))
    assert scene.reason() == "Suspended"
    assert scene.status()["activeProfile"] == "none"
    assert scene.events("UndoneByOthers") == []
    # The plugin wrote it, not the operator.
    assert len(audit.profile_writes(scene.scene.namespace, "released")) == 1

    nobody = ridgeline(scene_of("nobody"), "release")
    assert nobody.returncode == 1
    assert "nobody" in nobody.stderr
