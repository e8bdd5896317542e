"""The replicas of one simulation, as the fleet around them handles them."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol, cast

import numpy as np

from ridgeline.sim.requests import arrays, kernel
from ridgeline.sim.requests.arrays import FIELDS, RECORD, Floats, Memory, State
from ridgeline.sim.requests.traffic import Sizes
from ridgeline.sim.requests.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How requests are routed, and what becomes of those that find no place.

    Attributes:
        round_robin: Whether the router takes turns; else it takes the least loaded replica.
        shed_above: A replica with so many waiting requests turns new ones away.
        max_tries: How often a request is sent in all before it is shed.
        retry_seconds: Pause before it is sent again.
        prefix_hit: Share of a prompt that a warm replica finds in its prefix cache.
        warm_seconds: Time in which a restarted replica's cache fills to 63 %.
    """

    round_robin: bool = False
    shed_above: float = 1e9
    max_tries: int = 3
    retry_seconds: float = 5.0
    prefix_hit: float = 0.0
    warm_seconds: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Requests that arrive whatever becomes of the others.

    Attributes:
        times: Seconds, rising.
        prompts: Prompt tokens of each.
        outputs: Output tokens of each, 1 or more.
    """

    times: Floats
    prompts: Floats
    outputs: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """Users who send a request, read the answer, think, and send the next.

    Attributes:
        users: How many.
        thinks: Thinking times to draw from, with mean 1; multiplied by `set_think_seconds`.
        sizes: Prompts and outputs to draw from, as many.
    """

    users: int
    thinks: Floats
    sizes: Sizes


class Engines(Protocol):
    """Replicas in numbered places, from nothing to decode; compiled, or plain for comparison."""

    def offer(self, arrivals: Arrivals) -> None:
        """Set the requests that arrive next, all later than now; the last ones are used up."""

    def start(self, place: int, profile: int, now: float) -> None:
        """Let a replica serve: its counters begin anew, its cache is cold."""

    def warm_up(self, place: int) -> None:
        """Give a replica the cache of one that has long served."""

    def drain(self, place: int) -> None:
        """Send a replica no more requests."""

    def evict(self, place: int, now: float) -> None:
        """End a replica: what it still has is turned away."""

    def set_think_seconds(self, seconds: float) -> None:
        """Set the mean thinking time of a closed loop."""

    def run(self, until: float) -> None:
        """Let time pass."""

    def held(self, place: int) -> tuple[int, int, int]:
        """Return requests in decode, in prefill and waiting of a replica."""

    def waits_for_capacity(self, place: int) -> bool:
        """Tell whether the queue's first request lacks a sequence slot or KV cache."""

    def counters(self, place: int) -> Floats:
        """Return a replica's counters (`kernel.DECODE_SECONDS` …), a copy."""

    def totals(self) -> tuple[Floats, tuple[int, int, int, int]]:
        """Return the fleet's totals, and its arrived, completed, shed and retried requests."""


class CompiledEngines:
    """The replicas in the compiled loop.

    Raises:
        OverflowError: On run, when more requests are open at once than there is room for.
    """

    def __init__(
        self,
        truth: Truth,
        serving: Serving,
        *,
        places: int,
        loop: ClosedLoop | None = None,
    ) -> None:
        """Make room for so many replicas."""
        self._memory, self._state = new_memory(truth, serving, places=places, loop=loop)
        self._arrivals = Arrivals(times=np.empty(0), prompts=np.empty(0), outputs=np.empty(0))

    def offer(self, arrivals: Arrivals) -> None:
        """See Engines."""
        self._arrivals = arrivals
        self._state.cursors[kernel.NEXT_ARRIVAL] = 0

    def start(self, place: int, profile: int, now: float) -> None:
        """See Engines."""
        s = self._state
        s.profile[place] = profile
        s.started[place] = s.updated[place] = now
        s.counters[place] = 0.0
        s.accepting[place] = 1

    def warm_up(self, place: int) -> None:
        """See Engines."""
        self._state.started[place] = -1e12

    def drain(self, place: int) -> None:
        """See Engines."""
        self._state.accepting[place] = 0

    def evict(self, place: int, now: float) -> None:
        """See Engines."""
        kernel.evict(self._memory, place, now)

    def set_think_seconds(self, seconds: float) -> None:
        """See Engines."""
        self._state.settings[kernel.THINK_SECONDS] = seconds

    def run(self, until: float) -> None:
        """See Engines."""
        each = self._arrivals
        if not kernel.run(self._memory, each.times, each.prompts, each.outputs, until):
            raise OverflowError(
                f"more than {arrays.ROOM} requests are open: shed, or lower the demand"
            )

    def held(self, place: int) -> tuple[int, int, int]:
        """See Engines."""
        s = self._state
        prefilling = int(s.prefilling[place] != kernel.NOBODY)
        return int(s.running[place]), prefilling, int(s.waiting[place])

    def waits_for_capacity(self, place: int) -> bool:
        """See Engines."""
        return kernel.blocked(self._memory, place)

    def counters(self, place: int) -> Floats:
        """See Engines."""
        return np.array(self._state.counters[place])

    def totals(self) -> tuple[Floats, tuple[int, int, int, int]]:
        """See Engines."""
        of = self._state.cursors
        counts = (kernel.ARRIVED, kernel.COMPLETED, kernel.SHED, kernel.RETRIED)
        arrived, completed, shed, retried = (int(of[each]) for each in counts)
        return self._state.totals.copy(), (arrived, completed, shed, retried)


