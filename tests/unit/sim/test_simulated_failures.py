"""Pods of the simulated cluster that fail, as the API server would tell it."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.policy.placement import Node, PodNeeds
from ridgeline.sim.fate import (
    Fate,
    cannot_pull,
    crashes,
    crashes_serving,
    killed_by_probe,
    never_ready,
    out_of_memory,
    tail,
)
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.pod import SimulatedPod, least_useful
from ridgeline.sim.progress import Counts, Progress, progressed
from tests.unit.sim.simulated import EAGLE, START, body, eagle, made, staying, under_eagle


def rolled(fate: Fate, **pace: Any) -> SimulatedCluster:
    """A cluster in which a roll to EAGLE has just begun."""
    cluster = made(fate=under_eagle(fate), **pace)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 0.5)
    return cluster


def only(cluster: SimulatedCluster) -> SimulatedPod:
    (pod,) = eagle(cluster)
    return pod


def container(cluster: SimulatedCluster) -> dict[str, Any]:
    (status,) = body(cluster, only(cluster))["containerStatuses"]
    assert isinstance(status, dict)
    return status


def test_a_crash_loop_counts_restarts_waits_longer_each_time_and_tells_the_last_words() -> None:
    cluster = rolled(crashes("ValueError: no", after=5.0))
    seen: dict[int, int] = {}
    for second in range(1, 200):
        cluster.advance(START + second)
        seen.setdefault(only(cluster).restarts, second)
    # Ends after 5 s each; started again at once, then after 10, 20, 40 and 80 s.
    assert seen == {0: 1, 1: 6, 2: 21, 3: 46, 4: 91, 5: 176}
    cluster.advance(START + 1000)
    told = container(cluster)
    assert told["restartCount"] == only(cluster).restarts > 5
    ended = told["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (1, "Error", "ValueError: no")
    assert cluster.deployment("llama").available_replicas == 4


def test_a_container_that_waits_to_start_again_says_so() -> None:
    cluster = rolled(crashes(after=5.0))
    cluster.advance(START + 12)
    told = container(cluster)
    assert told["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert told["state"]["waiting"]["message"].startswith("back-off 10s restarting")
    assert "message" not in told["lastState"]["terminated"]
    assert body(cluster, only(cluster))["phase"] == "Running"


def test_a_message_is_the_tail_that_the_kubelet_takes() -> None:
    assert tail("\n".join(map(str, range(100)))).splitlines()[0] == "20"
    assert len(tail("x" * 5000).encode()) == 2048


def test_a_container_that_ran_for_long_starts_again_at_once() -> None:
    cluster = made(replicas=1)
    for ran, waits in ((0, False), (30, True), (1000, False)):
        cluster.advance(cluster.now + ran)
        cluster.crash_one("llama")
        (pod,) = staying(cluster)
        assert (pod.trouble == "CrashLoopBackOff") is waits
        cluster.advance(cluster.now + 60)


def test_a_server_that_the_kernel_kills_leaves_no_word() -> None:
    cluster = rolled(out_of_memory(after=10.0))
    cluster.advance(START + 11)
    ended = container(cluster)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


def test_a_server_can_crash_after_it_has_served() -> None:
    cluster = rolled(crashes_serving(after=60.0), max_surge=1)
    cluster.advance(START + 40)
    assert any(pod.serves for pod in eagle(cluster))
    cluster.advance(START + 500)
    assert any(pod.restarts for pod in eagle(cluster))


def test_a_probe_that_gives_up_kills_again_and_again() -> None:
    cluster = rolled(killed_by_probe(60.0, grace=30.0))
    cluster.advance(START + 89)
    assert only(cluster).restarts == 0
    cluster.advance(START + 91)
    assert only(cluster).restarts == 1
    ended = container(cluster)["lastState"]["terminated"]
    assert ended["exitCode"] == 137
    assert only(cluster).ready_since is None


def test_a_server_that_is_never_ready_just_runs() -> None:
    cluster = rolled(never_ready())
    cluster.advance(START + 3600)
    assert "running" in container(cluster)["state"]
    assert container(cluster)["restartCount"] == 0
    assert not container(cluster)["ready"]


def test_an_image_that_cannot_be_pulled_is_told_and_no_container_has_run() -> None:
    cluster = rolled(cannot_pull("manifest unknown"))
    assert container(cluster)["state"]["waiting"] == {
        "reason": "ErrImagePull",
        "message": "manifest unknown",
    }
    cluster.advance(START + 20)
    waiting = container(cluster)["state"]["waiting"]
    assert waiting["reason"] == "ImagePullBackOff"
    assert "manifest unknown" in waiting["message"]
    assert container(cluster)["restartCount"] == 0
    assert body(cluster, only(cluster))["phase"] == "Pending"


def test_a_text_that_is_no_json_is_a_usage_error_of_the_server() -> None:
    cluster = made()
    cluster.set_config("llama", "$(VAR)", manager="helm")
    cluster.advance(START + 20)
    ended = container(cluster)["lastState"]["terminated"]
    assert ended["exitCode"] == 2
    assert "argument --speculative-config" in ended["message"]


@pytest.mark.parametrize("fate", [crashes(after=5.0), never_ready(), cannot_pull("no such image")])
def test_a_roll_without_progress_is_late_however_often_its_pod_restarts(fate: Fate) -> None:
    cluster = rolled(fate, deadline_seconds=100.0)
    cluster.advance(START + 99)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    cluster.advance(START + 102)
    assert cluster.deployment("llama").progress_deadline_exceeded


def test_a_slow_roll_is_not_late_while_it_goes_on() -> None:
    cluster = rolled(crashes_serving(after=10_000.0), deadline_seconds=30.0)
    late = []
    for second in range(1, 200):
        cluster.advance(START + second)
        late.append(cluster.deployment("llama").progress_deadline_exceeded)
    assert not any(late)
    assert cluster.deployment("llama").updated_replicas == 4


def test_a_roll_back_to_an_old_template_is_reckoned_as_any_other() -> None:
    broken = False
    cluster = made(deadline_seconds=60.0, fate=lambda _: never_ready() if broken else None)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 300)
    broken = True
    cluster.set_config("llama", "", manager="helm")
    cluster.advance(START + 310)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    cluster.advance(START + 370)
    assert cluster.deployment("llama").progress_deadline_exceeded


def test_a_scale_up_of_a_complete_deployment_is_never_late() -> None:
    cluster = made(deadline_seconds=10.0)
    cluster.scale("llama", 6)
    cluster.advance(START + 15)
    told = cluster.deployment("llama")
    assert (told.available_replicas, told.current_replicas) == (4, 6)
    assert not told.progress_deadline_exceeded


def test_success_told_before_is_no_lateness_now() -> None:
    done = Counts(current=4, updated=4, ready=4, progress=Progress.AVAILABLE)
    waiting = replace(done, updated=0, progress=Progress.CREATED)
    assert progressed(replace(done, updated=0), waiting, 4, late=True).progress is (
        Progress.AVAILABLE
    )
    assert progressed(waiting, waiting, 4, late=True).progress is Progress.TIMED_OUT


def test_a_crash_in_a_deployment_that_was_complete_is_never_late() -> None:
    cluster = made(deadline_seconds=10.0)
    cluster.crash_one("llama", exit_code=137)
    cluster.advance(START + 15)
    told = cluster.deployment("llama")
    assert told.available_replicas == 3
    assert not told.progress_deadline_exceeded
    (crashed,) = [pod for pod in staying(cluster) if pod.ended]
    assert crashed.ended is not None
    assert crashed.ended.exit_code == 137


GPU = "nvidia.com/gpu"


def on_nodes(gpus: int, *, alone: bool = False, strangers: int = 0) -> SimulatedCluster:
    needs = PodNeeds(requests={GPU: 1}, alone_on_node=alone)
    cluster = made(replicas=0, shape=TargetShape(needs=needs))
    cluster.add_node(node("a", gpus), strangers={GPU: strangers})
    cluster.scale("llama", 4)
    cluster.advance(START + 60)
    return cluster


def node(name: str, gpus: int) -> Node:
    return Node(name=name, labels={}, allocatable={GPU: gpus})


def test_a_surge_pod_without_a_free_gpu_stays_pending_and_says_why() -> None:
    cluster = on_nodes(gpus=4)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 120)
    status = body(cluster, only(cluster))
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == f"0/1 nodes are available: 1 Insufficient {GPU}."
    assert "containerStatuses" not in status
    assert cluster.deployment("llama").available_replicas == 4


def test_a_pod_that_no_node_has_is_gone_at_once() -> None:
    cluster = on_nodes(gpus=4)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 120)
    cluster.set_config("llama", "", manager="helm")
    cluster.advance(START + 121)
    assert len(cluster.pods_of("llama")) == 4


def test_a_replica_set_takes_unbound_pods_first_then_pending_unready_and_the_newest() -> None:
    pods = [
        each(name="old", ready_since=START),
        each(name="new", created_at=START + 9, ready_since=START),
        each(name="starting"),
        each(name="pulling", waiting=("ErrImagePull", "no")),
        each(name="unbound", unschedulable="no room"),
    ]
    ordered = sorted(pods, key=least_useful)
    assert [pod.name for pod in ordered] == ["unbound", "pulling", "starting", "new", "old"]


def each(**fields: Any) -> SimulatedPod:
    template = made().pods_of("llama")[0].template
    given: dict[str, Any] = {
        "uid": "1",
        "version": 1,
        "created_at": START,
        "starts_at": START + 20,
    }
    return SimulatedPod(template=template, **(given | fields))


def test_a_pending_pod_starts_as_soon_as_a_node_has_room() -> None:
    cluster = on_nodes(gpus=4)
    cluster.set_config("llama", EAGLE, manager="helm")
    cluster.advance(START + 120)
    cluster.add_node(node("b", 1))
    cluster.advance(START + 600)
    assert {pod.node for pod in staying(cluster)} <= {"a", "b"}
    told = cluster.deployment("llama")
    assert told.updated_replicas == told.available_replicas == 4


def test_a_pod_keeps_its_gpu_until_it_is_gone() -> None:
    cluster = on_nodes(gpus=4)
    cluster.scale("llama", 3)
    cluster.advance(START + 61)
    cluster.scale("llama", 4)
    cluster.advance(START + 63)
    assert sum(bool(pod.unschedulable) for pod in staying(cluster)) == 1
    cluster.advance(START + 70)
    assert sum(bool(pod.unschedulable) for pod in staying(cluster)) == 0


def test_gpus_of_strangers_and_anti_affinity_leave_no_room_either() -> None:
    crowded = on_nodes(gpus=8, strangers=5)
    assert crowded.deployment("llama").available_replicas == 3
    apart = on_nodes(gpus=8, alone=True)
    assert apart.deployment("llama").available_replicas == 1
    pending = next(pod for pod in staying(apart) if pod.unschedulable)
    assert "didn't match pod anti-affinity rules" in pending.unschedulable


def test_what_an_operator_knows_of_nodes_follows_the_cluster() -> None:
    cluster = on_nodes(gpus=8, strangers=2)
    around = Surroundings()
    cluster.surround(around)
    assert around.nodes_readable
    assert around.used() == {"a": {GPU: 6}}
    cluster.scale("llama", 1)
    cluster.advance(START + 120)
    assert around.used() == {"a": {GPU: 3}}
    cluster.add_node(node("b", 4))
    assert {each.name for each in around.nodes.all()} == {"a", "b"}
