"""What one look at a running scene shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One Pod of the target.

    Attributes:
        name: The Pod's name.
        profile: Profile that it was started with.
        ready: Whether it serves.
        concurrency: Mean requests in decode; None when telemetry does not know it.
        tpot_ms: Mean time per output token, in milliseconds.
    """

    name: str
    profile: str
    ready: bool
    concurrency: float | None
    tpot_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One look: what people would ask kubectl, Prometheus and the operator.

    Attributes:
        elapsed_s: Seconds since the scene began.
        phase: What is being waited for.
        users: Users that send requests.
        active: Profile that the Pod template carries.
        desired: Profile that the operator wants.
        rollout: State of the latest roll, with its replica counts; empty without one.
        rolling: Whether a roll is under way.
        cutoff: Cut-off and lower edge of the band, as text.
        reason: Reason of the last decision.
        message: Its message.
        concurrency: Mean requests in decode per engine, as the operator sees it.
        tokens_per_s: Output tokens per second of the fleet.
        tpot_ms: Mean time per output token.
        finished: Profiles of the switches whose roll has finished, oldest first.
        replicas: The Pods.
    """

    elapsed_s: float
    phase: str
    users: int
    active: str | None
    desired: str | None
    rollout: str
    rolling: bool
    cutoff: str
    reason: str
    message: str
    concurrency: float | None
    tokens_per_s: float | None
    tpot_ms: float | None
    finished: tuple[str, ...]
    replicas: tuple[Replica, ...]

    @property
    def settled(self) -> bool:
        """Whether no roll is under way and the fleet's numbers are known."""
        return not self.rolling and self.tokens_per_s is not None and self.concurrency is not None
