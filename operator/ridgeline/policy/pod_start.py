"""A Pod that does not serve, as kubelet and scheduler tell of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a container ended last.

    Attributes:
        code: Exit code.
        reason: The kubelet's word, such as `Error` or `OOMKilled`.
        message: Its last words, as far as the Deployment lets them be kept.
        ran_seconds: How long it had run; `None` when that is not told.
    """

    code: int
    reason: str = ""
    message: str = ""
    ran_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStart:
    """A Pod that is not Ready, or has crashed since it was made.

    Attributes:
        name: Its name.
        profile: Profile that its label names.
        age_seconds: Since it was made.
        bound: Whether it has a node.
        unschedulable: The scheduler's message, `None` when it has none.
        waiting_reason: Why a container waits, in the kubelet's word; `None` when none does.
        waiting_message: The same in its words.
        restarts: How often a container of it was started again.
        last_exit: How that one ended last.
    """

    name: str
    profile: str | None
    age_seconds: float
    bound: bool = True
    unschedulable: str | None = None
    waiting_reason: str | None = None
    waiting_message: str = ""
    restarts: int = 0
    last_exit: Exit | None = None
