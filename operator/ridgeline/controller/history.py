"""The past of the load, read once at start, so that a restart does not start blind.

    Prometheus ─▶ `telemetry.history` ─▶ per target: peak sketch, smoothed signals ─▶ law memory

A serving takes it over the first time that this process sees it:

- the week's peak is merged with what status holds, of each day the account that saw more;
- demand, concurrency and the recent maximum go on from where they were, as long as nothing was
  rolled meanwhile. Timers and regret start empty: what this process did not watch has not lasted.

An endpoint that is slow holds up the first pass for a while only; its peak is then merged when it
comes. One that cannot be read is told in one log line.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.clock import Clock
from ridgeline.controller.readers import endpoint_of
from ridgeline.controller.view import View
from ridgeline.policy.by_law import law_settings
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.demand import smooth, with_high
from ridgeline.policy.law.memory import FastMemory, LawMemory
from ridgeline.policy.law.peak import SLOT_SECONDS, PeakSketch, from_history, merged
from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.lifecycle import last_finish
from ridgeline.settings.config import OperatorConfig
from ridgeline.settings.resolve import telemetry_of
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.history import (
    History,
    Load,
    LoadPoint,
    Owner,
    of_target,
    read_history,
)
from ridgeline.telemetry.history_names import workload_of

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 10.0
"""How long the first pass waits for the past at most."""

RECENT_WINDOWS: Final = 3
"""Rate windows that the smoothed signals are refilled from: what lies before weighs 5 %."""

_LONGEST_UNCUT_NAME: Final = 46
"""Names of Pods may be cut where the Deployment's is longer (`telemetry.history_names`)."""

HistorySource = Callable[[float], Awaitable[History]]
"""Reads what one endpoint knows of the load up to a time, in epoch seconds."""

_Target = tuple[str, str, str]
"""Endpoint, namespace and Deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What is kept of one target's past.

    Attributes:
        peak: Demand per engine by five minutes, as a sketch.
        recent: The last minutes, every 15 s.
    """

    peak: PeakSketch
    recent: Load


