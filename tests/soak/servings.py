"""The servings of a soak, as their owners mean them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.surroundings import Surroundings
from ridgeline.engine.container import Container
from tests.component.controller.test_controller_goodput import around, goodput, server
from tests.component.controller.world import EAGLE_CONFIG, LOW, spec

SWITCHES_A_DAY: Final = 6

CANARY: Final = {
    "canary": {"when": "Always", "deadlineSeconds": 300},
    "trial": "Never",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A serving and its target as they are meant to be.

    Attributes:
        name: Name of both.
        spec: The serving's spec.
        users: Users at the beginning.
        server: Container of the target; `None` for the usual one.
        around: Makes what the operator is to know beside the servings.
    """

    name: str
    spec: dict[str, Any]
    users: float = LOW
    server: Container | None = None
    around: Callable[[], Surroundings] | None = None

    @property
    def fixed(self) -> bool:
        """Whether a person gave its cut-offs."""
        return bool(self.spec["cutoff"]["strategy"] == "Fixed")


def whole(name: str, **fields: Any) -> Plan:
    """A serving whose rolls are made whole."""
    return Plan(name=name, spec=spec(name, maxSwitchesPerDay=SWITCHES_A_DAY, **fields))


def with_canary(name: str, **fields: Any) -> Plan:
    """A serving whose rolls to EAGLE begin with a canary, and whose profile goes with it."""
    return whole(name, rollout=CANARY, onDelete="Restore", **fields)


def by_law(name: str) -> Plan:
    """A serving whose cut-offs are predicted."""
    wanted = goodput(targetRef={"name": name}, maxSwitchesPerDay=SWITCHES_A_DAY)
    return Plan(name=name, spec=wanted, server=server(EAGLE_CONFIG), around=around)
