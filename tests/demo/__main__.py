"""`python -m tests.demo`: the demo on a real cluster, or in simulation where none can be had."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from rich.console import Console

from tests.cluster.errors import ClusterError
from tests.cluster.launch import Options
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.cluster.spec import Level
from tests.demo.real import play, staged
from tests.demo.scenario import Outcome, Scenario
from tests.demo.screen import Screen, summary
from tests.demo.simulated import play_simulated

_LOOK_FURTHER = (
    "",
    "To look further:",
    "  .venv/bin/python -m tests.cluster up    a cluster that stays (down ends it)",
    "  kubectl get sps --all-namespaces    every serving: profile, cut-off, reason",
    "  kubectl ridgeline explain NAME -n NAMESPACE",
    "  docs/how-to/first-serving.md        the same with your own Deployment",
)


def main(argv: list[str]) -> int:
    """Play the demo; 0 when every roll happened."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--plain", action="store_true", help="lines instead of a live table")
    parser.add_argument("--simulated", action="store_true", help="do not look for a cluster")
    parser.add_argument("--yes", action="store_true", help="install packages without asking")
    parser.add_argument("--log", type=Path, help="keep the operator's log in this file")
    chosen = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console(highlight=False)
    try:
        outcome = _play(chosen, console)
    except KeyboardInterrupt:
        console.print("interrupted; everything was taken down")
        return 130
    summary(outcome, _LOOK_FURTHER, console)
    return 1 if outcome.failure else 0


def _play(chosen: argparse.Namespace, console: Console) -> Outcome:
    if chosen.simulated:
        return _simulated(chosen, console)
    progress = Progress()
    options = Options(level=Level.FULL, scrape_interval_s=1.0, yes=chosen.yes)
    scenario = Scenario()
    try:
        with provided(options, progress) as cluster, staged(cluster, progress) as stage:
            progress.say("the operator starts; watch it follow the load")
            with Screen(plain=chosen.plain) as screen:
                return play(stage, scenario, screen.show, chosen.log)
    except ClusterError as error:
        if scenario.started:
            raise
        console.print(f"No cluster can be had here: {error}", markup=False)
        console.print("The same controller now runs in this process, on simulated replicas.")
        return _simulated(chosen, console)


def _simulated(chosen: argparse.Namespace, console: Console) -> Outcome:
    with Screen(plain=chosen.plain) as screen:
        return play_simulated(Scenario(), screen.show)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
