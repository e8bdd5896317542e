"""Times as the Kubernetes API writes them."""

from datetime import datetime


def epoch(timestamp: str) -> float:
    """Turn a Kubernetes timestamp into epoch seconds."""
    return datetime.fromisoformat(timestamp).timestamp()
