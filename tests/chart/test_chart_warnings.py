"""What the notes warn of, that they do so only where it is true, and that they say how to leave."""

from __future__ import annotations

import pytest

from tests.chart.rendering import CHART, NAMESPACE, Chart

QUIET = (
    "--set=image.registry=registry.example",
    "--set=serviceMonitor.enabled=true",
    "--set=prometheusRule.enabled=true",
)
"""Nothing is left to warn of."""


def notes(chart: Chart, *options: str) -> str:
    """What Helm tells after an installation."""
    command = ("install", "ridgeline", str(CHART), "--namespace", NAMESPACE, "--dry-run=client")
    return chart.run(*command, *options).partition("NOTES:\n")[2]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("guard.enabled=false", "without the guard"),
        ("guard.allowArgs=true", "guard.allowArgs lets"),
        ("replicas=0", "replicas is 0"),
        ("rbac.create=false", "rbac.create is false"),
        ("image.registry=ridgeline.dev", "image.registry is a placeholder"),
        ("serviceMonitor.enabled=false", "set prometheusRule.matchers"),
        ("crds.keep=false", "EVERY serving"),
    ],
)
def test_it_warns_of_what_was_chosen(chart: Chart, option: str, told: str) -> None:
    assert "WARNING" not in notes(chart, *QUIET)
    (warning,) = (
        each for each in notes(chart, *QUIET, "--set", option).splitlines() if "WARNING" in each
    )
    assert told in warning


def test_alerts_that_are_told_apart_need_no_warning(chart: Chart) -> None:
    options = ("serviceMonitor.enabled=false", 'prometheusRule.matchers=cluster="a"')
    assert "WARNING" not in notes(chart, *QUIET, *(f"--set={each}" for each in options))


def test_monitoring_is_offered_where_there_is_none(chart: Chart) -> None:
    assert "Nothing watches the operator yet" in notes(chart)
    assert "Nothing watches the operator yet" not in notes(chart, *QUIET)


def test_the_next_steps_are_there(chart: Chart) -> None:
    told = notes(chart)
    assert f"helm test ridgeline --namespace {NAMESPACE}" in told
    assert f"helm uninstall ridgeline --namespace {NAMESPACE}" in told
    assert "CRDs and servings stay" in told
    assert "CRDs and servings stay" not in notes(chart, "--set", "crds.keep=false")


def test_pods_that_are_read_by_themselves_have_no_address(chart: Chart) -> None:
    told = notes(chart, "--set-json", 'telemetry.endpoints=[{"source":"Pods"}]')
    assert "default: the Pods' own pages" in told
