"""What options say of Prometheus and of Pods, refused before anything is asked."""

import re
import warnings
from typing import Final

from ridgeline.telemetry.endpoint import Auth, Endpoint

_HARMLESS: Final = re.compile(r"[\w.:/-]{1,100}", re.ASCII)
"""Addresses that are repeated: none that may hold a password."""

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACE: Final = re.compile(_LABEL)
_DEPLOYMENT: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")

_RE2_ALONE: Final = re.compile(r"\\[zpPQC]|\\x\{|\(\?[imsU-]+[:)]|\(\?<[A-Za-z]")
"""What Prometheus's regular expressions (RE2) have and Python's have not, or elsewhere."""

_PYTHON_ALONE: Final = re.compile(r"\(\?(?:<?[=!]|>|\()|\\[1-9]")


def endpoint_of_flag(
    value: str, *, name: str, auth: Auth | None = None, timeout_seconds: float = 10.0
) -> Endpoint:
    """Return the endpoint that `--prometheus` names.

    Raises:
        ValueError: It is no address; the message names option and value, unless it may be secret.
    """
    try:
        return Endpoint(name=name, url=value, auth=auth, timeout_seconds=timeout_seconds)
    except ValueError as error:
        shown = f" {value}" if _HARMLESS.fullmatch(value) else ""
        said = str(error).removeprefix("url: ")
        raise ValueError(
            f"--prometheus{shown}: {said}; such as http://prometheus.monitoring:9090"
        ) from None


def check_pods(namespace: str, target: str | None, pattern: str | None) -> None:
    """Refuse names that Kubernetes cannot have, and what is no regular expression.

    Raises:
        ValueError: One of them is wrong; the message names option and value.
    """
    if not _NAMESPACE.fullmatch(namespace):
        raise ValueError(
            f"--namespace {namespace!r}: it is no name of a namespace: use small letters, digits "
            "and dashes"
        )
    if target is not None and not _DEPLOYMENT.fullmatch(target):
        raise ValueError(
            f"--target {target!r}: it is no name of a Deployment: use small letters, digits, "
            "dashes and dots, or --pod-regex"
        )
    if pattern is not None:
        _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    wrong = "" if pattern else "it is empty and matches no Pod"
    if _PYTHON_ALONE.search(pattern):
        wrong = "Prometheus has no look-around and no back-references"
    elif not _RE2_ALONE.search(pattern):
        try:
            with warnings.catch_warnings(action="ignore"):
                re.compile(pattern)
        except re.error as error:
            wrong = f"it is no regular expression ({error})"
    if wrong:
        raise ValueError(f"--pod-regex {pattern!r}: {wrong}; such as 'llama-.*'")
