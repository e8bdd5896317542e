"""A lint report as text for people, JSON for tools, and annotations for GitHub."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

import yaml

from ridgeline.engine.findings import Severity
from ridgeline.render.lint_report import LintReport, Remark

SCHEMA: Final = 1
"""Version of the JSON document; it rises when a field changes its meaning or goes."""

_INDENT: Final = " " * 10


def lint_text(report: LintReport) -> str:
    """Return the report for a person: by object, each finding with what happens and the way out."""
    lines: list[str] = []
    for (file, line, about), remarks in groupby(
        report.remarks, key=lambda each: (each.file, each.line, each.about)
    ):
        lines.append(f"{file}:{line}: {about}")
        for each in remarks:
            lines += _finding(each)
        lines.append("")
    return "\n".join([*lines, summary(report)])


def summary(report: LintReport) -> str:
    """Return the last line: how many findings there are."""
    objects = _some(report.objects, "object")
    if not report.remarks:
        return f"{objects}: nothing is wrong"
    parts = [_some(report.count(each), _WORDS[each]) for each in Severity if report.count(each)]
    return f"{objects}: {', '.join(parts)}"


_WORDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "remark",
}


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _finding(remark: Remark) -> Iterator[str]:
    found = remark.finding
    where = f"{found.flag} {found.value}".rstrip()
    yield f"  {found.severity.value.lower():<8}{found.check}: {where}{_profiles(remark)}"
    yield f"{_INDENT}{found.consequence}"
    yield f"{_INDENT}→ {found.fix}"


def _profiles(remark: Remark) -> str:
    if not remark.profiles:
        return ""
    one = len(remark.profiles) == 1
    return f" ({'profile' if one else 'profiles'} {', '.join(remark.profiles)})"


def lint_document(report: LintReport) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "schema": SCHEMA,
        "objects": report.objects,
        "errors": report.count(Severity.ERROR),
        "warnings": report.count(Severity.WARNING),
        "infos": report.count(Severity.INFO),
        "findings": [_entry(each) for each in report.remarks],
    }


def _entry(remark: Remark) -> dict[str, Any]:
    found = remark.finding
    return {
        "file": remark.file,
        "line": remark.line,
        "at": remark.at,
        "kind": remark.kind,
        "namespace": remark.namespace,
        "name": remark.name,
        "container": remark.container,
        "profiles": list(remark.profiles),
        "check": found.check,
        "severity": found.severity.value,
        "flag": found.flag,
        "value": found.value,
        "consequence": found.consequence,
        "fix": found.fix,
    }


def lint_json(report: LintReport) -> str:
    """Return the report as the text of its JSON document."""
    return json.dumps(lint_document(report), indent=2, ensure_ascii=False, allow_nan=False)


def lint_yaml(report: LintReport) -> str:
    """Return the same document as YAML."""
    document = json.loads(lint_json(report))
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)).rstrip("\n")


_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}


def lint_annotations(report: LintReport) -> str:
    """Return workflow commands of GitHub, which show each finding beside its line."""
    return "\n".join([*map(_annotation, report.remarks), summary(report)])


def _annotation(remark: Remark) -> str:
    found = remark.finding
    where = f"{found.flag} {found.value}".rstrip()
    message = f"{remark.about}{_profiles(remark)}: {where}: {found.consequence}; {found.fix}"
    file, title = _property(remark.file), _property(found.check)
    command = _COMMANDS[found.severity]
    return f"::{command} file={file},line={remark.at},title={title}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
