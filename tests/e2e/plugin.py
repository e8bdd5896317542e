"""`kubectl ridgeline …`, run by the script that kubectl would find, and its tables read back."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.scene.placed import Placed


def ridgeline(scene: Placed, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a command about the scene's serving."""
    script = Path(sys.executable).with_name("kubectl-ridgeline")
    return subprocess.run(
        [script, command, scene.scene.name, "-n", scene.scene.namespace, *options],
        env=scene.cluster.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def explained(scene: Placed, *options: str) -> str:
    """What `explain` says of the scene's serving."""
    told = ridgeline(scene, "explain", *options)
    assert told.returncode == 0, told.stderr
    return told.stdout


def rows(page: str, title: str) -> list[tuple[str, ...]]:
    """The rows of a table on a page, without its head: cells that stand at least two blanks apart.

    Lines that continue a folded cell are left out.
    """
    lines = page.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(title)) + 2
    found = []
    for line in lines[start:]:
        if not line.strip():
            break
        if not line.startswith(" "):
            found.append(tuple(re.split(r"\s{2,}", line.rstrip())))
    return found
