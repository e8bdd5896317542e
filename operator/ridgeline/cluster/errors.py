"""What can go wrong when the Kubernetes API is called, told apart by what to do about it."""

from dataclasses import dataclass


class ClusterError(Exception):
    """Any failure of a call to the Kubernetes API; its text is fit for a person."""


class UnavailableError(ClusterError):
    """The API server did not answer, or answered that it cannot now: try again later."""


class NotFoundError(ClusterError):
    """The object does not exist."""


class RefusedError(ClusterError):
    """The API server refused the request: rights, admission, validation, quota."""


class UndeclaredFieldError(RefusedError):
    """The schema that the API server has does not declare fields of ours: a CRD is too old."""

    def __init__(self, message: str, fields: tuple[tuple[str, ...], ...]) -> None:
        super().__init__(f"{message}: the CRDs are older than the operator; apply crds/")
        self.fields = fields


class StaleVersionError(ClusterError):
    """The object was changed since it was read (409 on the resourceVersion): read it again."""


class AnotherObjectError(ClusterError):
    """The object was deleted and created again under the same name (409 on the uid)."""


class LeaseLostError(ClusterError):
    """The Lease is not held any more, or not for long enough: its next holder goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A field that another manager owns.

    Attributes:
        manager: Name of the field manager.
        field: Path of the field, as the API server writes it.
    """

    manager: str
    field: str


class FieldConflictError(ClusterError):
    """Other field managers own fields of our apply (409 on field managers)."""

    def __init__(self, message: str, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(message)
        self.conflicts = conflicts
