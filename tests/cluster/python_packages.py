"""Python packages for an image: which versions, and their installation into a folder."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cluster.errors import ClusterError
from tests.cluster.paths import REPO

IMAGE_PYTHON = "3.11"
"""Of Debian bookworm."""

_LOCK = REPO / "requirements" / "base.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", re.MULTILINE)


def pins(names: Iterable[str], lock: Path = _LOCK) -> dict[str, str]:
    """The packages and all that they need, with versions as locked, else as installed here.

    Raises:
        ClusterError: a package is neither locked nor installed.
    """
    locked: dict[str, str] = {}
    if lock.exists():
        locked = {canonicalize_name(n): v for n, v in _PIN.findall(lock.read_text())}
    found: dict[str, str] = {}
    wanted: list[str] = [canonicalize_name(name) for name in names]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError as error:
            raise ClusterError(
                f"the image needs the Python package {name}, which is not installed here; "
                "run `make setup` and use its .venv"
            ) from error
        found[name] = locked.get(name, distribution.version)
        wanted += _needs(distribution.requires or [])
    return dict(sorted(found.items()))


def _needs(requirements: Iterable[str]) -> list[str]:
    environment = {"python_version": IMAGE_PYTHON, "python_full_version": f"{IMAGE_PYTHON}.2"}
    parsed = [Requirement(text) for text in requirements]
    return [
        canonicalize_name(one.name)
        for one in parsed
        if one.marker is None or one.marker.evaluate({**environment, "extra": ""})
    ]


def install(versions: dict[str, str], folder: Path) -> None:
    """Install exactly these versions, built for the image's Python, and compile them.

    Raises:
        ClusterError: the installation failed.
    """
    exact = [f"{name}=={version}" for name, version in versions.items()]
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    installer = [uv, "pip"] if uv else [sys.executable, "-m", "pip"]
    platform = ["--python-platform", "linux"] if uv else ["--platform", "manylinux_2_28_x86_64"]
    command = [*installer, "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", IMAGE_PYTHON, *platform, "--target", str(folder), *exact]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"installing {' '.join(exact)} failed: {result.stderr.strip()}")
    compile_modules(folder)


def compile_modules(folder: Path) -> None:
    """Compile what Python would else compile at every start of a container.

    Only a Python of the image's version can; with another one the image starts slower.
    """
    if f"{sys.version_info.major}.{sys.version_info.minor}" != IMAGE_PYTHON:
        return
    # The image's files carry no true times, so a compiled file must not be checked against one.
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), str(folder)], check=True, capture_output=True)
