"""Looking first: nothing is written to a target before a change is wanted and allowed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import Crowd, nothing_happens, small
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

PROFILE_MANAGER = "ridgeline-profile"


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Scenes that were left alone for as long as a roll needs.

    Attributes:
        crowd: The scenes.
        before: What the targets were before their servings came.
    """

    crowd: Crowd
    before: dict[str, Object]


REASONS = {
    "adopted": "BestProfileActive",
    "recommended": "RecommendOnly",
    "suspended": "Suspended",
}
"""Scene → reason of its decision, for which nothing is written."""


@pytest.fixture(scope="module")
def watched(prepared: Cluster, room: str, operator: OperatorProcess) -> Watched:
    """One target that runs what is desired, one to look at only, and one that is suspended."""
    audit = AuditLog(prepared)
    changes = {"adopted": {"quiet_profile": "none"}, "recommended": {"mode": "RecommendOnly"}}
    scenes = {
        name: Placed(prepared, small(room, name, **changes.get(name, {})), operator)
        for name in REASONS
    }
    for scene in scenes.values():
        scene.put_target()
    before = {name: _what_is_asked(scene.target()) for name, scene in scenes.items()}
    for name, scene in scenes.items():
        serving = scene.scene.serving()
        serving["spec"]["suspend"] = name == "suspended"
        scene.put_serving(serving)
    for name, reason in REASONS.items():
        scenes[name].wait_reason(reason)
    assert nothing_happens(
        lambda: all(scenes[name].reason() == reason for name, reason in REASONS.items())
    )
    return Watched(crowd=Crowd(scenes=scenes, audit=audit), before=before)


def _what_is_asked(target: Object) -> Object:
    """A Deployment without what its controller writes."""
    meta = target["metadata"]
    annotations = {
        key: value
        for key, value in (meta.get("annotations") or {}).items()
        if key != "deployment.kubernetes.io/revision"
    }
    return {
        "spec": target["spec"],
        "annotations": annotations,
        "labels": meta.get("labels"),
        "generation": meta["generation"],
    }


def _untouched(watched: Watched, name: str) -> Placed:
    """Check that nothing was written to the scene's target; return the scene."""
    scene = watched.crowd.scenes[name]
    assert _what_is_asked(scene.target()) == watched.before[name]
    assert scene.owned_by(PROFILE_MANAGER) is None
    assert watched.crowd.audit.tries(scene.scene.namespace, name) == []
    assert len(scene.replica_sets()) == 1
    assert scene.condition("Ready") == ("True", "Operating")
    return scene


def test_a_target_that_runs_what_is_desired_is_left_unmarked_until_the_first_change(
    watched: Watched,
) -> None:
    scene = _untouched(watched, "adopted")
    status = scene.status()
    assert status["activeProfile"] == status["desiredProfile"] == "none"
    assert scene.condition("ProfileApplied") == ("True", "Applied")

    scene.want("eagle")
    scene.wait_rolled("eagle")

    assert scene.owned_by(PROFILE_MANAGER) == {
        "f:metadata": {"f:annotations": {"f:ridgeline.dev/serving": {}}},
        "f:spec": {
            "f:template": {
                "f:metadata": {"f:labels": {"f:ridgeline.dev/profile": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"vllm"}': {
                            ".": {},
                            "f:env": {
                                'k:{"name":"SPECULATION_CONFIG"}': {
                                    ".": {},
                                    "f:name": {},
                                    "f:value": {},
                                }
                            },
                            "f:name": {},
                        }
                    }
                },
            }
        },
    }
    assert len(watched.crowd.audit.profile_writes(scene.scene.namespace, "adopted")) == 1


def test_in_mode_recommend_only_it_says_what_it_would_do_and_writes_nothing(
    watched: Watched,
) -> None:
    scene = _untouched(watched, "recommended")
    status = scene.status()
    assert status["activeProfile"] == status["desiredProfile"] == "none"
    assert status["recommendedProfile"] == "eagle"
    (event,) = scene.events("RecommendOnly")
    assert event["type"] == "Normal"
    assert "eagle" in event["note"]

    scene.edit_serving(mode="Automatic")
    scene.wait_rolled("eagle")


def test_a_suspended_serving_is_watched_and_not_touched(watched: Watched) -> None:
    scene = _untouched(watched, "suspended")
    assert scene.condition("Suspended") == ("True", "Suspended")
    assert scene.status()["recommendedProfile"] == "eagle"
    (event,) = scene.events("Suspended")
    assert event["type"] == "Normal"

    scene.edit_serving(suspend=False)
    scene.wait_rolled("eagle")
    assert scene.condition("Suspended") == ("False", "NotSuspended")


def test_people_see_profile_cutoff_and_reason(
    scene_of: Callable[..., Placed], prepared: Cluster
) -> None:
    scene = scene_of("seen", up_to=23, return_below=17)
    scene.put()
    scene.wait_rolled("eagle")
    scene.wait_reason("BestProfileActive")
    where = scene.scene.namespace

    table = prepared.kubectl("get", "sps", "seen", "-n", where, "-o", "wide")
    cells = _cells(table)
    assert cells["TARGET"] == "seen"
    assert cells["PROFILE"] == cells["DESIRED"] == "eagle"
    assert (cells["CUT-OFF"], cells["ACT-AT"]) == ("23", "")
    assert cells["READY"] == "True"
    assert cells["REASON"] == "BestProfileActive"

    described = prepared.kubectl("explain", "sps.spec.cutoff.ranges.upToConcurrency")
    assert "Cut-off" in described

    told = _explain(prepared, "seen", where)
    assert told.returncode == 0, told.stderr
    for part in (
        f"{where}/seen",
        "BestProfileActive",
        "Cut-offs",
        "23",
        "17",
        "Switches",
        "BelowCutoff",
        "RollFinished",
        scene.status()["lastDecision"]["message"],
    ):
        assert part in told.stdout
    (switch,) = scene.status()["switchHistory"]
    assert switch["startTime"] in told.stdout
    assert switch["finishTime"] in told.stdout

    missing = _explain(prepared, "nobody", where)
    assert missing.returncode == 1
    assert "nobody" in missing.stderr
    assert "kubectl get sps" in missing.stderr


def _cells(table: str) -> dict[str, str]:
    """The cells of a table of one row by their heads; cells stand under them and may be empty."""
    head, row = table.splitlines()
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S+(?: \S+)*", head)]
    ends = [*starts[1:], len(row)]
    pairs = zip(starts, ends, strict=True)
    return {head[start:end].strip(): row[start:end].strip() for start, end in pairs}


def _explain(cluster: Cluster, name: str, namespace: str) -> subprocess.CompletedProcess[str]:
    """Run `kubectl ridgeline explain`, by the script that kubectl would find."""
    script = Path(sys.executable).with_name("kubectl-ridgeline")
    return subprocess.run(
        [script, "explain", name, "-n", namespace],
        env=cluster.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
