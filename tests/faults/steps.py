"""The steps of a roll, and how a serving is brought to each and kept there until the fault."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.sight import Sight

REPLICAS = 2

SOON_S = 60
"""A canary that nobody asks is promoted then; the least that the resource allows."""
JUDGED_S = 180
"""Time for a verdict where there is traffic."""
LATE_S = 1800
"""For rolls that something else than their deadline ends."""

Seen = Callable[[Sight], bool]


class Brake(enum.Enum):
    """From when on the API server seems to refuse writes of the target, until the fault strikes."""

    NEVER = "never"
    AT_ONCE = "at once"
    HELD_BACK = "once the target is held back"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One serving that stands at one step of its roll.

    Attributes:
        name: Name of the serving and of its target.
        told: The step, as a column of a table.
        stands: Whether it stands there.
        canary: Whether the roll begins with a canary.
        stand_in: Settings of its servers.
        brake: From when on writes of the target are refused.
        turn: When it goes on from where `brake` or the canary keeps it: at once (0), or when all
            the others stand at their steps, the first of these before the second. So the steps that
            pass by are gone to last.
        deadline_s: The canary's deadline.
        over: Whether the roll has ended there, so that nothing of it needs to be written any more.
        users: Users that ask its servers all the time, from when the others stand.
    """

    name: str
    told: str
    stands: Seen
    canary: bool = True
    stand_in: dict[str, str] = field(default_factory=dict)
    brake: Brake = Brake.NEVER
    turn: int = 0
    deadline_s: int = LATE_S
    over: bool = False
    users: int = 0

    @property
    def rollout(self) -> dict[str, object]:
        """The serving's rollout settings."""
        canary = {
            "when": "Always",
            "deadlineSeconds": self.deadline_s,
            "onNoTraffic": "Promote",
        }
        return {"canary": canary if self.canary else {"when": "Never"}, "trial": "Never"}


def announced(sight: Sight) -> bool:
    """Whether a roll stands in the serving's status, and its target is not written yet."""
    return sight.state == "Intended"


def held_back(sight: Sight) -> bool:
    """Whether a canary stands beside the old Pods of a paused target."""
    return sight.paused and sight.updated == 1


def _starting(sight: Sight) -> bool:
    return sight.state == "Canary" and held_back(sight) and len(sight.serving_pods) == REPLICAS


def _judged(sight: Sight) -> bool:
    return sight.state == "Canary" and held_back(sight) and len(sight.serving_pods) > REPLICAS


def _rolling(sight: Sight) -> bool:
    return sight.state == "Rolling" and not sight.paused and not sight.settled


def _restored(sight: Sight) -> bool:
    return sight.state == "Restored" and sight.settled


STEPS = (
    Step(
        name="announced",
        told="intent written",
        stands=announced,
        brake=Brake.AT_ONCE,
        deadline_s=SOON_S,
    ),
    Step(
        name="starting",
        told="canary starts",
        stands=_starting,
        stand_in={"STAND_IN_STARTUP_BY_PROFILE": "eagle=30"},
        brake=Brake.AT_ONCE,
        turn=2,
        deadline_s=SOON_S,
    ),
    Step(
        name="judged",
        told="canary is judged",
        stands=_judged,
        users=12,
        brake=Brake.AT_ONCE,
        turn=1,
        deadline_s=JUDGED_S,
    ),
    Step(
        name="rolling",
        told="the rest follows",
        stands=_rolling,
        stand_in={"STAND_IN_STARTUP_BY_PROFILE": "eagle=10"},
        turn=2,
    ),
    Step(
        name="undoing",
        told="being undone",
        stands=lambda sight: sight.state == "Undoing",
        stand_in={"STAND_IN_DIE_AFTER_SECONDS": "2", "STAND_IN_FAULTS_UNDER": "eagle"},
        brake=Brake.HELD_BACK,
    ),
    Step(
        name="restored",
        told="restored",
        stands=_restored,
        stand_in={"STAND_IN_REFUSES": "eagle"},
        over=True,
    ),
    Step(
        name="finished",
        told="finished",
        stands=lambda sight: sight.state == "Finished",
        over=True,
        canary=False,
    ),
)
"""In the order of the table's columns."""
