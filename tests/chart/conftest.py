"""Fixtures of the chart's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.rendering import Chart, Object, one


@pytest.fixture(scope="session")
def chart(helm_binary: Path) -> Chart:
    """The chart, with Helm."""
    return Chart(helm=helm_binary)


@pytest.fixture(scope="session")
def defaults(chart: Chart) -> list[Object]:
    """What the chart renders when nothing is chosen."""
    return chart.render()


@pytest.fixture(scope="session")
def chart_test(chart: Chart) -> Object:
    """The Pod of `helm test`."""
    return one(chart.hooks(), "Pod")
