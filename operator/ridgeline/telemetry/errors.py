"""How asking a telemetry endpoint can fail; every message is for a person and free of secrets."""


class TelemetryError(Exception):
    """An endpoint could not be asked, or its answer could not be used."""


class UnavailableError(TelemetryError):
    """No answer, or an answer that says "not now" or "not you": try again later.

    Attributes:
        status: HTTP status of the answer, `None` when there was none.
        retry_after_seconds: Wait that the answer asked for, `None` when it did not.
    """

    def __init__(
        self, message: str, *, status: int | None = None, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class CredentialsError(UnavailableError):
    """A credential that the endpoint needs could not be read here; nothing was sent."""


class BadQueryError(TelemetryError):
    """The endpoint understood the request and refuses the query (HTTP 400 or 422)."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class TooLargeError(TelemetryError):
    """The answer has more bytes or series than the endpoint's limits allow."""


class MalformedError(TelemetryError):
    """The answer is not what Prometheus's HTTP API promises."""