class Past:
    """Reads the past of every endpoint once, and hands it to each serving once."""

    def __init__(
        self,
        sources: Mapping[str, HistorySource],
        store: WatchStore,
        around: Surroundings,
        clock: Clock,
    ) -> None:
        self._sources = sources
        self._store = store
        self._around = around
        self._clock = clock
        self._recalled: dict[_Target, Recalled] = {}
        self._reading: list[asyncio.Task[None]] = []

    async def read(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Begin to read every endpoint; return when all is there, or patience has ended."""
        self._reading = [
            asyncio.create_task(self._read(name, source), name=f"history of {name}")
            for name, source in sorted(self._sources.items())
        ]
        if not self._reading:
            return
        _, late = await asyncio.wait(self._reading, timeout=patience_seconds)
        if late:
            names = ", ".join(sorted(task.get_name() for task in late))
            log.warning(
                "%s is not read after %.0f s: servings begin without it", names, patience_seconds
            )

    async def stop(self) -> None:
        """Wait for no reading any more."""
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)

    def recall(self, view: View) -> View:
        """Return a view with its target's past in the law's memory, the first time it is known."""
        target = view.target_facts
        if not self._recalled or target is None:
            return view
        name = view.spec.target_ref.name
        key = (telemetry_of(view.basis.resolved), view.serving.namespace, name)
        found = self._recalled.pop(key, None)
        if found is None:
            return view
        law = view.memory.law
        slow = replace(law.slow, peak=merged(law.slow.peak, found.peak))
        law = LawMemory(slow=slow, fast=_fast(found.recent, view, law))
        return replace(view, memory=replace(view.memory, law=law))

    async def _read(self, name: str, source: HistorySource) -> None:
        try:
            history = await source(self._clock())
        except Exception:
            log.exception("reading the past failed", extra={"endpoint": name})
            return
        if history.error is not None:
            log.warning(
                "the past of the load cannot be read: %s; servings learn it anew", history.error
            )
        targets = [
            (each.namespace, str((each.spec.get("targetRef") or {}).get("name")))
            for each in self._store.servings.all()
            if endpoint_of(each, self._around) == name
        ]
        recalled = await asyncio.to_thread(digest, history, targets)
        self._recalled |= {(name, *owner): each for owner, each in recalled.items()}
        log.info("past read", extra={"endpoint": name, "targets": len(recalled)})


def history_sources(config: OperatorConfig) -> dict[str, HistorySource]:
    """Return what reads the past of each endpoint that keeps one, by its name."""
    window = float(config.rate_window_seconds)
    endpoints = {each.name: each.endpoint() for each in config.telemetry}
    return {
        name: _source(endpoint, window)
        for name, endpoint in endpoints.items()
        if isinstance(endpoint, Endpoint)
    }


def _source(endpoint: Endpoint, window_seconds: float) -> HistorySource:
    async def read(now: float) -> History:
        return await read_history(
            endpoint,
            now,
            window_seconds=window_seconds,
            recent_seconds=round(RECENT_WINDOWS * window_seconds),
        )

    return read


def digest(history: History, targets: Iterable[Owner]) -> dict[Owner, Recalled]:
    """Return the past of each target that has one.

    Args:
        history: What an endpoint knows.
        targets: Namespaces and names of Deployments.
    """
    long, recent = _by_workload(history.long), _by_workload(history.recent)
    found: dict[Owner, Recalled] = {}
    for owner in set(targets):
        peak = from_history(_slots(_load_of(history.long, long, owner)))
        each = Recalled(peak=peak, recent=_load_of(history.recent, recent, owner))
        if each.recent or each.peak.days:
            found[owner] = each
    return found


def _by_workload(loads: Mapping[Owner, Load]) -> dict[Owner, dict[Owner, Load]]:
    """Return loads by the names that may tell their Deployment: a thousand need no search each."""
    groups: dict[Owner, dict[Owner, Load]] = {}
    for (namespace, name), load in loads.items():
        for group in {name, workload_of(name)}:
            groups.setdefault((namespace, group), {})[namespace, name] = load
    return groups


def _load_of(
    loads: Mapping[Owner, Load], groups: Mapping[Owner, Mapping[Owner, Load]], owner: Owner
) -> Load:
    near = groups.get(owner, {}) if len(owner[1]) <= _LONGEST_UNCUT_NAME else loads
    return of_target(near, *owner)


def _slots(load: Load) -> Iterable[tuple[int, float]]:
    """Return demand per engine by five-minute slot; a point stands at the end of its slot."""
    return (
        (int(point.at) // SLOT_SECONDS - 1, point.tokens_per_second / point.engines)
        for point in load
        if point.engines > 0
    )


def _fast(recent: Load, view: View, law: LawMemory) -> FastMemory:
    """Return fast memory as if this process had watched the last minutes, with no timer running.

    What this process has seen itself is better. After a change of profile nothing is taken over:
    what was the load of another profile, or of a roll, says nothing of this one.
    """
    target, telemetry = view.target_facts, view.facts.telemetry
    if target is None or isinstance(telemetry, Problem) or law.fast.seen_at is not None:
        return law.fast
    if target.rollout is not None or law.slow.running != target.active_profile:
        return law.fast
    window, ended = telemetry.window_seconds, last_finish(view.memory)
    settings = law_settings(view.settings, window)
    points = [
        each
        for each in recent
        if each.engines > 0 and (ended is None or each.at - window >= ended) and each.at <= view.now
    ]
    engines = sum(each.expected_engines for each in view.facts.replicas)
    if not points or view.now - points[-1].at > settings.gap_seconds or engines == 0:
        return law.fast
    return replace(_smoothed(points, engines, settings), seen_at=view.now)


def _smoothed(points: list[LoadPoint], engines: int, settings: LawSettings) -> FastMemory:
    """Smooth points as the law does, for as many engines as there are now."""
    fast, before = FastMemory(), points[0].at
    for point in points:
        passed, before = point.at - before, point.at
        sample = point.tokens_per_second / point.engines * engines
        level = point.concurrency / point.engines
        demand = smooth(fast.demand, sample, passed, settings.window_seconds)
        fast = replace(
            fast,
            demand=demand,
            served=demand,
            concurrency=smooth(fast.concurrency, level, passed, settings.window_seconds),
            highs=with_high(fast.highs, demand, point.at, settings.high_slot_seconds),
        )
    return fast
