"""A simulated cluster with one Deployment, and the Pods of it by template."""

from typing import Any

from ridgeline.engine.container import Container, EnvItem
from ridgeline.sim.fate import Fate
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.pace import Pace
from ridgeline.sim.pod import SimulatedPod
from ridgeline.sim.template import Template
from ridgeline.terms.names import PROFILE_ENV

START = 1_795_860_000.0
EAGLE = '{"method":"eagle","model":"org/head","num_speculative_tokens":4}'


def container(config: str | None = "") -> Container:
    env = () if config is None else (EnvItem(name=PROFILE_ENV, value=config),)
    return Container(name="vllm", args=(f"--speculative-config=$({PROFILE_ENV})",), env=env)


def made(replicas: int = 4, shape: Any = None, **pace: Any) -> SimulatedCluster:
    cluster = SimulatedCluster(now=START)
    cluster.create_deployment(
        "llama",
        containers=(container(),),
        replicas=replicas,
        pace=Pace(**pace),
        shape=shape,
    )
    return cluster


def under_eagle(fate: Fate) -> Any:
    """A fate that only servers with a speculative config have."""

    def chosen(template: Template) -> Fate | None:
        return fate if template.speculative_config else None

    return chosen


def eagle(cluster: SimulatedCluster) -> list[SimulatedPod]:
    """The Pods with a speculative config that stay."""
    return [pod for pod in staying(cluster) if pod.template.speculative_config]


def staying(cluster: SimulatedCluster) -> list[SimulatedPod]:
    return [pod for pod in cluster.pods_of("llama") if not pod.deleting]


def body(cluster: SimulatedCluster, pod: SimulatedPod) -> dict[str, Any]:
    """A Pod's status as the API server sends it."""
    status: dict[str, Any] = cluster.pod_body("llama", pod.name)["status"]
    return status
