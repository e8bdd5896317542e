"""How a simulated Deployment rolls, and what becomes of its servers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ridgeline.sim.fate import Fate, crashes, never_ready
from ridgeline.sim.template import Template, can_start

_USAGE_ERROR: Final = (
    "vllm serve: error: argument --speculative-config/-sc: Value {} cannot be converted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a Deployment rolls, in Pods and seconds.

    Attributes:
        max_surge: Pods beyond the replicas while it rolls.
        max_unavailable: Replicas that may be missing while it rolls.
        startup_seconds: From the creation of a Pod until it is Ready.
        stopping_seconds: From the deletion of a Pod until it is gone.
        sync_seconds: How long the Deployment controller takes to see a change.
        deadline_seconds: Time without progress after which a rollout counts as failed.
        starts: Whether a server with this template becomes Ready at all; one that does not runs on.
        fate: What else becomes of a server with this template; `None`: it serves.
    """

    max_surge: int = 1
    max_unavailable: int = 0
    startup_seconds: float = 20.0
    stopping_seconds: float = 5.0
    sync_seconds: float = 0.5
    deadline_seconds: float = 600.0
    starts: Callable[[Template], bool] = lambda _: True
    fate: Callable[[Template], Fate | None] = lambda _: None

    def __post_init__(self) -> None:
        """Refuse what the API server refuses too."""
        if self.max_surge + self.max_unavailable <= 0:
            raise ValueError("maxSurge and maxUnavailable are both 0: set one of them to 1 or more")

    def fate_of(self, template: Template) -> Fate | None:
        """Return what becomes of a server with this template."""
        if not can_start(template):
            return crashes(_USAGE_ERROR.format(template.speculative_config), exit_code=2)
        return self.fate(template) if self.starts(template) else never_ready()
