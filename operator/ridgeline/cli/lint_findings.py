"""Findings from messages of the operator and of the API's rules, and remarks about objects."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from ridgeline.api.errors import InvalidObject
from ridgeline.api.kinds import KINDS
from ridgeline.cli.lint_lines import line_of
from ridgeline.cli.lint_manifests import Named
from ridgeline.engine.findings import Finding, Severity, shown
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.render.lint_report import Remark

SPEC_INVALID: Final = "SpecInvalid"
_LONGEST: Final = 2000
_LIKENESS: Final = 0.8
_UNKNOWN_FIELD: Final = "correct its spelling"


def remarks_about(
    named: Named,
    findings: Iterable[Finding],
    *,
    container: str = "",
    profiles: tuple[str, ...] = (),
) -> Iterator[Remark]:
    """Yield a remark about an object for each finding."""
    for finding in findings:
        yield Remark(
            file=named.place.file,
            line=named.place.line,
            at=line_of(
                named.place.root,
                finding.flag,
                container=container,
                profiles=profiles,
                otherwise=named.place.line,
            ),
            kind=named.kind,
            namespace=named.namespace,
            name=named.name,
            container=container,
            profiles=profiles,
            finding=finding,
        )


def of_message(check: str, flag: str, message: str, severity: Severity = Severity.ERROR) -> Finding:
    """Return a finding from one sentence that ends in the way out, behind `; ` or `: `."""
    told = on_one_line(message, limit=_LONGEST)
    before, _, after = told.rpartition("; ")
    if not before:
        before, _, after = told.rpartition(": ")
    return Finding(
        check=check,
        flag=flag,
        value="",
        consequence=before or told,
        fix=after if before else "correct it",
        severity=severity,
    )


def of_invalid(found: Iterable[InvalidObject]) -> Iterator[Finding]:
    """Yield a finding for each field that holds what it must not."""
    for each in found:
        yield Finding(
            check=SPEC_INVALID,
            flag=on_one_line(each.field, limit=200),
            value="" if each.value is None else shown(each.value),
            consequence="it is missing: the API server refuses the object"
            if each.value is None
            else "the API server refuses the object",
            fix=on_one_line(_way_out(each), limit=400),
            severity=Severity.ERROR,
        )


def _way_out(invalid: InvalidObject) -> str:
    if _UNKNOWN_FIELD not in invalid.way_out:
        return invalid.way_out
    name = invalid.field.rpartition(".")[2].partition("[")[0]
    near = difflib.get_close_matches(name, _field_names(), 1, _LIKENESS)
    return f"write {near[0]}" if near else invalid.way_out


@cache
def _field_names() -> tuple[str, ...]:
    """Return the names of all fields of our kinds."""
    names: set[str] = {"apiVersion", "kind", "metadata", "spec"}
    for kind in KINDS:
        names |= _properties(kind.spec.model_json_schema())
    return tuple(sorted(names))


def _properties(schema: Mapping[str, Any]) -> set[str]:
    definitions = (schema, *schema.get("$defs", {}).values())
    return {name for each in definitions for name in each.get("properties", {})}
