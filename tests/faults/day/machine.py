"""What a machine can lack: rooms for an operator on a small disk, behind a way that can be dug up.

They need root, as the control plane itself does not. Where that cannot be had the fault is not
played, and the table says so.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.cluster.handle import Cluster
from tests.faults.day.hollow import HollowNode
from tests.faults.day.names import ZONE, NameServer
from tests.faults.day.room import Room, Setting, opened

NAMES_ADDRESS: Final = "127.0.53.77"
"""Loopback, and no name server of a machine listens there."""

_HERE, _THERE = "10.213.77.1", "10.213.77.2"
_INNER: Final = "inner0"


class NotPossibleError(RuntimeError):
    """This machine does not let a fault be made; the text says why."""


def run(*words: str) -> str:
    """Run a command of the machine and return what it says.

    Raises:
        NotPossibleError: It is not there, or refuses.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError as error:
        raise NotPossibleError(f"{words[0]} is not installed") from error
    if done.returncode != 0:
        raise NotPossibleError(f"`{' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def small_disk(cluster: Cluster, node: HollowNode) -> Iterator[Room]:
    """A room whose operator has 1 MiB for temporary files and for what it records."""
    with tempfile.TemporaryDirectory(prefix="ridgeline-disk-") as folder:
        run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder)
        try:
            setting = Setting(
                environment=(("TMPDIR", folder),),
                config={"record": {"directory": f"{folder}/records", "maxMiB": 1}},
            )
            with opened(cluster, node, setting) as room:
                yield room
        finally:
            run("umount", "-l", folder)


def disk_of(room: Room) -> Path:
    """The folder that `small_disk` made."""
    return Path(dict(room.setting.environment)["TMPDIR"])


def fill(folder: Path) -> Path:
    """Fill a disk to the last byte, and return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return filler


@contextlib.contextmanager
def own_names(cluster: Cluster, node: HollowNode) -> Iterator[Room]:
    """A room whose operator asks a name server of its own for the API server and Prometheus.

    A mount namespace gives it another /etc/resolv.conf.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ridgeline-names-")))
        server = stack.enter_context(NameServer(NAMES_ADDRESS))
        resolver = folder / "resolv.conf"
        resolver.write_text(f"nameserver {NAMES_ADDRESS}\noptions timeout:2 attempts:2\n")
        steps = f'mount --bind {resolver} /etc/resolv.conf && exec "$@"'
        setting = Setting(
            prefix=("unshare", "--mount", "sh", "-c", steps, "sh"),
            api_name=f"api.{ZONE}",
            numbers_name=f"prometheus.{ZONE}",
        )
        run("unshare", "--mount", "sh", "-c", f"mount --bind {resolver} /etc/resolv.conf")
        with opened(cluster, node, setting) as room:
            NAME_SERVERS[room.namespace] = server
            yield room


NAME_SERVERS: Final[dict[str, NameServer]] = {}
"""The name server of each room that has one, by its namespace."""


@contextlib.contextmanager
def own_network(cluster: Cluster, node: HollowNode) -> Iterator[Room]:
    """A room whose operator lives in a network namespace, at the end of a cable (veth)."""
    cable = cable_of(os.getpid())
    name = f"ridgeline-{cable}"
    with contextlib.ExitStack() as stack:
        run("ip", "netns", "add", name)
        stack.callback(run, "ip", "netns", "delete", name)
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", _INNER, "netns", name)
        run("ip", "address", "add", f"{_HERE}/30", "dev", cable)
        run("ip", "link", "set", cable, "up")
        inside = ("ip", "-n", name)
        run(*inside, "address", "add", f"{_THERE}/30", "dev", _INNER)
        for each in ("lo", _INNER):
            run(*inside, "link", "set", each, "up")
        setting = Setting(prefix=("ip", "netns", "exec", name), listen=_HERE)
        yield stack.enter_context(opened(cluster, node, setting))


def cable_of(pid: int) -> str:
    """Name of the cable's end outside, for a process that plays faults."""
    return f"day{pid}"


@contextlib.contextmanager
def black_hole(pid: int) -> Iterator[None]:
    """Let everything that goes over the cable vanish: nobody is told that a connection ended."""
    cable = cable_of(pid)
    rule = ("-i", cable, "-j", "DROP")
    out = ("-o", cable, "-j", "DROP")
    run("iptables", "-I", "INPUT", *rule)
    run("iptables", "-I", "OUTPUT", *out)
    try:
        yield
    finally:
        run("iptables", "-D", "INPUT", *rule)
        run("iptables", "-D", "OUTPUT", *out)


@contextlib.contextmanager
def memory_limited(pid: int) -> Iterator[str]:
    """Give a process not a page more than it has, by a control group: the kernel kills it.

    Yields:
        Which version of control groups did it.

    Raises:
        NotPossibleError: There is no memory controller that can be used here.
    """
    root = Path("/sys/fs/cgroup")
    first = (root / "memory").is_dir()
    group = (root / "memory" if first else root) / f"ridgeline-day-{pid}"
    limit = "memory.limit_in_bytes" if first else "memory.max"
    usage = "memory.usage_in_bytes" if first else "memory.current"
    try:
        group.mkdir()
    except OSError as error:
        raise NotPossibleError(f"no control group can be made: {error.strerror}") from error
    try:
        if not (group / limit).exists():
            raise NotPossibleError("control groups have no memory controller here")
        (group / "cgroup.procs").write_text(str(pid))
        # What it took before it came here counts elsewhere, so the group begins nearly empty.
        (group / limit).write_text(str(int((group / usage).read_text()) + 64 * 1024))
        yield "v1" if first else "v2"
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()
