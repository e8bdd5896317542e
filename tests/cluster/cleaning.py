"""What a cluster leaves on the machine after its processes ended, and its removal.

Mounts, network devices, routes and firewall rules belong to namespaces that end with the
processes. Control groups and the state folder do not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_PARENT = "k8s.io"


def remove_leftovers(state_dir: Path) -> None:
    """Remove the control groups and the state folder; safe to call again."""
    groups = cgroups_of(state_dir)
    for group in groups:
        _remove_cgroup(group)
    for parent in {group.parent for group in groups}:
        # Still full when another cluster has containers.
        with contextlib.suppress(OSError):
            parent.rmdir()
    # Only the supervisor sees mounts here: with a cluster's mount namespace they are gone. What is
    # mounted is shared with other clusters, so a mount that stays stops the removal.
    mounted = mounts_under(state_dir, Path("/proc/self/mounts").read_text())
    for point in mounted:
        subprocess.run(["umount", "--lazy", point], check=True, capture_output=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(state_dir)


def cgroups_of(state_dir: Path, cgroups: Path = _CGROUPS) -> list[Path]:
    """The control groups of the cluster's containers, in every hierarchy.

    containerd keeps a folder per container in its state folder and a group of the same name.
    """
    tasks = state_dir.glob("node-*/containerd/state/io.containerd.runtime.v2.task/k8s.io/*")
    found = []
    for task in tasks:
        found += [cgroups / _PARENT / task.name, *cgroups.glob(f"*/{_PARENT}/{task.name}")]
    return sorted(path for path in found if path.is_dir())


def mounts_under(folder: Path, mounts: str) -> list[str]:
    """Mount points at or below the folder, deepest first; `mounts` is the text of /proc/mounts."""
    points = (line.split()[1].encode().decode("unicode_escape") for line in mounts.splitlines())
    below = {point for point in points if Path(point).is_relative_to(folder)}
    return sorted(below, key=lambda point: (-point.count("/"), point))


def _remove_cgroup(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        _rmdir(Path(folder))


def _rmdir(folder: Path) -> None:
    # A group is busy for a moment after its last process was killed.
    end = time.monotonic() + 5
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                return
            time.sleep(0.02)
        else:
            return
