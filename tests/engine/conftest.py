"""The real engine's tests are skipped, with the reason, where it is not asked for or not there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.engine import outcome
from tests.engine.cases import cases_of
from tests.engine.environment import environment, home, missing, python

HERE = Path(__file__).parent
JUDGE_SECONDS = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the engine; a server that starts takes longer than other tests may."""
    reason = missing()
    for item in items:
        if item.get_closest_marker("engine") is None or HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.timeout(JUDGE_SECONDS))
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


Answers = dict[str, dict[str, Any]]
AnswersOf = Callable[[str], Answers]


@pytest.fixture(scope="session")
def answers_of() -> AnswersOf:
    """What a release's own parser and configuration make of every case, by its name."""

    @cache
    def answers(version: str) -> Answers:
        cases = cases_of(version)
        asked = "".join(
            json.dumps({"case": case.name, "words": case.command}) + "\n" for case in cases
        )
        judged = subprocess.run(
            ["nice", str(python()), str(HERE / "judge.py")],
            input=asked,
            env=environment(version),
            capture_output=True,
            text=True,
            timeout=JUDGE_SECONDS,
            check=False,
        )
        (home() / f"judge-{version}.log").write_text(judged.stderr)
        assert judged.returncode == 0, judged.stderr[-2000:]
        lines = [json.loads(line) for line in judged.stdout.splitlines() if line.startswith("{")]
        found = {line["case"]: line for line in lines if "case" in line}
        assert found.keys() == {case.name for case in cases}
        assert lines[0]["version"] == version
        outcome.judged(version, cases, found)
        return found

    return answers
