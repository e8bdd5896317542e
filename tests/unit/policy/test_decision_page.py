"""The concept page says what the code does: every hold, every check, and the worked example."""

import re
from dataclasses import replace
from pathlib import Path

from ridgeline.policy.checks import CHECKS
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import Facts, RolloutFacts
from ridgeline.policy.lifecycle import finish_switch
from ridgeline.policy.memory import Memory
from ridgeline.policy.move_checks import MOVE_CHECKS
from ridgeline.terms.reasons import Reason
from tests.unit.policy import moments as well

PAGE = (Path(__file__).parents[3] / "docs" / "concepts" / "decision.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"^\| (\d\d):(\d\d):(\d\d) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
ROLL_ENDS = 9 * 3600 + 36 * 60.0


def test_every_check_stands_in_the_table_in_its_order() -> None:
    told = re.findall(r"^\| `(\w+)` \| that|^\| `(\w+)` \| (?:for|the)", PAGE, re.MULTILINE)
    names = [one or other for one, other in told]
    asked = [name for name, _ in CHECKS], [name for name, _ in MOVE_CHECKS]
    assert names == ["suspended", *asked[0], "law", "cutoffs", *asked[1]]


def test_every_hold_is_named() -> None:
    order = list(Reason)
    ours = set(order[: order.index(Reason.UNKNOWN_TELEMETRY_ENDPOINT) + 1])
    ours -= {Reason.WAITING_FOR_ROLL_BUDGET}
    ours |= {Reason.ACTIVE_PROFILE_UNKNOWN, Reason.PROFILE_MISMATCH, Reason.ROLLOUT_UNDER_WAY}
    ours |= {Reason.ROLLOUT_PAUSED, Reason.ROLLOUT_STALLED}
    assert not [reason.value for reason in ours if f"`{reason}`" not in PAGE]


def seen(active: str, level: str, now: float, *, rolling: bool) -> Facts:
    silent = level.startswith("one Pod of four silent")
    facts = well.facts(26.0 if silent else float(level), active=active, now=now)
    if silent:
        facts = well.with_replica(facts, 3, engines=())
    if rolling:
        rollout = RolloutFacts(updated=0, available=3, desired=4)
        target = facts.target
        assert not hasattr(target, "message")
        facts = replace(facts, target=replace(target, rollout=rollout))
    return facts


def test_the_worked_example_is_what_happens() -> None:
    assert len(EXAMPLE) == 10
    memory, active, finished = Memory(), "eagle2", False
    for hours, minutes, seconds, level, told in EXAMPLE:
        clock = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        if clock >= ROLL_ENDS and not finished:
            memory, finished = finish_switch(memory, well.NOW + ROLL_ENDS), True
        rolling = active == "none" and not finished
        now = well.NOW + clock
        decision = decide(seen(active, level, now, rolling=rolling), well.settings(), memory, now)
        assert str(decision.outcome) in told
        assert f"`{decision.reason}`" in told
        for dwelled in re.findall(r"(\d+) s of \d+ s", told):
            assert f"for {dwelled} s" in decision.message
        memory = decision.memory
        if decision.outcome is Outcome.SWITCH:
            active = decision.profile or ""
            assert f"`{active}`" in told
    assert active == "eagle2"
