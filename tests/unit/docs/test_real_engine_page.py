"""The page of what the real engine did is made from what the last run saw."""

from pathlib import Path

from tests.engine import outcome
from tests.engine.cases import cases_of, profiles
from tests.engine.environment import OTHER_VERSIONS, VERSION
from tests.tools import real_engine

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "real-engine.md"


def test_the_page_is_made_from_what_was_seen() -> None:
    """When this fails: python -m tests.tools.real_engine docs/reference/real-engine.md."""
    assert PAGE.read_text(encoding="utf-8") == real_engine.page()


def test_the_last_run_judged_and_served_what_is_asked_today() -> None:
    """When this fails: make test-engine."""
    seen = outcome.read()
    releases = seen["judged"]["releases"]
    assert set(releases) == {VERSION, *OTHER_VERSIONS}
    for version, rows in releases.items():
        assert [row["case"] for row in rows] == [case.name for case in cases_of(version)]
    assert set(seen["served"]["profiles"]) == {profile.name for profile, _ in profiles()}
