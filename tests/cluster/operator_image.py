"""The operator's image, built from the project's Dockerfile as a person would build it.

The build has no network: wheels of everything that is locked are fetched first, once per lock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.docker_engine import docker_engine
from tests.cluster.errors import ClusterError
from tests.cluster.images import debian_layer
from tests.cluster.locking import build_once
from tests.cluster.paths import REPO, cache_dir, content_key
from tests.cluster.progress import Progress
from tests.cluster.python_packages import IMAGE_PYTHON, pins

OPERATOR_IMAGE = "ridgeline.dev/ridgeline:built-here"

_BASE = "ridgeline.dev/debian-python:dev"
_CONTEXT = (".dockerignore", "Dockerfile", "LICENSE", "README.md", "operator", "pyproject.toml")
_LOCK = "requirements/base.txt"
_BUILDS_WITH = ("hatchling", "editables", "pip")
# Wheels may name any of these, and pip takes only those that it is told.
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_5", "manylinux1")


def build_operator_image(folder: Path, progress: Progress, *, yes: bool = False) -> Path:
    """Build the image and return it as an archive in `folder`, for `Cluster.load_image`.

    Raises:
        ClusterError: something is missing, or the build failed (with the end of its output).
    """
    base, wheels = debian_layer(progress), locked_wheels(progress)
    archive = folder / "operator.tar"
    with (
        tempfile.TemporaryDirectory(prefix="ridgeline-context-") as context,
        docker_engine(progress, yes=yes) as engine,
    ):
        fill_context(Path(context), wheels)
        with progress.step("imported the base image"):
            engine.import_base(base.file, _BASE)
        with progress.step("built the operator's image"):
            engine.build(Path(context), OPERATOR_IMAGE, {"BASE": _BASE})
        engine.save(OPERATOR_IMAGE, archive)
    return archive


def fill_context(context: Path, wheels: Path) -> None:
    """Copy what a clean checkout would send to the engine, and the wheels."""
    for name in _CONTEXT:
        source = REPO / name
        if source.is_dir():
            shutil.copytree(source, context / name)
        else:
            shutil.copy(source, context / name)
    (context / _LOCK).parent.mkdir()
    shutil.copy(REPO / _LOCK, context / _LOCK)
    shutil.copytree(wheels, context / "wheels")


def locked_wheels(progress: Progress) -> Path:
    """A folder with wheels of the lock and of what builds the project.

    Raises:
        ClusterError: they cannot be fetched.
    """
    lock = REPO / _LOCK
    tools = [f"{name}=={version}" for name, version in pins(_BUILDS_WITH).items()]
    key = content_key(lock.read_bytes(), *tools, *_PLATFORMS)

    def fetch(folder: Path) -> None:
        with progress.step("fetched the wheels of the operator's image"):
            _download(folder, "--require-hashes", "--requirement", str(lock))
            _download(folder, "--no-deps", *tools)

    return build_once(cache_dir() / "images" / f"wheels-{key}", fetch, progress)


def _download(folder: Path, *what: str) -> None:
    platforms = [f"--platform={each}_{os.uname().machine}" for each in _PLATFORMS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", f"--python-version={IMAGE_PYTHON}", *platforms]
    command += ["--dest", str(folder), *what]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"fetching wheels failed: {result.stderr.strip()}")
