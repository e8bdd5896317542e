"""The page of spellings shows what is written, and for which releases."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from ridgeline.engine.args_reading import config_in_force
from ridgeline.engine.config_file import with_config_file
from ridgeline.engine.contract import contract_of
from ridgeline.engine.speculative_config import Profile, config_of
from ridgeline.engine.spelling import Spelling, spellings_of, words_of
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "spellings.md").read_text()
ROW = re.compile(r"^\| (\w+) \| `(--?s[^`]*)` \| (?:all|from ([0-9.]+)) \|$", re.MULTILINE)
YAML = re.compile(r"^```yaml\n(spec.*?)^```$", re.MULTILINE | re.DOTALL)
PROFILE = Profile(name="eagle4", method=Method.EAGLE, model="org/head", num_speculative_tokens=4)
RELEASES = load_engine_contracts()


def test_every_spelling_has_a_row() -> None:
    assert [row[0] for row in ROW.findall(PAGE)] == [each.value for each in Spelling]


@pytest.mark.parametrize(("name", "example", "since"), ROW.findall(PAGE))
def test_a_row_shows_what_is_written_and_since_when(name: str, example: str, since: str) -> None:
    spelling = Spelling(name)
    having = [each for each in RELEASES if spelling in spellings_of(each)]

    assert " ".join(words_of(PROFILE, spelling, having[0])) == example
    assert having == [*RELEASES[RELEASES.index(contract_of(RELEASES, since or "0.8.5")) :]]


@pytest.mark.parametrize("text", YAML.findall(PAGE))
def test_a_file_is_read_as_shown(text: str) -> None:
    words = with_config_file(shlex.split("vllm serve m"), yaml.safe_load(text))

    assert config_in_force(words) == config_of(PROFILE)


def test_both_files_are_found() -> None:
    assert len(YAML.findall(PAGE)) == 2
