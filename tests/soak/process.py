"""One operator process of a soak: the real controller and API layer over a simulated cluster."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final, cast

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.leased import LeasedApi
from ridgeline.cluster.reporting import ReportingApi
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.cluster.target import TargetApi
from ridgeline.controller.cadence import Cadence
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.reconciler import Reconciler
from ridgeline.sim.fleet import SimulatedCluster
from tests.soak.api_server import ApiServer
from tests.soak.client import SimulatedClient
from tests.soak.client import Surroundings as Way
from tests.soak.lease import Lease, Share
from tests.soak.streams import UnreliableStream

TICK: Final = 15.0
WINDOW: Final = 60.0
STALE: Final = 60.0
RELIST_SECONDS: Final = 300.0
LISTING_SECONDS: Final = 2.0
"""How long a listing takes; what a stream tells meanwhile is newer."""


class Operator:
    """One process, and everything that is lost with it.

    Attributes:
        skew: By how many seconds its clock is wrong.
    """

    def __init__(
        self,
        *,
        who: str,
        cluster: SimulatedCluster,
        way: Way,
        lease: Lease,
        sources: Mapping[str, TelemetrySource],
        max_rolls: int,
        skew: float,
        around: Surroundings | None,
    ) -> None:
        self.who = who
        self.skew = skew
        self.store = WatchStore()
        self.metrics = OperatorMetrics()
        self.client = SimulatedClient(way, who)
        self.leader = Share(lease, who)
        self._cluster = cluster
        self._server: ApiServer = way.server
        self.stream = UnreliableStream(self.store, way.server)
        cluster._streams.append(self.stream)
        api = LeasedApi(KubernetesApi(cast("Any", self.client)), self.leader)
        self.reconciler = Reconciler(
            store=self.store,
            targets=TargetApi(api),
            reports=ReportingApi(api, instance=who),
            leader=self.leader,
            options=Options(
                stale_after_seconds=STALE,
                max_concurrent_rolls=max_rolls,
                max_concurrent_rolls_per_pool=max_rolls,
            ),
            metrics=self.metrics,
            around=around,
        )
        self.cadence = Cadence(
            store=self.store,
            sources=sources,
            reconciler=self.reconciler,
            metrics=self.metrics,
            clock=lambda: cluster.now + self.skew,
            tick_seconds=TICK,
            window_seconds=WINDOW,
            around=around,
        )
        self.next_tick = cluster.now
        self.next_listing = cluster.now + 10.0
        self._list()()

    async def work(self) -> None:
        """Do what is due now: a tick, and the event passes."""
        if self._cluster.now >= self.next_tick:
            # A process that was held up ticks once, not once for each tick that it missed.
            self.next_tick = max(self.next_tick + TICK, self._cluster.now)
            await self.cadence.tick()
        await self.cadence.work_off()

    def catch_up(self) -> None:
        """List the servings, as the operator does before the first write of its term."""
        mark = self.store.servings.listing_started()
        self.store.lay_over_servings(mark, list(self._cluster._servings.values()))

    def listing(self) -> Any:
        """Begin a listing when it is due; return what lays it over the store, `None` before."""
        if self._cluster.now < self.next_listing:
            return None
        self.next_listing = self._cluster.now + RELIST_SECONDS
        return self._list()

    def _list(self) -> Any:
        store, cluster = self.store, self._cluster
        marks = (
            store.servings.listing_started(),
            store.deployments.listing_started(),
            store.pods_listing_started(),
        )
        servings = list(cluster._servings.values())
        deployments = [self._server.deployment_object(*key) for key in sorted(cluster._workloads)]
        pods = [each.pod_told(pod) for each in cluster._all_workloads() for pod in each.pods]

        def lay_over() -> None:
            store.lay_over_servings(marks[0], servings)
            store.lay_over_deployments(marks[1], deployments)
            store.lay_over_pods(marks[2], pods)

        return lay_over

    async def stop(self) -> None:
        """End it: nothing of it acts any more."""
        self._cluster.disconnect(self.stream)
        with contextlib.suppress(Exception):
            await self.cadence.stop_reading()
        mine = asyncio.current_task()
        others = [each for each in asyncio.all_tasks() if each is not mine]
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)
