"""`python -m tests.leaders`: an hour with two operators that are stopped, killed and ended."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.cluster.errors import ClusterError
from tests.cluster.launch import Options
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.cluster.spec import Level
from tests.leaders.hour import play
from tests.leaders.record import dump, load, run_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; 0 when every rule was kept, 1 when one was not, 2 without a cluster."""
    parser = argparse.ArgumentParser(prog="python -m tests.leaders", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long")
    parser.add_argument("--seed", type=int, default=None, help="of what happens; else a new one")
    chosen = parser.parse_args(arguments)
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}, {chosen.seconds:.0f} s", flush=True)
    date = datetime.now(UTC).date().isoformat()
    try:
        with provided(Options(level=Level.CONTROL_PLANE), Progress()) as cluster:
            outcome = play(cluster, seconds=chosen.seconds, seed=seed)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    run = run_of(outcome, date=date, seed=seed, seconds=chosen.seconds)
    dump([*load(), run])
    print(json.dumps(run, indent=1))
    return 1 if run["violations"] or run["stuck"] or run["ended"] else 0


if __name__ == "__main__":
    sys.exit(main())
