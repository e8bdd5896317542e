"""`python -m tests.faults.day [FAULT …]`: a bad day on a control plane, and what was seen of it."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.cluster.spec import Level
from tests.faults.day.hollow import HollowNode
from tests.faults.day.machine import NotPossibleError
from tests.faults.day.play import Fault, hollow_cluster, play
from tests.faults.day.seen import dump, load
from tests.faults.day.table import FAULTS

AT_ONCE: Final = 3
"""Faults that are struck side by side, each with an operator and a way of its own."""


@dataclass(kw_only=True)
class Day:
    """A run, and what it found.

    Attributes:
        cluster: The control plane.
        node: Where the Pods are.
        broken: Faults whose promise was not kept, or that were not played.
    """

    cluster: Cluster
    node: HollowNode
    broken: list[str] = field(default_factory=list)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def strike(self, fault: Fault) -> None:
        """Play one fault, tell how it went, and write it down."""
        begin = time.monotonic()
        try:
            seen = play(self.cluster, self.node, fault)
        except (TimeoutError, NotPossibleError, ClusterError, OSError) as error:
            with self._writing:
                self.broken.append(fault.name)
                print(f"{fault.name}: not played: {error}", flush=True)
            return
        broken = seen.broken()
        with self._writing:
            rows = {**load(), fault.name: seen}
            dump({each: rows[each] for each in FAULTS if each in rows})
            self.broken += [fault.name] if broken else []
            told = "; ".join(broken) or f"{seen.told()}; well {seen.recovery_s} s after it"
            print(f"{fault.name}: {told} ({time.monotonic() - begin:.0f} s)", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Strike the faults; 0 when every promise was kept, 1 when one was not, 2 without a cluster."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.day", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"of: {'; '.join(FAULTS)}")
    chosen = parser.parse_args(arguments).faults or list(FAULTS)
    if unknown := [each for each in chosen if each not in FAULTS]:
        parser.error(f"unknown fault {unknown[0]!r}; there are: {'; '.join(FAULTS)}")
    faults = [FAULTS[each] for each in chosen]
    try:
        with (
            provided(Options(level=Level.CONTROL_PLANE), Progress()) as cluster,
            hollow_cluster(cluster) as node,
        ):
            day = Day(cluster=cluster, node=node)
            _strike_all(day, faults)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if day.broken else 0


def _strike_all(day: Day, faults: Sequence[Fault]) -> None:
    """Those that hurt nobody else side by side, the longest first; then the others."""
    beside = [each for each in faults if not each.alone]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        list(pool.map(day.strike, sorted(beside, key=lambda each: not each.long)))
    for each in faults:
        if each.alone:
            day.strike(each)


if __name__ == "__main__":
    sys.exit(main())
