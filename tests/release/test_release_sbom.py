"""The list of what the operator runs on, and what reads the workflows: the locked tools."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.cluster.paths import REPO

LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)


def make(target: str) -> str:
    """Run a make target and return what it prints."""
    done = subprocess.run(
        ["make", target], cwd=REPO, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    """The list."""
    make("sbom")
    found: dict[str, Any] = json.loads((REPO / "dist" / "ridgeline.cdx.json").read_text())
    return found


def locked(path: Path) -> set[tuple[str, str]]:
    """Names and versions of a lock file."""
    found = LOCKED.finditer(path.read_text())
    return {(canonicalize_name(each["name"]), each["version"]) for each in found}


@pytest.mark.timeout(600)
def test_it_lists_all_that_is_locked_and_nothing_else(listed: dict[str, Any]) -> None:
    parts = {(canonicalize_name(each["name"]), each["version"]) for each in listed["components"]}
    assert parts == locked(REPO / "requirements" / "base.txt")
    assert ("kopf", dict(parts)["kopf"]) in parts
    assert listed["bomFormat"] == "CycloneDX"
    about = listed["metadata"]["component"]
    assert (about["name"], about["type"]) == ("ridgeline", "application")


def test_every_part_is_told_with_its_hashes_and_its_address(listed: dict[str, Any]) -> None:
    for each in listed["components"]:
        assert each["purl"].startswith("pkg:pypi/"), each["name"]
        (source,) = each["externalReferences"]
        assert source["hashes"]
        assert {one["alg"] for one in source["hashes"]} == {"SHA-256"}


def test_it_is_the_same_each_time(listed: dict[str, Any]) -> None:
    before = (REPO / "dist" / "ridgeline.cdx.json").read_bytes()
    make("sbom")
    assert (REPO / "dist" / "ridgeline.cdx.json").read_bytes() == before


@pytest.mark.timeout(600)
def test_the_workflows_hold_nothing_that_can_be_abused() -> None:
    make("lint-workflows")


def test_tools_of_a_release_are_locked_by_their_hashes() -> None:
    text = (REPO / "requirements" / "release.txt").read_text()
    assert {"cyclonedx-bom", "pip-audit", "zizmor"} <= {
        name for name, _ in locked(REPO / "requirements" / "release.txt")
    }
    assert text.count("--hash=sha256:") >= text.count("==")
    assert "://" not in text
