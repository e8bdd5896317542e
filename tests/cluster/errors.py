"""The one error of this package."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """The cluster cannot be had or kept; the message says what is wrong and the way out."""


def with_log_tail(message: str, log: bytes, *, lines: int = 25) -> str:
    """The message followed by the last lines of a component's log."""
    tail = log.decode(errors="replace").splitlines()[-lines:]
    if not tail:
        return f"{message}\n  (its log is empty)"
    return message + "\n" + "\n".join(f"  | {line}" for line in tail)
