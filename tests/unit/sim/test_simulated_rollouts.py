"""Rolls of the simulated cluster that are paused, scaled, undone, or written into by others."""

from typing import Any

import pytest

from ridgeline.cluster.errors import FieldConflictError, RefusedError
from ridgeline.cluster.marker import CanaryMark
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.target import ProfileWrite
from ridgeline.sim.fate import crashes, never_ready
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.terms.names import PROFILE_ENV
from tests.unit.sim.simulated import EAGLE, START, container, eagle, made, staying, under_eagle


def write(cluster: SimulatedCluster, **fields: Any) -> None:
    """Apply a profile as the operator does."""
    told = cluster.deployment("llama")
    given = {
        "namespace": "default",
        "deployment": "llama",
        "uid": told.uid,
        "resource_version": told.resource_version,
        "container": "vllm",
        "serving": "llama",
        "profile": "eagle2",
        "config": EAGLE,
    }
    cluster.apply_profile(ProfileWrite(**given | fields), "test", dry_run=False)


CANARY = CanaryMark(label=None, config="")


def config(cluster: SimulatedCluster) -> str | None:
    items = cluster.deployment("llama").containers[0].env
    return next((item.value for item in items if item.name == PROFILE_ENV), None)


def adopted() -> SimulatedCluster:
    """A cluster in which nobody else owns the env item."""
    cluster = made()
    cluster.let_go("llama")
    return cluster


def managers(cluster: SimulatedCluster) -> set[str]:
    entries = cluster.deployment_body("llama")["metadata"]["managedFields"]
    return {each["manager"] for each in entries}


def conditions(cluster: SimulatedCluster) -> dict[str, tuple[str, str]]:
    told = cluster.deployment_body("llama")["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in told}


def test_pausing_in_the_apply_that_changes_the_template_makes_no_pod() -> None:
    cluster = adopted()
    write(cluster, canary=CANARY)
    cluster.advance(START + 300)
    assert eagle(cluster) == []
    assert cluster.deployment("llama").updated_replicas == 0
    assert conditions(cluster)["Progressing"] == ("Unknown", "DeploymentPaused")


def test_pausing_after_the_first_step_holds_what_is_there_and_resuming_goes_on() -> None:
    cluster = adopted()
    write(cluster)
    cluster.advance(START + 1)
    write(cluster, canary=CANARY)
    cluster.advance(START + 900)
    assert (len(eagle(cluster)), len(staying(cluster))) == (1, 5)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    write(cluster)
    cluster.advance(START + 1200)
    assert (len(eagle(cluster)), len(staying(cluster))) == (4, 4)
    assert conditions(cluster)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_a_paused_roll_is_not_late_and_its_time_starts_anew_when_it_goes_on() -> None:
    cluster = made(deadline_seconds=100.0, fate=under_eagle(never_ready()))
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 50)
    cluster.pause("llama", True)
    cluster.advance(START + 500)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    cluster.pause("llama", False)
    cluster.advance(START + 590)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    cluster.advance(START + 610)
    assert cluster.deployment("llama").progress_deadline_exceeded
    cluster.pause("llama", True)
    cluster.advance(START + 700)
    assert cluster.deployment("llama").progress_deadline_exceeded


def test_an_autoscaler_grows_a_canary_in_proportion() -> None:
    cluster = made()
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 1)
    cluster.pause("llama", True)
    cluster.autoscale("llama", lambda now: 4 if now < START + 60 else 12)
    cluster.advance(START + 200)
    assert (len(eagle(cluster)), len(staying(cluster))) == (3, 13)
    cluster.pause("llama", False)
    cluster.advance(START + 1000)
    assert (len(eagle(cluster)), len(staying(cluster))) == (12, 12)


def test_twenty_replicas_at_a_quarter_of_each_begin_with_ten_new_pods() -> None:
    cluster = made(replicas=20, max_surge=5, max_unavailable=5)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 1)
    assert (len(eagle(cluster)), len(staying(cluster))) == (10, 25)


def test_a_template_that_comes_back_keeps_its_pods_and_takes_only_the_failed_ones_away() -> None:
    cluster = made(fate=under_eagle(crashes()))
    before = {pod.name for pod in staying(cluster)}
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 200)
    assert len(eagle(cluster)) == 1
    cluster.set_config("llama", "", manager="helm")
    cluster.advance(START + 220)
    assert {pod.name for pod in cluster.pods_of("llama")} == before
    assert conditions(cluster)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_recreate_has_a_gap_between_old_and_new_pods() -> None:
    cluster = made(shape=TargetShape(recreate=True))
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 3)
    assert staying(cluster) == []
    cluster.advance(START + 60)
    assert len(eagle(cluster)) == 4


