"""Five ways in which a roll can look well or possible and is not, on a real cluster, side by side.

Answers that are shorter at full speed, Pods that are Ready before they serve, one-per-node
anti-affinity beside free GPUs, a canary that nobody asks, a Prometheus that answers with nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.handle import Cluster
from tests.cluster.prometheus import RunningPrometheus, pod_discovery_config, start_prometheus
from tests.e2e.counting import counting_operator
from tests.e2e.gpu_nodes import PRODUCT, GpuNodes
from tests.e2e.rooms import nothing_happens, prometheus_of, small
from tests.e2e.test_e2e_sizing import _service_url as service_url
from tests.e2e.variants import Change, serving_with, spec, target_with
from tests.scene.load import Load
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

ASKED = "RIDGELINE_SCENARIOS"

pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get(ASKED) != "1", reason="these are run by `make test-scenarios`"
    ),
]

JUDGED_S = 600.0
HOSTNAME = "kubernetes.io/hostname"
NO_TARGETS = "global: {scrape_interval: 1s}\n"
"""Configuration of a Prometheus that is well and answers every query with an empty result."""

SERVES_AFTER_S = 30
PROGRESS_DEADLINE_S = 45
QUICK = {
    "STAND_IN_STARTUP_SECONDS": "2",
    "STAND_IN_SHUTDOWN_SECONDS": "0",
    # Several rolls begin at once here: each canary must be held back before it is Ready.
    "STAND_IN_STARTUP_BY_PROFILE": "eagle=10",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One serving of the crowd.

    Attributes:
        name: Its name.
        scene: What makes its scene differ from the usual one.
        users: Users of the load on it; 0 for none.
        target: Changes of its Deployment.
        serving: Changes of its serving.
    """

    name: str
    scene: dict[str, Any] = field(default_factory=dict)
    users: int = 0
    target: tuple[Change, ...] = ()
    serving: tuple[Change, ...] = ()


def _apart(topology_key: str) -> Change:
    """Let no two Pods of the target be in one place."""

    def change(deployment: Object) -> None:
        template = deployment["spec"]["template"]
        labels = {"matchLabels": dict(template["metadata"]["labels"])}
        term = {"topologyKey": topology_key, "labelSelector": labels}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        template["spec"]["affinity"] = {"podAntiAffinity": required}

    return change


def _canary(**changes: object) -> dict[str, Any]:
    canary = {"when": "Always", "deadlineSeconds": 900, **changes}
    # Each is asked for EAGLE at whatever load: what its canary shows is to decide.
    return {"rollout": {"canary": canary, "trial": "Never"}, "up_to": 200, "return_below": 190}


def _unasked(then: str) -> dict[str, Any]:
    return {**_canary(deadlineSeconds=60, onNoTraffic=then), "replicas": 2}


def _stand_in(**settings: str) -> dict[str, str]:
    return {**QUICK, **{f"STAND_IN_{name}": value for name, value in settings.items()}}


