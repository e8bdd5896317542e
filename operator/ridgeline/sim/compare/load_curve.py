"""Traffic from a CSV file: single requests, or a curve of the load such as Prometheus exports."""

import csv
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from ridgeline.sim.load.settings import MOST_TOKENS, InvalidLoadError
from ridgeline.sim.load.settings import read_trace as read_requests
from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.traffic import TICK_SECONDS, SizeMix, Sizes, Trace

REQUEST_COLUMNS: Final = ("arrival_s", "prompt_tokens", "output_tokens")
CURVE_COLUMNS: Final = ("time_s", "requests_per_second")
SIZE_COLUMNS: Final = ("prompt_tokens", "output_tokens")

_FORMS: Final = (
    f"give {', '.join(REQUEST_COLUMNS)} (one row a request), or {', '.join(CURVE_COLUMNS)} (one "
    f"row a step of time) with {' and '.join(SIZE_COLUMNS)} if they are known"
)

MOST_RATE: Final = 1e6
"""Requests per second that a fleet may be asked for, in a file as by option."""
MOST_STEPS: Final = 2_000_000
MOST_SECONDS: Final = 100 * 86_400.0
_GAP: Final = 1.5
"""A step longer than so many usual ones is a gap."""


class TrafficFileError(ValueError):
    """A file of traffic cannot be used; the message names file, line and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """A load over time.

    Attributes:
        requests_per_second: Arrivals per second, per tick of 15 s.
        prompt: Mean prompt tokens; `None` where the file does not tell.
        output: Mean output tokens; `None` where the file does not tell.
    """

    requests_per_second: Floats
    prompt: float | None = None
    output: float | None = None

    @property
    def seconds(self) -> float:
        """Length."""
        return len(self.requests_per_second) * TICK_SECONDS

    def mix(self, usual: SizeMix) -> SizeMix:
        """Return the sizes of its requests; what the file does not tell is as usual."""
        return SizeMix(
            prompt=usual.prompt if self.prompt is None else self.prompt,
            prompt_variation=usual.prompt_variation,
            output=usual.output if self.output is None else self.output,
            output_variation=usual.output_variation,
        )


def read_traffic(path: Path) -> Trace | LoadCurve:
    """Read a CSV file with a header.

    Raises:
        TrafficFileError: It cannot be read, or a row is not as it should be.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = [each.strip() for each in next(csv.reader(file), [])]
        if "arrival_s" in header:
            return _trace(path)
        return _curve(path, header)
    except OSError as error:
        raise TrafficFileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TrafficFileError(f"{path} is not UTF-8 text: save it as a CSV in UTF-8") from error
    except csv.Error as error:
        raise TrafficFileError(f"{path} is no CSV file ({error}): {_FORMS}") from error
    except InvalidLoadError as error:
        raise TrafficFileError(str(error)) from error


def _trace(path: Path) -> Trace:
    rows = [(each.at_s, each.prompt_tokens, each.output_tokens) for each in read_requests(path)]
    if not rows:
        raise TrafficFileError(f"{path} has no request: {_FORMS}")
    columns = np.array(rows, dtype=np.float64).T
    times = columns[0] - columns[0][0]
    _require_length(path, float(times[-1]))
    return Trace(
        times=np.ascontiguousarray(times),
        sizes=Sizes(
            prompts=np.ascontiguousarray(columns[1]), outputs=np.ascontiguousarray(columns[2])
        ),
    )


def _curve(path: Path, header: Sequence[str]) -> LoadCurve:
    missing = [each for each in CURVE_COLUMNS if each not in header]
    unknown = [each for each in header if each not in (*CURVE_COLUMNS, *SIZE_COLUMNS)]
    if missing or unknown:
        told = ", ".join(header)[:200] or "nothing"
        wrong = f"{missing[0]} is missing" if missing else f"{unknown[0][:80]!r} is not known"
        raise TrafficFileError(f"{path}: the header has {told}, and {wrong}: {_FORMS}")
    rows = list(_numbers(path, header))
    if len(rows) < 2:
        raise TrafficFileError(f"{path} has {len(rows)} rows: a curve has at least two")
    times = [each["time_s"] for each in rows]
    step = _step(path, times)
    levels = [each["requests_per_second"] for each in rows]
    _require_length(path, times[-1] - times[0] + step)
    return LoadCurve(
        requests_per_second=_by_tick(times, levels, step),
        prompt=_weighted(rows, "prompt_tokens"),
        output=_weighted(rows, "output_tokens"),
    )


