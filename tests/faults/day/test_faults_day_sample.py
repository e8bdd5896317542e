"""The quick faults of a bad day, side by side on one control plane; `make test-bad-day` has all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.launch import Options
from tests.cluster.progress import Silent
from tests.cluster.provide import provided
from tests.cluster.spec import Level
from tests.faults.day.play import hollow_cluster, play
from tests.faults.day.seen import Seen
from tests.faults.day.table import FAULTS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.slow]

QUICK = [name for name, each in FAULTS.items() if each.quick]


@pytest.fixture(scope="module")
def seen() -> Iterator[dict[str, Seen]]:
    """What became of each quick fault."""
    if os.environ.get("RIDGELINE_SKIP_CLUSTER") == "1":
        pytest.skip("RIDGELINE_SKIP_CLUSTER=1")
    # A control plane of its own: the hollow node takes any Pod that it can get.
    with (
        provided(Options(level=Level.CONTROL_PLANE), Silent()) as cluster,
        hollow_cluster(cluster) as node,
        ThreadPoolExecutor(max_workers=len(QUICK)) as pool,
    ):
        found = list(pool.map(lambda name: play(cluster, node, FAULTS[name]), QUICK))
        yield dict(zip(QUICK, found, strict=True))


@pytest.mark.parametrize("fault", QUICK)
def test_what_is_promised_for_it_is_kept(fault: str, seen: dict[str, Seen]) -> None:
    assert seen[fault].broken() == []
    # The roll that was under way, and the one that was due: each once.
    assert sum(seen[fault].writes.values()) == 2
