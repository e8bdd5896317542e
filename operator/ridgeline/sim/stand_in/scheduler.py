"""One engine: continuous batching, its KV cache and what a step does to each request.

Pure of clock and I/O: the caller says what time it is, sleeps for the planned duration and then
asks for the step to be completed. A step computes prompt tokens first-come-first-served within the
token budget and decodes every running request; a request whose prompt completes emits its first
token at the end of that step, and from then on 1 + (accepted drafts) tokens per step.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from ridgeline.sim.stand_in.speculation import Speculation
from ridgeline.sim.stand_in.step_time import StepTimeModel
from ridgeline.sim.stand_in.telemetry import FinishedRequest, StepReport, TelemetrySink

Deliver = Callable[[int, str | None], None]
"""Takes the number of new tokens and the reason why the request is over, or None."""


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """What one engine step and one engine's cache can hold."""

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int


@dataclass(kw_only=True, eq=False, slots=True)
class Generation:
    """One request on its way through the engine. Times are the caller's, in seconds."""

    prompt_tokens: int
    max_tokens: int
    stop_after: int
    deliver: Deliver
    arrived: float
    scheduled: float | None = None
    first_token: float | None = None
    last_token: float = 0.0
    emitted: int = 0
    to_compute: int = 0
    preemptions: int = 0
    over: bool = False

    @property
    def kv_tokens(self) -> int:
        """Tokens that the request holds in the cache, its whole prompt from its admission on."""
        return self.prompt_tokens + self.emitted

    @property
    def end(self) -> int:
        """Tokens after which the answer is over."""
        return min(self.max_tokens, self.stop_after)


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    """What one step will compute."""

    duration_s: float
    lookahead: int
    decoding: tuple[Generation, ...]
    prefill: tuple[tuple[Generation, int], ...]


