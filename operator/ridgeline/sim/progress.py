"""The status of a simulated Deployment: its replica counts and the condition Progressing.

As the controller reckons progress: a rollout that completed is never late again; one under way is
late when for the deadline neither the updated nor the Ready Pods grew, nor the old ones shrank.
While it is paused nobody reckons, and when it goes on the time starts anew.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class Progress(StrEnum):
    """Reason of the condition Progressing."""

    CREATED = "NewReplicaSetCreated"
    UPDATED = "ReplicaSetUpdated"
    AVAILABLE = "NewReplicaSetAvailable"
    TIMED_OUT = "ProgressDeadlineExceeded"
    PAUSED = "DeploymentPaused"
    RESUMED = "DeploymentResumed"

    @property
    def status(self) -> str:
        """Status of the condition."""
        unknown = self in {Progress.PAUSED, Progress.RESUMED}
        return "Unknown" if unknown else "False" if self is Progress.TIMED_OUT else "True"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The replica counts of a Deployment's status, and its progress."""

    current: int = 0
    updated: int = 0
    ready: int = 0
    progress: Progress = Progress.CREATED


def shows_progress(before: Counts, counts: Counts) -> bool:
    """Tell whether a rollout went on."""
    return (
        counts.updated > before.updated
        or counts.ready > before.ready
        or counts.current - counts.updated < before.current - before.updated
    )


def progressed(before: Counts, counts: Counts, replicas: int, *, late: bool) -> Counts:
    """Return the counts with the progress that they tell of.

    Args:
        before: The counts before, and the progress that was told.
        counts: The counts now.
        replicas: Replicas that there are to be.
        late: Whether the deadline has passed since there was progress.
    """
    if before.progress is Progress.AVAILABLE and counts.current == counts.updated:
        return replace(counts, progress=Progress.AVAILABLE)
    if counts.updated == counts.current == counts.ready == replicas:
        return replace(counts, progress=Progress.AVAILABLE)
    if shows_progress(before, counts):
        return replace(counts, progress=Progress.UPDATED)
    if late and before.progress is not Progress.AVAILABLE:
        return replace(counts, progress=Progress.TIMED_OUT)
    return replace(counts, progress=before.progress)