def test_undo_brings_the_template_before_back_and_takes_our_fields_along() -> None:
    cluster = adopted()
    before = {pod.name for pod in staying(cluster)}
    write(cluster)
    cluster.advance(START + 1)
    told = cluster.deployment("llama")
    assert (told.ours, told.last_writer) == (True, "helm")
    marker = told.marker
    cluster.rollout_undo("llama")
    cluster.advance(START + 60)
    told = cluster.deployment("llama")
    assert (config(cluster), told.template_profile, told.marker) == ("", None, None)
    assert (told.ours, told.last_writer) == (False, "kubectl-rollout")
    assert {pod.name for pod in staying(cluster)} == before
    assert "ridgeline-profile" not in managers(cluster)
    with pytest.raises(FieldConflictError, match="kubectl-rollout"):
        write(cluster)
    cluster.rollout_undo("llama")
    assert config(cluster) == EAGLE
    assert cluster.deployment("llama").marker == marker


def test_undo_is_refused_while_paused_and_without_a_revision_before() -> None:
    cluster = made()
    with pytest.raises(RefusedError, match="no rollout history"):
        cluster.rollout_undo("llama")
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 1)
    cluster.pause("llama", True)
    with pytest.raises(RefusedError, match="paused deployment"):
        cluster.rollout_undo("llama")


def test_a_restart_replaces_every_pod_and_keeps_the_profile() -> None:
    cluster = adopted()
    write(cluster)
    cluster.advance(START + 300)
    before = {pod.name for pod in staying(cluster)}
    cluster.rollout_restart("llama")
    cluster.advance(START + 600)
    assert before.isdisjoint(pod.name for pod in staying(cluster))
    assert len(eagle(cluster)) == 4
    assert cluster.deployment("llama").last_writer == "kubectl-rollout"
    write(cluster, profile="none", config="")
    cluster.advance(START + 900)
    assert eagle(cluster) == []
    template = cluster.deployment_body("llama")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_an_owner_that_applies_shares_equal_values_and_meets_conflicts_on_others() -> None:
    cluster = adopted()
    write(cluster)
    cluster.apply_as("llama", manager="flux", config=EAGLE)
    with pytest.raises(FieldConflictError) as caught:
        cluster.apply_as("llama", manager="flux", config="")
    assert [each.manager for each in caught.value.conflicts] == ["ridgeline-profile"]
    assert config(cluster) == EAGLE
    cluster.apply_as("llama", manager="flux", config="", force=True)
    assert config(cluster) == ""
    assert not cluster.deployment("llama").ours
    cluster.apply_as("llama", manager="flux")
    assert config(cluster) is None


def test_what_an_owner_leaves_out_stays_when_we_own_it_too() -> None:
    cluster = adopted()
    write(cluster)
    cluster.apply_as("llama", manager="flux", config=EAGLE)
    cluster.apply_as("llama", manager="flux")
    assert config(cluster) == EAGLE
    assert cluster.deployment("llama").ours


def test_managed_fields_tell_who_paused() -> None:
    cluster = adopted()
    write(cluster, canary=CANARY)
    told = cluster.deployment("llama")
    assert (told.paused, told.paused_by_us) == (True, True)
    cluster.apply_as("llama", manager="argocd", paused=True, force=True)
    assert cluster.deployment("llama").paused_by_us
    write(cluster)
    told = cluster.deployment("llama")
    assert (told.paused, told.paused_by_us) == (True, False)
    (entry,) = [
        each
        for each in cluster.deployment_body("llama")["metadata"]["managedFields"]
        if "f:paused" in each["fieldsV1"].get("f:spec", {})
    ]
    assert entry["manager"] == "argocd"
    cluster.apply_as("llama", manager="argocd")
    assert not cluster.deployment("llama").paused


def test_a_gitops_controller_heals_again_and_again() -> None:
    cluster = adopted()
    cluster.keep_applying("llama", manager="argocd", config="", every=60.0)
    cluster.let_go("llama")
    write(cluster)
    cluster.advance(START + 59)
    assert config(cluster) == EAGLE
    cluster.advance(START + 61)
    assert config(cluster) == ""
    with pytest.raises(FieldConflictError, match="argocd"):
        write(cluster)


def test_scaling_is_nobodys_write_of_the_spec() -> None:
    cluster = made()
    cluster.advance(START + 5)
    cluster.set_containers("llama", (container(EAGLE),), manager="flux")
    cluster.scale("llama", 6)
    assert cluster.deployment("llama").last_writer == "flux"
