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
        least: Pods that must find a place together; `None` when nobody tells.
        least_key: Label or annotation that would tell; empty when there is none.
        group: API group of the PodGroup object that tells; empty when none does.
        counts_running: Whether Pods of it that have a place already count among them.
    """

    name: str
    key: str
    least: int | None = None
    least_key: str = ""
    group: str = ""
    counts_running: bool = True

    def may_wait(self, there: int) -> bool:
        """Tell whether a Pod more may have to wait for others.

        Args:
            there: Pods that are there when it comes, itself included.
        """
        if self.least is None:
            return True
        return self.least > (there if self.counts_running else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPod:
    """A live Pod that somebody asks not to disrupt, beyond what its template says.

    Attributes:
        name: Its name.
        by: Keys of the annotations.
    """

    name: str
    by: str
