"""A Prometheus alone, with a test's own configuration."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.prometheus import is_ready, pod_discovery_config, start_prometheus
from tests.cluster.waiting import wait_until

_SELF = """
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
  - {job_name: own, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}
"""


def _up(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/api/v1/query?query=up", timeout=5) as answer:
        result = json.loads(answer.read())["data"]["result"]
    return [series["value"][1] for series in result]


def test_it_scrapes_what_its_configuration_names(prometheus_binary: Path, tmp_path: Path) -> None:
    running = start_prometheus(_SELF, tmp_path / "p", binary=prometheus_binary)
    try:
        assert _up(running.url) == []
        targets = [{"targets": [running.url.removeprefix("http://")]}]
        (tmp_path / "p" / "targets.json").write_text(json.dumps(targets))
        wait_until(lambda: _up(running.url) == ["1"], "a scrape of itself", timeout_s=30)
    finally:
        running.stop()
    assert not is_ready(running.url)


def test_a_broken_configuration_is_refused_with_its_words(
    prometheus_binary: Path, tmp_path: Path
) -> None:
    with pytest.raises(ClusterError, match="field nonsense not found"):
        start_prometheus("nonsense: 1", tmp_path / "p", binary=prometheus_binary)


def test_a_changed_configuration_is_read_again(prometheus_binary: Path, tmp_path: Path) -> None:
    running = start_prometheus(_SELF, tmp_path / "p", binary=prometheus_binary)
    try:
        running.config_file.write_text("nonsense: 1")
        with pytest.raises(ClusterError, match="Prometheus refused"):
            running.reload()
        running.config_file.write_text(_SELF)
        running.reload()
    finally:
        running.stop()


def test_the_discovery_configuration_is_a_valid_one(promtool_binary: Path, tmp_path: Path) -> None:
    config = tmp_path / "prometheus.yml"
    (tmp_path / "kubeconfig").write_text("{}")
    config.write_text(pod_discovery_config(tmp_path / "kubeconfig", scrape_interval_s=0.5))
    command = [str(promtool_binary), "check", "config", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
