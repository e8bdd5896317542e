"""What load to drive, at what, and where it ends."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit


class InvalidLoadError(ValueError):
    """A setting or trace that means nothing."""


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """One request of a trace: when it arrives (seconds from the start) and its size in tokens."""

    at_s: float
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True)
class ClosedLoop:
    """Users who each send the next request ``think_s`` seconds after the answer to the last."""

    users: int
    think_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class OpenLoop:
    """Poisson arrivals, whether or not earlier requests were answered."""

    rate_per_s: float


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Arrivals of a trace, in order of time; ``speed`` 2 replays it in half the time."""

    arrivals: Iterable[Arrival]
    speed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """One run.

    Attributes:
        targets: Base URLs, taken in turn.
        mode: Closed loop, open loop or trace.
        duration_s: The run ends after this many seconds, whatever happens.
        max_requests: Or after this many requests were begun.
        prompt_tokens: Size of the prompts (a trace brings its own).
        max_tokens: Size of the answers (a trace brings its own).
        spread: Sizes vary evenly by up to this share of themselves, 0 to 1.
        model: Name sent along; None leaves the server's default.
        chat: Use the chat route.
        stream: Ask for a stream of events; TTFT and TPOT are known only then.
        new_connections: One connection per request, so that a Kubernetes Service spreads them.
        retry_pause_s: Pause after an error before a user or an unanswered request tries again.
        retries: How often a request that got no answer at all is sent again.
        request_timeout_s: One attempt's limit.
        grace_s: How long running requests may finish after the end.
        max_in_flight: Open loop and trace: arrivals beyond this are dropped, and counted.
        seed: Of arrivals and sizes.

    Raises:
        InvalidLoadError: A value is out of its range.
    """

    targets: tuple[str, ...]
    mode: ClosedLoop | OpenLoop | Replay
    duration_s: float
    max_requests: int | None = None
    prompt_tokens: int = 32
    max_tokens: int = 64
    spread: float = 0.0
    model: str | None = None
    chat: bool = False
    stream: bool = True
    new_connections: bool = False
    retry_pause_s: float = 0.5
    retries: int = 60
    request_timeout_s: float = 120.0
    grace_s: float = 5.0
    max_in_flight: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        _check_targets(self.targets)
        for name in ("duration_s", "request_timeout_s", "retry_pause_s", "grace_s"):
            value = getattr(self, name)
            low = 0.0 if name in ("retry_pause_s", "grace_s") else 1e-3
            if not (math.isfinite(value) and value >= low):
                raise InvalidLoadError(f"{name}={value} must be a finite number from {low:g} on")
        for name in ("prompt_tokens", "max_tokens", "max_in_flight"):
            if getattr(self, name) < 1:
                raise InvalidLoadError(f"{name}={getattr(self, name)} must be at least 1")
        if not 0.0 <= self.spread <= 1.0:
            raise InvalidLoadError(f"spread={self.spread} must be from 0 to 1")
        _check_mode(self.mode)


def _check_targets(targets: tuple[str, ...]) -> None:
    if not targets:
        raise InvalidLoadError("no target: give at least one base URL")
    for target in targets:
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidLoadError(
                f"target {target!r} is not a base URL like http://host:8000; mend it"
            )


def _check_mode(mode: ClosedLoop | OpenLoop | Replay) -> None:
    match mode:
        case ClosedLoop():
            check_users(mode.users)
            if not (math.isfinite(mode.think_s) and mode.think_s >= 0):
                raise InvalidLoadError(f"think_s={mode.think_s} must be finite, at least 0")
        case OpenLoop():
            check_rate(mode.rate_per_s)
        case Replay():
            if not (math.isfinite(mode.speed) and mode.speed > 0):
                raise InvalidLoadError(f"speed={mode.speed} must be a finite number above 0")


MOST_USERS: Final = 100_000
"""Users of a closed loop, each a task of this process; far above what one machine can drive."""


def check_users(users: int) -> int:
    """``users`` itself, when it is a number of users."""
    if not 0 <= users <= MOST_USERS:
        raise InvalidLoadError(f"users={users} must be at least 0 and at most {MOST_USERS}")
    return users


def check_rate(rate_per_s: float) -> float:
    """``rate_per_s`` itself, when it is a rate."""
    if not (math.isfinite(rate_per_s) and rate_per_s >= 0):
        raise InvalidLoadError(f"rate_per_s={rate_per_s} must be a finite number, at least 0")
    return rate_per_s


MOST_TOKENS: Final = 10_000_000
"""Tokens of one prompt or answer; more than any engine takes."""


def read_trace(path: Path) -> Iterator[Arrival]:
    """Reads a CSV with the columns arrival_s, prompt_tokens and output_tokens, row by row.

    Raises:
        InvalidLoadError: It cannot be read, a column is missing, a value is no number, or time runs
            backwards.
    """
    try:
        yield from _arrivals(path)
    except OSError as error:
        raise InvalidLoadError(f"{path} cannot be read: {error.strerror}") from error
    except InvalidLoadError:
        raise
    except ValueError as error:
        raise InvalidLoadError(f"{path} is not UTF-8 text: save it as a CSV in UTF-8") from error
    except csv.Error as error:
        raise InvalidLoadError(f"{path} is no CSV file ({error})") from error


def _arrivals(path: Path) -> Iterator[Arrival]:
    columns = ("arrival_s", "prompt_tokens", "output_tokens")
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        missing = [c for c in columns if c not in (rows.fieldnames or ())]
        if missing:
            raise InvalidLoadError(f"{path}: column {missing[0]} is missing; add it to the header")
        before = 0.0
        for row in rows:
            arrival = _arrival(row, f"{path} line {rows.line_num}")
            if arrival.at_s < before:
                raise InvalidLoadError(f"{path} line {rows.line_num}: sort the rows by arrival_s")
            before = arrival.at_s
            yield arrival


def _arrival(row: dict[str, str | None], where: str) -> Arrival:
    at = _cell(row, "arrival_s", where)
    prompt, output = (_cell(row, each, where) for each in ("prompt_tokens", "output_tokens"))
    if at < 0 or prompt < 1 or output < 1:
        raise InvalidLoadError(f"{where}: arrival_s must be at least 0 and both sizes at least 1")
    if max(prompt, output) > MOST_TOKENS:
        raise InvalidLoadError(f"{where}: both sizes must be at most {MOST_TOKENS} tokens")
    return Arrival(at_s=at, prompt_tokens=int(prompt), output_tokens=int(output))


def _cell(row: dict[str, str | None], column: str, where: str) -> float:
    text = row[column] or ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (column != "arrival_s" and value != int(value)):
        kind = "a number of seconds" if column == "arrival_s" else "a whole number"
        raise InvalidLoadError(f"{where}: {column} is {text[:40]!r}: give {kind}")
    return value
