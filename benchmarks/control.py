"""Control laws side by side in a request-level simulation, with the optimum in hindsight.

    python -m benchmarks.control [--seeds 5] [--hours 96] [--only LAW …] [--full] [--quick]
                                 [--trace FILE …] [--json]

Prints mean request latency of every control law over the same traffic, its share of the gain that
the best plan made in hindsight has over the better static choice, and how often it rolled. Seeds
are 1 … N. Without --full the scenarios are 70B, 8B and a weak head, without and with surge.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.control_run import CellOfSeed, laws, rows, run_cell
from benchmarks.control_scenarios import Scenario, further, headline, of_trace


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks.control")
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1 … N")
    parser.add_argument("--hours", type=float, default=96.0, help="simulated length")
    parser.add_argument("--tick", type=float, default=30.0, help="seconds between decisions")
    parser.add_argument("--plateau", type=float, help="weekday plateau ÷ D*, for all families")
    parser.add_argument("--only", nargs="+", metavar="LAW", help="these laws, and the statics")
    parser.add_argument("--scenario", nargs="+", help="scenarios whose name begins so")
    parser.add_argument("--full", action="store_true", help="all scenarios (an hour or more)")
    parser.add_argument("--quick", action="store_true", help="a day, two seeds")
    parser.add_argument("--trace", type=Path, nargs="+", default=[], help="CSV: s, prompt, output")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.only and (unknown := set(chosen.only) - {each.name for each in laws()}):
        parser.error(f"--only {' '.join(sorted(unknown))}: choose from {_names()}")
    if chosen.quick:
        chosen.hours, chosen.seeds = min(chosen.hours, 24.0), min(chosen.seeds, 2)
    scenarios = _scenarios(chosen)
    if not scenarios or chosen.seeds < 1:
        parser.error("nothing to run: no scenario begins so, or no seed is left")
    scenarios = [replace(each, tick_seconds=chosen.tick) for each in scenarios]
    cells = _run(scenarios, chosen.seeds, chosen.only, chosen.processes)
    if chosen.json:
        print(json.dumps(document(cells), indent=1))
    else:
        print_tables(cells)
    return 0


def _names() -> str:
    return ", ".join(each.name for each in laws())


def _scenarios(chosen: argparse.Namespace) -> list[Scenario]:
    if chosen.trace:
        found = [each for path in chosen.trace for each in of_trace(path)]
    else:
        found = headline(chosen.hours)
        if chosen.plateau is not None:
            found = [
                replace(each, demand=replace(each.demand, plateau=chosen.plateau)) for each in found
            ]
        if chosen.full:
            found += further(chosen.hours)
    if chosen.scenario:
        found = [each for each in found if each.name.startswith(tuple(chosen.scenario))]
    return found


def _run(
    scenarios: list[Scenario], seeds: int, only: list[str] | None, processes: int
) -> dict[str, list[CellOfSeed]]:
    laws_only = None if only is None else tuple(only)
    tasks = [(each, seed, laws_only) for each in scenarios for seed in range(1, seeds + 1)]
    print(f"seeds 1 … {seeds}, {len(tasks)} cells", file=sys.stderr)
    cells: dict[str, list[CellOfSeed]] = defaultdict(list)
    with multiprocessing.Pool(min(processes, len(tasks))) as pool:
        for done, cell in enumerate(pool.imap(run_cell, tasks), start=1):
            cells[cell.scenario].append(cell)
            print(f"{done}/{len(tasks)} {cell.scenario} seed {cell.seed}", file=sys.stderr)
    return dict(cells)


def document(cells: dict[str, list[CellOfSeed]]) -> dict[str, Any]:
    """Return everything as `--json` prints it."""
    return {
        "scenarios": {
            scenario: {law: asdict(row) for law, row in rows(of).items()}
            for scenario, of in cells.items()
        },
        "peaks": {name: [each.peak for each in of] for name, of in cells.items()},
        "seeds": sorted({each.seed for of in cells.values() for each in of}),
    }


def print_tables(cells: dict[str, list[CellOfSeed]]) -> None:
    """Print a table per scenario."""
    for scenario, of in cells.items():
        peaks = ", ".join(f"{each.peak:.2f}" for each in of)
        print(f"\n{scenario}  (P by seed: {peaks})")
        print(
            f"  {'law':<22}{'latency s':>10}{'of bound':>10}{'worst':>8}{'rolls/day':>10}"
            f"{'most':>5}{'loss %':>8}{'worst %':>8}{'shed':>8}"
        )
        for law, row in rows(of).items():
            print(
                f"  {law:<22}{row.mean_latency_seconds:>10.2f}{_share(row.share_of_bound):>10}"
                f"{_share(row.worst_share_of_bound):>8}{row.rolls_per_day:>10.2f}"
                f"{row.most_rolls_in_a_day:>5}{row.loss_vs_better_static_percent:>8.1f}"
                f"{row.worst_loss_vs_better_static_percent:>8.1f}{row.shed:>8}"
            )
    print("\nof bound: share of the hindsight gain over the better static; – where it has none")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
