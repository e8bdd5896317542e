"""What a cluster leaves on the machine after its processes ended, and its removal.

Mounts, network devices, routes and firewall rules belong to namespaces that end with the
processes. Control groups and the state folder do not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def remove_leftovers(state_dir: Path) -> None:
    """Remove the control groups and the state folder; safe to call again."""
    for group in cgroups_of(state_dir):
        _remove_cgroup(group)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(state_dir)


def cgroups_of(state_dir: Path) -> list[Path]:
    """The control groups made for this cluster's containers, one per hierarchy of cgroup v1."""
    found = [_CGROUPS / state_dir.name, *_CGROUPS.glob(f"*/{state_dir.name}")]
    return sorted({path.resolve() for path in found if path.is_dir()})


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
