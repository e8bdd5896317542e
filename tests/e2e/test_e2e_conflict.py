"""Others who write the target: an env item of theirs, a rollout undone, Git applied again."""

from __future__ import annotations

import copy

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import Crowd, nothing_happens, small
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

SERVER_SIDE = ("--server-side", "--field-manager=flux")
OWNERS: dict[str, tuple[tuple[str, ...], str]] = {
    "server-side": (SERVER_SIDE, "flux"),
    "client-side": ((), "kubectl-client-side-apply"),
}
"""Scene → how its target is applied, and by which field manager."""


def _with_own_item(scene: Placed, value: str) -> Object:
    deployment = copy.deepcopy(scene.scene.deployment())
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["env"].append({"name": "SPECULATION_CONFIG", "value": value})
    return deployment


def _profile_label(scene: Placed) -> str | None:
    labels = scene.target()["spec"]["template"]["metadata"]["labels"]
    label: str | None = labels.get("ridgeline.dev/profile")
    return label


@pytest.fixture(scope="module")
def crowd(prepared: Cluster, room: str, operator: OperatorProcess) -> Crowd:
    """Two targets with an env item of somebody else, one whose roll was undone, and one at peace.

    They were left alone for as long as a roll needs.
    """
    audit = AuditLog(prepared)
    names = (*OWNERS, "undone", "in-git")
    scenes = {name: Placed(prepared, small(room, name), operator) for name in names}
    scenes["in-git"].apply(scenes["in-git"].scene.default_config())
    for name, (options, _) in OWNERS.items():
        scenes[name].apply(_with_own_item(scenes[name], ""), *options)
    for name in ("undone", "in-git"):
        scenes[name].put()
    for name in OWNERS:
        scenes[name].wait(scenes[name].settled, "the target's replicas")
        scenes[name].put_serving()
    for name in ("undone", "in-git"):
        scenes[name].wait_rolled("eagle")
    prepared.kubectl("rollout", "undo", "deployment/undone", "-n", room)
    reasons = {**dict.fromkeys(OWNERS, "FieldConflict"), "undone": "UndoneByOthers"}
    for name, reason in reasons.items():
        scenes[name].wait_condition("Stalled", "True", reason)
    scenes["undone"].wait(scenes["undone"].settled, "the replicas of the undone rollout")
    assert nothing_happens(
        lambda: all(
            scenes[name].condition("Stalled") == ("True", reason)
            for name, reason in reasons.items()
        )
    )
    return Crowd(scenes=scenes, audit=audit)


@pytest.mark.parametrize("name", OWNERS)
def test_an_env_item_of_somebody_else_is_a_conflict_that_ends_with_it(
    crowd: Crowd, name: str
) -> None:
    scene, (options, manager) = crowd.scenes[name], OWNERS[name]
    assert scene.condition("Ready") == ("False", "FieldConflict")
    told = scene.full_condition("Stalled")
    assert told is not None
    assert f"'{manager}'" in told["message"]
    (event,) = scene.events("FieldConflict")
    assert event["type"] == "Warning"
    assert manager in event["note"]
    tries = crowd.audit.tries(scene.scene.namespace, name)
    assert 1 <= len(tries) <= 3
    assert all(each.dry_run for each in tries)
    assert _profile_label(scene) is None

    scene.apply(scene.scene.deployment(), *options)

    scene.wait_rolled("eagle")
    assert scene.condition("Ready") == ("True", "Operating")
    assert scene.condition("Stalled") is None
    assert len(scene.events("FieldConflict")) == len(scene.recoveries("Ready")) == 1
    assert len(crowd.audit.profile_writes(scene.scene.namespace, name)) == 1


def test_git_applied_again_leaves_the_profile_where_it_is(crowd: Crowd) -> None:
    scene = crowd.scenes["in-git"]
    rolled, ours = scene.target(), scene.owned_by("ridgeline-profile")
    assert ours is not None

    scene.put_target()
    assert scene.target()["metadata"]["generation"] == rolled["metadata"]["generation"]
    # kubectl takes its annotation of the client-side applies away in one of these two.
    scene.apply(scene.scene.deployment(), *SERVER_SIDE, "--force-conflicts")
    scene.apply(scene.scene.deployment(), *SERVER_SIDE)

    assert nothing_happens(lambda: scene.roll()["state"] == "Finished", seconds=5)
    assert scene.target()["spec"] == rolled["spec"]
    assert scene.owned_by("ridgeline-profile") == ours
    assert scene.condition("Ready") == ("True", "Operating")
    assert len(crowd.audit.profile_writes(scene.scene.namespace, "in-git")) == 1
    assert len(scene.replica_sets()) == 2


def test_a_rollout_that_a_person_undid_is_left_alone_until_it_is_handed_back(
    crowd: Crowd,
) -> None:
    scene, where = crowd.scenes["undone"], crowd.scenes["undone"].scene.namespace
    assert scene.condition("Ready") == ("False", "UndoneByOthers")
    assert scene.roll()["state"] == "Undone"
    told = scene.full_condition("Ready")
    assert told is not None
    assert "kubectl" in told["message"]
    assert _profile_label(scene) is None
    assert len(crowd.audit.profile_writes(where, "undone")) == 1
    (event,) = scene.events("UndoneByOthers")
    assert event["type"] == "Warning"

    scene.edit_serving(suspend=True)
    scene.wait_condition("Suspended", "True", "Suspended")
    scene.edit_serving(suspend=False)

    scene.wait(lambda: _profile_label(scene) == "eagle", "a second roll to eagle")
    scene.wait_rolled("eagle")
    assert scene.condition("Ready") == ("True", "Operating")
    assert len(crowd.audit.profile_writes(where, "undone")) == 2
