"""The benchmark of scale at its smallest: a whole run on a real API server and Prometheus.

It takes a minute or two, so it runs only where `RIDGELINE_SCALE` is 1.
"""

import json
import math
import os
from pathlib import Path

import pytest

from benchmarks.scale import main

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.prometheus,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("RIDGELINE_SCALE") != "1",
        reason="set RIDGELINE_SCALE=1 to bring up an API server and a Prometheus for it",
    ),
]

SIZES = (5, 10)
SHORT = ("--tick-seconds", "1", "--window-seconds", "8", "--scrape-seconds", "1", "--ticks", "5")
NUMBERS = (
    "cpu_seconds_per_tick",
    "ratio_to_bare_decoding",
    "growth_exponent",
    "bytes_per_replica",
    "queries_per_tick",
    "wall_seconds_per_tick",
    "api_calls_per_tick",
    "bytes_read_per_tick",
    "first_decision_ticks",
    "peak_concurrent_requests",
)


@pytest.mark.parametrize("way", [("--live",), ("--scraped", "5")], ids=("live", "recorded"))
def test_a_small_run_tells_everything_in_finite_numbers(
    way: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, plot = tmp_path / "scale.json", tmp_path / "scale.svg"
    sizes = ("--sizes", ",".join(map(str, SIZES)), "--replicas", "2")
    status = main([*sizes, *SHORT, *way, "--json", str(told), "--plot", str(plot)])
    assert status == 0
    document = json.loads(told.read_text())
    assert all(math.isfinite(document[key]) for key in NUMBERS)
    assert document["cpu_seconds_per_tick"] > 0.0
    assert [each["servings"] for each in document["sizes"]] == list(SIZES)
    for each in document["sizes"]:
        assert sum(each["reasons"].values()) == each["servings"]
    assert plot.read_text().lstrip().startswith("<?xml")
    assert "growth exponent" in capsys.readouterr().out
    if "--live" not in way:
        # A Prometheus that a busy machine holds up tells old samples; what was recorded is fresh.
        assert document["writes_at_steady_state"] == 0
        # Ten; with ticks of a second a busy machine may read the slow ones in two of them.
        assert 5.0 <= document["queries_per_tick"] <= 15.0
        assert document["reasons"] == {"BestProfileActive": SIZES[-1]}
