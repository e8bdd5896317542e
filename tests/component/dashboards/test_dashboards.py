"""Every query of the dashboards finds series in a real Prometheus, of operator and vLLM."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chart.alerting import exported, metric_names
from tests.cluster.prometheus import start_prometheus
from tests.component.dashboards.boards import (
    BOARDS,
    Query,
    panels,
    queries,
    used_variables,
    variables,
)
from tests.component.dashboards.observed_operator import NAMESPACE, ObservedOperator
from tests.component.telemetry.exporter import Exporter, Replica

STAND_IN = "stand-in-0.33.0"
SCRAPES = 12
CHOSEN = {"job": ".*", "namespace": NAMESPACE, "serving": ".*", "pod": ".*"}
GRAFANAS_OWN = {"datasource": "prometheus", "__rate_interval": "8s", "__all": ".*"}
QUERIES = queries()
BY_PLACE = pytest.mark.parametrize("query", QUERIES, ids=[each.place for each in QUERIES])


@pytest.fixture(scope="module")
def prometheus(prometheus_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that has scraped operator and stand-in several times."""
    with ObservedOperator() as operator, Exporter({"llama-0": Replica(source=STAND_IN)}) as vllm:
        running = start_prometheus(
            json.dumps(_scraped(operator.address, vllm.address)),
            tmp_path_factory.mktemp("dashboards"),
            binary=prometheus_binary,
        )
        try:
            _wait_for_scrapes(running.url)
            yield running.url
        finally:
            running.stop()


def _scraped(operator: str, vllm: str) -> dict[str, Any]:
    """What the chart's ServiceMonitor and PodMonitor make of it."""
    labels = {"namespace": "ridgeline-system", "pod": "ridgeline-0", "endpoint": "http"}
    of_pod = {"namespace": NAMESPACE, "pod": "llama-0", "ridgeline_dev_profile": "eagle"}
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {
                "job_name": "ridgeline",
                "honor_labels": True,
                "static_configs": [{"targets": [operator], "labels": labels}],
            },
            {
                "job_name": "vllm",
                "metrics_path": "/llama-0/metrics",
                "static_configs": [{"targets": [vllm], "labels": of_pod}],
            },
        ],
    }


def _wait_for_scrapes(url: str) -> None:
    end = time.monotonic() + 60
    while True:
        counts = [float(each["value"][1]) for each in ask(url, "count_over_time(up[1m])")]
        if len(counts) == 2 and min(counts) >= SCRAPES:
            return
        assert time.monotonic() < end, counts
        time.sleep(0.5)


def ask(url: str, query: str) -> list[Any]:
    """Series of an instant query."""
    address = f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(address, timeout=10) as answer:
        content = json.load(answer)
    assert "warnings" not in content, content["warnings"]
    found: list[Any] = content["data"]["result"]
    return found


@pytest.mark.prometheus
@BY_PLACE
def test_it_finds_series(prometheus: str, query: Query) -> None:
    found = ask(prometheus, query.filled_in(**CHOSEN, **GRAFANAS_OWN))
    assert found
    if query.label is None:
        assert any(math.isfinite(float(each["value"][1])) for each in found)
    else:
        assert all(each["metric"][query.label] for each in found)


@pytest.mark.prometheus
@BY_PLACE
def test_its_legend_names_labels_that_are_there(prometheus: str, query: Query) -> None:
    found = ask(prometheus, query.filled_in(**CHOSEN, **GRAFANAS_OWN))
    for label in re.findall(r"\{\{(\w+)\}\}", query.legend):
        assert all(each["metric"].get(label) for each in found), label


@pytest.mark.prometheus
def test_a_choice_narrows(prometheus: str) -> None:
    elsewhere = {**CHOSEN, "namespace": "elsewhere", "job": "other"}
    for query in QUERIES:
        if used_variables(query.text) & {"namespace", "job"}:
            assert ask(prometheus, query.filled_in(**elsewhere, **GRAFANAS_OWN)) == [], query.place


@BY_PLACE
def test_it_asks_for_metrics_of_the_operator_or_of_vllm(query: Query) -> None:
    names = metric_names(query.text)
    assert names
    assert {each for each in names if not each.startswith("vllm:")} <= exported()


def test_every_metric_of_the_operator_is_shown() -> None:
    """A histogram by any of its series."""
    shown = {name for query in QUERIES for name in metric_names(query.text)}
    end = re.compile(r"_(bucket|count|sum)$")
    assert {end.sub("", each) for each in exported()} == {
        end.sub("", each) for each in shown if each.startswith("ridgeline")
    }


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_is_whole(name: str) -> None:
    board = BOARDS[name]
    assert board["uid"] == f"ridgeline-{name}"
    assert "id" not in board
    known = {each["name"] for each in board["templating"]["list"]} | GRAFANAS_OWN.keys()
    for variable in variables(board):
        assert used_variables(json.dumps(variable)) <= known
    for panel in panels(board):
        assert panel["description"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert used_variables(json.dumps(panel["targets"])) <= known
    assert len({each["title"] for each in panels(board)}) == len(list(panels(board)))
    assert len({each["id"] for each in board["panels"]}) == len(board["panels"])


@pytest.mark.parametrize("name", BOARDS)
def test_no_panel_lies_over_another(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARDS[name]["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
