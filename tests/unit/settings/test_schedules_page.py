"""The page about schedules shows what works, and the numbers that hold."""

import re
from pathlib import Path
from typing import Any

import yaml

from ridgeline.api.policy import SpeculationPolicySpec, parse_policy
from ridgeline.policy.schedule import LEAD_PER_ROLL, LONGEST_LEAD_SECONDS, UNLEARNED_LEAD_SECONDS
from ridgeline.settings.cron import LOOK_SECONDS
from ridgeline.settings.schedules import OVERLAP_SECONDS, OVERLAP_SPANS, schedule_findings
from ridgeline.terms.schedules import ScheduleAction

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "how-to" / "schedules.md").read_text(encoding="utf-8")
SAMPLE = REPOSITORY / "deploy" / "samples" / "policy-schedules.yaml"


def shown() -> dict[str, Any]:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    document: dict[str, Any] = yaml.safe_load(found[1])
    return document


def spec() -> SpeculationPolicySpec:
    return parse_policy(shown(), strict=True).spec


def test_the_page_shows_the_sample() -> None:
    assert shown()["spec"] == yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))["spec"]


def test_the_sample_shows_each_thing_that_a_window_can_ask_for_and_nothing_is_wrong() -> None:
    schedules = spec().schedules
    assert schedules is not None
    asked = [action for each in schedules for action in each.actions]
    assert sorted(asked) == sorted(ScheduleAction)
    assert schedule_findings(schedules, ("none",), 1_800_000_000.0) == ()


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    told = " ".join(PAGE.split())
    assert f"{LEAD_PER_ROLL:g} times the duration" in told
    assert f"{UNLEARNED_LEAD_SECONDS / 60:.0f} minutes while it has seen no roll" in told
    assert LONGEST_LEAD_SECONDS == 3600
    assert "an hour at most" in told
    assert f"{OVERLAP_SECONDS // 86_400} days ahead" in told
    assert f"up to {OVERLAP_SPANS} windows" in told
    assert LOOK_SECONDS == 8 * 86_400
    assert "looked for eight days ahead" in told
