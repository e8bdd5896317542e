"""One fault of the matrix, at every step of a roll, on a real cluster; `make test-faults` has all.

Of all faults the one that leaves the next operator the most to find out: each roll's next write is
stored, nobody hears so, and the operator is dead.
"""

from __future__ import annotations

import pytest

from tests.cluster.handle import Cluster
from tests.faults.matrix import strike
from tests.faults.steps import SOON_S, STEPS

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

SAMPLE = "operator killed after its next write"


def test_rolls_whose_operator_dies_with_a_write_unanswered_end_whole(cluster: Cluster) -> None:
    endings = strike(cluster, SAMPLE)
    assert endings.keys() == {each.name for each in STEPS}
    assert {name: each.broken() for name, each in endings.items() if each.broken()} == {}
    # Each ended as it would have without the fault. (Two canaries have a minute to be Ready in: the
    # machine's speed decides which way they go.)
    certain = {each.name for each in STEPS if each.deadline_s != SOON_S}
    assert {name: each.profiles for name, each in endings.items() if name in certain} == {
        name: ("",) if name in ("undoing", "restored") else ("eagle",) for name in certain
    }
