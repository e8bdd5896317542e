"""The inner event loop once more, plain: what the compiled one must agree with.

Every request carries the tokens that it has left, and every passing of time goes through all of
them; nothing is clever, and it is some thousand times slower.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from ridgeline.sim.requests import kernel
from ridgeline.sim.requests.arrays import COUNTERS, TOTALS, Floats
from ridgeline.sim.requests.engines import Arrivals, ClosedLoop, Serving
from ridgeline.sim.requests.truth import Truth


@dataclass(slots=True, eq=False)
class _Request:
    prompt: float
    output: float
    first: float | None = None
    queued_at: float = 0.0
    tries: int = 0
    left: float = 0.0


@dataclass(slots=True, eq=False)
class _Replica:
    accepting: bool = False
    profile: int = 0
    started: float = 0.0
    updated: float = 0.0
    decoding: list[_Request] = field(default_factory=list)
    queue: list[_Request] = field(default_factory=list)
    prefilling: _Request | None = None
    prefill_end: float = math.inf
    due: float = math.inf
    counters: Floats = field(default_factory=lambda: np.zeros(COUNTERS))

    @property
    def load(self) -> int:
        return len(self.decoding) + len(self.queue) + (self.prefilling is not None)

    @property
    def event(self) -> float:
        return self.due if self.prefilling is None else self.prefill_end


class PlainEngines:
    """The replicas, plain. See Engines."""

    def __init__(
        self, truth: Truth, serving: Serving, *, places: int, loop: ClosedLoop | None = None
    ) -> None:
        """Make so many replicas."""
        self._truth = truth
        self._serving = serving
        self._loop = loop
        self._steps = [each.steps(truth.max_seqs) for each in truth.profiles]
        self._lengths = [each.lengths(truth.max_seqs) for each in truth.profiles]
        self._replicas = [_Replica() for _ in range(places)]
        self._arrivals: list[tuple[float, _Request]] = []
        self._future: list[tuple[float, _Request]] = []
        self._think_seconds = 0.0
        self._turn = self._drawn = 0
        self._now = 0.0
        self._totals = np.zeros(TOTALS)
        self._arrived = self._completed = self._shed = self._retried = 0
        if loop is not None:
            for user in range(loop.users):
                self._future.append((60.0 * (user + 1) / (loop.users + 1), self._draw(loop)))

    def offer(self, arrivals: Arrivals) -> None:
        """See Engines."""
        rows = zip(arrivals.times, arrivals.prompts, arrivals.outputs, strict=True)
        self._arrivals = [(float(t), _Request(float(p), float(o))) for t, p, o in rows]

    def start(self, place: int, profile: int, now: float) -> None:
        """See Engines."""
        self._replicas[place] = _Replica(accepting=True, profile=profile, started=now, updated=now)

    def warm_up(self, place: int) -> None:
        """See Engines."""
        self._replicas[place].started = -1e12

    def drain(self, place: int) -> None:
        """See Engines."""
        self._replicas[place].accepting = False

    def evict(self, place: int, now: float) -> None:
        """See Engines."""
        replica = self._replicas[place]
        self._advance(replica, now)
        lost = sorted(replica.decoding, key=lambda each: each.left)
        if replica.prefilling is not None:
            lost.append(replica.prefilling)
        for number, request in enumerate((*lost, *replica.queue)):
            self._turn_away(request, now + number * kernel.STAGGER_SECONDS)
        self._replicas[place] = _Replica(counters=replica.counters)

    def set_think_seconds(self, seconds: float) -> None:
        """See Engines."""
        self._think_seconds = seconds

    def run(self, until: float) -> None:
        """See Engines."""
        while True:
            replica = min(self._replicas, key=lambda each: each.event)
            back = min(self._future, key=lambda each: each[0], default=None)
            new = self._arrivals[0] if self._arrivals else None
            times = [replica.event, back[0] if back else math.inf, new[0] if new else math.inf]
            now = min(times)
            if now > until:
                break
            self._clock(now)
            if times[0] == now:
                self._event(replica, now)
            elif back is not None and times[1] == now:
                self._future.remove(back)
                self._arrive(back[1], now)
            elif new is not None:
                self._arrivals.pop(0)
                self._arrive(new[1], now)
        self._clock(until)
        for replica in self._replicas:
            self._advance(replica, until)
            self._schedule(replica)

    def held(self, place: int) -> tuple[int, int, int]:
        """See Engines."""
        replica = self._replicas[place]
        return len(replica.decoding), int(replica.prefilling is not None), len(replica.queue)

    def waits_for_capacity(self, place: int) -> bool:
        """See Engines."""
        replica = self._replicas[place]
        return bool(replica.queue) and not self._fits(replica)

    def counters(self, place: int) -> Floats:
        """See Engines."""
        return np.array(self._replicas[place].counters)

    def totals(self) -> tuple[Floats, tuple[int, int, int, int]]:
        """See Engines."""
        counts = (self._arrived, self._completed, self._shed, self._retried)
        return np.array(self._totals), counts

    def _clock(self, now: float) -> None:
        inside = self._arrived - self._completed - self._shed
        self._totals[kernel.IN_SYSTEM_SECONDS] += inside * (now - self._now)
        self._totals[kernel.NOW] = self._now = now

    def _step_seconds(self, replica: _Replica) -> float:
        count = len(replica.decoding)
        table = float(self._steps[replica.profile][count])
        context = sum(each.prompt + each.output - each.left for each in replica.decoding)
        more = context - count * self._truth.reference_context
        return max(0.3 * table, table + self._truth.kv_seconds_per_token * more)

    def _advance(self, replica: _Replica, now: float) -> None:
        elapsed = now - replica.updated
        replica.updated = now
        count = len(replica.decoding)
        if count == 0 or elapsed <= 0.0:
            return
        replica.counters[kernel.DECODE_SECONDS] += count * elapsed
        if replica.prefilling is not None:
            return
        steps = elapsed / self._step_seconds(replica)
        tokens = steps * float(self._lengths[replica.profile][count])
        for request in replica.decoding:
            request.left -= tokens
        replica.counters[kernel.STEPS] += steps
        replica.counters[kernel.REQUEST_STEPS] += count * steps
        self._tokens(replica, count * tokens)

    def _tokens(self, replica: _Replica, tokens: float) -> None:
        replica.counters[kernel.TOKENS] += tokens
        self._totals[kernel.SERVED_TOKENS] += tokens

    def _schedule(self, replica: _Replica) -> None:
        count = len(replica.decoding)
        replica.due = math.inf
        if count:
            rate = float(self._lengths[replica.profile][count]) / self._step_seconds(replica)
            least = min(each.left for each in replica.decoding)
            replica.due = replica.updated + max(0.0, least) / rate

    def _fits(self, replica: _Replica) -> bool:
        held = sum(each.prompt + each.output for each in replica.decoding)
        first = replica.queue[0]
        room = self._truth.profiles[replica.profile].kv_tokens
        if len(replica.decoding) >= self._truth.max_seqs:
            return False
        if replica.prefilling is not None:
            held += replica.prefilling.prompt + replica.prefilling.output
        return not replica.decoding or held + first.prompt + first.output <= room

    def _admit(self, replica: _Replica, now: float) -> None:
        if replica.prefilling is not None or not replica.queue or not self._fits(replica):
            return
        request = replica.queue.pop(0)
        replica.prefilling = request
        warm = 1.0
        if self._serving.warm_seconds > 0:
            warm -= math.exp(-(now - replica.started) / self._serving.warm_seconds)
        computed = request.prompt * (1.0 - self._serving.prefix_hit * warm)
        replica.counters[kernel.QUEUE_SECONDS] += now - request.queued_at
        replica.counters[kernel.ADMITTED] += 1.0
        replica.counters[kernel.PROMPT_TOKENS] += computed
        took = self._truth.prefill_fixed_seconds
        took += computed * self._truth.prefill_seconds_per_token
        replica.prefill_end = now + took

    def _event(self, replica: _Replica, now: float) -> None:
        self._advance(replica, now)
        request = replica.prefilling
        if request is not None:
            replica.prefilling = None
            self._tokens(replica, 1.0)
            request.left = request.output - 1.0
            if request.output <= 1.0:
                self._finish(replica, request, now)
            else:
                replica.decoding.append(request)
        else:
            request = min(replica.decoding, key=lambda each: each.left)
            replica.decoding.remove(request)
            self._finish(replica, request, now)
        self._admit(replica, now)
        self._schedule(replica)

    def _finish(self, replica: _Replica, request: _Request, now: float) -> None:
        replica.counters[kernel.FINISHED] += 1.0
        replica.counters[kernel.FINISHED_PROMPT] += request.prompt
        replica.counters[kernel.FINISHED_OUTPUT] += request.output
        self._totals[kernel.LATENCY] += now - (request.first or 0.0)
        self._completed += 1
        self._ask_again(now)

    def _arrive(self, request: _Request, now: float) -> None:
        if request.first is None:
            request.first = now
            self._arrived += 1
            self._totals[kernel.ARRIVED_TOKENS] += request.output
        replica = self._route()
        if replica is None or len(replica.queue) >= self._serving.shed_above:
            self._turn_away(request, now)
            return
        request.queued_at = now
        replica.queue.append(request)
        self._advance(replica, now)
        self._admit(replica, now)
        self._schedule(replica)

    def _route(self) -> _Replica | None:
        count = len(self._replicas)
        order = [(self._turn + offset) % count for offset in range(count)]
        open_ = [each for each in order if self._replicas[each].accepting]
        if not open_:
            return None
        loads = [0 if self._serving.round_robin else self._replicas[r].load for r in open_]
        picked = open_[loads.index(min(loads))]
        self._turn = (picked + 1) % count
        return self._replicas[picked]

    def _turn_away(self, request: _Request, now: float) -> None:
        request.tries += 1
        if request.tries < self._serving.max_tries:
            self._retried += 1
            self._future.append((now + self._serving.retry_seconds, request))
            return
        self._shed += 1
        self._ask_again(now)

    def _ask_again(self, now: float) -> None:
        if self._loop is None:
            return
        think = float(self._loop.thinks[self._drawn % len(self._loop.thinks)])
        self._future.append((now + think * self._think_seconds, self._draw(self._loop)))

    def _draw(self, loop: ClosedLoop) -> _Request:
        drawn = self._drawn % len(loop.thinks)
        self._drawn += 1
        return _Request(float(loop.sizes.prompts[drawn]), float(loop.sizes.outputs[drawn]))
