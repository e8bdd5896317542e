"""The page about `ridgeline advise`: its commands run, print what it shows, draw its pictures."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.api.serving import parse_serving
from ridgeline.cli.advise_inputs import Typed, inputs_of
from ridgeline.cli.advise_question import AdviseInputs
from ridgeline.cli.main import app
from tests.tools.advise_pictures import CHARTS, TYPED, main
from tests.tools.picture_check import alike
from tests.tools.pictures import FOLDER

PAGE = (FOLDER.parent / "how-to" / "advise.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The words of each command of ridgeline that the page types."""
    found = []
    for block in FENCE.finditer(PAGE):
        if block["language"] == "console":
            for line in block["body"].replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "))
                if words[0] == "ridgeline":
                    found.append(words[1:])
    return found


def blocks(language: str) -> list[str]:
    return [each["body"] for each in FENCE.finditer(PAGE) if each["language"] == language]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (config,) = blocks("json")
    (tmp_path / "config.json").write_text(config)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: list[str]) -> Result:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result


def test_what_is_shown_is_what_is_printed(folder: Path) -> None:
    # Lines are folded where the output is narrow, and cells are as wide as their column.
    printed = " ".join(run(commands()[0]).stdout.split())
    lines = [line for block in blocks("text") for line in block.splitlines() if line]
    assert len(lines) > 10
    for line in lines:
        assert " ".join(line.split()) in printed, line
    assert "<svg" in (folder / "advice.html").read_text()


def test_every_other_command_runs(folder: Path) -> None:
    _, config, describe, as_yaml, as_json, wide = commands()
    run(config)
    (stanza,) = blocks("yaml")
    assert yaml.safe_load(run(describe).stdout) == yaml.safe_load(stanza)
    serving = parse_serving(yaml.safe_load(run(as_yaml).stdout), strict=True)
    assert serving.spec.target_ref.name == "my-deployment"
    assert serving.spec.profiles[0].schedule
    json.loads(run(as_json).stdout)
    run(wide)
    assert (folder / "advice.png").read_bytes().startswith(b"\x89PNG")


def keys(value: Any) -> set[str]:
    """Every key of an object, at any depth, but those of the cut-offs, which have a page."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    inner = (keys(each) for key, each in value.items() if key != "cutoff")
    return set(value).union(*inner)


def test_every_key_of_the_object_is_told(folder: Path) -> None:
    words = [each for each in commands()[0] if each != "advice.html"]
    words.remove("--plot")
    told = json.loads(run([*words, "-o", "json", "--startup-seconds", "60"]).stdout)
    of_points = {"speedup", "low", "high", "admitted"}
    table = PAGE.partition("`-o json` prints one object")[2]
    written = set(re.findall(r"`(\w+)(?:\[\])?`", table))
    assert keys(told) - of_points <= written


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pictures")
    assert main([str(found)]) == 0
    return found


@pytest.mark.parametrize("name", CHARTS)
def test_the_committed_picture_is_what_the_code_draws_now(name: str, drawn: Path) -> None:
    committed, now = ((each / name).read_text() for each in (FOLDER, drawn))
    assert alike(committed, now), f"{name} is out of date: python -m tests.tools.advise_pictures"
    alt = re.search(rf"!\[([^\]]*)\]\(\.\./images/{re.escape(name)}\)", PAGE)
    assert alt is not None
    assert len(alt[1]) > 80


def test_the_pictures_are_those_of_the_command_of_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(typed: Typed) -> AdviseInputs:
        seen.append(typed)
        return inputs_of(typed)

    monkeypatch.setattr("ridgeline.cli.advise.inputs_of", watched)
    run(commands()[0])
    assert seen == [TYPED]
