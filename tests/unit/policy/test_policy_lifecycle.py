"""What happens to memory between decisions."""

import pytest

from ridgeline.policy.lifecycle import (
    abandon_switch,
    budget_wait,
    cooldown_left,
    finish_switch,
    mend_times,
    switches_left,
    unfinished_switch,
)
from ridgeline.policy.memory import Memory
from tests.unit.policy.moments import NOW, memory, settings, switch

DAY = 86_400.0


def test_finishing_closes_the_last_unfinished_switch_only() -> None:
    before = memory(switch(5000.0), switch(None, began_ago=300.0))
    after = finish_switch(before, NOW)
    assert after.slow.switches[0] == before.slow.switches[0]
    assert after.slow.switches[1].finished_at == NOW
    assert finish_switch(after, NOW + 50.0) == after, "a second time changes nothing"
    assert unfinished_switch(after) is None


def test_a_switch_never_ends_before_it_began() -> None:
    before = memory(switch(None, began_ago=-20.0))
    assert finish_switch(before, NOW).slow.switches[0].finished_at == NOW + 20.0


def test_abandoning_gives_the_budget_back() -> None:
    before = memory(switch(5000.0), switch(None, began_ago=300.0), towards="none")
    assert switches_left(before, settings(), NOW) == 4
    after = abandon_switch(before, NOW)
    assert after.slow.switches == before.slow.switches[:1]
    assert switches_left(after, settings(), NOW) == 5
    assert after.fast.crossing is not None
    assert after.fast.crossing.since == NOW
    assert abandon_switch(after, NOW) == after


@pytest.mark.parametrize(("asked", "left"), [(6, 4), (10, 8), (25, 8), (2, 0), (1, 0)])
def test_switches_left(asked: int, left: int) -> None:
    used = memory(switch(DAY + 1.0), switch(9000.0), switch(None, began_ago=10.0))
    assert switches_left(used, settings(max_switches_per_day=asked), NOW) == left


def test_budget_wait() -> None:
    used = memory(*(switch(1.0, began_ago=DAY - ends_in) for ends_in in (10.0, 20.0, 30.0)))
    three = settings(max_switches_per_day=3)
    assert budget_wait(used, three, NOW, 1) == pytest.approx(10.0)
    assert budget_wait(used, three, NOW, 2) == pytest.approx(20.0)
    assert budget_wait(used, three, NOW, 4) is None
    assert budget_wait(Memory(), three, NOW, 2) == 0.0
    lowered = settings(max_switches_per_day=2)
    assert budget_wait(used, lowered, NOW, 1) == pytest.approx(20.0)


def test_cooldown_left() -> None:
    assert cooldown_left(Memory(), settings(), NOW) == 0.0
    assert cooldown_left(memory(switch(800.0)), settings(), NOW) == 1000.0
    assert cooldown_left(memory(switch(1801.0)), settings(), NOW) == 0.0
    assert cooldown_left(memory(switch(-60.0)), settings(), NOW) == 1800.0
    assert cooldown_left(memory(switch(None, began_ago=9000.0)), settings(), NOW) == 1800.0
    assert cooldown_left(memory(switch(100.0), switch(900.0)), settings(), NOW) == 1700.0


def test_small_steps_of_the_clock_leave_memory_alone() -> None:
    ahead = memory(switch(-300.0, began_ago=-300.0), towards="none", crossed_ago=-300.0)
    assert mend_times(ahead, NOW) is ahead


def test_times_of_a_wrong_clock_become_now() -> None:
    within = switch(-300.0, began_ago=-300.0)
    wrong = memory(switch(-9000.0, began_ago=-8000.0), within, towards="none")
    mended = mend_times(wrong, NOW)
    assert (mended.slow.switches[0].started_at, mended.slow.switches[0].finished_at) == (NOW, NOW)
    assert mended.slow.switches[1] == wrong.slow.switches[1]
    assert mended.fast == wrong.fast
    crossing = mend_times(memory(towards="none", crossed_ago=-301.0), NOW).fast.crossing
    assert crossing is not None
    assert crossing.since == NOW
