"""The Docker engine builds, and nothing of it stays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster import packages
from tests.cluster.docker_engine import docker_engine
from tests.cluster.errors import ClusterError
from tests.cluster.images import debian_layer
from tests.cluster.progress import Silent


def _machine() -> tuple[list[str], list[str]]:
    """What engines usually add to a machine: bridges, and chains of the firewall."""
    commands = (["ip", "-br", "link"], ["iptables-save"])
    links, rules = (
        subprocess.run(each, capture_output=True, text=True, check=True).stdout.splitlines()
        for each in commands
    )
    bridges = [line for line in links if line.startswith(("docker", "br-"))]
    return bridges, [line for line in rules if "DOCKER" in line]


@pytest.fixture(autouse=True)
def _allowed() -> None:
    if packages.missing_for_docker():
        pytest.skip("docker.io is not installed; building the operator's image installs it")


def test_it_builds_without_a_network_and_leaves_nothing(tmp_path: Path) -> None:
    before = _machine()
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE\nFROM ${BASE}\nRUN ! getent hosts example.com && echo made > /made\n"
        'USER 65532\nENTRYPOINT ["/bin/cat", "/made"]\n'
    )
    with docker_engine(Silent()) as engine:
        engine.import_base(debian_layer(Silent()).file, "base:1")
        engine.build(tmp_path, "built:1", {"BASE": "base:1"})
        assert engine.docker("run", "--rm", "--network=none", "built:1") == "made\n"
        engine.save("built:1", tmp_path / "image.tar")
        assert engine.process.alive()
        assert engine.folder.exists()
    assert (tmp_path / "image.tar").stat().st_size > 1_000_000
    assert not engine.process.alive()
    assert not engine.folder.exists()
    assert str(engine.folder) not in Path("/proc/self/mounts").read_text()
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(engine.folder) not in running.stdout
    assert _machine() == before


def test_a_build_that_fails_tells_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM nowhere.invalid/base:1\n")
    with docker_engine(Silent()) as engine, pytest.raises(ClusterError, match="docker build"):
        engine.build(tmp_path, "built:1", {})
    assert not engine.process.alive()


def test_missing_packages_are_told_once_each() -> None:
    assert packages.missing_for_docker(lambda _: None) == ["docker.io", "containerd", "runc"]
    assert packages.missing_for_docker(lambda program: program) == []
