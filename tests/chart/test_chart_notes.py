"""What a person is told after installing, and in the docs, works as it stands there."""

from __future__ import annotations

import re

import pytest
import yaml

from ridgeline.api.serving import SpeculativeServing
from tests.chart.rendering import CHART, NAMESPACE, Chart, Object, config_of
from tests.cluster.paths import REPO

INSTALL = REPO / "docs" / "how-to" / "install.md"


def _notes(chart: Chart, *options: str) -> str:
    command = ("install", "ridgeline", str(CHART), "--namespace", NAMESPACE, "--dry-run=client")
    return chart.run(*command, *options).partition("NOTES:\n")[2]


def test_the_first_serving_in_the_notes_is_a_serving(chart: Chart) -> None:
    found = re.search(r"<<EOF\n(.*?)\n  EOF", _notes(chart), re.DOTALL)
    assert found is not None
    serving = yaml.safe_load(found[1].replace("MY-DEPLOYMENT", "a").replace("MY-NAMESPACE", "b"))
    parsed = SpeculativeServing.model_validate(serving)
    assert [each.name for each in parsed.spec.profiles] == ["ngram", "none"]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("replicas=1", "looks after all namespaces"),
        ("watchNamespaces={inference}", "looks after inference"),
        ("watchNamespaces={inference}", "name the accelerator in each serving"),
        ("crds.enabled=false", "not part of this release"),
        ("config.freeze=true", "FROZEN"),
    ],
)
def test_the_notes_tell_what_was_chosen(chart: Chart, option: str, told: str) -> None:
    assert told in _notes(chart, "--set", option)
    if option != "replicas=1":
        assert told not in _notes(chart)


def _values_in_docs() -> list[Object]:
    blocks = re.findall(r"```yaml\n(.*?)```", INSTALL.read_text(), re.DOTALL)
    return [yaml.safe_load(each) for each in blocks]


def test_the_values_in_the_docs_are_taken(chart: Chart) -> None:
    found = _values_in_docs()
    assert len(found) >= 3
    for values in found:
        assert config_of(chart.render(values))["telemetry"]
