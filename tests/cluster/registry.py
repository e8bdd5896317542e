"""Clusters that `up` left running, by name."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster, load_cluster
from tests.cluster.launch import running
from tests.cluster.paths import registry_dir


def remember(name: str, state_dir: Path) -> None:
    """Note where the cluster of this name lives."""
    registry_dir().mkdir(parents=True, exist_ok=True)
    _entry(name).write_text(f"{state_dir}\n")


def recall(name: str) -> Path | None:
    """The state folder of the cluster of this name, running or not."""
    try:
        return Path(_entry(name).read_text().strip())
    except FileNotFoundError:
        return None


def forget(name: str) -> None:
    """Drop the note."""
    _entry(name).unlink(missing_ok=True)


def names() -> list[str]:
    """All names that are remembered."""
    return sorted(entry.stem for entry in registry_dir().glob("*.path"))


def find(name: str) -> Cluster | None:
    """The running cluster of this name."""
    state_dir = recall(name)
    if state_dir is None or running(state_dir) is None:
        return None
    try:
        return load_cluster(state_dir / "cluster.json")
    except FileNotFoundError as error:
        raise ClusterError(f"cluster {name!r} is still coming up in {state_dir}") from error


def _entry(name: str) -> Path:
    return registry_dir() / f"{name}.path"
