"""What is wrong with a speculative config before the server starts: the shape of a finding."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "Error"
    """The server does not start, or serves something else than what was asked for."""
    WARNING = "Warning"
    """The server starts, and something that was asked for has no effect or costs a lot."""
    INFO = "Info"
    """Good to know; nothing needs to change."""


_ORDER: Final = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a person should know before the server starts.

    Attributes:
        check: Name of the check, stable across releases, for tools that filter.
        flag: The flag or key that it is about.
        value: The value found there, as written; empty when nothing is.
        consequence: What happens with it.
        fix: What to do.
        severity: How much it matters.
    """

    check: str
    flag: str
    value: str
    consequence: str
    fix: str
    severity: Severity

    def sentence(self) -> str:
        """Return the finding as one line for a person."""
        where = f"{self.flag} {self.value}".rstrip()
        return f"{self.severity.value.lower()}: {where}: {self.consequence}; {self.fix}"


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by severity, those of one severity in their order."""
    return tuple(sorted(findings, key=lambda each: _ORDER.index(each.severity)))


def refuses(findings: Iterable[Finding]) -> bool:
    """Tell whether a server with these findings must not be started."""
    return any(each.severity is Severity.ERROR for each in findings)


def shown(value: object, limit: int = 80) -> str:
    """Return a value of a config as JSON on one line, cut to a length that a message bears."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
