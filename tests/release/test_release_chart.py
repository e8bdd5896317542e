"""The chart of a release pulls the image that was built with it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cluster.paths import REPO

DIGEST = "sha256:" + "ab" * 32


def package(helm: Path, folder: Path, digest: str) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "tests.tools.release_chart", "--helm", str(helm)),
        *("--registry", "ghcr.io/somebody", "--digest", digest, "--out", str(folder)),
    ]
    return subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)


def test_it_names_the_image_by_its_digest(helm_binary: Path, tmp_path: Path) -> None:
    assert package(helm_binary, tmp_path, DIGEST).returncode == 0
    (packed,) = tmp_path.glob("ridgeline-*.tgz")
    rendered = subprocess.run(
        [str(helm_binary), "template", "r", str(packed), "--skip-tests"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert set(re.findall(r"image: (\S+)", rendered)) == {f"ghcr.io/somebody/ridgeline@{DIGEST}"}
    # The chart of the repository is as it was.
    own = yaml.safe_load((REPO / "charts/ridgeline/values.yaml").read_text())["image"]
    assert own["registry"] == "ridgeline.dev"
    assert own["digest"] == ""


@pytest.mark.parametrize("digest", ["", "latest", "sha256:ab", DIGEST + "0"])
def test_no_digest_no_package(helm_binary: Path, tmp_path: Path, digest: str) -> None:
    done = package(helm_binary, tmp_path, digest)
    assert done.returncode == 1
    assert "is no digest" in done.stderr
    assert list(tmp_path.iterdir()) == []
