"""Where the operator's own answer is asked for, refused before anything is asked."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from ridgeline.controller.explain_operator import OperatorPlace

USUAL_OPERATOR: Final = "ridgeline-system/ridgeline"
NOBODY: Final = "none"

OperatorOption = Annotated[
    str,
    typer.Option(
        envvar="RIDGELINE_OPERATOR",
        help="NAMESPACE/NAME of the operator's Service (and Lease), asked through the API server; "
        f"{NOBODY}: nobody is asked.",
    ),
]
OperatorUrl = Annotated[
    str | None,
    typer.Option(help="Address of the operator's port instead, such as a port-forward's."),
]

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_PLACE: Final = re.compile(rf"({_LABEL})/({_LABEL})")


def place_of_flags(operator: str, url: str | None) -> OperatorPlace | None:
    """Return where to ask the operator; `None` for nowhere.

    Raises:
        ValueError: An option holds what it must not; the message names option and value.
    """
    found = _PLACE.fullmatch(USUAL_OPERATOR if operator == NOBODY else operator)
    if found is None:
        raise ValueError(
            f"--operator {operator!r}: name the operator's Service, such as {USUAL_OPERATOR}, "
            f"or {NOBODY}"
        )
    if url is not None and not _is_address(url):
        raise ValueError(
            "--operator-url: it is no address of a port, such as http://localhost:8080, without "
            "user, path or query"
        )
    if url is None and operator == NOBODY:
        return None
    return OperatorPlace(namespace=found[1], name=found[2], url=url)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    plain = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    return usable and plain and (port is None or port > 0)
