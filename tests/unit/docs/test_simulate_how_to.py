"""The commands of the pages about simulations and replays run, and their pictures are there."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ridgeline.cli.main import app
from tests.unit.cli.test_replay_command import POLICY, RANGES, RECORD, SERVING
from tests.unit.docs.test_cutoff_how_to import FILE
from tests.unit.docs.test_cutoff_how_to import PAGE as CUTOFFS

DOCS = Path(__file__).parents[3] / "docs"
SIMULATE = (DOCS / "how-to" / "simulate.md").read_text(encoding="utf-8")
REPLAY = (DOCS / "how-to" / "replay.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT = re.compile(r"^```text\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)

SHORT = ("--days", "0.05", "--tick", "60", "--processes", "1")
"""The last one of an option counts: what is typed runs, for an hour in place of a week."""


def commands(page: str, name: str) -> list[list[str]]:
    found = []
    for block in CONSOLE.finditer(page):
        for line in block["body"].replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[:2] == ["ridgeline", name]:
                found.append(words[1:])
    return found


def run(words: list[str]) -> Result:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{words}: {result.output}"
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of, as the current one."""
    for each in FILE.finditer(CUTOFFS):
        (tmp_path / each["name"]).write_text(each["body"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", commands(SIMULATE, "simulate"), ids=" ".join)
def test_each_simulation_of_the_page_runs(folder: Path, words: list[str]) -> None:
    printed = run([*words, *SHORT]).stdout
    assert "best in hindsight" in printed
    if "--report" in words:
        assert "<svg" in (folder / words[words.index("--report") + 1]).read_text()


def test_the_table_of_the_page_has_the_strategies_and_columns_that_are_printed(
    folder: Path,
) -> None:
    shown = TEXT.search(SIMULATE)
    assert shown is not None
    head, *rows = shown["body"].splitlines()
    printed = run([*commands(SIMULATE, "simulate")[0], *SHORT]).stdout
    assert re.sub(r" {2,}", "  ", head) in re.sub(r" {2,}", "  ", printed)
    for row in rows:
        assert re.split(r" {2,}", row)[0] in printed


def test_each_replay_of_the_page_runs(folder: Path) -> None:
    for name in ("monday", "too-early"):
        (folder / f"{name}.jsonl.gz").write_bytes(RECORD.read_bytes())
    more = "stabilization: {busierSeconds: 15}"
    (folder / "serving.yaml").write_text(SERVING.format(mode="Automatic", more=more))
    for name, at in (("careful", 60), ("bolder", 20)):
        (folder / f"{name}.yaml").write_text(POLICY.format(at=at, busier=15))
    (folder / "tests" / "replay").mkdir(parents=True)
    known = [each for each in commands(REPLAY, "replay") if "past.jsonl.gz" not in each]
    assert len(known) == 5
    for words in known:
        run(words)
    assert (folder / "monday.html").exists()
    assert (folder / "tests" / "replay" / "test_too_early.py").exists()


def test_what_the_replay_page_shows_is_printed(folder: Path) -> None:
    shown = TEXT.search(REPLAY)
    assert shown is not None
    serving = SERVING.format(mode="Automatic", more=RANGES.format(at=60))
    (folder / "serving.yaml").write_text(serving)
    more = RANGES.format(at=20) + "\n  stabilization: {busierSeconds: 15}"
    (folder / "bolder.yaml").write_text(SERVING.format(mode="Automatic", more=more))
    words = ["replay", str(RECORD), "--serving", "serving.yaml", "--diff", "bolder.yaml"]
    printed = " ".join(run(words).stdout.split())
    for line in shown["body"].splitlines():
        assert line in printed


@pytest.mark.parametrize("name", ["simulate-report.png", "simulate-report-dark.png"])
def test_the_page_shows_its_pictures_and_says_what_is_on_them(name: str) -> None:
    told = re.search(rf"!\[([^\]]*)\]\(\.\./images/{re.escape(name)}\)", SIMULATE)
    assert told is not None
    assert len(told[1]) > 60
    picture = (DOCS / "images" / name).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000
