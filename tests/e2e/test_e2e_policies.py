"""Policies: what several servings share in Git reaches them, and a person sees where it came from.

The servings of this file set no tuning of their own but `maxSwitchesPerDay`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.plugin import explained, rows
from tests.e2e.rooms import DWELL_S, fresh_namespace, nothing_happens
from tests.e2e.variants import serving_with
from tests.scene.manifests import Object
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)


def _policy(name: str, namespace: str, cutoff: Object, cooldown: int = 0) -> Object:
    return {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculationPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "cutoff": cutoff,
            "stabilization": {"busierSeconds": DWELL_S, "quieterSeconds": DWELL_S},
            "cooldownSeconds": cooldown,
        },
    }


def _ranges(quiet: str, up_to: int, below: int) -> Object:
    busy = {"eagle": "none", "none": "eagle"}[quiet]
    first = {"profile": quiet, "upToConcurrency": up_to, "returnBelowConcurrency": below}
    return {"ranges": [first, {"profile": busy}]}


def _following(policy: str) -> Callable[[Object], None]:
    def change(serving: Object) -> None:
        for field in ("cutoff", "stabilization", "cooldownSeconds"):
            del serving["spec"][field]
        serving["spec"].update(policyRef={"name": policy}, maxSwitchesPerDay=9)

    return change


@pytest.fixture
def elsewhere(prepared: Cluster) -> Iterator[str]:
    """Another namespace."""
    with fresh_namespace(prepared) as name:
        yield name


def test_a_policy_changed_in_git_reaches_its_serving(scene_of: Callable[..., Placed]) -> None:
    scene = scene_of("follower")
    where = scene.scene.namespace
    scene.apply(_policy("shared", where, _ranges("none", 20, 14)))
    scene.put_target()
    scene.put_serving(serving_with(scene, _following("shared")))
    scene.wait_reason("BestProfileActive")
    assert scene.status()["policy"] == {"name": "shared", "generation": 1}
    before = rows(explained(scene), "Settings")
    assert before[1][:2] == ("cutoff.ranges", "none up to 20 (back below 14); eagle from there on")
    assert ("cooldownSeconds", "0 s", "policy shared") in before

    scene.apply(_policy("shared", where, _ranges("eagle", 31, 25), cooldown=3))

    scene.wait(lambda: scene.status()["policy"]["generation"] == 2, "the policy's new generation")
    assert scene.status()["cutoffTable"] == [
        {"profile": "eagle", "upToConcurrency": 31, "returnBelowConcurrency": 25},
        {"profile": "none"},
    ]
    after = rows(explained(scene), "Settings")
    assert after == [
        ("cutoff.strategy", "Fixed", "policy shared"),
        ("cutoff.ranges", "eagle up to 31 (back below 25); none from there on", "policy shared"),
        ("stabilization.busierSeconds", f"{DWELL_S} s", "policy shared"),
        ("stabilization.quieterSeconds", f"{DWELL_S} s", "policy shared"),
        ("cooldownSeconds", "3 s", "policy shared"),
        ("maxSwitchesPerDay", "9", "serving"),
        ("objective.p99TPOTMilliseconds", "no limit", "default"),
        ("objective.prefer", "Latency", "default"),
        ("schedules", "none", "default"),
        ("telemetry", "default", "default"),
    ]
    # The serving itself was not touched, and acts on what its policy says now.
    assert scene.serving()["metadata"]["generation"] == 1
    scene.wait_rolled("eagle")

    scene.edit_serving(cutoff=_ranges("none", 8, 5))

    scene.wait(lambda: scene.status()["cutoffTable"][0]["upToConcurrency"] == 8, "its own cut-off")
    own = rows(explained(scene), "Settings")
    assert ("cutoff.ranges", "none up to 8 (back below 5); eagle from there on", "serving") in own
    assert ("cooldownSeconds", "3 s", "policy shared") in own


def test_a_policy_that_does_not_exist_here_is_told_and_heals_when_it_comes(
    scene_of: Callable[..., Placed], elsewhere: str, audit: AuditLog
) -> None:
    scene = scene_of("orphan")
    where = scene.scene.namespace
    scene.apply(_policy("late", elsewhere, _ranges("eagle", 20, 14)))
    scene.put_target()
    scene.put_serving(serving_with(scene, _following("late")))

    scene.wait_condition("Ready", "False", "PolicyNotFound")
    assert nothing_happens(lambda: scene.condition("Ready") == ("False", "PolicyNotFound"))
    assert scene.condition("Stalled") == ("True", "PolicyNotFound")
    (event,) = scene.events("PolicyNotFound")
    assert event["type"] == "Warning"
    for part in ("'late'", "spec.policyRef"):
        assert part in event["note"]
    assert "policy" not in scene.status()
    assert audit.tries(where, "orphan") == []

    scene.apply(_policy("late", where, _ranges("eagle", 20, 14)))

    scene.wait_condition("Ready", "True", "Operating")
    assert scene.status()["policy"]["name"] == "late"
    scene.wait_rolled("eagle")
    assert len(scene.events("PolicyNotFound")) == len(scene.recoveries("Ready")) == 1
