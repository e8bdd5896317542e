"""`python -m tests.soak`: plays a day and keeps what it saw. `make test-soak-day` runs it."""

import argparse
import asyncio
import secrets
import sys
import tracemalloc

from tests.soak.day import Day, play
from tests.soak.loop import JumpingLoop
from tests.soak.record import Seen, save


def main() -> int:
    """Play a day; return 1 when a promise was broken or something grows."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--hours", type=float, default=24.0, help="simulated hours")
    parser.add_argument("--seed", type=int, default=None, help="draws what happens; else random")
    parser.add_argument("--step", type=float, default=5.0, help="simulated seconds between looks")
    parser.add_argument(
        "--trace", action="store_true", help="tracemalloc, too (several times slower)"
    )
    parser.add_argument("--dry-run", action="store_true", help="keep no result")
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"soak: {given.hours:g} simulated hours, seed {seed}", flush=True)
    if given.trace:
        tracemalloc.start(1)
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        seen = runner.run(play(Day(seed=seed, hours=given.hours, step=given.step, told=_told)))
    for broken in seen.broken:
        print(f"broken: {broken}")
    for name, found in seen.slopes().items():
        grows = "flat" if found.flat else "GROWS"
        told = f"mean {found.mean:,.0f}, {found.per_hour:+,.2f} ±{found.error:,.2f}/h"
        print(f"{name}: {told}: {grows}")
    if not given.dry_run:
        print(f"soak: kept in {save(seen).name}")
    return 0 if seen.whole else 1


def _told(seen: Seen) -> None:
    last = seen.samples[-1]
    print(
        f"hour {seen.hours:g}: {sum(seen.happenings.values())} things happened, "
        f"{seen.rolls['begun']} rolls begun, {seen.operators_lost} operators lost, "
        f"held {last.held_bytes / 1e6:.2f} MB, RSS {last.rss_bytes / 1e6:.1f} MB, "
        f"{len(seen.broken)} broken, {seen.cpu_seconds:.0f} s CPU",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
