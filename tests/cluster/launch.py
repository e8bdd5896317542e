"""Starts and ends clusters of this machine, from outside."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.cluster import images, packages, tools
from tests.cluster.cleaning import remove_leftovers
from tests.cluster.control import ask
from tests.cluster.control_plane import AUDIT_LOG, server_url
from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.handle import Cluster, dump_cluster
from tests.cluster.network import Network, attach, detach
from tests.cluster.paths import REPO, new_state_dir
from tests.cluster.processes import HELD_BACK, ProcessId, children, identify, inner_pids
from tests.cluster.progress import Progress
from tests.cluster.prometheus import free_ports
from tests.cluster.spec import Gpus, Level, Ports, Spec


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller chooses."""

    level: Level = Level.FULL
    nodes: int = 4
    gpus: Gpus = field(default_factory=Gpus)
    scrape_interval_s: float = 5.0
    yes: bool = False
    """Install missing Debian packages without asking."""


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A cluster that ends with `end`, or with this process unless it was told to live on."""

    cluster: Cluster
    supervisor: subprocess.Popen[bytes]

    def keep(self) -> None:
        """Let it live on after this process."""
        assert self.supervisor.stdin is not None
        assert self.supervisor.stdout is not None
        self.supervisor.stdin.write(b"keep\n")
        self.supervisor.stdin.close()
        self.supervisor.stdout.close()
        # It is nobody's child from here on; Python need not warn about it.
        self.supervisor.returncode = 0

    def end(self) -> None:
        """Take it down, with everything it has made."""
        assert self.cluster.state_dir is not None
        take_down(self.cluster.state_dir)
        _close(self.supervisor)


def prepare(options: Options, progress: Progress) -> Spec:
    """Everything that can be had before a process starts: packages, binaries, images.

    The spec that comes back lacks its state folder, ports and network.

    Raises:
        ClusterError: something is missing; the message says what to do.
    """
    packages.require(options.level, progress, yes=options.yes)
    spec = Spec(
        level=options.level,
        state_dir=Path(),
        kubernetes_dir=tools.ensure(tools.KUBERNETES, progress),
        gpus=options.gpus,
        scrape_interval_s=options.scrape_interval_s,
    )
    if options.level is Level.CONTROL_PLANE:
        return spec
    base = images.base_images(progress)
    stand_in = images.stand_in_image(progress)
    return dataclasses.replace(
        spec,
        nodes=options.nodes,
        prometheus_dir=tools.ensure(tools.PROMETHEUS, progress),
        containerd_template=images.containerd_template(base, progress),
        archives=(images.archive(stand_in, without=base),),
    )


def launch(options: Options, progress: Progress) -> Launched:
    """Bring a cluster up; when this fails or is interrupted nothing of it is left.

    Raises:
        ClusterError: it did not come up; the message holds the end of the failing log.
    """
    prepared = prepare(options, progress)
    # Nameless: a supervisor that fails removes the state folder, and this is to outlast it.
    with tempfile.TemporaryFile() as complaints, _later() as interrupts:
        state_dir = new_state_dir()
        process = _start_supervisor(state_dir, options.level, complaints)
        try:
            try:
                interrupts()
                spec = _place(dataclasses.replace(prepared, state_dir=state_dir), process)
                pids = _follow(process, progress)
            except (EOFError, BrokenPipeError) as error:
                complaints.seek(0)
                text = "the cluster's supervisor ended"
                raise ClusterError(with_log_tail(text, complaints.read())) from error
            cluster = _describe(spec, process, pids)
        except BaseException:
            # A second Ctrl-C must not stop the cleaning.
            with _deaf():
                take_down(state_dir)
                _close(process)
            raise
    return Launched(cluster=cluster, supervisor=process)


def _start_supervisor(
    state_dir: Path, level: Level, complaints: IO[bytes]
) -> subprocess.Popen[bytes]:
    own = [sys.executable, "-m", "tests.cluster.supervisor", str(state_dir)]
    if level is Level.FULL:
        # --kill-child: the first process of the namespaces ends with `unshare`, and all with it.
        flags = ["--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc"]
        own = ["unshare", *flags, *own]
    process = subprocess.Popen(
        own,
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        # Ctrl-C is for the process that a person sees; it ends this one in its own way.
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    identity = identify(process.pid)
    if identity is not None:
        (state_dir / "process.json").write_text(json.dumps(dataclasses.asdict(identity)))
    return process


def _place(spec: Spec, process: subprocess.Popen[bytes]) -> Spec:
    """Give the cluster its addresses and ports, and write the spec down."""
    if spec.level is Level.FULL:
        _wait_for_namespace(process, spec.state_dir)
        spec = dataclasses.replace(spec, slot=attach(process.pid).slot)
        (spec.state_dir / "slot").write_text(str(spec.slot))
    else:
        etcd, etcd_peer, api = free_ports(3)
        spec = dataclasses.replace(spec, ports=Ports(etcd=etcd, etcd_peer=etcd_peer, api=api))
    (spec.state_dir / "spec.json").write_text(spec.dump())
    return spec


def _wait_for_namespace(process: subprocess.Popen[bytes], state_dir: Path) -> None:
    # The supervisor makes this folder first thing, inside its namespaces.
    while not (state_dir / "logs").exists():
        if process.poll() is not None:
            raise EOFError
        time.sleep(0.02)


def _follow(process: subprocess.Popen[bytes], progress: Progress) -> dict[str, int]:
    """Tell the supervisor to go, and relay what it says until the cluster is ready."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()
    for line in process.stdout:
        message = json.loads(line)
        if message["event"] == "progress":
            progress.say(message["text"])
        elif message["event"] == "error":
            raise ClusterError(f"the cluster did not come up: {message['text']}")
        else:
            return dict(message["pids"])
    raise EOFError


