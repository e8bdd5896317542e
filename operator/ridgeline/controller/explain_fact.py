"""One fact behind an explanation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that is known, or why it is not.

    Attributes:
        what: What it is about.
        value: What is known of it.
        age_seconds: How old that is; `None` where it is as of this look, or has no age.
    """

    what: str
    value: str
    age_seconds: float | None = None
