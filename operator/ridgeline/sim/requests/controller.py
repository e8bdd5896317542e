"""What a control law sees of a simulated fleet, and what it answers."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineObservation:
    """Means over the rate window of one replica, as telemetry tells them; named as in EngineFacts.

    Attributes:
        name: The Pod's name: another one after each start.
        profile: The profile that it runs.
        ready_seconds: How long it has been in service.
        age_seconds: Age of the newest scrape behind the numbers.
        decode_concurrency: Mean number of requests in decode.
        generated_tokens_per_second: Output tokens per second.
        request_steps_per_second: Request-steps per second.
        steps_per_second: Engine steps per second.
        running: Gauge of running requests at the newest scrape.
        waiting: Gauge of waiting requests at the newest scrape.
        waiting_for_capacity: Gauge of those that wait for a sequence slot or KV cache.
        queue_seconds_per_second: Mean requests in the queue, from those that left it.
        prompt_tokens_per_second: Prompt tokens computed per second.
        mean_prompt_tokens: Mean prompt of requests that finished; `None` when none did.
        mean_output_tokens: Mean answer of requests that finished; `None` when none did.
    """

    name: str
    profile: str
    ready_seconds: float
    age_seconds: float
    decode_concurrency: float
    generated_tokens_per_second: float
    request_steps_per_second: float
    steps_per_second: float
    running: float
    waiting: float
    waiting_for_capacity: float
    queue_seconds_per_second: float
    prompt_tokens_per_second: float
    mean_prompt_tokens: float | None
    mean_output_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The fleet at one tick.

    Attributes:
        active_profile: Profile that the Deployment asks for.
        replicas: Replicas that it asks for.
        rolling: Whether a roll, a start or a drain is under way.
        serving: Replicas in service.
        engines: Those of them that telemetry has numbers of.
        unseen_seconds: How long each of the others has been in service.
    """

    active_profile: str
    replicas: int
    rolling: bool
    serving: int
    engines: tuple[EngineObservation, ...]
    unseen_seconds: tuple[float, ...] = ()

    @property
    def concurrency(self) -> float | None:
        """Mean concurrency per engine; `None` without numbers."""
        if not self.engines:
            return None
        return sum(each.decode_concurrency for each in self.engines) / len(self.engines)

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens/s of the fleet, scaled to all replicas in service; `None` without any."""
        if not self.engines:
            return None
        seen = sum(each.generated_tokens_per_second for each in self.engines)
        return seen * self.serving / len(self.engines)


class Controller(Protocol):
    """A control law. It is asked at every tick; an answer during a roll is not acted on."""

    def decide(self, observation: Observation, now: float) -> str | None:
        """Return the profile to be on, or `None` to change nothing."""
