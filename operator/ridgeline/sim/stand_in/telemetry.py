"""What an engine reports of itself: per step, and per finished request."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """One engine step. Latencies in seconds.

    Attributes:
        prompt_tokens: Prompts completed in the step, in tokens.
        generation_tokens: Tokens handed out.
        step_latencies_s: One per request that decoded: the time since its last tokens.
        first_token_times_s: One per request that got its first token: the time since it arrived.
        drafts: Requests for which drafts were verified.
        draft_tokens: Drafts verified.
        accepted_by_position: How often the drafts up to that position were all accepted.
        running: Requests that go on running after the step.
        waiting: Requests in the queue after the step.
        kv_usage: Share of the cache in use, 0 to 1.
    """

    prompt_tokens: int
    generation_tokens: int
    step_latencies_s: tuple[float, ...]
    first_token_times_s: tuple[float, ...]
    drafts: int
    draft_tokens: int
    accepted_by_position: tuple[int, ...]
    running: int
    waiting: int
    kv_usage: float


@dataclass(frozen=True, kw_only=True)
class FinishedRequest:
    """One request that ended by itself. Times in seconds, tokens as counted by the engine."""

    reason: str
    prompt_tokens: int
    generation_tokens: int
    max_tokens: int
    preemptions: int
    end_to_end_s: float
    queued_s: float
    prefill_s: float
    decode_s: float

    @property
    def time_per_output_token_s(self) -> float:
        """Decode time per token after the first; 0 for an answer of one token."""
        later = self.generation_tokens - 1
        return self.decode_s / later if later > 0 else 0.0


class TelemetrySink(Protocol):
    """Takes what one engine reports."""

    def step(self, report: StepReport) -> None:
        """Takes one step."""

    def finished(self, request: FinishedRequest) -> None:
        """Takes one request that ended by itself."""

    def aborted(self) -> None:
        """Takes one request that the client or the server gave up."""

    def preempted(self, requests: int) -> None:
        """Takes requests that lost their place in the cache."""
