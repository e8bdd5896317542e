"""One number that was compared: what a decision shows of how it came about."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One number that was compared, for `explain`.

    Attributes:
        name: What was compared, with its unit (`concurrency per engine`, `dwell seconds`).
        value: The number seen.
        relation: `<`, `>=` and so on: how `value` stood to `limit`.
        limit: The number it was compared with.
        consequence: What followed from it.
    """

    name: str
    value: float
    relation: str
    limit: float
    consequence: str
