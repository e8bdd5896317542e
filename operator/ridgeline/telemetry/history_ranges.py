"""Downloads ranges of named queries in pieces, none of which asks for more than it may.

The connection is prometheus-api-client's, set up from the same endpoint as the tick's. It waits
while it reads, so it belongs into a program of its own or into a thread.
"""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import (
    BadQueryError,
    MalformedError,
    TelemetryError,
    TooLargeError,
    UnavailableError,
)
from ridgeline.telemetry.parse import parse_document
from ridgeline.telemetry.unreachable import why_unreachable

if TYPE_CHECKING:
    from prometheus_api_client import PrometheusConnect

MAX_POINTS: Final = 5000
"""Points of one series in one answer; Prometheus gives at most 11,000."""

MAX_SAMPLES: Final = 250_000
"""Samples in one answer, about 8 MB of text: what Prometheus and we hold in memory for it."""

FIRST_POINTS: Final = 60
"""Points of the first piece, which tells how many series there are."""

_STATUS: Final = re.compile(r"HTTP Status Code (\d{3}) \((.*)\)", re.DOTALL)
_MESSAGE_LENGTH: Final = 300

Point = tuple[float, str]
"""Time in epoch seconds and the number as Prometheus wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSeries:
    """One series of a range."""

    labels: Mapping[str, str]
    points: Sequence[Point]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Evenly spaced times, whole seconds, both ends taken.

    Raises:
        ValueError: The end lies before the start, or a number is not whole or not positive.
    """

    start: int
    end: int
    step: int

    def __post_init__(self) -> None:
        """Refuse a grid without a point."""
        if self.step < 1:
            raise ValueError(f"step: {self.step} must be at least 1 second")
        if self.end < self.start:
            raise ValueError(f"the end ({self.end}) lies before the start ({self.start})")

    @property
    def count(self) -> int:
        """How many times there are."""
        return (self.end - self.start) // self.step + 1

    def piece(self, first: int, count: int) -> "Grid":
        """Return the grid of so many times from the first-th on, as far as there are."""
        last = min(first + count, self.count) - 1
        return Grid(
            start=self.start + first * self.step,
            end=self.start + last * self.step,
            step=self.step,
        )


class Ranges(Protocol):
    """Answers a range query."""

    def fetch(self, promql: str, grid: Grid) -> list[RangeSeries]:
        """Evaluate a query at each time of a grid.

        Raises:
            TelemetryError: It cannot be had; `TooLargeError` when a smaller piece could be.
        """


class RangeDownload:
    """Range queries to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Connect to nothing yet; the credentials are those of this moment.

        Raises:
            CredentialsError: A credential file cannot be read.
        """
        self.endpoint: Final = endpoint
        self._secrets = endpoint.secrets(endpoint.request_headers())
        self._connect: PrometheusConnect = endpoint.as_prometheus_connect()

    def fetch(self, promql: str, grid: Grid) -> list[RangeSeries]:
        """Evaluate a query at each time of a grid.

        Raises:
            TooLargeError: The endpoint took too long, or had more series than it or we allow.
            BadQueryError: The endpoint refuses the query.
            UnavailableError: It does not answer, or does not let us in.
            MalformedError: The answer is no matrix of numbers.
        """
        from prometheus_api_client.exceptions import PrometheusApiClientException
        from requests import JSONDecodeError, RequestException, Timeout

        try:
            answer = self._connect.custom_query_range(
                promql,
                start_time=datetime.fromtimestamp(grid.start, UTC),
                end_time=datetime.fromtimestamp(grid.end, UTC),
                step=str(grid.step),
            )
        except Timeout as error:
            raise TooLargeError(
                f"no answer within {self.endpoint.timeout_seconds:g} s: raise the timeout, or ask "
                "for less time, fewer Pods or a longer step"
            ) from error
        except PrometheusApiClientException as error:
            raise self._refusal(str(error)) from None
        except (JSONDecodeError, KeyError, TypeError):
            raise UnavailableError(
                self._redacted(
                    f"{self.endpoint.url} does not answer as Prometheus does; check the address of "
                    "Prometheus"
                )
            ) from None
        except RequestException as error:
            raise UnavailableError(
                self._redacted(
                    f"cannot reach {self.endpoint.url}: {why_unreachable(error)}; check the "
                    "address of Prometheus, its certificate and the network"
                )
            ) from None
        return matrix(answer, max_series=self.endpoint.max_series)

    def _refusal(self, text: str) -> TelemetryError:
        found = _STATUS.fullmatch(text)
        status = int(found[1]) if found else 0
        said = self._redacted(_reason(found[2]) if found else text)
        if status in (400, 422):
            if "too many samples" in said or "exceed" in said or "limit" in said:
                return TooLargeError(f"HTTP {status}: {said}; ask for less time or fewer Pods")
            return BadQueryError(f"HTTP {status}, query refused: {said}", status=status)
        if status in (503, 504):
            return TooLargeError(f"HTTP {status}: {said}; ask for less time or fewer Pods")
        way_out = "check the credentials" if status in (401, 403) else "look at its own log"
        return UnavailableError(f"HTTP {status}: {said}; {way_out}", status=status)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        line = "".join(each if each.isprintable() else " " for each in text)
        return line[:_MESSAGE_LENGTH]


def _reason(body: str) -> str:
    """What an error answer says, from its bytes as Python writes them."""
    try:
        raw = ast.literal_eval(body)
        error = parse_document(raw).get("error") if isinstance(raw, bytes) else None
    except (ValueError, SyntaxError, MalformedError):
        error = None
    return error if isinstance(error, str) else body


def matrix(result: object, *, max_series: int) -> list[RangeSeries]:
    """Read the result of a range query.

    Raises:
        MalformedError: It is no list of series with numbers.
        TooLargeError: It has more than `max_series` series.
    """
    if not isinstance(result, list):
        raise MalformedError(f"a {type(result).__name__}, expected a matrix")
    if len(result) > max_series:
        raise TooLargeError(f"{len(result)} series, more than {max_series}; ask for fewer Pods")
    try:
        return [
            RangeSeries(
                labels={str(name): str(value) for name, value in item["metric"].items()},
                points=[(_time(at), _text(value)) for at, value in item["values"]],
            )
            for item in result
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedError("a series without labels and values") from error


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no time")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no number as Prometheus writes them")
    return value


class Pieces:
    """Chooses how much one piece asks for: little at first, then what the answers allow."""

    def __init__(self, *, first: int = FIRST_POINTS, most: int = MAX_POINTS) -> None:
        self._most = most
        self.points = min(first, most)

    def answered(self, series: int) -> None:
        """Learn from an answer; `series` is the largest number of series in it."""
        self.points = max(1, min(self._most, MAX_SAMPLES // max(1, series)))

    def refused(self, error: TooLargeError) -> None:
        """Ask for half as much from now on.

        Raises:
            TooLargeError: One point alone is already too much.
        """
        if self.points == 1:
            raise error
        self.points //= 2
        self._most = self.points
