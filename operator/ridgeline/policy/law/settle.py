"""Settling: after a roll the signals show its effect for a while, and the backlog that it left."""

from ridgeline.policy.law.settings import LawSettings


def settling_left(
    *, finished_at: float | None, saturated: bool, now: float, settings: LawSettings
) -> float:
    """Return for how many more seconds nothing is decided after a roll, 0 when it has settled.

    At least `settle_seconds`; longer while the servers are saturated, at most
    `settle_most_seconds`.
    """
    if finished_at is None:
        return 0.0
    since = max(0.0, now - finished_at)
    limit = settings.settle_most_seconds if saturated else settings.settle_seconds
    return max(0.0, limit - since)
