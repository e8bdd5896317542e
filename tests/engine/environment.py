"""Where the real engine and its models lie, and how its programs are run."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
LOCK = REPO / "requirements" / "engine.txt"
RELEASES_LOCK = REPO / "requirements" / "engine-releases.txt"
MAKE_MODELS = Path(__file__).with_name("make_models.py")

VERSION = "0.32.0"
"""The release that is pinned in requirements/engine.in."""

OTHER_VERSIONS = ("0.24.0", "0.28.0", "0.33.0")
"""Releases that are asked what they accept as well, and not served: their Python files alone lie
over the environment of `VERSION`, which has what they import."""

ASKED = "RIDGELINE_ENGINE"
"""Set to 1 by `make test-engine`: only then are these tests run."""

SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
"""What lets vLLM run small, on any processor, and without asking anybody."""


def home() -> Path:
    """Return the folder of the environment, the models and what they were made from."""
    return Path(os.environ.get("RIDGELINE_ENGINE_HOME") or REPO / ".cache" / "engine")


def python() -> Path:
    """Return the Python of the engine's environment."""
    return home() / "venv" / "bin" / "python"


def model(name: str) -> str:
    """Return the path of a model that `make_models` made."""
    return str(home() / "models" / name)


def stamp() -> str:
    """Return what an installation of today is made from, as a short text."""
    locks = LOCK.read_bytes() + RELEASES_LOCK.read_bytes()
    made_from = (locks, MAKE_MODELS.read_bytes(), VERSION.encode())
    return hashlib.sha256(b"\0".join(made_from)).hexdigest()[:16]


def stamp_file() -> Path:
    """Return the file that holds the stamp of the installation."""
    return home() / "made-from"


def missing() -> str | None:
    """Return why the real engine cannot be tested here, `None` when it can."""
    if os.environ.get(ASKED) != "1":
        return "the real engine is tested by `make test-engine`"
    made_from = stamp_file()
    if not made_from.exists() or made_from.read_text() != stamp():
        return "the real engine is not installed, or not as it is locked: run `make test-engine`"
    return None


def overlay(version: str) -> Path:
    """Return the folder with the Python files of another release."""
    return home() / "releases" / version


def environment(version: str = VERSION) -> dict[str, str]:
    """Return the environment of the engine's programs, for a release of it."""
    path = {} if version == VERSION else {"PYTHONPATH": str(overlay(version))}
    return {**os.environ, **SETTINGS, **path}
