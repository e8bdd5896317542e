"""`python -m tests.faults [FAULT …]`: strike faults on a real cluster, write down what was seen."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.faults.faults import FAULTS
from tests.faults.matrix import strike
from tests.faults.record import dump, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Strike the faults; 0 when every promise was kept, 1 when one was not, 2 without a cluster."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"of: {'; '.join(FAULTS)}")
    chosen = parser.parse_args(arguments).faults or list(FAULTS)
    if unknown := [each for each in chosen if each not in FAULTS]:
        parser.error(f"unknown fault {unknown[0]!r}; there are: {'; '.join(FAULTS)}")
    try:
        with provided(Options(scrape_interval_s=1.0), Progress()) as cluster:
            broken = [each for each in chosen if not _played(cluster, each)]
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if broken else 0


def _played(cluster: Cluster, fault: str) -> bool:
    begin = time.monotonic()
    print(f"{fault} …", flush=True)
    try:
        endings = strike(cluster, fault)
    except TimeoutError as error:
        print(f"  not played: {error}", flush=True)
        return False
    rows = {**load(), fault: endings}
    dump({each: rows[each] for each in FAULTS if each in rows})
    for name, each in endings.items():
        print(f"  {name}: {'; '.join(each.broken()) or each.told()}", flush=True)
    print(f"  {time.monotonic() - begin:.0f} s", flush=True)
    return not any(each.broken() for each in endings.values())


if __name__ == "__main__":
    sys.exit(main())
