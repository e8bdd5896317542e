"""What a person wants of a serving where profiles differ in it."""

from enum import StrEnum


class Preference(StrEnum):
    """What decides between profiles that keep the limit on the time per output token."""

    THROUGHPUT = "Throughput"
    """Tokens per second of the fleet."""
    LATENCY = "Latency"
    """Time per output token of a request."""
