"""Who spoke: a value with its source, and the first that was said."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class Origin(StrEnum):
    """Who spoke."""

    SERVING = "serving"
    POLICY = "policy"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value came from.

    Attributes:
        origin: Who spoke.
        policy: Name of the policy, empty for the other origins.
    """

    origin: Origin
    policy: str = ""

    def __str__(self) -> str:
        return f"policy {self.policy}" if self.origin is Origin.POLICY else self.origin.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced(Generic[T]):
    """A value with its source."""

    value: T
    source: Source


_DEFAULT: Final = Source(origin=Origin.DEFAULT)


def first_said(said: Iterable[tuple[T | None, Source]], default: T) -> Sourced[T]:
    """Return what the first layer that says anything says; nothing (`None`) is not said."""
    for value, source in said:
        if value is not None:
            return Sourced(value=value, source=source)
    return Sourced(value=default, source=_DEFAULT)
