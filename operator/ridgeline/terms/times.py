"""Epoch seconds and the timestamps of the Kubernetes API (RFC 3339, UTC, whole seconds)."""

from datetime import UTC, datetime


def timestamp(epoch_seconds: float) -> str:
    """Return the timestamp of a moment, to the second."""
    moment = datetime.fromtimestamp(int(epoch_seconds), UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def epoch_seconds(text: str) -> float:
    """Return the moment that a timestamp names.

    Raises:
        ValueError: It is no timestamp.
    """
    return datetime.fromisoformat(text).timestamp()
