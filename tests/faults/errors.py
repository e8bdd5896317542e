"""Refusals in the form of the Kubernetes API."""

from __future__ import annotations

_REASONS = {
    401: "Unauthorized",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


def status_document(code: int, message: str) -> dict[str, object]:
    """Return the object that an API server answers with a refusal."""
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": _REASONS[code],
        "message": message,
        "code": code,
    }
