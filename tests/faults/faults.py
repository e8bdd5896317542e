"""Faults of a real cluster and of the operator on it, each as a thing that is done to a stage.

Each strikes, lets the servings that were kept at their step go on, and mends what it broke.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from typing import Final

from tests.cluster.bringup import set_gpus
from tests.cluster.waiting import wait_until
from tests.faults.gateway import Moment, Silence
from tests.faults.processes import kill_containers, paused, process_of, run_in_pulses
from tests.faults.stage import PATIENCE_S, Stage, rest
from tests.faults.steps import STEPS

Fault = Callable[[Stage], None]

GPUS_PER_NODE: Final = 2
SOON_S: Final = 5.0
OUTAGE_S: Final = 30.0
NODE_OUTAGE_S: Final = 75.0
"""Longer than the 50 s after which the controller-manager takes a silent node for gone."""


def _operator_killed(stage: Stage) -> None:
    stage.kill_operator()
    stage.release()
    stage.start_operator()


def _operator_gone(stage: Stage) -> None:
    stage.kill_operator()
    stage.release()
    rest(2 * OUTAGE_S)
    stage.start_operator()


def _killed_at_writes(moment: Moment) -> Fault:
    def strike(stage: Stage) -> None:
        for step in STEPS:
            stage.gateway.trap(step.name, moment, stage.kill_operator)
        stage.release()
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: _alive_again(stage), "a kill at each", timeout_s=3 * OUTAGE_S)
        for name in stage.gateway.forget_traps():
            stage.notes.append(f"{name}: nothing was written any more")
        wait_until(stage.gateway.all_sprung, "the last kill", timeout_s=OUTAGE_S)
        stage.start_operator()

    return strike


def _alive_again(stage: Stage) -> bool:
    stage.start_operator()
    return stage.gateway.all_sprung(but=[step.name for step in STEPS if step.over])


def _api_restarted(stage: Stage) -> None:
    process_of(stage.cluster, "kube-apiserver").kill(signal.SIGKILL)
    stage.release()
    rest(SOON_S)
    stage.cluster.start_component("kube-apiserver")


def _api_paused(stage: Stage) -> None:
    with paused(process_of(stage.cluster, "kube-apiserver")):
        stage.gateway.cut_watches()
        stage.release()
        rest(OUTAGE_S)


def _watch_cut(stage: Stage) -> None:
    for _ in range(5):
        stage.gateway.cut_watches()
        stage.release()
        rest(1.0)


def _silent(what: Silence) -> Fault:
    def strike(stage: Stage) -> None:
        stage.gateway.silence(what)
        stage.release()
        try:
            rest(OUTAGE_S)
        finally:
            stage.gateway.silence(Silence.NOTHING)

    return strike


def _etcd_slow(stage: Stage) -> None:
    stage.release()
    etcd = process_of(stage.cluster, "etcd")
    run_in_pulses(etcd, seconds=OUTAGE_S, still_s=0.9, awake_s=0.1)


def _kubelet_stopped(stage: Stage) -> None:
    kubelet = f"kubelet-{_busiest_node(stage)}"
    stage.cluster.stop_component(kubelet)
    stage.release()
    rest(NODE_OUTAGE_S)
    stage.cluster.start_component(kubelet)


def _node_gone(stage: Stage) -> None:
    node = _busiest_node(stage)
    stage.cluster.stop_component(f"kubelet-{node}")
    kill_containers(stage.cluster, node)
    stage.cluster.stop_component(f"containerd-{node}")
    stage.cluster.kubectl("delete", "node", node)
    stage.release()
    rest(NODE_OUTAGE_S)
    stage.cluster.start_component(f"containerd-{node}")
    wait_until(lambda: _node_back(stage, node), f"{node} back", timeout_s=PATIENCE_S)
    set_gpus(stage.api, node, GPUS_PER_NODE)


def _node_back(stage: Stage, node: str) -> bool:
    """Start the kubelet, again where it ended: it does until its containerd answers."""
    stage.cluster.start_component(f"kubelet-{node}")
    return stage.api.call("GET", f"/api/v1/nodes/{node}") is not None


def _prometheus_gone(stage: Stage) -> None:
    stage.cluster.stop_component("prometheus")
    stage.release()
    rest(OUTAGE_S)
    stage.cluster.start_component("prometheus")


def _clock_stepped(seconds: float) -> Fault:
    def strike(stage: Stage) -> None:
        stage.step_clock(seconds)
        stage.release()

    return strike


def _busiest_node(stage: Stage) -> str:
    nodes = [
        pod["spec"].get("nodeName", "") for sight in stage.look().values() for pod in sight.pods
    ]
    return max(stage.cluster.nodes, key=nodes.count)


FAULTS: Final[dict[str, Fault]] = {
    "operator killed": _operator_killed,
    "operator killed before its next write": _killed_at_writes(Moment.BEFORE),
    "operator killed after its next write": _killed_at_writes(Moment.AFTER),
    "operator gone 60 s": _operator_gone,
    "API server killed, back after 5 s": _api_restarted,
    "API server paused 30 s, watches cut": _api_paused,
    "watches cut five times": _watch_cut,
    "watches silent 30 s": _silent(Silence.WATCHES),
    "API server unreachable 30 s, no end of a connection seen": _silent(Silence.ALL),
    "etcd awake a tenth of 30 s": _etcd_slow,
    "kubelet stopped 75 s": _kubelet_stopped,
    "node gone 75 s": _node_gone,
    "Prometheus gone 30 s": _prometheus_gone,
    "clock set an hour ahead": _clock_stepped(3600.0),
    "clock set two minutes back": _clock_stepped(-120.0),
}
"""Faults, and what each does."""