def _numbers(path: Path, header: Sequence[str]) -> Iterator[dict[str, float]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        next(reader)
        for cells in reader:
            where = f"{path} line {reader.line_num}"
            if not any(each.strip() for each in cells):
                continue
            if reader.line_num > MOST_STEPS:
                raise TrafficFileError(f"{path} has more than {MOST_STEPS} rows: use longer steps")
            yield {name: _number(where, name, text) for name, text in _paired(where, header, cells)}


def _paired(where: str, header: Sequence[str], cells: Sequence[str]) -> list[tuple[str, str]]:
    if len(cells) != len(header):
        raise TrafficFileError(f"{where} has {len(cells)} cells, the header has {len(header)}")
    return list(zip(header, cells, strict=True))


def _number(where: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    least = 1.0 if name == "output_tokens" else -math.inf if name == "time_s" else 0.0
    most = {"time_s": math.inf, "requests_per_second": MOST_RATE}.get(name, float(MOST_TOKENS))
    if not (math.isfinite(value) and value >= least):
        wanted = "a number" if name == "time_s" else f"a number, {least:g} or more"
        raise TrafficFileError(f"{where}: {name} is {text[:40]!r}: give {wanted}")
    if value > most:
        wanted = f"{least:g} to {most:,.0f}"
        raise TrafficFileError(f"{where}: {name} is {text[:40]!r}: give {wanted}")
    return value


def _step(path: Path, times: Sequence[float]) -> float:
    """Return the usual step; times that fall, stand or leave a gap are refused."""
    steps = [after - before for before, after in pairwise(times)]
    for row, step in enumerate(steps, start=2):  # as rows below the header are counted
        if step <= 0:
            raise TrafficFileError(
                f"{path} row {row}: time_s {times[row - 1]:g} does not lie after "
                f"{times[row - 2]:g}: sort the rows by time_s, one for each time"
            )
    # Of few steps the lower one: a gap must not pass for half of what is usual.
    usual = statistics.median_low(steps)
    for row, step in enumerate(steps, start=2):
        if step > _GAP * usual:
            raise TrafficFileError(
                f"{path} row {row}: a gap of {step:g} s after time_s {times[row - 2]:g}, where "
                f"{usual:g} s are usual: fill it (with 0 where nothing came), or cut the file there"
            )
    return usual


def _require_length(path: Path, seconds: float) -> None:
    if seconds > MOST_SECONDS:
        raise TrafficFileError(
            f"{path} spans {seconds / 86_400:.6g} days: give times in seconds, and at most "
            f"{MOST_SECONDS / 86_400:.0f} days"
        )


def _by_tick(times: Sequence[float], levels: Sequence[float], step: float) -> Floats:
    """Return the mean level of each tick; a row holds from its time to the next row's."""
    begins = np.asarray(times) - times[0]
    edges = np.append(begins, begins[-1] + step)
    arrived = np.concatenate(([0.0], np.cumsum(np.asarray(levels) * np.diff(edges))))
    ticks = np.arange(0.0, edges[-1] + TICK_SECONDS, TICK_SECONDS)
    ticks[-1] = min(ticks[-1], edges[-1]) if len(ticks) > 2 else edges[-1]
    found: Floats = np.diff(np.interp(ticks, edges, arrived)) / TICK_SECONDS
    return found


def _weighted(rows: Sequence[dict[str, float]], column: str) -> float | None:
    """Return the mean size over all requests; `None` without the column."""
    if column not in rows[0]:
        return None
    weights = [each["requests_per_second"] for each in rows]
    if sum(weights) <= 0:
        return statistics.fmean(each[column] for each in rows)
    return float(np.average([each[column] for each in rows], weights=weights))