CASES = (
    Case(
        name="late",
        scene={
            **_canary(),
            "replicas": 2,
            "stand_in": _stand_in(SERVES_AFTER_SECONDS=str(SERVES_AFTER_S)),
        },
        users=12,
    ),
    Case(
        name="shorter",
        scene={
            **_canary(),
            "replicas": 2,
            # A step of EAGLE takes half its time: by speed alone the canary would lead the rest.
            "stand_in": _stand_in(ANSWER_SHARE="eagle=0.33", STEP_FACTOR="eagle=0.5"),
        },
        users=24,
    ),
    Case(name="alone", scene={"gpus": 1}, target=(_apart(HOSTNAME),)),
    Case(
        name="apart",
        target=(_apart(PRODUCT), spec(progressDeadlineSeconds=PROGRESS_DEADLINE_S)),
    ),
    Case(name="unasked", scene=_unasked("Restore")),
    Case(name="unasked-kept", scene=_unasked("Promote")),
    Case(
        name="unseen",
        scene={**_canary(), "replicas": 2},
        users=12,
        serving=(spec(telemetry="changing"),),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Stood:
    """A serving of the crowd, and what stood there before it wanted another profile."""

    scene: Placed
    spec: Object
    pods: frozenset[str]

    def kept(self) -> bool:
        """Whether the target is what it was, with the Pods that it had and no other."""
        return self.scene.target()["spec"] == self.spec and _names(self.scene) == self.pods

    def new_pods(self) -> list[Object]:
        """The Pods that were not there before."""
        return [each for each in _pods(self.scene) if each["metadata"]["name"] not in self.pods]


@pytest.fixture(scope="module")
def changing(
    prometheus_binary: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningPrometheus]:
    """A Prometheus that has no targets yet."""
    running = start_prometheus(
        NO_TARGETS, tmp_path_factory.mktemp("prometheus"), binary=prometheus_binary
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def counting(
    prepared: Cluster,
    room: str,
    changing: RunningPrometheus,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[OperatorProcess]:
    """The operator of all of them: it may count GPUs, and knows both Prometheus."""
    telemetry = [
        {"name": "default", "url": prometheus_of(prepared)},
        {"name": "changing", "url": changing.url},
    ]
    folder = tmp_path_factory.mktemp("kubeconfig")
    at_once = {"maxConcurrentRolls": len(CASES), "maxConcurrentRollsPerPool": len(CASES)}
    with counting_operator(prepared, room, folder, telemetry=telemetry, **at_once) as process:
        yield process


@pytest.fixture(scope="module")
def written(prepared: Cluster) -> AuditLog:
    """The writes on the cluster since before the first of them was put up."""
    return AuditLog(prepared)


@pytest.fixture(scope="module")
def crowd(
    prepared: Cluster, room: str, counting: OperatorProcess, written: AuditLog
) -> Iterator[dict[str, Stood]]:
    """All of them, under load where they are to have any; each wants EAGLE from now on."""
    usual: dict[str, Any] = {"max_unavailable": 0, "quiet_profile": "none", "stand_in": QUICK}
    replicas = {"alone": {"replicas": len(GpuNodes(prepared).names)}}
    scenes = {
        case.name: Placed(
            prepared,
            small(room, case.name, **{**usual, **case.scene, **replicas.get(case.name, {})}),
            counting,
        )
        for case in CASES
    }
    for case in CASES:
        scene = scenes[case.name]
        for body in (scene.scene.default_config(), scene.scene.service()):
            scene.apply(body)
        scene.apply(target_with(scene, *case.target))
    stood = {}
    for name, scene in scenes.items():
        scene.wait(scene.settled, "the target's replicas")
        stood[name] = Stood(scene=scene, spec=scene.target()["spec"], pods=_names(scene))
    with contextlib.ExitStack() as loads:
        for case in CASES:
            scenes[case.name].put_serving(serving_with(scenes[case.name], *case.serving))
            if case.users:
                loads.enter_context(Load(service_url(scenes[case.name]), users=case.users))
        for name, scene in scenes.items():
            scene.wait_reason("NoData" if name == "unseen" else "BestProfileActive")
        for scene in scenes.values():
            scene.want("eagle")
        yield stood


def test_pods_that_are_ready_before_they_serve_are_judged_once_they_made_tokens(
    crowd: dict[str, Stood],
) -> None:
    late = crowd["late"]
    scene = late.scene
    scene.wait(lambda: any(_is_ready(each) for each in late.new_pods()), "a Ready canary")
    assert _tokens(late.new_pods()) == 0

    scene.wait(
        lambda: "it has not made a token yet" in _told(scene), "that the canary made no token yet"
    )
    assert scene.reason() == "CanaryUnderWay"
    assert scene.roll()["state"] == "Canary"
    assert "reason" not in scene.roll()

    _wait_judged(scene, lambda: _tokens(late.new_pods()))
    scene.wait_rolled("eagle")
    assert scene.roll()["reason"] == "CanaryBetter"


def _wait_judged(scene: Placed, tokens: Callable[[], float]) -> None:
    """Wait for a verdict; every time that the roll is looked at, its canary's tokens come first."""

    def judged() -> bool:
        made = tokens()
        if "reason" not in scene.roll():
            return False
        assert made > 0
        return True

    scene.wait(judged, "a verdict", timeout_s=JUDGED_S)


def test_shorter_answers_are_taken_back_however_fast_they_come(crowd: dict[str, Stood]) -> None:
    shorter = crowd["shorter"]
    scene = shorter.scene
    _wait_state(scene, "Restored")
    assert scene.roll()["reason"] == "AnswersDiffer"
    (entry,) = scene.status()["quarantine"]
    assert (entry["profile"], entry["reason"]) == ("eagle", "AnswersDiffer")
    scene.wait(scene.settled, "the old replicas")
    assert shorter.kept()
    assert "paused" not in scene.target()["spec"]
    assert scene.status()["activeProfile"] == "none"


def test_free_gpus_are_no_room_where_each_node_takes_one_pod(
    crowd: dict[str, Stood], written: AuditLog, prepared: Cluster
) -> None:
    alone = crowd["alone"]
    scene = alone.scene
    nodes = GpuNodes(prepared).names
    scene.wait_reason("NoRoomForSurge")
    assert nothing_happens(lambda: scene.reason() == "NoRoomForSurge")
    told = _told(scene)
    for part in (f"{len(nodes)} suitable nodes", "0 more Pods", "anti-affinity", "add a node"):
        assert part in told
    assert "maxUnavailable: 1" in told
    assert written.tries(scene.scene.namespace, "alone") == []
    assert alone.kept()
    assert len(scene.replica_sets()) == 1

    moved = spec(strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    scene.apply(target_with(scene, _apart(HOSTNAME), moved))
    scene.wait(lambda: any(_is_ready(each) for each in alone.new_pods()), "a Pod in its place")


def test_a_place_that_cannot_be_counted_is_waited_for_until_the_deadline(
    crowd: dict[str, Stood],
) -> None:
    """Anti-affinity by another topology than the node is left to the scheduler."""
    apart = crowd["apart"]
    scene = apart.scene
    _wait_state(scene, "Restored")
    assert scene.roll()["reason"] == "RollDeadlineExceeded"
    (entry,) = scene.status()["quarantine"]
    assert (entry["profile"], entry["reason"]) == ("eagle", "RollDeadlineExceeded")
    scene.wait(scene.settled, "the old replica")
    assert apart.kept()


def test_a_canary_that_nobody_asks_is_never_judged_on_nothing(crowd: dict[str, Stood]) -> None:
    unasked, kept = crowd["unasked"], crowd["unasked-kept"]
    _wait_state(unasked.scene, "Restored")
    _wait_state(kept.scene, "Finished")
    for stood in (unasked, kept):
        roll = stood.scene.roll()
        assert roll["reason"] == "CanaryNotJudged"
        assert "eagle could not be judged within 60 s" in roll["message"]
    unasked.scene.wait(unasked.scene.settled, "the old replica")
    assert unasked.kept()
    assert kept.scene.status()["activeProfile"] == "eagle"


def test_empty_answers_of_prometheus_hold_and_what_comes_back_is_taken_up(
    crowd: dict[str, Stood],
    written: AuditLog,
    changing: RunningPrometheus,
    counting: OperatorProcess,
    prepared: Cluster,
) -> None:
    unseen = crowd["unseen"]
    scene = unseen.scene
    assert nothing_happens(lambda: scene.reason() == "NoData")
    assert "'changing' answers, but has no samples of any of the" in _told(scene)
    assert written.tries(scene.scene.namespace, "unseen") == []

    _configure(changing, pod_discovery_config(prepared.kubeconfig, scrape_interval_s=1))
    scene.wait(lambda: any(_is_ready(each) for each in unseen.new_pods()), "a Ready canary")
    _configure(changing, NO_TARGETS)
    # Without a marker of their end, samples are answered for five minutes.
    scene.wait(lambda: _series(changing) == 0, "empty answers", timeout_s=JUDGED_S)
    assert nothing_happens(lambda: scene.roll()["state"] == "Canary")
    assert "reason" not in scene.roll()

    _configure(changing, pod_discovery_config(prepared.kubeconfig, scrape_interval_s=1))
    scene.wait(lambda: scene.roll().get("state") == "Finished", "the rest", timeout_s=JUDGED_S)
    assert scene.roll()["reason"] == "CanaryBetter"
    assert counting.running
    assert not [line for line in counting.log() if "Traceback" in line]


def _configure(prometheus: RunningPrometheus, config: str) -> None:
    prometheus.config_file.write_text(config)
    prometheus.reload()


def _series(prometheus: RunningPrometheus) -> int:
    """Number of servers that it has samples of."""
    url = f"{prometheus.url}/api/v1/query?query=vllm:num_requests_running"
    with urllib.request.urlopen(url, timeout=5) as answer:
        return len(json.load(answer)["data"]["result"])


def _wait_state(scene: Placed, state: str) -> None:
    scene.wait(lambda: scene.roll().get("state") == state, state, timeout_s=JUDGED_S)


def _told(scene: Placed) -> str:
    return str((scene.status().get("lastDecision") or {}).get("message", ""))


def _pods(scene: Placed) -> list[Object]:
    """The target's Pods that stay."""
    chosen = ("-n", scene.scene.namespace, "-l", f"app.kubernetes.io/name={scene.scene.name}")
    items: list[Object] = scene.cluster.kubectl("get", "pods", *chosen)["items"]
    return [each for each in items if "deletionTimestamp" not in each["metadata"]]


def _names(scene: Placed) -> frozenset[str]:
    return frozenset(each["metadata"]["name"] for each in _pods(scene))


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _tokens(pods: list[Object]) -> float:
    """Tokens that the servers of Ready Pods have made, by their own counters."""
    return sum(_tokens_of(each["status"]["podIP"]) for each in pods if _is_ready(each))


def _tokens_of(address: str) -> float:
    with urllib.request.urlopen(f"http://{address}:8000/metrics", timeout=10) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = (each for family in families for each in family.samples)
    return sum(each.value for each in samples if each.name == "vllm:generation_tokens_total")
