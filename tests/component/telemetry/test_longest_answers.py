"""Prometheus's own promtool: the longest answers of an hour, over hours that are made up."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.promql import E2E
from ridgeline.telemetry.queries import REGISTRY, query_context

pytestmark = pytest.mark.prometheus

NOW = 180
"""Minutes since the beginning, at which is asked; there is a sample every minute."""
BOUNDS = (60.0, 120.0)
SHORT, LONG, LONGER = 30.0, 90.0, 500.0
"""How long answers take: in the first bucket, in the second, above all."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """What a Pod answered.

    Attributes:
        answers: Minutes at which an answer of so many seconds ended; more than one may at a time.
        born: Minute of the first sample.
        restarts: Minute at which all counters begin anew.
        again: Minute from which on a second job scrapes it too.
        longest: Bound that is expected, `None` for no series.
        beyond: How many answers are expected to be above all bounds.
    """

    answers: tuple[tuple[int, float], ...] = ()
    born: int = 0
    restarts: int | None = None
    again: int | None = None
    longest: float | None
    beyond: float = 0.0


def each(minutes: Iterable[int], seconds: float, times: int = 1) -> tuple[tuple[int, float], ...]:
    return tuple((minute, seconds) for minute in minutes for _ in range(times))


USUAL = each(range(1, NOW), SHORT)

SERVERS: Mapping[str, Server] = {
    "short": Server(answers=USUAL, longest=60.0),
    "long-ago": Server(answers=(*USUAL, (30, LONG), (115, LONGER)), longest=60.0),
    "lately": Server(answers=(*USUAL, (125, LONG)), longest=120.0),
    "one-in-thousands": Server(
        answers=(*each(range(1, NOW), SHORT, 100), (170, LONG)), longest=120.0
    ),
    "above-all": Server(answers=(*USUAL, (30, LONGER), (150, LONGER)), longest=120.0, beyond=1.0),
    "idle": Server(answers=((30, LONG),), longest=None),
    "never-asked": Server(longest=None),
    "young": Server(answers=((151, LONG),), born=150, longest=120.0),
    # Its first sample counts already what nobody saw begin.
    "young-to-the-store": Server(answers=((10, LONG),), born=150, longest=120.0),
    "restarted": Server(answers=(*USUAL, (30, LONGER), (150, LONGER)), restarts=160, longest=60.0),
    # Had the counters of an hour ago been taken off, the long ones after it would be below 0.
    "busy-after-restart": Server(
        answers=(
            *each(range(1, 21), LONGER),
            *USUAL,
            *each(range(150, NOW), SHORT, 20),
            (170, LONGER),
        ),
        restarts=140,
        longest=120.0,
        beyond=1.0,
    ),
    "twice-lately": Server(answers=(*USUAL, (30, LONG)), again=150, longest=60.0),
}


def counts(server: Server, bound: float, born: int) -> str:
    """A series in promtool's notation: what was counted in a bucket by each minute."""
    told = []
    for minute in range(NOW + 1):
        restarted = server.restarts is not None and minute >= server.restarts
        since = server.restarts or 0 if restarted else 0
        ended = [s for at, s in server.answers if since <= at <= minute]
        told.append("_" if minute < born else str(sum(s <= bound for s in ended)))
    return " ".join(told)


def input_series() -> list[dict[str, str]]:
    found = []
    for pod, server in SERVERS.items():
        for job, born in (("a", server.born), ("b", server.again)):
            if born is None:
                continue
            labels = f'job="{job}",namespace="n",pod="{pod}",engine="0"'
            for bound in (*BOUNDS, float("inf")):
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                series = f'{E2E}_bucket{{{labels},le="{le}"}}'
                found.append({"series": series, "values": counts(server, bound, born)})
            total = counts(server, float("inf"), born)
            found.append({"series": f"{E2E}_count{{{labels}}}", "values": total})
    return found


@pytest.mark.parametrize("name", ["longest_answer", "longest_answer_beyond"])
def test_the_longest_answers_of_an_hour(promtool_binary: Path, tmp_path: Path, name: str) -> None:
    promql = REGISTRY[name].render(query_context(Endpoint(name="x", url="http://x"), 120.0))
    wanted = {
        pod: each.longest if name == "longest_answer" else each.beyond
        for pod, each in SERVERS.items()
    }
    expected = [
        {"labels": f'{{namespace="n",pod="{pod}",engine="0"}}', "value": value}
        for pod, value in wanted.items()
        if value is not None
    ]
    asked = {"expr": promql, "eval_time": f"{NOW}m", "exp_samples": expected}
    test = {"interval": "1m", "input_series": input_series(), "promql_expr_test": [asked]}
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"evaluation_interval": "1m", "tests": [test]}))
    told = subprocess.run(
        [str(promtool_binary), "test", "rules", str(file)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert told.returncode == 0, told.stdout + told.stderr
