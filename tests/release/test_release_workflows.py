"""The workflows of CI and of a release: pinned, with few rights, and made of what is here."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.cluster.paths import REPO

FOLDER = REPO / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yaml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
BY_FILE = pytest.mark.parametrize("name", [each.name for each in FILES])


def text_of(name: str) -> str:
    return (FOLDER / name).read_text()


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(text_of(name))
    return found


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def test_there_are_both() -> None:
    assert [each.name for each in FILES] == ["ci.yaml", "release.yaml"]


@BY_FILE
def test_every_action_is_pinned_by_its_commit_and_says_its_version(name: str) -> None:
    used = re.findall(r"uses:\s*(.+)", text_of(name))
    assert used
    assert [each for each in used if not PINNED.fullmatch(each)] == []


@BY_FILE
def test_a_job_has_no_right_that_it_does_not_name(name: str) -> None:
    assert workflow(name)["permissions"] in ({}, {"contents": "read"})
    given = {key for job in workflow(name)["jobs"].values() for key in job.get("permissions") or {}}
    assert given <= {"contents", "packages", "id-token"}


@BY_FILE
def test_nothing_from_outside_becomes_part_of_a_command(name: str) -> None:
    """An expression in a script is text before it is a shell's word."""
    assert [each["run"] for each in steps(name) if "${{" in each.get("run", "")] == []


@BY_FILE
def test_no_step_is_left_with_a_token_in_its_checkout(name: str) -> None:
    for each in steps(name):
        if each.get("uses", "").startswith("actions/checkout@"):
            assert each["with"]["persist-credentials"] is False


@BY_FILE
def test_make_targets_and_files_that_are_used_exist(name: str) -> None:
    made = "".join((REPO / each).read_text() for each in ("Makefile",))
    for each in steps(name):
        for target in re.findall(r"\bmake ([a-z-]+)", each.get("run", "")):
            assert re.search(rf"^{target}:", made, re.MULTILINE), target
        for path in re.findall(r"(?<![\w./])(\.ci/\S+|tests/\S+)", each.get("run", "")):
            assert (REPO / path).exists(), path


def test_tools_from_go_are_of_a_named_version() -> None:
    told = re.findall(r"go install (\S+)", text_of("release.yaml"))
    assert told
    assert all(re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", each) for each in told)


def test_everything_that_is_published_is_signed() -> None:
    signed = "".join(
        each.get("run", "") for each in steps("release.yaml") if each.get("name") == "Sign"
    )
    assert 'cosign sign --yes "$REGISTRY/ridgeline@$IMAGE_DIGEST"' in signed
    assert 'cosign sign --yes "$REGISTRY/charts/ridgeline@$CHART_DIGEST"' in signed
    assert "cosign attest --yes --type cyclonedx" in signed
    for each in ("*.whl", "*.tar.gz", "*.tgz", "ridgeline.cdx.json"):
        assert f"dist/{each}" in signed
    # Signed by digest: a tag may name something else by then.
    assert not re.search(r"cosign sign [^\n]*:\$VERSION", signed)


def test_the_image_tells_how_it_was_made() -> None:
    run = next(each["run"] for each in steps("release.yaml") if each.get("name") == "Image")
    assert "--provenance=mode=max" in run
    dockerfile = (REPO / "Dockerfile").read_text()
    for argument in re.findall(r"--build-arg (\w+)=", run):
        assert re.search(rf"^ARG {argument}\b", dockerfile, re.MULTILINE), argument
