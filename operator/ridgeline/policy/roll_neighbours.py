"""Others that have a say in whether a roll goes well: autoscalers, gangs, protected Pods."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaler:
    """The HorizontalPodAutoscaler of a target.

    Attributes:
        name: Its name.
        least: Fewest replicas that it goes down to.
        most: Most replicas that it goes up to.
        current: Replicas that it last saw; `None` before it looked.
        desired: Replicas that it wants; `None` before it looked.
        acts: Whether it can act: its metrics are there, and it is not switched off.
    """

    name: str
    least: int
    most: int
    current: int | None = None
    desired: int | None = None
    acts: bool = True

    @property
    def scaling(self) -> bool:
        """Whether it is known to be changing the number of replicas."""
        if not self.acts or self.current is None or self.desired is None:
            return False
        return self.desired != self.current


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A group of Pods that a scheduler starts together or not at all.

    Attributes:
        name: Its name; empty when the scheduler makes one up.
        key: Label, annotation or field that puts the Pods into it.
        least: Pods that must find a place together; `None` when the template does not tell.
        least_key: Label or annotation that would tell; empty when there is none.
    """

    name: str
    key: str
    least: int | None = None
    least_key: str = ""

    @property
    def may_wait(self) -> bool:
        """Whether a Pod more may have to wait for others."""
        return self.least is None or self.least > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPod:
    """A live Pod that somebody asks not to disrupt, beyond what its template says.

    Attributes:
        name: Its name.
        by: Keys of the annotations.
    """

    name: str
    by: str
