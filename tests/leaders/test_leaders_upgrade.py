"""The operator itself is replaced by a newer version while it rolls a target."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.leaders.allowed import LEASES
from tests.leaders.audit import epoch_of
from tests.leaders.conftest import Pair
from tests.leaders.operators import Replica
from tests.leaders.stage import LEASE_S, Watcher, bare

pytestmark = pytest.mark.timeout(400)

NEWER = Path(__file__).with_name("newer")
NEWER_AGENT = "ridgeline/99.0.0"
GRACE_S = 60.0


def _start_newer(operator: Replica) -> None:
    path = os.pathsep.join(filter(None, (str(NEWER), os.environ.get("PYTHONPATH", ""))))
    operator.start((f"PYTHONPATH={path}",))
    operator.wait_ready()


def test_a_newer_version_goes_on_with_the_roll(pair: Pair, watcher: Watcher) -> None:
    """One Pod after the other, as the chart's Deployment does it: the new one is Ready first."""
    stage, old = pair.stage, pair.leader
    assert pair.standby.stop(timeout_s=GRACE_S) == 0
    _start_newer(pair.standby)
    stage.kubelet.startup_s = 6.0  # the roll takes a while
    stage.put(bare(stage.namespace, "upgraded"))
    stage.wait(lambda: stage.roll("upgraded").get("state") == "Rolling", "a roll under way")
    assert old.stop(timeout_s=GRACE_S) == 0
    assert "finishTime" not in stage.roll("upgraded")
    pair.taken_over()
    _start_newer(old)
    stage.wait_rolled("upgraded", "eagle")
    stage.kubelet.startup_s = 1.0

    entries = watcher.look()
    (write,) = [each for each in watcher.profile_tries("upgraded") if each.stored]
    assert write.user.endswith(f":{old.name}")
    newest = [
        each for each in entries if each.resource.endswith("/status") and each.user != write.user
    ]
    assert NEWER_AGENT in {each.agent for each in newest}
    history = stage.serving("upgraded")["status"]["switchHistory"]
    assert [each["to"] for each in history] == ["eagle"]
    assert watcher.violations() == []

    # The leaver gave the Lease back, and nobody waited until it ran out.
    leases = [each.answer["spec"] for each in entries if each.resource == LEASES and each.stored]
    given_back = next(i for i, each in enumerate(leases) if not each.get("holderIdentity"))
    last = leases[given_back]
    taken = next(each for each in leases[given_back:] if each.get("holderIdentity"))
    renewed, acquired = epoch_of(last["renewTime"]), epoch_of(taken["acquireTime"])
    assert renewed is not None
    assert acquired is not None
    assert acquired < renewed + LEASE_S
