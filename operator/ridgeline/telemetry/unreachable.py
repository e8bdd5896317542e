"""Why a download got no answer, in words for a person instead of a library's objects."""

import os
import socket
import ssl
from collections.abc import Iterator

_DEPTH = 8
"""How far causes are followed; the library wraps three to five times."""


def why_unreachable(error: BaseException) -> str:
    """Return why there was no answer, from what caused the error."""
    causes = list(_causes(error, _DEPTH))
    for each in causes:
        if isinstance(each, ssl.SSLCertVerificationError):
            return "its certificate is not trusted"
        if isinstance(each, ssl.SSLError):
            return "no TLS connection can be made"
        if isinstance(each, socket.gaierror):
            return "no host of that name is known"
        if isinstance(each, OSError) and each.errno is not None and each.errno > 0:
            return os.strerror(each.errno).lower()
    return "the connection broke off"


def _causes(error: BaseException, depth: int) -> Iterator[BaseException]:
    """An error and what it was raised from or carries, the outermost first."""
    yield error
    if depth == 0:
        return
    nested = [error.__cause__, error.__context__, *error.args, getattr(error, "reason", None)]
    for each in nested:
        if isinstance(each, BaseException):
            yield from _causes(each, depth - 1)