def _describe(spec: Spec, process: subprocess.Popen[bytes], pids: dict[str, int]) -> Cluster:
    full = spec.level is Level.FULL
    outside = inner_pids(children(process.pid)[0]) if full else {pid: pid for pid in pids.values()}
    found = {name: identify(outside[pid]) for name, pid in pids.items() if pid in outside}
    cluster = Cluster(
        level=spec.level,
        kubeconfig=spec.state_dir / "kubeconfig",
        api_server=server_url(spec),
        kubectl_path=spec.binary("kubectl"),
        prometheus_url=f"http://{spec.host}:{spec.ports.prometheus}" if full else None,
        nodes=spec.node_names,
        state_dir=spec.state_dir,
        audit_log=spec.state_dir / AUDIT_LOG,
        pids={name: identity for name, identity in found.items() if identity is not None},
    )
    (spec.state_dir / "cluster.json").write_text(dump_cluster(cluster))
    return cluster


def running(state_dir: Path) -> ProcessId | None:
    """The outermost process of the cluster in that folder, if it runs."""
    try:
        identity = ProcessId(**json.loads((state_dir / "process.json").read_text()))
    except FileNotFoundError:
        return None
    return identity if identity.alive() else None


def take_down(state_dir: Path) -> None:
    """End the cluster in that folder and remove all traces; nothing happens when there is none.

    Only processes that this package started are touched, known by pid and start time.
    """
    slot_file = state_dir / "slot"
    slot = int(slot_file.read_text()) if slot_file.exists() else None
    process = running(state_dir)
    if process is not None:
        _shut_down(state_dir, process)
    if slot is not None:
        detach(Network(slot=slot))
    remove_leftovers(state_dir)


def _shut_down(state_dir: Path, process: ProcessId) -> None:
    try:
        ask(state_dir / "control.sock", "shutdown", timeout_s=5)
    except ClusterError:
        # Not yet ready: the supervisor, not the `unshare` around it, knows how to end.
        for pid in (process.pid, *children(process.pid)):
            if (inner := identify(pid)) is not None and _is_supervisor(pid, state_dir):
                inner.kill(signal.SIGTERM)
    if not process.wait_gone(timeout_s=15):
        process.kill(signal.SIGKILL)
        process.wait_gone(timeout_s=10)


def _is_supervisor(pid: int, state_dir: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return command[0] != b"unshare" and str(state_dir).encode() in command


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    process.wait()


@contextlib.contextmanager
def _later() -> Iterator[Callable[[], None]]:
    """Hold SIGINT and SIGTERM back until the yielded function is called, at the latest to the end.

    A process that was started is known before an interrupt can make one forget it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        yield lambda: _unmask(before)
    finally:
        _unmask(before)


def _unmask(before: set[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM meanwhile (only a main thread can)."""
    try:
        before = {number: signal.signal(number, signal.SIG_IGN) for number in HELD_BACK}
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
