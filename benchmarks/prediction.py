"""How well the cost model predicts published measurements, beside the rules that are in use.

    python -m benchmarks.prediction [FILE…] [--json] [--cells]

Files have the columns of measurements.csv, or are a table of step times (batch, k0_ms, …). Without
one, those of ../shared/facts are taken where they are. What cannot be scored is counted with its
reason. Every number stands beside its scope.

Speed-up errors are relative to the measured speed-up. A loss is a measured speed-up below 1, a
gain one above 1.03, the margin that the operator asks for; a cell between counts as neither. A
decision is outside the band when the prediction is more than one standard deviation away from 1.03,
and wrong when a loss is kept on or a gain turned off. Regret is the tokens per second that a rule
gives up against the best choice in each cell (its lookahead or none; in a table of step times
any of its lookaheads), as a share of what the best choices make.

Acceptance is given, not predicted: see benchmarks/prediction_runs.py. So the model knows of each
run its speed-up at the least load, and is scored on the other loads alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.prediction_cells import Cell, Skipped
from benchmarks.prediction_fixture import Fixture, is_fixture, read_fixture, score_fixture
from benchmarks.prediction_rules import RULES, achieved, best
from benchmarks.prediction_runs import read_cells
from benchmarks.prediction_score import Scored, speedup, summary, tokens_per_second
from benchmarks.prediction_speed import table_milliseconds

FACTS = Path(__file__).resolve().parents[2] / "shared" / "facts"
DEFAULTS = ("measurements.csv", "step_times_llama31_8b_eagle.csv")


@dataclass
class Results:
    """What was read and predicted."""

    scored: list[Scored] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    fixtures: list[Fixture] = field(default_factory=list)


def predict(paths: Sequence[Path]) -> Results:
    """Return every cell of some files with its prediction."""
    results = Results()
    for path in paths:
        if is_fixture(path):
            fixture, skipped = read_fixture(path)
            results.fixtures.append(fixture)
            results.scored.extend(score_fixture(fixture))
            results.skipped.extend(skipped)
            continue
        cells, skipped = read_cells(path)
        results.skipped.extend(skipped)
        for cell in cells:
            predicted = speedup(cell)
            if predicted is None:
                results.skipped.append(Skipped(cell.name, "the model cannot say", cell.scopes))
            else:
                results.scored.append(Scored(cell, predicted))
    return results


def report(results: Results) -> dict[str, Any]:
    """Return every score as one object."""
    scopes: dict[str, list[Scored]] = {}
    for each in results.scored:
        for scope in each.cell.scopes:
            scopes.setdefault(scope, []).append(each)
    left = Counter(scope for each in results.skipped for scope in each.scopes)
    names = sorted({*scopes, *left})
    found: dict[str, Any] = {
        "all": summary(results.scored, len(results.skipped)),
        "scopes": {name: summary(scopes.get(name, []), left[name]) for name in names},
        "rules": _rules([each.cell for each in results.scored]),
        "skipped": dict(Counter(each.reason for each in results.skipped).most_common()),
    }
    for fixture in results.fixtures:
        found["scopes"]["fixture"] |= {
            "step_mape_percent": round(fixture.step_mape_percent, 2),
            "best_k": [predicted for _, predicted, _ in fixture.best],
            "best_k_measured": [measured for _, _, measured in fixture.best],
        }
    return found


def _rules(cells: Sequence[Cell]) -> dict[str, dict[str, float]]:
    weights = [tokens_per_second(each) for each in cells]
    most = sum(weight * best(each) for weight, each in zip(weights, cells, strict=True))
    found = {}
    for name, rule in RULES.items():
        made = [achieved(each, rule(each)) for each in cells]
        total = sum(weight * each for weight, each in zip(weights, made, strict=True))
        lost = [1.0 - one / best(each) for one, each in zip(made, cells, strict=True)]
        found[name] = {
            "regret_percent": round(100.0 * (1.0 - total / most), 3) if most else 0.0,
            "regret_tokens_per_second": round(most - total, 1),
            "mean_cell_regret_percent": round(100.0 * sum(lost) / len(lost), 3) if lost else 0.0,
        }
    found["oracle"] = dict.fromkeys(next(iter(found.values())), 0.0)
    return found


def show(found: dict[str, Any]) -> None:
    """Print the scores for a person."""
    columns = ("n", "mape_percent", "p90_percent", "max_percent", "bias_percent")
    print(f"{'scope':28}{'cells':>6}{'MAPE %':>8}{'p90 %':>8}{'max %':>8}{'bias %':>8}", end="")
    print(f"{'losses found':>14}{'gains turned off':>18}")
    for name, one in (("all", found["all"]), *found["scopes"].items()):
        values = ("–" if one[each] is None else f"{one[each]:g}" for each in columns)
        widths = (6, 8, 8, 8, 8)
        cells = "".join(f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
        found_of = f"{one['losses_found']} of {one['losses']}"
        off = f"{one['gains_turned_off']} of {one['gains']}"
        print(f"{name:28}{cells}{found_of:>14}{off:>18}")
    fixture = found["scopes"].get("fixture", {})
    if "best_k" in fixture:
        print(
            f"\nfixture: step time {fixture['step_mape_percent']} % MAPE; best K by batch "
            f"{fixture['best_k']}, measured {fixture['best_k_measured']}"
        )
    print(f"\n{'rule':36}{'regret %':>10}{'tokens/s':>12}{'mean of cells %':>18}")
    for name, one in sorted(found["rules"].items(), key=lambda each: each[1]["regret_percent"]):
        print(
            f"{name:36}{one['regret_percent']:>10.3f}{one['regret_tokens_per_second']:>12.0f}"
            f"{one['mean_cell_regret_percent']:>18.3f}"
        )
    whole = found["all"]
    print(
        f"\noutside the band: {whole['outside_band']} of {whole['n']} cells, "
        f"{whole['outside_band_wrong']} decided wrongly"
    )
    print(f"\nnot scored: {found['all']['skipped']}")
    for reason, count in found["skipped"].items():
        print(f"  {count:5}  {reason}")
    print(f"\none table of 8 profiles: {found['table_ms']:.2f} ms of CPU")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, predict, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--cells", action="store_true", help="print every cell too")
    options = parser.parse_args(arguments)
    paths = options.files or [path for name in DEFAULTS if (path := FACTS / name).exists()]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing or not paths:
        print(f"no such file: {', '.join(missing) or 'name one'}", file=sys.stderr)
        return 2
    results = predict(paths)
    found = report(results) | {"table_ms": round(table_milliseconds(time.process_time), 3)}
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    if options.cells:
        for each in results.scored:
            cell = each.cell
            print(
                f"{cell.name:18} {cell.arm.method.value:11} K={cell.arm.lookahead} "
                f"B={cell.load:<5g} measured {cell.observed:.3f} predicted {each.predicted:.3f} "
                f"{100 * each.error:+.1f} %"
            )
    show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
