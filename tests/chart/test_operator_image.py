"""The image that the Dockerfile makes: what starts, as whom, and what is not in it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline import __version__
from tests.chart.rendering import Object, container_of, pod_of
from tests.cluster.paths import REPO

pytestmark = pytest.mark.timeout(900)

HOME = "opt/ridgeline"


@pytest.fixture(scope="module")
def config(operator_image: Path) -> dict[str, Any]:
    """The image's configuration."""
    with tarfile.open(operator_image) as archive:
        (manifest,) = json.loads(_content(archive, "manifest.json"))
        found: dict[str, Any] = json.loads(_content(archive, manifest["Config"]))
    settings: dict[str, Any] = found["config"]
    return settings


@pytest.fixture(scope="module")
def files(operator_image: Path) -> dict[str, tarfile.TarInfo]:
    """What the build added to the base, by path."""
    found = {}
    with tarfile.open(operator_image) as archive:
        (manifest,) = json.loads(_content(archive, "manifest.json"))
        for name in manifest["Layers"][1:]:
            layer = archive.extractfile(name)
            assert layer is not None
            with tarfile.open(fileobj=layer) as content:
                found.update({each.name.rstrip("/"): each for each in content})
    return found


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None
    return member.read()


def test_it_starts_the_operator_without_a_shell_as_a_user_with_a_number(
    config: dict[str, Any],
) -> None:
    assert config["Entrypoint"] == ["ridgeline"]
    assert config["Cmd"] == ["run"]
    user, _, group = config["User"].partition(":")
    assert user.isdigit()
    assert group.isdigit()
    assert "/opt/ridgeline/bin:" in next(each for each in config["Env"] if each.startswith("PATH="))


def test_the_chart_starts_it_as_the_same_user(
    config: dict[str, Any], defaults: list[Object]
) -> None:
    security = pod_of(defaults)["spec"]["securityContext"]
    assert config["User"] == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert container_of(defaults)["args"][:1] == config["Cmd"]
    assert "command" not in container_of(defaults)


def test_it_says_what_it_is(config: dict[str, Any]) -> None:
    labels = config["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_it_holds_the_operator_and_not_what_built_it(files: dict[str, tarfile.TarInfo]) -> None:
    assert f"{HOME}/bin/ridgeline" in files
    assert all(name in ("opt", HOME) or name.startswith(f"{HOME}/") for name in files)
    packages = {
        name.split("/site-packages/")[1].split("/")[0]
        for name in files
        if "/site-packages/" in name
    }
    assert f"ridgeline-{__version__}.dist-info" in packages
    assert not {"pip", "hatchling", "pytest"} & packages
    assert not [name for name in files if name.endswith(".whl")]


def test_it_holds_exactly_what_is_locked(files: dict[str, tarfile.TarInfo]) -> None:
    lock = (REPO / "requirements" / "base.txt").read_text().splitlines()
    locked = {
        line.split("==")[0].lower(): line.split("==")[1].split()[0]
        for line in lock
        if line[:1].isalnum()
    }
    installed = {}
    for name in files:
        if name.endswith(".dist-info"):
            package, version = name.rpartition("/")[2].removesuffix(".dist-info").rsplit("-", 1)
            installed[package.lower().replace("_", "-").replace(".", "-")] = version
    del installed["ridgeline"]
    assert installed
    assert installed.items() <= locked.items()


def test_nobody_but_root_could_change_it_and_nothing_is_left_to_compile(
    files: dict[str, tarfile.TarInfo],
) -> None:
    for each in files.values():
        assert each.uid == 0
        assert each.issym() or not each.mode & 0o002, each.name
    modules = [
        name for name in files if "/site-packages/ridgeline/" in name and name.endswith(".py")
    ]
    assert modules
    for name in modules:
        folder, _, module = name.rpartition("/")
        assert any(
            each.startswith(f"{folder}/__pycache__/{module.removesuffix('.py')}.cpython-")
            for each in files
        ), name


def test_data_files_are_in_it(files: dict[str, tarfile.TarInfo]) -> None:
    room = REPO / "operator"
    data = [
        path.relative_to(room).as_posix()
        for path in room.rglob("data/*")
        if path.is_file() and path.suffix in {".json", ".yaml", ".csv"}
    ]
    assert data
    for name in data:
        assert any(each.endswith(f"/site-packages/{name}") for each in files), name


def test_the_build_gets_nothing_but_what_it_copies() -> None:
    ignored = (REPO / ".dockerignore").read_text().split("\n")
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {
        word.replace("[s]", "s")
        for line in (REPO / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert copied == allowed


def test_the_locks_of_image_and_project_are_one() -> None:
    lines = [line for line in (REPO / "Dockerfile").read_text().splitlines() if "install" in line]
    assert any("--require-hashes" in line and "base.txt" in line for line in lines)
    about = yaml.safe_load((REPO / "charts" / "ridgeline" / "Chart.yaml").read_text())
    assert f"ARG VERSION={about['appVersion']}" in (REPO / "Dockerfile").read_text()