def new_memory(
    truth: Truth, serving: Serving, *, places: int, loop: ClosedLoop | None
) -> tuple[Memory, State]:
    """Return the memory of a fleet in which nothing has happened yet, and its fields.

    Raises:
        ValueError: When the fleet is larger than the memory.
    """
    if places > arrays.PLACES or truth.max_seqs > arrays.SEQS:
        raise ValueError(
            f"{places} replicas of {truth.max_seqs} requests: give at most {arrays.PLACES}"
            f" (spare GPUs included) of {arrays.SEQS}"
        )
    memory = np.zeros(1, dtype=RECORD)
    s = cast("State", SimpleNamespace(**{name: memory[name][0] for name, *_ in FIELDS}))
    for row, each in enumerate(truth.profiles):
        s.step_seconds[row, : truth.max_seqs + 1] = each.steps(truth.max_seqs)
        s.tokens_per_step[row, : truth.max_seqs + 1] = each.lengths(truth.max_seqs)
        s.kv_seconds[row] = truth.kv_seconds_per_token
        s.kv_tokens[row] = each.kv_tokens
    _settle(s, truth, serving)
    s.cursors[kernel.PLACES] = places
    s.cursors[kernel.ROUND_ROBIN] = int(serving.round_robin)
    s.next_event[:] = np.inf
    s.prefilling[:] = kernel.NOBODY
    s.link[:] = np.arange(1, arrays.ROOM + 1)
    s.link[-1] = kernel.NOBODY
    if loop is not None:
        _seat(memory, s, loop)
    return memory, s


def _settle(s: State, truth: Truth, serving: Serving) -> None:
    s.settings[kernel.REFERENCE_CONTEXT] = truth.reference_context
    s.settings[kernel.PREFILL_PER_TOKEN] = truth.prefill_seconds_per_token
    s.settings[kernel.PREFILL_FIXED] = truth.prefill_fixed_seconds
    s.settings[kernel.PREFIX_HIT] = serving.prefix_hit
    s.settings[kernel.WARM_SECONDS] = serving.warm_seconds
    s.settings[kernel.RETRY_SECONDS] = serving.retry_seconds
    s.settings[kernel.SHED_ABOVE] = serving.shed_above
    s.settings[kernel.MAX_TRIES] = serving.max_tries
    s.settings[kernel.MAX_SEQS] = truth.max_seqs


def _seat(memory: Memory, s: State, loop: ClosedLoop) -> None:
    """Give each user a slot; they send their first requests over the first minute."""
    s.think[:] = np.resize(loop.thinks, arrays.POOL)
    s.pool_prompt[:] = np.resize(loop.sizes.prompts, arrays.POOL)
    s.pool_output[:] = np.resize(loop.sizes.outputs, arrays.POOL)
    s.cursors[kernel.CLOSED] = 1
    s.cursors[kernel.FREE] = loop.users
    s.cursors[kernel.DRAWN] = loop.users
    for user in range(loop.users):
        drawn = user % arrays.POOL
        s.prompt[user] = s.pool_prompt[drawn]
        s.output[user] = s.pool_output[drawn]
        s.first[user] = kernel.NOBODY
        kernel.seat(memory, user, 60.0 * (user + 1) / (loop.users + 1))
