"""The stage of a bad day: three servings on a control plane whose only node is hollow.

One of them stays as it is, one is in the middle of a roll, and one wants another profile from the
moment at which the fault strikes.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.cluster.api import Api, load_api
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.e2e.rooms import WINDOW_S, fresh_namespace, small
from tests.faults.day.hollow import HollowNode
from tests.faults.day.numbers import Numbers
from tests.faults.gateway import Gateway
from tests.faults.sight import Object, Sight, look
from tests.faults.stage import CLOCK_FOLDER
from tests.scene.manifests import Scene
from tests.scene.operator_process import OperatorProcess
from tests.scene.writes import AuditLog

STEADY: Final = "steady"
TURNING: Final = "turning"
ROLLING: Final = "rolling"

BUSY: Final = 40.0
"""Requests in decode per engine at which no speculation is right, by the cut-off of `small`."""
QUIET: Final = 4.0

REPLICAS: Final = 2
PATIENCE_S: Final = 240.0
LEASE_S: Final = 5
ACCOUNT: Final = "operator"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How an operator is set down in its room.

    Attributes:
        prefix: Goes before its command line.
        api_name: By which name it asks for the API server; by default the gateway's address.
        numbers_name: By which name it asks for Prometheus; by default its address.
        listen: Where gateway and Prometheus listen.
        tls: How the gateway proves who it is.
        authority: File by which the operator believes it.
        environment: Variables that the operator gets.
        lease_s: How long a silent holder keeps the Lease.
        config: Fields of its configuration.
    """

    prefix: tuple[str, ...] = ()
    api_name: str | None = None
    numbers_name: str | None = None
    listen: str = "127.0.0.1"
    tls: Any = None
    authority: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()
    lease_s: int = LEASE_S
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class Room:
    """What a fault may take hold of.

    Attributes:
        cluster: The control plane.
        namespace: Where the servings are.
        operator: The operator that looks after them.
        gateway: Its way to the API server.
        node: Where the Pods are.
        numbers: The Prometheus that it asks.
        api: A way to the API server past the gateway.
        audit: The writes since before the servings came.
        setting: How the operator was set down.
        folder: For files; gone at the end.
        token: File of the operator's token.
        before: Each target before its serving came.
        notes: What was seen beside, for the table.
    """

    cluster: Cluster
    namespace: str
    operator: OperatorProcess
    gateway: Gateway
    node: HollowNode
    numbers: Numbers
    api: Api
    audit: AuditLog
    setting: Setting
    folder: Path
    token: Path
    before: dict[str, Object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    restarts: int = 0

    def start_operator(self) -> None:
        """Start the operator where it does not run."""
        if self.operator.running:
            return
        found = os.pathsep.join((str(CLOCK_FOLDER), os.environ.get("PYTHONPATH", "")))
        variables = {
            "PYTHONPATH": found,
            "RIDGELINE_CLOCK_SHIFT": str(self._clock),
            **dict(self.setting.environment),
        }
        told = (f"{name}={value}" for name, value in variables.items())
        self.operator.start((*self.setting.prefix, "env", *told))

    @property
    def _clock(self) -> Path:
        return self.folder / "clock-shift"

    def step_clock(self, seconds: float) -> None:
        """Set the operator's wall clock that far from the machine's, also while it runs."""
        with self._clock.open("r+b") as shift:
            shift.write(struct.pack("d", seconds))

    def tend(self) -> None:
        """Start the operator again where it ended by itself, as a kubelet would."""
        if self.operator.ended:
            self.restarts += 1
            self.start_operator()

    def turn(self) -> None:
        """Let one serving want another profile, and the Pods of the roll become Ready."""
        self.numbers.load(self.namespace, TURNING, QUIET)
        self.node.let_go(self.namespace, ROLLING)

    def edit(self, name: str, **spec: Any) -> None:
        """Change a serving's spec, past the gateway."""
        path = f"{_servings(self.namespace)}/{name}"
        self.api.call("PATCH", path, {"spec": spec}, content="merge-patch+json")

    def look(self) -> dict[str, Sight]:
        """What stands there now; empty while the API server does not answer."""
        try:
            return look(self.api, self.namespace)
        except (OSError, ClusterError, ValueError):
            return {}

    def wait(
        self,
        done: Callable[[dict[str, Sight]], object],
        what: str,
        *,
        timeout_s: float = PATIENCE_S,
    ) -> None:
        """Wait until something can be seen, and tend the operator meanwhile.

        Raises:
            TimeoutError: It cannot in time; tells where the servings are, and the operator's log.
        """

        def come() -> bool:
            self.tend()
            seen = self.look()
            return bool(seen) and bool(done(seen))

        try:
            wait_until(come, what, timeout_s=timeout_s, every_s=0.2)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.story()}") from error

    def rest(self, seconds: float) -> None:
        """Let a fault last; an operator that ends meanwhile is started again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tend()
            time.sleep(min(0.5, max(0.0, end - time.monotonic())))

    def profile_writes(self) -> dict[str, int]:
        """How often the operator changed each target so far."""
        names = self.before or dict.fromkeys((STEADY, TURNING, ROLLING))
        return {name: len(self.audit.profile_writes(self.namespace, name)) for name in names}

    def story(self) -> str:
        """Where the servings are, and the last words of the operator."""
        lines = [
            f"{name}: {sight.state} {sight.reason} {sight.decision} updated={sight.updated} "
            f"Ready={len(sight.serving_pods)} of {len(sight.pods)}"
            for name, sight in sorted(self.look().items())
        ]
        return "\n".join([*lines, self.operator.log_tail()])


@contextlib.contextmanager
def opened(
    cluster: Cluster,
    node: HollowNode,
    setting: Setting | None = None,
    *,
    names: Sequence[str] = (STEADY, TURNING, ROLLING),
    replicas: int = REPLICAS,
) -> Iterator[Room]:
    """Put the targets up; yields when they serve, before operator and servings come."""
    setting = setting or Setting()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ridgeline-day-")))
        namespace = stack.enter_context(fresh_namespace(cluster))
        audit = AuditLog(cluster)
        token = folder / "token"
        account = stack.enter_context(_account(cluster, namespace, folder, token))
        tls, name = setting.tls, setting.api_name
        gateway = stack.enter_context(
            Gateway(account, folder, listen=setting.listen, named=name, tls=tls)
        )
        _believe(gateway.kubeconfig, setting.authority)
        numbers = stack.enter_context(Numbers(lambda: node.pods, WINDOW_S, setting.listen))
        (folder / "clock-shift").write_bytes(struct.pack("d", 0.0))
        host = setting.numbers_name or setting.listen
        operator = OperatorProcess(
            gateway.kubeconfig, f"http://{host}:{numbers.port}", **_config(namespace, setting)
        )
        stack.callback(operator.__exit__)
        room = Room(
            cluster=cluster,
            namespace=namespace,
            operator=operator,
            gateway=gateway,
            node=node,
            numbers=numbers,
            api=load_api(cluster.kubeconfig),
            audit=audit,
            setting=setting,
            folder=folder,
            token=token,
        )
        put_targets(room, names, replicas)
        yield room


def bring_to_the_middle(room: Room) -> None:
    """Start operator and servings; return when one stays, and one is in the middle of a roll."""
    room.start_operator()
    put_servings(room)
    waits = lambda seen: all(each.decision for each in seen.values())  # noqa: E731
    room.wait(waits, "a first decision about every serving")
    room.node.hold(room.namespace, ROLLING)
    room.numbers.load(room.namespace, ROLLING, QUIET)
    room.wait(lambda seen: seen[ROLLING].state == "Rolling", "a roll that is under way")


def put_targets(room: Room, names: Sequence[str], replicas: int = REPLICAS) -> None:
    """Apply the targets and wait until they serve, busy ones all."""
    items = []
    for name in names:
        room.numbers.load(room.namespace, name, BUSY)
        items.append(scene(room, name, replicas).deployment())
    items.append(scene(room, names[0]).default_config())
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    room.cluster.kubectl("apply", "-f", "-", input_object=listed, timeout_s=PATIENCE_S)
    settled = lambda seen: all(each.settled for each in seen.values())  # noqa: E731
    room.wait(settled, "the replicas of every target")
    room.before = {name: each.target for name, each in look(room.api, room.namespace).items()}


def put_servings(room: Room) -> None:
    """Apply a serving for each target."""
    items = [scene(room, each).serving() for each in room.before]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    room.cluster.kubectl("apply", "-f", "-", input_object=listed, timeout_s=PATIENCE_S)


def scene(room: Room, name: str, replicas: int = REPLICAS) -> Scene:
    """What lies on the cluster of a name: nothing asked for that a hollow node lacks."""
    made = small(room.namespace, name, replicas=replicas, max_unavailable=0)
    return replace(made, stand_in={})


def _servings(namespace: str) -> str:
    return f"/apis/ridgeline.dev/v1alpha1/namespaces/{namespace}/speculativeservings"


def _config(namespace: str, setting: Setting) -> dict[str, Any]:
    return {
        "namespaces": [namespace],
        "tickSeconds": 1,
        "rateWindowSeconds": WINDOW_S,
        "relistSeconds": 10,
        "lease": {
            "namespace": namespace,
            "name": "ridgeline",
            "durationSeconds": setting.lease_s,
        },
        "maxConcurrentRolls": 1,
        "maxConcurrentRollsPerPool": 1,
        **setting.config,
    }


@contextlib.contextmanager
def _account(cluster: Cluster, namespace: str, folder: Path, token: Path) -> Iterator[Path]:
    """A service account, its token in a file, and a kubeconfig that names the file."""
    cluster.kubectl("create", "serviceaccount", ACCOUNT, "-n", namespace)
    binding = f"ridgeline-{namespace}"
    who = f"--serviceaccount={namespace}:{ACCOUNT}"
    words = ("clusterrolebinding", binding)
    cluster.kubectl("create", *words, "--clusterrole=cluster-admin", who)
    try:
        token.touch(mode=0o600)
        token.write_text(fresh_token(cluster, namespace))
        config = json.loads(cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"tokenFile": str(token)}
        path = folder / "account.kubeconfig"
        path.write_text(json.dumps(config))
        yield path
    finally:
        with contextlib.suppress(ClusterError):
            cluster.kubectl("delete", *words)


def fresh_token(cluster: Cluster, namespace: str) -> str:
    """A token of the operator's account that nobody had before."""
    words = ("create", "token", ACCOUNT, "-n", namespace, "--duration=2h", "-o", "json")
    told = json.loads(cluster.kubectl(*words))
    return str(told["status"]["token"])


def _believe(kubeconfig: Path, authority: Path | None) -> None:
    if authority is None:
        return
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["certificate-authority"] = str(authority)
    kubeconfig.write_text(json.dumps(config))
