"""Values that cannot be meant are refused by the schema, with their name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import CHART, Chart, HelmRefusesError
from tests.tools import chart as tool
from tests.tools.chart_values import documented, page

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown value": ({"replica": 2}, "replica"),
    "unknown image field": ({"image": {"name": "x"}}, "name"),
    "floating tag": ({"image": {"tag": "latest"}}, "tag"),
    "digest without algorithm": ({"image": {"digest": "0123"}}, "digest"),
    "pull policy": ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    "no repository": ({"image": {"repository": ""}}, "repository"),
    "replicas": ({"replicas": -1}, "replicas"),
    "replicas as text": ({"replicas": "1"}, "replicas"),
    "no endpoint": ({"telemetry": {"endpoints": []}}, "endpoints"),
    "endpoint without address": ({"telemetry": {"endpoints": [{"name": "a"}]}}, "url"),
    "endpoint with a wrong name": (
        {"telemetry": {"endpoints": [{"name": "A B", "url": "http://a"}]}},
        "name",
    ),
    "endpoint with a secret inline": (
        {"telemetry": {"endpoints": [{"url": "http://a", "password": "x"}]}},
        "password",
    ),
    "namespace": ({"watchNamespaces": ["Not_A_Namespace"]}, "watchNamespaces"),
    "namespace twice": ({"watchNamespaces": ["one", "one"]}, "watchNamespaces"),
    "tick": ({"config": {"tickSeconds": 0}}, "tickSeconds"),
    "unknown configuration": ({"config": {"tick": 15}}, "tick"),
    "port is the chart's": ({"config": {"port": 9}}, "port"),
    "namespaces are the chart's": ({"config": {"namespaces": ["a"]}}, "namespaces"),
    "endpoints are elsewhere": ({"config": {"telemetry": [{"url": "http://a"}]}}, "telemetry"),
    "the lease's place is the chart's": ({"config": {"lease": {"name": "x"}}}, "name"),
    "the lease is always there": ({"config": {"lease": {"enabled": False}}}, "enabled"),
    "lease": ({"config": {"lease": {"durationSeconds": 1}}}, "durationSeconds"),
    "log level": ({"log": {"level": "loud"}}, "level"),
    "crds as text": ({"crds": {"keep": "yes"}}, "keep"),
    "env without name": ({"extraEnv": [{"value": "x"}]}, "name"),
    "annotation that is no text": ({"podAnnotations": {"a": 1}}, "podAnnotations"),
    "grace below what a stop needs": (
        {"terminationGracePeriodSeconds": 5},
        "terminationGracePeriodSeconds",
    ),
}


@pytest.mark.parametrize(("values", "name"), BAD.values(), ids=BAD.keys())
def test_a_bad_value_is_refused_by_name(chart: Chart, values: dict[str, Any], name: str) -> None:
    with pytest.raises(HelmRefusesError) as refusal:
        chart.render(values)
    assert "don't meet the specifications of the schema" in str(refusal.value)
    assert name in str(refusal.value)


def test_values_of_a_parent_chart_are_let_through(chart: Chart) -> None:
    chart.render({"global": {"anything": {"of": "theirs"}}})


def test_generated_files_are_up_to_date() -> None:
    assert tool.main(["--check"]) == 0


def test_a_generated_file_that_drifted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drifted = tmp_path / "values.schema.json"
    text = tool.SCHEMA.read_text()
    drifted.write_text(text.replace('"maximum": 600', '"maximum": 601', 1))
    monkeypatch.setattr(tool, "SCHEMA", drifted)
    monkeypatch.setattr(tool, "REPO", tmp_path)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(tool, "CHART", tmp_path)
    (tmp_path / "values.yaml").write_text((CHART / "values.yaml").read_text())
    old = tmp_path / "files" / "crds" / "gone.yaml"
    old.parent.mkdir(parents=True)
    old.write_text("")
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "new.yaml").write_text("kind: New\n")

    assert tool.main(["--check"]) == 1
    told = capsys.readouterr().err
    for name in ("values.schema.json", "page.md", "gone.yaml", "new.yaml"):
        assert name in told

    assert tool.main([]) == 0
    assert drifted.read_text() == text
    assert not old.exists()
    assert (tmp_path / "files" / "crds" / "new.yaml").read_text() == "kind: New\n"
    assert tool.main(["--check"]) == 0


def test_every_value_is_told_with_its_default() -> None:
    rows = {each.path: each for each in documented((CHART / "values.yaml").read_text())}
    assert rows["crds.keep"].default is True
    assert "uninstalled" in rows["crds.keep"].text
    assert rows["telemetry.endpoints"].default[0]["name"] == "default"
    assert rows["resources"].default["requests"]["cpu"] == "50m"
    with pytest.raises(ValueError, match=r"image\.extra has no comment"):
        documented("image:\n  # Told.\n  tag: x\n  extra: y\n")


def test_the_page_tells_what_config_takes() -> None:
    text = page((CHART / "values.yaml").read_text(), json.loads(tool.SCHEMA.read_text()))
    assert "| `tickSeconds` | `15.0` |" in text
    assert "| `lease.durationSeconds` | `12` |" in text
    assert "| `url` | required |" in text
    assert "| `port` |" not in text
