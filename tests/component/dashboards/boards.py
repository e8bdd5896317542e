"""The chart's dashboards: their panels, queries and variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.cluster.paths import REPO

FOLDER = REPO / "charts" / "ridgeline" / "dashboards"
BOARDS: dict[str, Any] = {
    path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
}
_LABEL_VALUES = re.compile(r"label_values\((?P<selector>.+), (?P<label>\w+)\)")
_VARIABLE = re.compile(r"\$\{?(\w+)")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query of a panel, or of a variable's values.

    Attributes:
        place: Dashboard and panel or variable.
        text: PromQL, with Grafana's variables.
        label: Label that must be in the answer, for a variable.
        legend: How series are named.
    """

    place: str
    text: str
    label: str | None = None
    legend: str = ""

    def filled_in(self, **variables: str) -> str:
        """The query as Grafana sends it."""
        return _VARIABLE.sub(lambda found: variables[found[1]], self.text)


def panels(board: Any) -> Iterator[Any]:
    """Every panel that shows something."""
    for each in board["panels"]:
        if each["type"] != "row":
            yield each


def queries() -> list[Query]:
    """Every query of every panel and variable."""
    found = []
    for name, board in BOARDS.items():
        for panel in panels(board):
            for target in panel["targets"]:
                place = f"{name}: {panel['title']} {target['refId']}"
                legend = target["legendFormat"]
                found.append(Query(place=place, text=target["expr"], legend=legend))
        for variable in variables(board):
            match = _LABEL_VALUES.fullmatch(variable["query"]["query"])
            assert match is not None, variable["name"]
            place = f"{name}: ${variable['name']}"
            found.append(Query(place=place, text=match["selector"], label=match["label"]))
    return found


def variables(board: Any) -> list[Any]:
    """The variables that a person chooses values of by a query."""
    return [each for each in board["templating"]["list"] if each["type"] == "query"]


def used_variables(text: str) -> set[str]:
    """Names of Grafana's variables in a text."""
    return set(_VARIABLE.findall(text))
