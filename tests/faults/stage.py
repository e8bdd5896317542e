"""A crowd of servings on a real cluster, each of them at another step of its roll."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.api import Api, load_api
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.cluster.waiting import wait_until
from tests.e2e.rooms import fresh_namespace, operator_of, small
from tests.faults.gateway import Gateway
from tests.faults.sight import Object, Sight, look
from tests.faults.steps import REPLICAS, STEPS, Brake, Step, announced, held_back
from tests.scene.load import Load
from tests.scene.manifests import Scene
from tests.scene.operator_process import OperatorProcess

CLOCK_FOLDER = Path(__file__).with_name("clock")
PATIENCE_S = 480.0
"""A crowd needs half a minute on two idle cores; they may be shared with much else."""


@dataclass(kw_only=True)
class Stage:
    """What a fault may take hold of.

    Attributes:
        cluster: The cluster.
        namespace: Where the servings are.
        operator: The operator that looks after them; it reaches the API server by the gateway.
        gateway: Its way to the API server.
        before: Each target before its serving came.
        notes: What a fault could not do, for the record.
    """

    cluster: Cluster
    namespace: str
    operator: OperatorProcess
    gateway: Gateway
    clock: Path
    api: Api
    before: dict[str, Object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start_operator(self) -> None:
        """Start the operator where it does not run, under a wall clock for `step_clock`."""
        shift = f"RIDGELINE_CLOCK_SHIFT={self.clock}"
        found = os.pathsep.join((str(CLOCK_FOLDER), os.environ.get("PYTHONPATH", "")))
        with self._lock:
            if not self.operator.running:
                self.operator.start(("env", f"PYTHONPATH={found}", shift))

    def kill_operator(self) -> None:
        """SIGKILL, from any thread."""
        with self._lock:
            self.operator.kill()

    def step_clock(self, seconds: float) -> None:
        """Set the operator's wall clock that far from the machine's, also while it runs."""
        with self.clock.open("r+b") as shift:
            shift.write(struct.pack("d", seconds))

    def order(self, name: str, profile: str) -> None:
        """Order a profile by the annotation, as a person would."""
        order = {"metadata": {"annotations": {"ridgeline.dev/force-profile": profile}}}
        words = ("patch", f"sps/{name}", "-n", self.namespace, "--type=merge", "-p")
        self.cluster.kubectl(*words, json.dumps(order))

    def release(self) -> None:
        """Let every serving go on from the step at which it was kept."""
        self.gateway.admit()

    def look(self) -> dict[str, Sight]:
        """What stands there now; empty while the API server does not answer."""
        try:
            return look(self.api, self.namespace)
        except (OSError, ClusterError, ValueError):
            return {}

    def wait(
        self, done: Callable[[dict[str, Sight]], object], what: str, timeout_s: float = PATIENCE_S
    ) -> None:
        """Wait until something can be seen.

        Raises:
            TimeoutError: It cannot in time; tells where the servings are, and the operator's log.
        """
        try:
            wait_until(lambda: done(self.look()), what, timeout_s=timeout_s, every_s=0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.story()}") from error

    def story(self) -> str:
        """Where the servings are, and the last words of the operator."""
        lines = [
            f"{name}: {sight.state} {sight.reason} {sight.decision} paused={sight.paused} "
            f"updated={sight.updated} Ready={len(sight.serving_pods)} of {len(sight.pods)}"
            for name, sight in sorted(self.look().items())
        ]
        return "\n".join([*lines, self.operator.log_tail()])


@contextlib.contextmanager
def staged(cluster: Cluster) -> Iterator[Stage]:
    """Put up a crowd; yields when every serving stands at its step and is kept there.

    Raises:
        TimeoutError: A serving does not come to its step.
    """
    install_crds(cluster)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ridgeline-faults-")))
        namespace = stack.enter_context(fresh_namespace(cluster))
        gateway = stack.enter_context(Gateway(cluster.kubeconfig, folder))
        clock = folder / "clock-shift"
        clock.write_bytes(struct.pack("d", 0.0))
        operator = operator_of(
            cluster,
            namespace,
            kubeconfig=gateway.kubeconfig,
            maxConcurrentRolls=len(STEPS),
            maxConcurrentRollsPerPool=len(STEPS),
        )
        stage = Stage(
            cluster=cluster,
            namespace=namespace,
            operator=operator,
            gateway=gateway,
            clock=clock,
            api=load_api(cluster.kubeconfig),
        )
        stack.callback(operator.__exit__)
        scenes = {each.name: _scene(each, namespace) for each in STEPS}
        _put_targets(stage, scenes)
        stage.start_operator()
        operator.wait_ready()
        _bring_to_steps(stage, scenes)
        for each in STEPS:
            if each.users:
                load = Load(_address(cluster, scenes[each.name]), users=each.users)
                stack.enter_context(load)
        yield stage


def install_crds(cluster: Cluster) -> None:
    """Apply our CRDs, and wait until they are served."""
    cluster.kubectl("apply", "-f", str(REPO / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")


def _scene(step: Step, namespace: str) -> Scene:
    stand_in = {"STAND_IN_STARTUP_SECONDS": "1", "STAND_IN_SHUTDOWN_SECONDS": "0"}
    changes: dict[str, Any] = {
        "replicas": REPLICAS,
        "max_unavailable": 0,
        "rollout": step.rollout,
        "stand_in": {**stand_in, **step.stand_in},
        # EAGLE is asked for at whatever load there is.
        "up_to": 200,
        "return_below": 190,
    }
    return small(namespace, step.name, **changes)


def _put_targets(stage: Stage, scenes: Mapping[str, Scene]) -> None:
    items = [next(iter(scenes.values())).default_config()]
    for scene in scenes.values():
        target = scene.deployment()
        container = target["spec"]["template"]["spec"]["containers"][0]
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"
        # A crowd on few cores: servers that ask for none of them get next to nothing.
        container["resources"] = {"requests": {"cpu": "100m"}}
        container["readinessProbe"].update(periodSeconds=2, timeoutSeconds=10)
        items += [target, scene.service()]
    stage.cluster.kubectl("apply", "-f", "-", input_object=_listed(items))

    def settled(seen: dict[str, Sight]) -> bool:
        return seen.keys() == scenes.keys() and all(each.settled for each in seen.values())

    stage.wait(settled, "the replicas of every target")
    stage.before = {name: each.target for name, each in look(stage.api, stage.namespace).items()}


def _bring_to_steps(stage: Stage, scenes: Mapping[str, Scene]) -> None:
    for step in STEPS:
        if step.brake is Brake.AT_ONCE:
            stage.gateway.refuse(step.name)
    servings = _listed([each.serving() for each in scenes.values()])
    stage.cluster.kubectl("apply", "-f", "-", input_object=servings)

    def come(turn: int) -> Callable[[dict[str, Sight]], bool]:
        def all_came(seen: dict[str, Sight]) -> bool:
            for step in STEPS:
                late = step.brake is Brake.HELD_BACK and step.name in seen
                if late and held_back(seen[step.name]):
                    stage.gateway.refuse(step.name)
            return bool(seen) and all(_came(each, seen[each.name], turn) for each in STEPS)

        return all_came

    stage.wait(come(0), "every serving at its step or before it")
    for turn in (1, 2):
        for step in STEPS:
            if step.turn == turn:
                _go_on(stage, step)
        stage.wait(come(turn), f"every serving at its step, turn {turn}")


def _came(step: Step, sight: Sight, turn: int) -> bool:
    """Whether a serving stands at its step or, before its turn, where it waits for that."""
    if step.turn <= turn:
        return step.stands(sight)
    return announced(sight) if step.brake is Brake.AT_ONCE else held_back(sight)


def _go_on(stage: Stage, step: Step) -> None:
    if step.brake is Brake.AT_ONCE:
        stage.gateway.admit(step.name)
    else:
        stage.order(step.name, "eagle")


def _address(cluster: Cluster, scene: Scene) -> str:
    service = cluster.kubectl("get", f"service/{scene.name}", "-n", scene.namespace)
    return f"http://{service['spec']['clusterIP']}"


def _listed(items: list[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def rest(seconds: float) -> None:
    """Let a fault last."""
    time.sleep(seconds)
