"""What a lint run found, as values: what is said about which object, and how bad it is in all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.engine.findings import Finding, Severity

_ORDER: Final = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A finding, and what it is about.

    Attributes:
        file: The file that the object stands in.
        line: Line on which the object begins, from 1.
        at: Line of the field that it is about; the object's where there is none.
        kind: Its kind.
        namespace: Its namespace; empty when it says none.
        name: Its name.
        container: The container; empty for the object as a whole.
        profiles: The profiles that it is about; empty for none in particular.
        finding: What was found.
    """

    file: str
    line: int
    at: int
    kind: str
    namespace: str
    name: str
    container: str = ""
    profiles: tuple[str, ...] = ()
    finding: Finding

    @property
    def about(self) -> str:
        """Object and container for a person."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        title = f"{self.kind} {name or 'without a name'}"
        return f"{title}, container {self.container}" if self.container else title


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """Everything that a lint run says.

    Attributes:
        remarks: Each finding once, in the order of the objects, the worst of an object first.
        objects: How many objects were looked at.
    """

    remarks: tuple[Remark, ...]
    objects: int

    def count(self, severity: Severity) -> int:
        """Return how many findings are that bad."""
        return sum(each.finding.severity is severity for each in self.remarks)

    def fails(self, *, strict: bool) -> bool:
        """Tell whether the run fails: on an error, and with `strict` on a warning."""
        return bool(self.count(Severity.ERROR) or (strict and self.count(Severity.WARNING)))


def report_of(remarks: Iterable[Remark], objects: int) -> LintReport:
    """Return the report: what several profiles have in common is said once, and nothing twice."""
    merged: dict[tuple[object, ...], list[Remark]] = {}
    for each in remarks:
        merged.setdefault(_alike(each), []).append(each)
    together = [_together(alike) for alike in merged.values()]
    places: dict[tuple[object, ...], int] = {}
    for each in together:
        places.setdefault(_place(each), len(places))
    ordered = sorted(
        together, key=lambda each: (places[_place(each)], _ORDER.index(each.finding.severity))
    )
    return LintReport(remarks=tuple(ordered), objects=objects)


def _place(remark: Remark) -> tuple[object, ...]:
    return (
        *(remark.file, remark.line, remark.kind, remark.namespace, remark.name),
        remark.container,
    )


def _alike(remark: Remark) -> tuple[object, ...]:
    found = remark.finding
    said = (found.check, found.flag, found.consequence, found.fix, found.severity)
    # One value for each profile is one thing to say; other values are other things.
    value = None if remark.profiles else found.value
    return (*_place(remark), *said, bool(remark.profiles), value)


def _together(alike: Sequence[Remark]) -> Remark:
    values = dict.fromkeys(each.finding.value for each in alike)
    profiles = dict.fromkeys(name for each in alike for name in each.profiles)
    finding = replace(alike[0].finding, value=", ".join(each for each in values if each))
    return replace(alike[0], finding=finding, profiles=tuple(profiles))