@dataclass(kw_only=True)
class Engine:
    """The state of one engine.

    Attributes:
        acceptance: Probability of each draft position given that the ones before were accepted;
            the last one holds for every further position.
    """

    limits: EngineLimits
    step_time: StepTimeModel
    speculation: Speculation | None
    acceptance: tuple[float, ...]
    random: Random
    sink: TelemetrySink
    waiting: deque[Generation] = field(default_factory=deque)
    running: list[Generation] = field(default_factory=list)

    @property
    def load(self) -> int:
        """Requests waiting or running."""
        return len(self.waiting) + len(self.running)

    def submit(self, generation: Generation) -> None:
        """Puts a request at the end of the queue."""
        generation.to_compute = generation.prompt_tokens
        self.waiting.append(generation)

    def abort(self, generation: Generation) -> None:
        """Takes a request out, wherever it is; nothing happens when it is over."""
        if generation.over:
            return
        generation.over = True
        if generation in self.waiting:
            self.waiting.remove(generation)
        if generation in self.running:
            self.running.remove(generation)
        self.sink.aborted()
        generation.deliver(0, "abort")

    def plan(self, now: float) -> StepPlan | None:
        """The next step, or None with nothing to do."""
        preempted = self._make_room()
        decoding = tuple(g for g in self.running if g.to_compute == 0)
        prefill = self._plan_prefill(now, decoding=len(decoding))
        if preempted:
            self.sink.preempted(preempted)
        if not decoding and not prefill:
            return None
        lookahead = self._lookahead(len(decoding) + len(prefill))
        return StepPlan(
            duration_s=self.step_time.seconds(
                requests=len(decoding),
                lookahead=lookahead,
                prefill_tokens=sum(tokens for _, tokens in prefill),
                drafter=self._loaded_drafter(),
            ),
            lookahead=lookahead,
            decoding=decoding,
            prefill=tuple(prefill),
        )

    def complete(self, plan: StepPlan, now: float) -> None:
        """Gives every request of the step its tokens and reports the step."""
        tally = _Tally(accepted=[0] * (self.speculation.lookahead if self.speculation else 0))
        for generation in plan.decoding:
            if not generation.over:
                self._decode(generation, plan.lookahead, now, tally)
        for generation, tokens in plan.prefill:
            if not generation.over:
                self._prefill(generation, tokens, now, tally)
        self.sink.step(
            StepReport(
                prompt_tokens=tally.prompt_tokens,
                generation_tokens=tally.generation_tokens,
                step_latencies_s=tuple(tally.step_latencies_s),
                first_token_times_s=tuple(tally.first_token_times_s),
                drafts=tally.drafts,
                draft_tokens=tally.drafts * plan.lookahead,
                accepted_by_position=tuple(tally.accepted),
                running=len(self.running),
                waiting=len(self.waiting),
                kv_usage=min(1.0, self._kv_used() / self.limits.kv_tokens),
            )
        )
        for record in tally.finished:
            self.sink.finished(record)

    def _decode(self, generation: Generation, lookahead: int, now: float, tally: "_Tally") -> None:
        hits = self._accept(lookahead)
        for position in range(hits):
            tally.accepted[position] += 1
        tally.drafts += lookahead > 0
        tally.step_latencies_s.append(now - generation.last_token)
        self._emit(generation, 1 + hits, now, tally)

    def _prefill(self, generation: Generation, tokens: int, now: float, tally: "_Tally") -> None:
        generation.to_compute -= tokens
        if generation.to_compute > 0:
            return
        if generation.first_token is None:
            generation.first_token = now
            tally.first_token_times_s.append(now - generation.arrived)
            tally.prompt_tokens += generation.prompt_tokens
        else:
            tally.step_latencies_s.append(now - generation.last_token)
        self._emit(generation, 1, now, tally)

    def _make_room(self) -> int:
        """Sends the youngest requests back to the queue until the others can grow."""
        preempted = 0
        growth = 1 + (self.speculation.lookahead if self.speculation else 0)
        while len(self.running) > 1 and (
            self._kv_used() + growth * len(self.running) > self.limits.kv_tokens
        ):
            youngest = self.running.pop()
            youngest.to_compute = youngest.kv_tokens
            youngest.preemptions += 1
            self.waiting.appendleft(youngest)
            preempted += 1
        return preempted

    def _plan_prefill(self, now: float, *, decoding: int) -> list[tuple[Generation, int]]:
        per_request = 1 + (self.speculation.lookahead if self.speculation else 0)
        budget = self.limits.max_num_batched_tokens - decoding * per_request
        chunks: list[tuple[Generation, int]] = []
        for generation in self.running:
            if generation.to_compute > 0 and budget > 0:
                chunks.append((generation, min(generation.to_compute, budget)))
                budget -= chunks[-1][1]
        while self.waiting and budget > 0 and len(self.running) < self.limits.max_num_seqs:
            generation = self.waiting[0]
            if self.running and self._kv_used() + generation.kv_tokens > self.limits.kv_tokens:
                break
            self.waiting.popleft()
            if generation.scheduled is None:
                generation.scheduled = now
            self.running.append(generation)
            chunks.append((generation, min(generation.to_compute, budget)))
            budget -= chunks[-1][1]
        return chunks

    def _kv_used(self) -> int:
        return sum(g.kv_tokens for g in self.running)

    def _lookahead(self, scheduled: int) -> int:
        return self.speculation.lookahead_at(scheduled) if self.speculation else 0

    def _loaded_drafter(self) -> str | None:
        """The drafter that costs time; the V0 engine leaves its own out above the threshold."""
        if self.speculation is None:
            return None
        idle = self.speculation.v0 and self._lookahead(len(self.running)) == 0
        return None if idle else self.speculation.method

    def _accept(self, lookahead: int) -> int:
        hits = 0
        while hits < lookahead:
            chance = self.acceptance[min(hits, len(self.acceptance) - 1)]
            if self.random.random() >= chance:
                break
            hits += 1
        return hits

    def _emit(self, generation: Generation, tokens: int, now: float, tally: "_Tally") -> None:
        """Hands out tokens up to the request's end; what lies beyond is cut off."""
        tokens = min(tokens, generation.end - generation.emitted)
        generation.emitted += tokens
        generation.last_token = now
        reason = None
        if generation.emitted >= generation.end:
            reason = "length" if generation.end == generation.max_tokens else "stop"
            generation.over = True
            self.running.remove(generation)
            tally.finished.append(_record(generation, reason, now))
        tally.generation_tokens += tokens
        generation.deliver(tokens, reason)


@dataclass(kw_only=True, slots=True)
class _Tally:
    """What adds up while a step is completed."""

    accepted: list[int]
    step_latencies_s: list[float] = field(default_factory=list)
    first_token_times_s: list[float] = field(default_factory=list)
    finished: list[FinishedRequest] = field(default_factory=list)
    prompt_tokens: int = 0
    generation_tokens: int = 0
    drafts: int = 0


def _record(generation: Generation, reason: str, now: float) -> FinishedRequest:
    scheduled = generation.scheduled if generation.scheduled is not None else now
    first = generation.first_token if generation.first_token is not None else now
    return FinishedRequest(
        reason=reason,
        prompt_tokens=generation.prompt_tokens,
        generation_tokens=generation.emitted,
        max_tokens=generation.max_tokens,
        preemptions=generation.preemptions,
        end_to_end_s=now - generation.arrived,
        queued_s=scheduled - generation.arrived,
        prefill_s=first - scheduled,
        decode_s=generation.last_token - first,
    )
