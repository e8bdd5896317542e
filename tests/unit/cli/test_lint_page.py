"""The page about lint shows what lint really prints."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.lint_inputs import Lint

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "lint.md").read_text(encoding="utf-8")


def block(kind: str, beginning: str) -> str:
    """Return the block of a kind that begins so, without what it begins with."""
    _, _, rest = PAGE.partition(f"```{kind}\n{beginning}")
    assert rest, beginning
    return rest.partition("```")[0]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    (tmp_path / "deploy").mkdir()
    manifest = "apiVersion: apps/v1\n"
    found = Lint(tmp_path)
    found.file(manifest + block("yaml", manifest), "deploy/coder.yaml")
    monkeypatch.chdir(tmp_path)
    return found


def test_the_text(lint: Lint) -> None:
    assert lint.run("deploy/")[1] == block("console", "$ ridgeline lint deploy/\n")


def test_the_json(lint: Lint) -> None:
    shown = json.loads(block("json", ""))
    assert json.loads(lint.run("deploy/", "-o", "json")[1]) == shown
