"""Start-up and shutdown of the operator.

    connect ─▶ list everything once ─▶ watch (Kopf) ─▶ take part in the election ─▶ tick
                                                                 read the past ─┘

Nothing is decided before the first listing is in. A stop ends the passes first, then gives the
Lease back, then closes the connections.
"""

import asyncio
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Final

import kopf

from ridgeline import __version__
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.lease import Leadership
from ridgeline.cluster.leased import LeasedApi
from ridgeline.cluster.listing import relist, relist_servings
from ridgeline.cluster.parent_target import ParentTargetApi
from ridgeline.cluster.reporting import ReportingApi
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.cluster.target import TargetApi
from ridgeline.controller.cadence import Cadence
from ridgeline.controller.clock import system_clock
from ridgeline.controller.endpoints import OwnEndpoints
from ridgeline.controller.garbage import set_aside_for_ever, set_long_lived_aside
from ridgeline.controller.handlers import scope_of, watch_registry, watch_settings
from ridgeline.controller.history import Past, history_sources
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.passes import LastPasses, all_sinks
from ridgeline.controller.ports import AlwaysLeader
from ridgeline.controller.profiler import Profiler
from ridgeline.controller.readers import Reader, readers_of
from ridgeline.controller.reconciler import Reconciler
from ridgeline.controller.recorder import recorder_of
from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config

log = logging.getLogger(__name__)

STUCK_AFTER_TICKS: Final = 8
"""The worker is taken for stuck when it has ended no pass for this many ticks."""

FIRST_RELIST_SECONDS: Final = 10.0
"""What was deleted between the first listing and the start of the streams is found after this."""

RELIST_RETRY_SECONDS: Final = 30.0
"""What a listing that failed would have mended does not wait for a whole `relistSeconds`."""

PRIMING_RETRY_SECONDS: Final = 2.0

WATCH_STOP_SECONDS: Final = 10.0
"""Time that the watch streams get to end by themselves."""


