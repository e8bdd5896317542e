"""Draw the dashboards: their own queries, answered by a real Prometheus, in their own places.

python -m tests.tools.dashboard_pictures [FOLDER]

Not Grafana's drawing, but what it would show: every panel of charts/ridgeline/dashboards with its
title, unit and legend. Panels over vLLM's own series have none here, and say so.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.cluster import tools
from tests.cluster.paths import REPO
from tests.cluster.progress import Silent
from tests.cluster.prometheus import start_prometheus
from tests.component.dashboards.boards import BOARDS, Query, panels
from tests.tools.dashboard_play import EVERY_SECONDS, played

FOLDER: Final = REPO / "docs" / "images"
CHOSEN: Final = {
    **dict.fromkeys(("job", "namespace", "serving", "pod", "__all"), ".*"),
    "datasource": "prometheus",
    "__rate_interval": "2m",
}
COLORS: Final = ("#3871dc", "#d9822b", "#2f9e5b", "#c0392b", "#8250c4", "#6b7785")
NOTHING: Final = "no series in this play"
MOST_NAMED: Final = 12


class Answers:
    """A Prometheus that holds the play."""

    def __init__(self, url: str, start: float, end: float) -> None:
        self.url, self.start, self.end = url, start, end

    def over_time(self, query: str) -> list[Any]:
        """Series of a range query."""
        return self._ask(
            "query_range", query=query, start=self.start, end=self.end, step=EVERY_SECONDS
        )

    def at_the_end(self, query: str) -> list[Any]:
        """Series of an instant query."""
        return self._ask("query", query=query, time=self.end)

    def _ask(self, what: str, **parameters: Any) -> list[Any]:
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
        return found


def svg(figure: Figure) -> str:
    """Return a figure as SVG, with texts as texts."""
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ridgeline"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def draw(board: Any, answers: Answers) -> Figure:
    """Return a dashboard."""
    rows = max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in board["panels"])
    figure = Figure(figsize=(15, rows * 0.36), facecolor="white")
    for each in board["panels"]:
        place = each["gridPos"]
        corner = (place["x"] / 24 + 0.03, 1 - (place["y"] + place["h"] - 0.9) / rows)
        size = (place["w"] / 24 - 0.04, (place["h"] - 2.1) / rows)
        if each["type"] == "row":
            figure.text(0.01, corner[1], each["title"], fontsize=13, fontweight="bold", va="top")
            continue
        axes = figure.add_axes((*corner, *size))
        axes.set_title(each["title"], fontsize=9, loc="left", fontweight="bold")
        DRAWN[each["type"]](axes, each, answers)
    return figure


def _lines(axes: Axes, panel: Any, answers: Answers) -> None:
    drawn = 0
    for target in panel["targets"]:
        for series in answers.over_time(_filled(target)):
            hours = [(float(at) - answers.start) / 3600 for at, _ in series["values"]]
            values = [float(value) for _, value in series["values"]]
            style = "--" if target["legendFormat"].startswith(("cut-off", "acts at")) else "-"
            legend, color = _legend(target, series), COLORS[drawn % len(COLORS)]
            axes.plot(hours, values, style, lw=1.2, color=color, label=legend)
            drawn += 1
    if not drawn:
        _nothing(axes)
        return
    axes.set_xlim(0, (answers.end - answers.start) / 3600)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    unit = panel["fieldConfig"]["defaults"]["unit"]
    axes.set_ylabel("" if unit == "short" else unit, fontsize=7)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    if drawn <= MOST_NAMED:
        axes.legend(fontsize=6, loc="upper left", ncols=2 if drawn < 9 else 3, framealpha=0.6)


def _number(axes: Axes, panel: Any, answers: Answers) -> None:
    axes.axis("off")
    (target,) = panel["targets"]
    found = answers.at_the_end(_filled(target))
    text = f"{float(found[0]['value'][1]):.3g}" if found else "–"
    if panel["title"] == "Version" and found:
        text = found[0]["metric"]["version"]
    if panel["fieldConfig"]["defaults"]["unit"] == "s":
        text += " s"
    axes.text(0.5, 0.4, text, fontsize=20, ha="center", va="center", color=COLORS[0])


def _table(axes: Axes, panel: Any, answers: Answers) -> None:
    axes.axis("off")
    found = [
        each["metric"]
        for target in panel["targets"]
        for each in answers.at_the_end(_filled(target))
    ]
    if not found:
        axes.text(0.5, 0.5, "none", fontsize=9, ha="center", va="center", color=COLORS[5])
        return
    keys = list(found[0])
    cells = [[each.get(key, "") for key in keys] for each in found]
    table = axes.table(cells, colLabels=keys, loc="upper center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(7)


def _bands(axes: Axes, panel: Any, answers: Answers) -> None:
    names: list[str] = []
    colors: dict[str, str] = {}
    for target in panel["targets"]:
        for series in answers.over_time(_filled(target)):
            metric = series["metric"]
            name, profile = metric.get("serving", ""), metric.get("profile", "")
            if name not in names:
                names.append(name)
            label = profile if profile not in colors else None
            color = colors.setdefault(profile, COLORS[len(colors) % len(COLORS)])
            spans = [
                ((float(at) - answers.start) / 3600, EVERY_SECONDS / 3600)
                for at, _ in series["values"]
            ]
            axes.broken_barh(spans, (names.index(name) - 0.4, 0.8), color=color, label=label, lw=0)
    if not names:
        _nothing(axes)
        return
    axes.set_yticks([])
    for place, name in enumerate(names):
        axes.text(0.01, place, name, fontsize=8, va="center", color="white")
    axes.tick_params(labelsize=7)
    axes.set_xlim(0, (answers.end - answers.start) / 3600)
    axes.legend(fontsize=6, loc="upper right")


DRAWN: Final = {
    "timeseries": _lines,
    "stat": _number,
    "table": _table,
    "state-timeline": _bands,
}


def _filled(target: Any) -> str:
    return Query(place="", text=target["expr"]).filled_in(**CHOSEN)


def _legend(target: Any, series: Any) -> str:
    named = series["metric"]
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: named.get(found[1], ""), target["legendFormat"])
    return text.strip() or "value"


def _nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, NOTHING, fontsize=9, ha="center", va="center", color=COLORS[5])
    axes.set_xticks([])
    axes.set_yticks([])


def answering(scratch: Path) -> tuple[Any, Answers]:
    """Return a running Prometheus that holds the play; stop it afterwards."""
    text, start, end = asyncio.run(played())
    (scratch / "play.txt").write_text(text)
    binaries = tools.ensure(tools.PROMETHEUS, Silent())
    command = [str(binaries / "promtool"), "tsdb", "create-blocks-from", "openmetrics"]
    subprocess.run(
        [*command, str(scratch / "play.txt"), str(scratch / "tsdb")],
        check=True,
        capture_output=True,
    )
    running = start_prometheus("{}", scratch, binary=binaries / "prometheus")
    return running, Answers(running.url, start, end)


def main(arguments: list[str] | None = None) -> int:
    """Draw every dashboard; print where each lies."""
    parser = argparse.ArgumentParser(description=__doc__, prog="tests.tools.dashboard_pictures")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder: Path = parser.parse_args(arguments).folder
    with tempfile.TemporaryDirectory() as scratch:
        running, answers = answering(Path(scratch))
        try:
            for name, board in BOARDS.items():
                path = folder / f"dashboard-{name}.svg"
                path.write_text(svg(draw(board, answers)))
                print(f"{path}: {len(list(panels(board)))} panels")
        finally:
            running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
