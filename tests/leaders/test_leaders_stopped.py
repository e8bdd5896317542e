"""A leader that stands still in a roll: its successor makes the roll, and nothing of it comes late.

The leader is stopped with SIGSTOP at each place of a roll's beginning, with a request of it, or the
answer to one, still under way. The Lease runs out, the standby takes over and finishes the roll;
then what was under way arrives, and the old leader goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.waiting import wait_until
from tests.faults.gateway import Moment
from tests.faults.stage import rest
from tests.leaders.audit import epoch_of
from tests.leaders.conftest import Pair
from tests.leaders.holding import Match, announcement_of, read_before_write_of, write_of
from tests.leaders.operators import Replica
from tests.leaders.stage import Watcher, bare

pytestmark = pytest.mark.timeout(400)

_CONFLICT = 409

PLACES: dict[str, tuple[Callable[[str], Match], Moment]] = {
    "before": (announcement_of, Moment.BEFORE),
    "announced": (announcement_of, Moment.AFTER),
    "between": (read_before_write_of, Moment.AFTER),
    "during": (write_of, Moment.BEFORE),
    "after": (write_of, Moment.AFTER),
}
"""Names of places, what is held there, and whether it or its answer."""


@pytest.mark.parametrize("place", PLACES)
def test_a_leader_that_stands_still_writes_nothing_late(
    pair: Pair, watcher: Watcher, place: str
) -> None:
    stage, old = pair.stage, pair.leader
    what, moment = PLACES[place]
    held = pair.gateways[old.name].hold(what(place), moment)
    stage.put(bare(stage.namespace, place))
    held.wait()
    old.stand_still()
    if moment is Moment.AFTER:
        held.release()  # the answer waits in the stopped process's own socket
    pair.taken_over()
    stage.wait_rolled(place, "eagle")
    held.release()
    # The write that comes late is refused by the API server: somebody has written meanwhile.
    assert held.answered() == (_CONFLICT if moment is Moment.BEFORE else 200)
    old.go_on()
    stage.wait(lambda: old.page("/healthz"), "the old leader awake")
    _looked_again(old)

    tries = watcher.profile_tries(place)
    (stored,) = [each for each in tries if each.stored]
    assert stored.user.endswith(f":{old.name if place == 'after' else pair.leader.name}")
    # Nothing of the roll came late but what had been sent before.
    assert len(tries) == (2 if place == "during" else 1), tries
    assert watcher.violations() == []


def test_a_standby_decides_all_the_time_and_needs_no_time_to_warm_up(
    pair: Pair, watcher: Watcher
) -> None:
    stage, old, next_one = pair.stage, pair.leader, pair.standby
    dwell_s = 24
    scene = bare(stage.namespace, "warm", quiet_profile="none", busier_seconds=dwell_s)
    stage.put(scene, users=4.0)
    stage.wait(lambda: _concurrency(next_one) == 2.0, "the standby's own sight of the load")
    stage.telemetry.users["warm"] = 80.0
    stage.wait(lambda: _concurrency(next_one) == 40.0, "the standby's own sight of the load")
    written, decided = next_one.metric("ridgeline_writes_total"), _decisions(next_one)
    rest(dwell_s / 2)  # for most of the dwell the other one leads
    assert _decisions(next_one) > decided
    assert next_one.metric("ridgeline_writes_total") == written
    old.kill()
    pair.taken_over()
    taken_over = _acquired(pair)
    stage.wait_rolled("warm", "eagle")
    (write,) = [each for each in watcher.profile_tries("warm") if each.stored]
    # Who began to look at the load with the takeover would have waited for a whole dwell.
    assert write.user.endswith(f":{next_one.name}")
    assert write.at - taken_over < dwell_s
    assert watcher.violations() == []
    old.start()
    old.wait_ready()


def _acquired(pair: Pair) -> float:
    """When the one who leads took the Lease."""
    found = epoch_of(pair.stage.lease()["acquireTime"])
    assert found is not None
    return found


def _concurrency(operator: Replica) -> float | None:
    return operator.metric("ridgeline_serving_concurrency", serving="warm")


def _decisions(operator: Replica) -> float:
    return operator.metric("ridgeline_decisions_total") or 0.0


def _looked_again(operator: Replica) -> None:
    """Wait until an operator has decided a few times since now."""
    before = _decisions(operator)
    wait_until(lambda: _decisions(operator) > before + 3, "decisions", timeout_s=60.0)
