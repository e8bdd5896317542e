"""The pictures of the dashboards: every panel is drawn, with its title and what was answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.component.dashboards.boards import BOARDS, panels
from tests.tools.dashboard_pictures import NOTHING, Answers, draw, svg


class Made(Answers):
    """Answers every query with one series, or with none."""

    def __init__(self, *, empty: bool = False) -> None:
        super().__init__("", 0.0, 7200.0)
        self._empty = empty

    def _ask(self, what: str, **parameters: Any) -> list[Any]:
        if self._empty:
            return []
        labels = {"serving": "llama", "profile": "eagle", "reason": "FieldConflict", "version": "9"}
        values = [[float(at), "1"] for at in range(0, 7200, 600)]
        return [{"metric": labels, "value": [7200.0, "1"], "values": values}]


def drawn(name: str, answers: Answers) -> str:
    return svg(draw(BOARDS[name], answers))


@pytest.mark.parametrize("name", BOARDS)
def test_every_panel_is_drawn(name: str) -> None:
    text = drawn(name, Made())
    for panel in panels(BOARDS[name]):
        assert f">{panel['title']}<" in text
    assert NOTHING not in text


@pytest.mark.parametrize("name", BOARDS)
def test_a_panel_without_series_says_so(name: str) -> None:
    lines = [
        each for each in panels(BOARDS[name]) if each["type"] in ("timeseries", "state-timeline")
    ]
    assert drawn(name, Made(empty=True)).count(f">{NOTHING}<") == len(lines)
