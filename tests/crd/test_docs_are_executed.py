"""Every command and every manifest of README, tutorial and how-to pages is executed, or listed.

A new one fails here until it works as it is written, another test is named that executes it, or
`docs_told` says what it needs that no test has.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.settings.config import parse_config
from tests.chart.rendering import Chart
from tests.crd.docs_shown import (
    REPOSITORY,
    Command,
    Manifest,
    commands,
    commands_of,
    manifests,
    manifests_of,
)
from tests.crd.docs_stage import applied, furnish, run, serving, stock, surroundings, typed
from tests.crd.docs_told import (
    COMMANDS_ELSEWHERE,
    COMMANDS_EXEMPT,
    MANIFESTS_ELSEWHERE,
    MANIFESTS_EXEMPT,
    Elsewhere,
    Exempt,
)
from tests.crd.kube import Kubectl

pytestmark = pytest.mark.timeout(900)

COMMANDS: Final = commands()
MANIFESTS: Final = manifests()
TOLD: Final = (*COMMANDS_ELSEWHERE, *COMMANDS_EXEMPT)
TOLD_MANIFESTS: Final = (*MANIFESTS_ELSEWHERE, *MANIFESTS_EXEMPT)

FINDS: Final = ("ridgeline lint",)
"""Commands that end with 1 when they find something, which is no failure of theirs."""

BY_ANOTHER_WAY: Final = "last-applied-configuration"
"""In the warning about objects that this test's set-up applied on the server's side."""

FIELDS: Final = frozenset(
    field.alias or name for name, field in SpeculativeServingSpec.model_fields.items()
)
OF_A_DEPLOYMENT: Final = frozenset({"template", "strategy", "progressDeadlineSeconds", "replicas"})


def _told(each: Command, lists: Sequence[Elsewhere | Exempt]) -> bool:
    return any(one.covers(each.page, each.text) for one in lists)


HERE: Final = [each for each in COMMANDS if not _told(each, TOLD)]
PAGES: Final = sorted({each.page for each in HERE})
MANIFESTS_HERE: Final = [
    each
    for each in MANIFESTS
    if not any(one.covers(each.page, each.title) for one in TOLD_MANIFESTS)
]


@pytest.fixture(scope="module")
def stocked(server: Kubectl) -> Kubectl:
    """The server with the objects that pages speak of."""
    stock(server)
    return server


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_their_order(
    page: str, server: Kubectl, helm_binary: Path, tmp_path: Path
) -> None:
    stock(server)
    furnish(tmp_path, page, [each for each in MANIFESTS if each.page == page])
    environment = surroundings(server, tmp_path, helm_binary)
    failed = []
    for each in HERE:
        if each.page != page:
            continue
        text = typed(each.text)
        ran = run(text, tmp_path, environment)
        if text.startswith("kubectl delete sps"):
            stock(server)
        fine = {0, 1} if text.startswith(FINDS) or "| ridgeline lint" in text else {0}
        warned = "Warning:" in ran.err and BY_ANOTHER_WAY not in ran.err
        if ran.code not in fine or "Traceback" in ran.err or warned:
            failed.append(f"{text}\n  ended with {ran.code}: {(ran.err or ran.out).strip()[-600:]}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    "each", MANIFESTS_HERE, ids=lambda each: f"{each.page}-{each.place}-{each.title[:30]}"
)
def test_a_manifest_is_taken_as_it_stands(
    each: Manifest, stocked: Kubectl, helm_binary: Path, tmp_path: Path
) -> None:
    server = stocked
    body = each.body
    assert isinstance(body, dict), f"a {type(body).__name__} is nothing that can be applied"
    if str(body.get("apiVersion", "")).startswith("kustomize.config.k8s.io/"):
        _builds(body, server, tmp_path)
    elif "apiVersion" in body:
        _rehearsed(server, body)
    elif isinstance(body.get("telemetry"), list) and "image" not in body:
        parse_config(body)
    elif set(body) == {"spec"} and set(body["spec"]) <= FIELDS:
        _rehearsed(server, _with(serving("llama-3-8b"), body["spec"]))
    elif set(body) == {"spec"} and set(body["spec"]) & OF_A_DEPLOYMENT:
        patch = json.dumps(body)
        how = ("--type=strategic", "--dry-run=server", f"--patch={patch}")
        room = replace(server, namespace="inference")
        answer = room.run("patch", "deployment", "llama-3-8b", *how)
        assert (answer.code, answer.err) == (0, "")
    elif set(body) <= FIELDS and not isinstance(body.get("telemetry"), dict):
        _rehearsed(server, _with(serving("llama-3-8b"), body))
    else:
        assert Chart(helm=helm_binary).render(values=body)


def _with(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    return {**whole, "spec": {**whole["spec"], **part}}


def _rehearsed(server: Kubectl, body: dict[str, Any]) -> None:
    # What stands here under its name has other owners, and fields that cannot be changed.
    named = {**body, "metadata": {**body["metadata"], "name": f"shown-{body['metadata']['name']}"}}
    answer = applied(server, named, "--dry-run=server")
    assert (answer.code, answer.err) == (0, "")
    if body["kind"] == "AcceleratorProfile":
        parse_accelerator(body, strict=True)


def _builds(body: dict[str, Any], server: Kubectl, folder: Path) -> None:
    overlay = folder / "overlays" / "mine"
    overlay.mkdir(parents=True)
    base = folder / "base"
    copied = subprocess.run(
        ["cp", "-r", str(REPOSITORY / "deploy" / "kustomize" / "base"), str(base)], check=False
    )
    assert copied.returncode == 0
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(body))
    assert "kind: ValidatingAdmissionPolicy" in server.ok("kustomize", str(overlay))


def test_what_is_listed_is_still_shown() -> None:
    stale = [
        one for one in TOLD if not any(one.covers(each.page, each.text) for each in COMMANDS)
    ] + [
        one
        for one in TOLD_MANIFESTS
        if not any(one.covers(each.page, each.title) for each in MANIFESTS)
    ]
    assert stale == []


@pytest.mark.parametrize(
    "one", [*COMMANDS_ELSEWHERE, *MANIFESTS_ELSEWHERE], ids=lambda one: f"{one.page} {one.what}"
)
def test_the_other_tests_exist(one: Elsewhere) -> None:
    assert (REPOSITORY / one.test).is_file()


def test_most_is_executed_here() -> None:
    exempt = [each for each in COMMANDS if _told(each, COMMANDS_EXEMPT)]
    assert len(HERE) > 50
    assert len(exempt) < len(COMMANDS) / 3
    assert len(MANIFESTS_HERE) > 30


def test_commands_are_told_from_their_output() -> None:
    shown = "```console\n$ one \\\n    --two\nits output\n$ three\n```\n\n```sh\nfour\n```\n"
    assert list(commands_of(shown)) == ["one --two", "three", "four"]
    listed = "1. so:\n\n   ```console\n   $ five\n   ```\n"
    assert list(commands_of(listed)) == ["five"]


def test_a_manifest_has_the_name_of_its_file() -> None:
    shown = "`a.yaml`:\n\n```yaml\nx: 1\n---\ny: 2\n```\n\nand\n\n```yaml\nz: 3\n```\n"
    found = [(each.name, each.title) for each in manifests_of("page", shown)]
    assert found == [
        ("a.yaml", "x"),
        ("a.yaml", "y"),
        ("", "z"),
    ]
