"""Two operators on one real API server, without nodes: Pods, load and telemetry are made up."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.api import Api, load_api
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.cluster.waiting import wait_until
from tests.e2e.accounts import NAMESPACED_RULES, kubeconfig_of, put_account
from tests.e2e.rooms import TICK_S, WINDOW_S, fresh_namespace, small
from tests.leaders.audit import Entry, Object, Tail
from tests.leaders.blindness import Journal
from tests.leaders.observer import Observer
from tests.leaders.operators import Replica
from tests.leaders.pods import NO_SCHEDULER, Kubelet
from tests.leaders.rules import Rules, Violation
from tests.leaders.telemetry import Telemetry
from tests.scene.manifests import Scene

LEASE = "ridgeline"
LEASE_S = 5
"""The shortest that the configuration takes."""
STALE_S = 6
NAMES = ("operator-a", "operator-b")
PATIENCE_S = 120.0

_BLIND_AFTER_S = STALE_S + 4.0
"""What was seen counts for `STALE_S`; then come a tick and the passes of all servings."""


@dataclass(kw_only=True)
class Stage:
    """What a test may take hold of.

    Attributes:
        cluster: The cluster.
        namespace: Where everything is.
        operators: The operators by name; not started.
        kubelet: Keeps the Pods.
        telemetry: Tells the load.
        journal: Tells the observer when nothing can be seen.
        rules: What the operators may do.
        log: The audit log.
    """

    cluster: Cluster
    namespace: str
    operators: dict[str, Replica]
    kubelet: Kubelet
    telemetry: Telemetry
    journal: Journal
    rules: Rules
    log: Path
    api: Api

    def both_ready(self) -> tuple[Replica, Replica]:
        """Start both; return the one that leads, and the standby."""
        first, second = self.operators.values()
        first.start()
        first.wait_ready()
        wait_until(lambda: first.leads, "the Lease", timeout_s=PATIENCE_S)
        second.start()
        second.wait_ready()
        return first, second

    def put(self, scene: Scene, *, users: float = 0.0) -> None:
        """Put up a target, without nodes, wait until it serves, then its serving."""
        self.telemetry.users[scene.name] = users
        target = scene.deployment()
        pod = target["spec"]["template"]["spec"]
        pod["schedulerName"] = NO_SCHEDULER
        pod.pop("nodeSelector")
        self.apply(scene.default_config())
        self.apply(target)
        self.wait(lambda: _settled(self.target(scene.name)), f"the replicas of {scene.name}")
        self.apply(scene.serving())

    def apply(self, body: Object) -> None:
        """`kubectl apply`."""
        self.cluster.kubectl("apply", "-f", "-", input_object=body)

    def edit(self, name: str, spec: Object) -> None:
        """Change fields of a serving's spec."""
        self.api.call("PATCH", self._serving(name), {"spec": spec}, content="merge-patch+json")

    def drop(self, name: str) -> None:
        """Delete a serving; its target stays as it is."""
        self.api.call("DELETE", self._serving(name))

    def serving(self, name: str) -> Object:
        """A serving as it is now; empty where there is none."""
        return self.api.call("GET", self._serving(name)) or {}

    def _serving(self, name: str) -> str:
        group = "/apis/ridgeline.dev/v1alpha1"
        return f"{group}/namespaces/{self.namespace}/speculativeservings/{name}"

    def roll(self, name: str) -> Object:
        """The latest roll of a serving, as its status tells it."""
        found: Object = (self.serving(name).get("status") or {}).get("rollout") or {}
        return found

    def target(self, name: str) -> Object:
        """A Deployment as it is now; empty where there is none."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}"
        return self.api.call("GET", path) or {}

    def lease(self) -> Object:
        """What the Lease says."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{LEASE}"
        found: Object = (self.api.call("GET", path) or {}).get("spec") or {}
        return found

    def holder(self) -> str:
        """Who holds the Lease; empty for nobody."""
        return str(self.lease().get("holderIdentity") or "")

    def wait(self, done: Callable[[], object], what: str, *, timeout_s: float = PATIENCE_S) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: It is not in time; tells the last words of the operators.
        """
        try:
            wait_until(done, what, timeout_s=timeout_s, every_s=0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.story()}") from error

    def wait_rolled(self, name: str, profile: str) -> None:
        """Wait until the latest roll was one to `profile`, and has finished."""

        def rolled() -> bool:
            roll = self.roll(name)
            return roll.get("to") == profile and roll.get("state") == "Finished"

        self.wait(rolled, f"the end of the roll of {name} to {profile}")

    def blind(self, *, off: bool) -> None:
        """Turn the telemetry off or on, and write that down: it is off for as long as is told."""
        if off:
            self.telemetry.off = True
        self.journal.write(time.time(), blind=off)
        self.telemetry.off = off

    def story(self) -> str:
        """The last words of both operators."""
        return "\n".join(f"{name}:\n{each.log_tail()}" for name, each in self.operators.items())


class Watcher:
    """An observer within a test: what was written since it began, and what that broke."""

    def __init__(self, stage: Stage) -> None:
        self._tail = Tail(stage.log)
        self._stage = stage
        self.entries: list[Entry] = []
        self.observer = Observer(stage.rules)

    def look(self) -> list[Entry]:
        """Read on; return everything since the beginning."""
        new = self._tail.read()
        self._stage.journal.read_into(self.observer.blindness)
        self.observer.see(new)
        self.entries += new
        return self.entries

    def violations(self) -> list[Violation]:
        """Read on; return everything that was broken."""
        self.look()
        self.observer.finish()
        return self.observer.report.violations

    def profile_tries(self, name: str) -> list[Entry]:
        """What the operators asked of a Deployment, rehearsals left out."""
        return [
            each
            for each in self.look()
            if each.resource == "deployments.apps"
            and each.name == name
            and each.user in self._stage.rules.users
            and "dryRun" not in each.query
        ]


@contextlib.contextmanager
def staged(
    cluster: Cluster,
    *,
    max_rolls: int = 3,
    gateway_of: Callable[[str, Path, Path], Path] = lambda name, kubeconfig, folder: kubeconfig,
    **settings: Any,
) -> Iterator[Stage]:
    """Set the stage; operators that run are ended with the block.

    Args:
        cluster: Where; its audit log must be readable.
        max_rolls: Rolls that may be under way at a time.
        gateway_of: Puts something between an operator (by name) and the API server.
        settings: More of the operators' configuration.

    Raises:
        ClusterError: The cluster has no audit log that can be read here.
    """
    if cluster.audit_log is None:
        raise ClusterError("this cluster has no audit log that can be read here")
    _prepare(cluster)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ridgeline-leaders-")))
        namespace = stack.enter_context(fresh_namespace(cluster))
        api = load_api(cluster.kubeconfig)
        kubelet = stack.enter_context(Kubelet(api, namespace))
        telemetry = stack.enter_context(
            Telemetry(namespace, lambda: kubelet.ready, window_s=WINDOW_S)
        )
        config = {**_config(namespace, max_rolls), **settings}
        operators = {}
        for name in NAMES:
            put_account(cluster, namespace, name, NAMESPACED_RULES)
            own = kubeconfig_of(cluster, namespace, name, folder, hours=24)
            way = gateway_of(name, own, folder)
            operators[name] = Replica(name, way, telemetry.url, **config)
            stack.callback(operators[name].__exit__)
        yield Stage(
            cluster=cluster,
            namespace=namespace,
            operators=operators,
            kubelet=kubelet,
            telemetry=telemetry,
            journal=Journal(folder / "blindness.jsonl"),
            rules=rules_of(namespace, max_rolls),
            log=cluster.audit_log,
            api=api,
        )


def rules_of(namespace: str, max_rolls: int) -> Rules:
    """What the operators of a namespace may do."""
    return Rules(
        users=frozenset(f"system:serviceaccount:{namespace}:{name}" for name in NAMES),
        lease=(namespace, LEASE),
        max_rolls=max_rolls,
        blind_after_s=_BLIND_AFTER_S,
    )


def bare(namespace: str, name: str, **changes: Any) -> Scene:
    """A scene of two Pods that is rolled without a canary and one Pod at a time."""
    return small(namespace, name, **{"replicas": 2, "max_unavailable": 0, **changes})


def _config(namespace: str, max_rolls: int) -> Object:
    return {
        "namespaces": [namespace],
        "tickSeconds": TICK_S,
        "rateWindowSeconds": WINDOW_S,
        "staleAfterSeconds": STALE_S,
        "relistSeconds": 10,
        "maxConcurrentRolls": max_rolls,
        "maxConcurrentRollsPerPool": max_rolls,
        "lease": {"namespace": namespace, "name": LEASE, "durationSeconds": LEASE_S},
    }


def _prepare(cluster: Cluster) -> None:
    cluster.kubectl("apply", "--server-side", "-f", str(REPO / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")


def _settled(target: Object) -> bool:
    status, spec = target.get("status") or {}, target.get("spec") or {}
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return bool(spec) and all(status.get(each) == spec["replicas"] for each in counts)
