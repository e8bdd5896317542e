"""The commands of the page about `ridgeline cutoff` run, and print what the page shows."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ridgeline.cli.main import app
from tests.unit.render.test_cutoff_report import KEYS

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "cutoffs.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(
    r"`(?P<name>\w+\.yaml)`:\n\n```yaml\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


def commands() -> list[list[str]]:
    """The words of each `ridgeline cutoff` that the page types."""
    found = []
    for block in FENCE.finditer(PAGE):
        if block["language"] == "console":
            for line in block["body"].replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "))
                if words[:2] == ["ridgeline", "cutoff"]:
                    found.append(words[1:])
    return found


def shown() -> list[str]:
    return [each["body"] for each in FENCE.finditer(PAGE) if each["language"] == "text"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, as the current one."""
    files = list(FILE.finditer(PAGE))
    assert {each["name"] for each in files} == {"serving.yaml", "deployment.yaml"}
    for each in files:
        (tmp_path / each["name"]).write_text(each["body"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: list[str]) -> Result:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("index", [0, 1])
def test_what_is_shown_is_what_is_printed(folder: Path, index: int) -> None:
    printed = [line.rstrip() for line in run(commands()[index]).output.splitlines()]
    wanted = shown()[index].splitlines()
    assert len(wanted) > 5
    missing = [line for line in wanted if line and line not in printed]
    assert missing == [], "\n".join(printed)


def test_the_picture_is_drawn_and_the_object_printed(folder: Path) -> None:
    _, _, plot, as_json = commands()
    run(plot)
    assert "<svg" in (folder / "cutoff.html").read_text()
    assert json.loads(run(as_json).stdout)["ranges"]


def test_every_key_of_the_object_is_told() -> None:
    table = PAGE.partition("`--json` prints one object")[2]
    told = set(re.findall(r"`(?:[\w.]+\.)?(\w+)(?:\[\])?`", table))
    for keys in KEYS.values():
        assert set(keys.split()) <= told
