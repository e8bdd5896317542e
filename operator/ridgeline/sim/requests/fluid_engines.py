"""Replicas that hold requests as a fluid: seconds for a week, where single requests take minutes.

A replica with b requests delivers X(b) tokens/s (`Truth.speeds`), and those in excess of what it
admits wait. A least-loaded router keeps all replicas that accept at one level b, which follows from

    n · (b' − b) = dt · (demand − Σ X(b')) ÷ output

solved for b' at the end of each tick (implicit, so that it is stable however short answers are).
What a fluid does not have: the chance of single arrivals within a tick, cold caches, shedding.
"""

import numpy as np

from ridgeline.sim.requests import kernel
from ridgeline.sim.requests.arrays import COUNTERS, TOTALS, Floats
from ridgeline.sim.requests.engines import Arrivals, Serving
from ridgeline.sim.requests.flow import Flow
from ridgeline.sim.requests.traffic import TICK_SECONDS
from ridgeline.sim.requests.truth import Truth

MOST_OPEN = 200_000.0
"""Requests in the system beyond which the queue has outgrown the simulation, as in requests."""


class FluidEngines:
    """The replicas of one simulation; implements Engines.

    Raises:
        ValueError: When the serving sheds requests or has prefix caches.
        OverflowError: On run, when more requests are open at once than there is room for.
    """

    def __init__(self, truth: Truth, serving: Serving, flow: Flow, *, places: int) -> None:
        """Make room for so many replicas."""
        if serving.prefix_hit > 0 or serving.shed_above < 1e9:
            raise ValueError(
                "prefix caches and shedding need single requests: simulate requests, or leave "
                "them out"
            )
        held = (flow.held_prompt, flow.held_output)
        self._flow = flow
        self._grid = np.arange(truth.max_seqs + 1, dtype=np.float64)
        self._speeds = [
            truth.speeds(each.name, prompt=flow.prompt, output=flow.output, held=held)
            for each in truth.profiles
        ]
        self._lengths = [each.lengths(truth.max_seqs) for each in truth.profiles]
        length = flow.held_prompt + flow.held_output
        self._rooms = [
            float(min(truth.max_seqs, max(1, int(each.kv_tokens / length))))
            for each in truth.profiles
        ]
        self._profile = [0] * places
        self._accepts = [False] * places
        self._level = [0.0] * places
        self._counters = [[0.0] * COUNTERS for _ in range(places)]
        self._routed = 0.0
        self._solved: dict[tuple[float, tuple[int, ...]], Floats] = {}
        self._now = 0.0
        self._in_system_seconds = self._arrived = self._served_tokens = 0.0

    def offer(self, arrivals: Arrivals) -> None:  # noqa: ARG002 (of the protocol)
        """See Engines: the flow was given when it was made."""
        raise ValueError("a fluid takes no single requests")

    def start(self, place: int, profile: int, now: float) -> None:  # noqa: ARG002 (likewise)
        """See Engines."""
        self._profile[place] = profile
        self._counters[place] = [0.0] * COUNTERS
        self._accepts[place] = True

    def warm_up(self, place: int) -> None:
        """See Engines: there are no caches."""

    def drain(self, place: int) -> None:
        """See Engines."""
        self._accepts[place] = False

    def evict(self, place: int, now: float) -> None:  # noqa: ARG002 (likewise)
        """See Engines."""
        self._accepts[place] = False
        self._routed += self._level[place]
        self._level[place] = 0.0

    def set_think_seconds(self, seconds: float) -> None:
        """See Engines: nobody thinks."""

    def run(self, until: float) -> None:
        """See Engines."""
        seconds = until - self._now
        if seconds <= 0.0:
            return
        before = self._open()
        tick = int(self._now / TICK_SECONDS)
        levels = self._flow.tokens_per_second
        asked = float(levels[tick]) if tick < len(levels) else 0.0
        arriving = asked * seconds / self._flow.output
        self._arrived += arriving
        self._share(arriving, seconds)
        for place, level in enumerate(self._level):
            if level > 0.0 and not self._accepts[place]:
                self._level[place] = self._after((self._profile[place],), level, seconds)
            if level > 0.0 or self._accepts[place]:
                self._count(place, seconds)
        after = self._open()
        if after > MOST_OPEN:
            raise OverflowError(f"more than {MOST_OPEN:.0f} requests are open: lower the demand")
        self._in_system_seconds += (before + after) / 2.0 * seconds
        self._now = until

    def held(self, place: int) -> tuple[int, int, int]:
        """See Engines."""
        level = self._level[place]
        running = min(level, self._rooms[self._profile[place]])
        return round(running), 0, round(level - running)

    def waits_for_capacity(self, place: int) -> bool:
        """See Engines."""
        return self.held(place)[2] > 0

    def counters(self, place: int) -> Floats:
        """See Engines."""
        return np.array(self._counters[place])

    def totals(self) -> tuple[Floats, tuple[int, int, int, int]]:
        """See Engines."""
        totals = np.zeros(TOTALS)
        totals[kernel.NOW] = self._now
        totals[kernel.IN_SYSTEM_SECONDS] = self._in_system_seconds
        # By Little's law, once all are served.
        totals[kernel.LATENCY] = self._in_system_seconds
        totals[kernel.ARRIVED_TOKENS] = self._arrived * self._flow.output
        totals[kernel.SERVED_TOKENS] = self._served_tokens
        arrived = round(self._arrived)
        return totals, (arrived, arrived - round(self._open()), 0, 0)

    def _open(self) -> float:
        return self._routed + sum(self._level)

    def _share(self, arriving: float, seconds: float) -> None:
        """Spread what accepting replicas hold, and what comes, evenly over them."""
        accepting = [place for place, accepts in enumerate(self._accepts) if accepts]
        held = arriving + self._routed + sum(self._level[place] for place in accepting)
        if not accepting:
            self._routed = held
            return
        profiles = tuple(sorted(self._profile[place] for place in accepting))
        level = self._after(profiles, held, seconds)
        self._routed = 0.0
        for place in accepting:
            self._level[place] = level

    def _after(self, profiles: tuple[int, ...], held: float, seconds: float) -> float:
        """Return the level of replicas on these profiles that held so many, after a time."""
        key = (seconds, profiles)
        table = self._solved.get(key)
        if table is None:
            speed = np.sum([self._speeds[each] for each in profiles], axis=0)
            table = len(profiles) * self._grid + seconds * speed / self._flow.output
            self._solved[key] = table
        if held >= table[-1]:
            return float(self._grid[-1] + (held - table[-1]) / len(profiles))
        return float(np.interp(held, table, self._grid))

    def _count(self, place: int, seconds: float) -> None:
        level, profile = self._level[place], self._profile[place]
        running = min(level, self._rooms[profile])
        if running <= 0.0:
            return
        below = int(running)
        above = min(below + 1, len(self._grid) - 1)
        speeds, share = self._speeds[profile], running - below
        tokens = float(speeds[below] + share * (speeds[above] - speeds[below])) * seconds
        steps = tokens / float(self._lengths[profile][round(running)])
        requests = tokens / self._flow.output
        of = self._counters[place]
        of[kernel.DECODE_SECONDS] += running * seconds
        of[kernel.TOKENS] += tokens
        of[kernel.REQUEST_STEPS] += steps
        of[kernel.STEPS] += steps / running
        of[kernel.QUEUE_SECONDS] += (level - running) * seconds
        of[kernel.ADMITTED] += requests
        of[kernel.PROMPT_TOKENS] += requests * self._flow.prompt
        of[kernel.FINISHED] += requests
        of[kernel.FINISHED_PROMPT] += requests * self._flow.prompt
        of[kernel.FINISHED_OUTPUT] += tokens
        self._served_tokens += tokens
