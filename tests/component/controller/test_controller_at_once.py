"""However many servings wait, few calls are made at a time, and one batch answers them all."""

import asyncio
from typing import cast

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key, WatchStore
from ridgeline.controller.cadence import PASSES_AT_ONCE, Cadence
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.reconciler import Reconciler
from ridgeline.controller.wish import Wish

SERVINGS = 1000


class Slow:
    """Makes passes that wait for the API server, and counts how many do so at a time."""

    def __init__(self) -> None:
        self.under_way = self.most = 0
        self.made: list[Key] = []

    async def reconcile(self, key: Key, snapshots: object, now: float) -> Wish | None:
        del snapshots, now
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        self.made.append(key)
        return None

    async def see_off(self, now: float) -> None:
        del now


async def test_a_thousand_first_passes_are_one_batch_of_few_at_a_time() -> None:
    store, slow = WatchStore(), Slow()
    for number in range(SERVINGS):
        store.put_serving(
            ServingObject(
                namespace="ns",
                name=f"s{number}",
                uid=f"u{number}",
                generation=1,
                resource_version="1",
                created_at=0.0,
                deleting=False,
                spec={"targetRef": {"name": f"s{number}"}},
                status={},
            )
        )
    cadence = Cadence(
        store=store,
        sources={},
        reconciler=cast("Reconciler", slow),
        metrics=OperatorMetrics(),
        clock=lambda: 1000.0,
        tick_seconds=15.0,
        window_seconds=120.0,
    )
    await cadence.tick()
    await cadence.work_off()
    assert len(set(slow.made)) == len(slow.made) == SERVINGS
    assert slow.most == PASSES_AT_ONCE