class Operator:
    """One operator process."""

    def __init__(
        self, config: OperatorConfig, kubeconfig: str | None, config_file: Path | None = None
    ) -> None:
        self._config = config
        self._config_file = config_file
        self._kubeconfig = kubeconfig
        self._store = WatchStore()
        self._around = Surroundings(sees_all_pods=not config.namespaces)
        self._followed: frozenset[str] = frozenset()
        self._other_kinds = asyncio.Event()
        self._metrics = OperatorMetrics()
        self._identity = os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set.

        Raises:
            ClusterError: There is no way to connect to the API server.
        """
        api = await KubernetesApi.connect(
            self._kubeconfig,
            user_agent=f"ridgeline/{__version__}",
            observer=self._metrics.api,
        )
        readers = readers_of(self._config, self._store, self._around)
        try:
            await self._run(api, readers, stop)
        finally:
            for reader in readers.values():
                await reader.close()
            await api.close()
            log.info("stopped")

    async def _run(
        self, api: KubernetesApi, readers: dict[str, Reader], stop: asyncio.Event
    ) -> None:
        lease = self._config.lease
        leadership = (
            Leadership(
                api,
                namespace=lease.namespace,
                name=lease.name,
                identity=self._identity,
                duration_seconds=lease.duration_seconds,
                catch_up=lambda: relist_servings(api, self._store, self._config.namespaces),
            )
            if lease.enabled
            else None
        )
        writes = api if leadership is None else LeasedApi(api, leadership)
        recorder = recorder_of(self._config, self._metrics)
        past = Past(history_sources(self._config), self._store, self._around, system_clock)
        passes = self._passes_of(leadership)
        reconciler = Reconciler(
            store=self._store,
            targets=ParentTargetApi(writes, frozenset(self._config.parents))
            if self._config.parents
            else TargetApi(writes),
            reports=ReportingApi(writes, instance=self._identity),
            leader=leadership or AlwaysLeader(),
            options=Options(
                stale_after_seconds=self._config.stale_after_seconds,
                max_concurrent_rolls=self._config.max_concurrent_rolls,
                max_concurrent_rolls_per_pool=self._config.max_concurrent_rolls_per_pool,
                frozen=self._config.freeze,
                tick_seconds=self._config.tick_seconds,
                parents=frozenset(self._config.parents),
                allow_args=self._config.allow_args,
            ),
            metrics=self._metrics,
            around=self._around,
            sink=all_sinks((recorder, passes)),
        )
        reconciler.recall_from(past)
        cadence = Cadence(
            store=self._store,
            sources=readers,
            reconciler=reconciler,
            metrics=self._metrics,
            clock=system_clock,
            tick_seconds=self._config.tick_seconds,
            window_seconds=self._config.rate_window_seconds,
            around=self._around,
        )
        self._metrics.leader.set_function(lambda: float(leadership is None or leadership.held))
        try:
            endpoints = OwnEndpoints(
                self._metrics.registry,
                port=self._config.port,
                alive=lambda: self._stuck(cadence),
                ready=lambda: None if self._store.primed else "the first listing is not in yet",
                profiler=Profiler() if self._config.profiling else None,
                explain=passes.answer if passes is not None else None,
            )
        except OSError as error:
            raise InvalidConfigError(
                f"port {self._config.port} cannot be served ({error.strerror}): set another `port` "
                "in the configuration file, or end what uses it"
            ) from error
        endpoints.start()
        if recorder is not None:
            recorder.start()
        log.info("started", extra={"version": __version__, "port": endpoints.port})
        try:
            await self._serve(api, leadership, reconciler, cadence, past, stop)
        finally:
            await past.stop()
            if recorder is not None:
                recorder.stop()
            endpoints.stop()

    def _passes_of(self, leadership: Leadership | None) -> LastPasses | None:
        if not self._config.explain:
            return None
        return LastPasses(
            self._store,
            leadership or AlwaysLeader(),
            system_clock,
            instance=self._identity,
            tick_seconds=self._config.tick_seconds,
            heard_seconds_ago=self._metrics.api.silent_seconds,
        )

    async def _serve(
        self,
        api: KubernetesApi,
        leadership: Leadership | None,
        reconciler: Reconciler,
        cadence: Cadence,
        past: Past,
        stop: asyncio.Event,
    ) -> None:
        async with asyncio.TaskGroup() as group:
            priming = group.create_task(self._prime(api), name="prime")
            stopped = group.create_task(stop.wait(), name="stop")
            await asyncio.wait((priming, stopped), return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                priming.cancel()
                return
            set_long_lived_aside()
            working = [group.create_task(self._relist_for_ever(api), name="relist")]
            working.append(group.create_task(set_aside_for_ever(), name="garbage"))
            watching = group.create_task(self._watch(api, stop), name="watch")
            if leadership is not None:
                working.append(group.create_task(leadership.run(), name="lease"))
            working.append(group.create_task(self._follow_freeze(reconciler), name="freeze"))
            working.append(group.create_task(self._metrics.time.measure_lag(), name="lag"))
            working.insert(0, group.create_task(cadence.run(past.read()), name="cadence"))
            await stopped
            log.info("stopping")
            await cadence.finish_batch()
            for task in working:
                task.cancel()
            await asyncio.wait((watching,), timeout=WATCH_STOP_SECONDS)
            watching.cancel()

    async def _prime(self, api: KubernetesApi) -> None:
        """List everything, however long that takes; say once what it waits for."""
        told = ""
        while True:
            try:
                await relist(api, self._store, self._config.namespaces, self._around)
            except NotFoundError:
                trouble = "the CRDs are not installed: kubectl apply -f crds/"
            except ClusterError as error:
                trouble = str(error)
            else:
                break
            if trouble != told:
                log.warning("waiting for a listing: %s", trouble)
                told = trouble
            await asyncio.sleep(PRIMING_RETRY_SECONDS)
        log.info("primed", extra={"servings": len(self._store.servings.all())})

    async def _watch(self, api: KubernetesApi, stop: asyncio.Event) -> None:
        """Follow the watch streams until stopped.

        Kopf gives up on a stream that is refused or whose kind is gone (403, 404). Neither is for
        ever: everything is listed anew, for as long as that takes, and followed again.
        """
        while not stop.is_set():
            try:
                needed = await self._follow_streams(stop)
            except Exception as error:  # noqa: BLE001 (whatever ends the streams, they go on)
                log.warning("the watch streams ended and start again: %s", _first_line(error))
                await asyncio.sleep(PRIMING_RETRY_SECONDS)
                await self._prime(api)
            else:
                if needed:
                    log.info("the watch streams start again: other kinds are needed now")
                    await self._prime(api)
                    continue
                # Kopf takes the signal handlers over: when it ends by itself, it was a signal.
                stop.set()

    async def _follow_streams(self, stop: asyncio.Event) -> bool:
        """Run Kopf's tasks until one of them ends; raise what ended it.

        Return whether they were ended because other kinds are needed than those that they follow.

        `kopf.operator()` would cancel every task of the loop that is younger than itself, ours too.
        """
        self._followed = self._around.looked_into
        self._other_kinds.clear()
        tasks = await kopf.spawn_tasks(
            registry=watch_registry(self._store, self._kubeconfig, self._around, self._metrics.api),
            settings=watch_settings(),
            standalone=True,
            stop_flag=stop,
            **scope_of(self._config.namespaces),
        )
        needs_others = asyncio.create_task(self._other_kinds.wait(), name="other kinds")
        try:
            await asyncio.wait((*tasks, needs_others), return_when=asyncio.FIRST_COMPLETED)
            ended_for_others = needs_others.done() and not any(task.done() for task in tasks)
        finally:
            for task in (*tasks, needs_others):
                task.cancel()
            await asyncio.wait((*tasks, needs_others), timeout=WATCH_STOP_SECONDS)
        for task in tasks:
            if task.done() and not task.cancelled() and task.exception() is not None:
                task.result()
        return ended_for_others and not stop.is_set()

    async def _relist_for_ever(self, api: KubernetesApi) -> None:
        pause = FIRST_RELIST_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = self._config.relist_seconds
            try:
                await relist(api, self._store, self._config.namespaces, self._around)
            except ClusterError as error:
                log.warning("listing anew failed: %s", error)
                pause = min(pause, RELIST_RETRY_SECONDS)
            if self._around.looked_into != self._followed:
                self._other_kinds.set()

    async def _follow_freeze(self, reconciler: Reconciler) -> None:
        """Read the freeze switch anew at every tick; a broken file leaves it as it is."""
        told = ""
        while self._config_file is not None:
            await asyncio.sleep(self._config.tick_seconds)
            try:
                reconciler.freeze(frozen=load_config(self._config_file).freeze)
                told = ""
            except InvalidConfigError as error:
                if str(error) != told:
                    log.warning("the freeze switch cannot be read: %s", error)
                    told = str(error)

    def _stuck(self, cadence: Cadence) -> str | None:
        limit = max(60.0, STUCK_AFTER_TICKS * self._config.tick_seconds)
        if not self._store.primed or cadence.idle_seconds < limit:
            return None
        return f"no serving was looked at for {cadence.idle_seconds:.0f} s"


def _first_line(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set `stop` on SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)
