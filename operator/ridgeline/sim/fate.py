"""How a simulated server fares that does not simply start and serve.

The kubelet restarts a container that ends, whatever its exit code: the first time at once, then
after 10 s, 20 s, 40 s and so on up to five minutes (kubernetes.io, Pod lifecycle, "Container
restarts"). Meanwhile the container waits with the reason `CrashLoopBackOff`, and what it ended with
stands in `lastState.terminated`: its message only where the container's policy is
`FallbackToLogsOnError` (last 2,048 bytes or 80 lines of its log) or it wrote one itself.
"""

from dataclasses import dataclass
from typing import Final

FIRST_BACK_OFF_SECONDS: Final = 10.0
LONGEST_BACK_OFF_SECONDS: Final = 300.0
FORGIVEN_AFTER_SECONDS: Final = 600.0
"""A container that ran so long starts again at once when it ends."""

KILLED: Final = 137
"""Exit code of a process that SIGKILL ended."""

MOST_MESSAGE_BYTES: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container ended, as `lastState.terminated` tells it."""

    exit_code: int
    reason: str
    message: str
    began_at: float
    ended_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a container; without one it becomes Ready after its start-up time and stays.

    Attributes:
        ends_after: Seconds from its start until it ends; `None`: it runs on.
        ready: Whether it becomes Ready after its start-up time, if it has not ended by then.
        exit_code: What it ends with.
        reason: `Error`, or `OOMKilled`.
        message: What `lastState.terminated.message` shows.
        pull_error: Why its image cannot be pulled; empty: it can.
    """

    ends_after: float | None = None
    ready: bool = True
    exit_code: int = 1
    reason: str = "Error"
    message: str = ""
    pull_error: str = ""


def crashes(message: str = "", *, exit_code: int = 1, after: float = 5.0) -> Fate:
    """A server that ends by itself so long after each start, and is never Ready before."""
    return Fate(ends_after=after, ready=False, exit_code=exit_code, message=tail(message))


def crashes_serving(message: str = "", *, exit_code: int = 1, after: float = 60.0) -> Fate:
    """A server that ends so long after each start; it serves from its start-up time until then."""
    return Fate(ends_after=after, exit_code=exit_code, message=tail(message))


def out_of_memory(*, after: float = 10.0) -> Fate:
    """A server that the kernel kills for memory; it leaves no word."""
    return Fate(ends_after=after, ready=False, exit_code=KILLED, reason="OOMKilled")


def killed_by_probe(budget: float, *, grace: float = 30.0) -> Fate:
    """A server whose start takes longer than its start-up probe allows.

    A server that hears no signal while it starts is killed when its grace period has passed too.
    """
    return Fate(ends_after=budget + grace, ready=False, exit_code=KILLED)


def never_ready() -> Fate:
    """A server that runs and is never Ready, without a probe that would end it."""
    return Fate(ready=False)


def cannot_pull(message: str) -> Fate:
    """A container whose image cannot be pulled."""
    return Fate(ready=False, pull_error=message)


def back_off(restarts: int) -> float:
    """Return how long the kubelet waits after an end, by the restarts before it."""
    if restarts == 0:
        return 0.0
    return float(
        min(LONGEST_BACK_OFF_SECONDS, FIRST_BACK_OFF_SECONDS * 2.0 ** min(restarts - 1, 9))
    )


def tail(log: str) -> str:
    """Return the part of a log that the kubelet takes for a message."""
    lines = "\n".join(log.splitlines()[-80:])
    return lines.encode()[-MOST_MESSAGE_BYTES:].decode(errors="ignore")
