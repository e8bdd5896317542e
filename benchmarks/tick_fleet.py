"""A fleet at rest for `benchmarks.tick`: servings, Deployments, Pods, nodes, budgets.

Every Pod has one GPU of a node of eight, every serving a PodDisruptionBudget, and nothing but the
nodes' labels tells which GPU it is: so nothing is spared the operator that a real fleet asks of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.telemetry import NOW, pod_names
from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import BoundPod, BudgetObject, NodeObject, Surroundings
from ridgeline.engine.container import Container, EnvItem
from ridgeline.policy.placement import Node, PodNeeds

GPU = "nvidia.com/gpu"
GPUS_PER_NODE = 8
LABELS = {f"{GPU}.product": "NVIDIA-H100-80GB-HBM3"}
STRATEGIES = ("Fixed", "Goodput")
EAGLE = {"name": "eagle", "method": "Eagle", "model": "org/head", "numSpeculativeTokens": 4}
SPEC: dict[str, Any] = {
    "mode": "Automatic",
    "profiles": [EAGLE, {"name": "none", "method": "Disabled"}],
}
CUTOFFS: dict[str, dict[str, Any]] = {
    "Fixed": {"ranges": [{"profile": "eagle", "upToConcurrency": 20}, {"profile": "none"}]},
    "Goodput": {"strategy": "Goodput"},
}
CONFIG = '{"method":"eagle","model":"org/head","num_speculative_tokens":4}'
CONTAINER = Container(
    name="vllm",
    args=("meta-llama/Llama-3.1-8B-Instruct", "--speculative-config=$(SPECULATION_CONFIG)"),
    env=(EnvItem(name="SPECULATION_CONFIG", value=CONFIG),),
    has_env_from=True,
    image="vllm/vllm-openai:v0.24.0",
)


class SilentReports:
    """Keeps statuses as the API server would, and sends no Events."""

    def __init__(self) -> None:
        self.writes = 0

    async def apply_status(self, serving: ServingObject, status: Any) -> ServingObject:
        self.writes += 1
        version = str(int(serving.resource_version) + 1)
        return replace(serving, status=dict(status), resource_version=version)

    async def send_event(self, serving: ServingObject, event: Any, now: float) -> None:
        self.writes += 1


class NoTargets:
    """Refuses to be called: a fleet at rest writes nothing."""

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        raise AssertionError("a fleet at rest reads no target")

    async def apply(self, write: Any, *, dry_run: bool = False) -> DeploymentObject:
        raise AssertionError("a fleet at rest writes no target")

    async def release(self, deployment: Any, *, exact: bool = False) -> DeploymentObject:
        raise AssertionError("a fleet at rest lets nothing go")


def fleet(servings: int, replicas: int, strategy: str) -> tuple[WatchStore, Surroundings]:
    """Everything that the watch streams tell of so many servings, and what surrounds them."""
    store, around = WatchStore(), Surroundings()
    for shelf in (around.nodes, around.budgets, around.quotas, around.autoscalers):
        shelf.primed = True
    nodes = -(-servings * replicas // GPUS_PER_NODE) + 1
    for number in range(nodes):
        name = f"node-{number}"
        node = Node(name=name, labels=dict(LABELS), allocatable={GPU: GPUS_PER_NODE})
        around.nodes.put(NodeObject(name=name, uid=name, resource_version="1", node=node))
    pods = pod_names(servings * replicas, replicas)
    for number in range(servings):
        own = pods[number * replicas : (number + 1) * replicas]
        _serving(store, around, number, own, strategy)
    for number, (namespace, name) in enumerate(pods):
        _pod(store, around, namespace, name, number, replicas)
    return store, around


def _serving(
    store: WatchStore,
    around: Surroundings,
    number: int,
    pods: list[tuple[str, str]],
    strategy: str,
) -> None:
    namespace, name, replicas = pods[0][0], f"serving-{number}", len(pods)
    store.put_serving(
        ServingObject(
            namespace=namespace,
            name=name,
            uid=f"s{number}",
            generation=1,
            resource_version="1",
            created_at=NOW - 86_400,
            deleting=False,
            spec={**SPEC, "cutoff": CUTOFFS[strategy], "targetRef": {"name": name}},
            status={},
        )
    )
    store.put_deployment(
        DeploymentObject(
            namespace=namespace,
            name=name,
            uid=f"d{number}",
            generation=2,
            resource_version="2",
            deleting=False,
            replicas=replicas,
            paused=False,
            template_profile="eagle",
            containers=(CONTAINER,),
            marker=None,
            observed_generation=2,
            current_replicas=replicas,
            updated_replicas=replicas,
            ready_replicas=replicas,
            available_replicas=replicas,
            progress_deadline_exceeded=False,
            shape=TargetShape(needs=PodNeeds(requests={GPU: 1}), labels={"app": name}),
        )
    )
    around.budgets.put(
        BudgetObject(
            namespace=namespace,
            name=name,
            uid=f"b{number}",
            resource_version="1",
            labels={"app": name},
            expressions=(),
            allowed=1,
        )
    )


def _pod(
    store: WatchStore,
    around: Surroundings,
    namespace: str,
    name: str,
    number: int,
    replicas: int,
) -> None:
    node, uid = f"node-{number // GPUS_PER_NODE}", f"p{number}"
    store.put_pod(
        PodObject(
            namespace=namespace,
            name=name,
            uid=uid,
            resource_version="3",
            deployment=f"serving-{number // replicas}",
            profile="eagle",
            ready_since=NOW - 3600,
            started_at=NOW - 3700,
            deleting=False,
            node=node,
        )
    )
    around.put_bound(
        BoundPod(
            namespace=namespace,
            name=name,
            uid=uid,
            resource_version="3",
            node=node,
            requests={GPU: 1},
        )
    )
