"""The inner event loop: requests through router, queue, prefill and decode of every replica.

All requests in decode of a replica get tokens at one rate, E[L] ÷ T_step(B, context). So each
replica has a *virtual clock* that counts tokens per request, a request leaves when that clock has
advanced by its answer's length, and the order of leaving is a heap that nothing ever reorders.

    T_step = table[profile, B] + kv_seconds · (tokens in the KV cache − B · reference context)

A prefill has the engine to itself: decode stands still for prompt · prefill_seconds. A prompt's
prefix is found in the cache with probability `prefix_hit` once the replica is warm. A request is
admitted when a sequence slot and KV cache for its whole length are free, so nothing is preempted.

Functions and the indices they share stand in this one file: machine code goes stale by file.
"""

import numpy as np

from ridgeline.sim.requests.arrays import Floats, Ints, Memory, State
from ridgeline.sim.requests.compiled import compiled

NOBODY = -1
LEAST_STEP_SHARE = 0.3
"""A short context shortens a step no further than to this share of the table's."""
STAGGER_SECONDS = 1e-3
"""Requests that lose their replica come back that much apart."""

# Settings
(
    REFERENCE_CONTEXT,
    PREFILL_PER_TOKEN,
    PREFILL_FIXED,
    PREFIX_HIT,
    WARM_SECONDS,
    RETRY_SECONDS,
    SHED_ABOVE,
    MAX_TRIES,
    MAX_SEQS,
    THINK_SECONDS,
) = range(10)

# Counters of one replica, monotonic since its start
DECODE_SECONDS, TOKENS, REQUEST_STEPS, STEPS, QUEUE_SECONDS = range(5)
ADMITTED, PROMPT_TOKENS, FINISHED, FINISHED_PROMPT, FINISHED_OUTPUT = range(5, 10)

# Totals of the fleet
NOW, IN_SYSTEM_SECONDS, LATENCY, ARRIVED_TOKENS, SERVED_TOKENS = range(5)

# Whole numbers of the fleet
ARRIVED, COMPLETED, SHED, RETRIED, FREE, FUTURE = range(6)
TURN, ROUND_ROBIN, CLOSED, DRAWN, NEXT_ARRIVAL, PLACES = range(6, 12)


@compiled
def heap_push(keys: Floats, slots: Ints, size: int, key: float, slot: int) -> None:
    """Put a key into a heap of `size` entries."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        keys[at] = keys[above]
        slots[at] = slots[above]
        at = above
    keys[at] = key
    slots[at] = slot


@compiled
def heap_pop(keys: Floats, slots: Ints, size: int) -> int:
    """Take the least key out of a heap of `size` entries and return its slot."""
    least = slots[0]
    last = size - 1
    key, slot = keys[last], slots[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at] = keys[below]
        slots[at] = slots[below]
        at = below
    keys[at] = key
    slots[at] = slot
    return int(least)


@compiled
def step_time(s: State, r: int) -> float:
    """Return the seconds of one engine step of a replica as it is now."""
    table = s.step_seconds[s.profile[r], s.running[r]]
    more = s.context[r] - s.running[r] * s.settings[REFERENCE_CONTEXT]
    return float(max(LEAST_STEP_SHARE * table, table + s.kv_seconds[s.profile[r]] * more))


@compiled
def advance(s: State, r: int, now: float) -> None:
    """Let a replica decode until now."""
    elapsed = now - s.updated[r]
    s.updated[r] = now
    n = s.running[r]
    if n == 0 or elapsed <= 0.0:
        return
    counters = s.counters[r]
    counters[DECODE_SECONDS] += n * elapsed
    if s.prefilling[r] != NOBODY:
        return
    steps = elapsed / step_time(s, r)
    each = steps * s.tokens_per_step[s.profile[r], n]
    s.virtual[r] += each
    s.context[r] += n * each
    counters[STEPS] += steps
    counters[REQUEST_STEPS] += n * steps
    counters[TOKENS] += n * each
    s.totals[SERVED_TOKENS] += n * each


@compiled
def schedule(s: State, r: int) -> None:
    """Set when a replica's next request leaves decode; a prefill under way has its own time."""
    if s.prefilling[r] != NOBODY:
        return
    n = s.running[r]
    if n == 0:
        s.next_event[r] = np.inf
        return
    rate = s.tokens_per_step[s.profile[r], n] / step_time(s, r)
    left = max(0.0, s.heap_key[r, 0] - s.virtual[r])
    s.next_event[r] = s.updated[r] + left / rate


@compiled
def fits(s: State, r: int) -> bool:
    """Tell whether the first request in the queue has a sequence slot and KV cache to go to."""
    slot = s.head[r]
    if s.running[r] >= s.settings[MAX_SEQS]:
        return False
    needed = s.reserved[r] + s.prompt[slot] + s.output[slot]
    return bool(s.running[r] == 0 or needed <= s.kv_tokens[s.profile[r]])


@compiled
def admit(s: State, r: int, now: float) -> None:
    """Begin the prefill of the first request in the queue, where there is one and it fits."""
    if s.prefilling[r] != NOBODY or s.waiting[r] == 0 or not fits(s, r):
        return
    slot = s.head[r]
    s.head[r] = s.link[slot]
    s.waiting[r] -= 1
    s.prefilling[r] = slot
    s.reserved[r] += s.prompt[slot] + s.output[slot]
    warm = 1.0
    if s.settings[WARM_SECONDS] > 0.0:
        warm -= np.exp(-(now - s.started[r]) / s.settings[WARM_SECONDS])
    computed = s.prompt[slot] * (1.0 - s.settings[PREFIX_HIT] * warm)
    counters = s.counters[r]
    counters[QUEUE_SECONDS] += now - s.queued_at[slot]
    counters[ADMITTED] += 1.0
    counters[PROMPT_TOKENS] += computed
    prefill = s.settings[PREFILL_FIXED] + computed * s.settings[PREFILL_PER_TOKEN]
    s.next_event[r] = now + prefill


@compiled
def later(s: State, slot: int, at: float) -> None:
    """Let a request come back at a time."""
    heap_push(s.future_at, s.future_slot, s.cursors[FUTURE], at, slot)
    s.cursors[FUTURE] += 1


@compiled
def leave(s: State, slot: int, now: float) -> None:
    """Free a slot; a user of a closed loop thinks and asks again."""
    s.cursors[COMPLETED if s.tries[slot] >= 0 else SHED] += 1
    if s.cursors[CLOSED] == 0:
        s.link[slot] = s.cursors[FREE]
        s.cursors[FREE] = slot
        return
    drawn = s.cursors[DRAWN] % s.think.size
    s.cursors[DRAWN] += 1
    s.prompt[slot] = s.pool_prompt[drawn]
    s.output[slot] = s.pool_output[drawn]
    s.first[slot] = NOBODY
    s.tries[slot] = 0
    later(s, slot, now + s.think[drawn] * s.settings[THINK_SECONDS])


@compiled
def turned_away(s: State, slot: int, now: float) -> None:
    """A request that no replica takes, or that lost its replica: it tries again, or is shed."""
    s.tries[slot] += 1
    if s.tries[slot] < s.settings[MAX_TRIES]:
        s.cursors[RETRIED] += 1
        later(s, slot, now + s.settings[RETRY_SECONDS])
        return
    s.tries[slot] = NOBODY
    leave(s, slot, now)


@compiled
def route(s: State) -> int:
    """Return the replica that the router picks, or nobody."""
    count = s.cursors[PLACES]
    picked, least = NOBODY, 1 << 62
    for offset in range(count):
        r = (s.cursors[TURN] + offset) % count
        if s.accepting[r] == 0:
            continue
        load = s.running[r] + s.waiting[r] + (s.prefilling[r] != NOBODY)
        if load < least:
            picked, least = r, load
        if s.cursors[ROUND_ROBIN] == 1:
            break
    if picked != NOBODY:
        s.cursors[TURN] = (picked + 1) % count
    return picked


@compiled
def arrive(s: State, slot: int, now: float) -> None:
    """A request reaches the router."""
    if s.first[slot] < 0.0:
        s.first[slot] = now
        s.cursors[ARRIVED] += 1
        s.totals[ARRIVED_TOKENS] += s.output[slot]
    r = route(s)
    if r == NOBODY or s.waiting[r] >= s.settings[SHED_ABOVE]:
        turned_away(s, slot, now)
        return
    s.queued_at[slot] = now
    if s.waiting[r] == 0:
        s.head[r] = slot
    else:
        s.link[s.tail[r]] = slot
    s.tail[r] = slot
    s.waiting[r] += 1
    advance(s, r, now)
    admit(s, r, now)
    schedule(s, r)


@compiled
def finish(s: State, r: int, slot: int, now: float) -> None:
    """A request has its whole answer."""
    counters = s.counters[r]
    counters[FINISHED] += 1.0
    counters[FINISHED_PROMPT] += s.prompt[slot]
    counters[FINISHED_OUTPUT] += s.output[slot]
    s.reserved[r] -= s.prompt[slot] + s.output[slot]
    s.totals[LATENCY] += now - s.first[slot]
    leave(s, slot, now)


@compiled
def replica_event(s: State, r: int, now: float) -> None:
    """A prefill ends, or a request leaves decode; then the next one is admitted."""
    advance(s, r, now)
    slot = s.prefilling[r]
    if slot != NOBODY:
        s.prefilling[r] = NOBODY
        s.counters[r, TOKENS] += 1.0
        s.totals[SERVED_TOKENS] += 1.0
        if s.output[slot] <= 1.0:
            finish(s, r, slot, now)
        else:
            due = s.virtual[r] + s.output[slot] - 1.0
            heap_push(s.heap_key[r], s.heap_slot[r], s.running[r], due, slot)
            s.running[r] += 1
            s.context[r] += s.prompt[slot] + 1.0
    else:
        s.virtual[r] = s.heap_key[r, 0]
        slot = heap_pop(s.heap_key[r], s.heap_slot[r], s.running[r])
        s.running[r] -= 1
        s.context[r] -= s.prompt[slot] + s.output[slot]
        finish(s, r, slot, now)
        if s.running[r] == 0:  # the virtual clock starts anew, so that it never grows coarse
            s.virtual[r] = 0.0
            s.context[r] = 0.0
    admit(s, r, now)
    schedule(s, r)


@compiled
def evict_record(s: State, r: int, now: float) -> None:
    """A replica ends: what it still has is turned away, one request after the other."""
    advance(s, r, now)
    at = now
    while s.running[r] > 0:
        turned_away(s, heap_pop(s.heap_key[r], s.heap_slot[r], s.running[r]), at)
        s.running[r] -= 1
        at += STAGGER_SECONDS
    if s.prefilling[r] != NOBODY:
        turned_away(s, s.prefilling[r], at)
        at += STAGGER_SECONDS
    slot = s.head[r]
    for _ in range(s.waiting[r]):
        following = s.link[slot]
        turned_away(s, slot, at)
        slot = following
        at += STAGGER_SECONDS
    s.waiting[r] = s.accepting[r] = 0
    s.prefilling[r] = NOBODY
    s.virtual[r] = s.context[r] = s.reserved[r] = 0.0
    s.next_event[r] = np.inf


@compiled
def clock(s: State, now: float) -> None:
    """Move the fleet's time on."""
    inside = s.cursors[ARRIVED] - s.cursors[COMPLETED] - s.cursors[SHED]
    s.totals[IN_SYSTEM_SECONDS] += inside * (now - s.totals[NOW])
    s.totals[NOW] = now


@compiled
def soonest(s: State) -> int:
    """Return the replica with the next event."""
    first = 0
    for r in range(1, s.cursors[PLACES]):
        first = r if s.next_event[r] < s.next_event[first] else first
    return first


@compiled
def run_record(s: State, times: Floats, prompts: Floats, outputs: Floats, until: float) -> bool:
    """Run until a time; the arrivals go on where the last call left them.

    Returns:
        Whether there was room for every request.
    """
    while True:
        r = soonest(s)
        due = s.next_event[r]
        back = s.future_at[0] if s.cursors[FUTURE] > 0 else np.inf
        at = s.cursors[NEXT_ARRIVAL]
        new = times[at] if at < len(times) else np.inf
        now = min(due, back, new)
        if now > until:
            break
        clock(s, now)
        if due == now:
            replica_event(s, r, now)
        elif back == now:
            slot = heap_pop(s.future_at, s.future_slot, s.cursors[FUTURE])
            s.cursors[FUTURE] -= 1
            arrive(s, slot, now)
        else:
            slot = s.cursors[FREE]
            if slot == NOBODY:
                return False
            s.cursors[FREE] = s.link[slot]
            s.cursors[NEXT_ARRIVAL] += 1
            s.first[slot], s.tries[slot] = NOBODY, 0
            s.prompt[slot], s.output[slot] = prompts[at], outputs[at]
            arrive(s, slot, now)
    clock(s, until)
    for r in range(s.cursors[PLACES]):
        advance(s, r, until)
        schedule(s, r)
    return True


@compiled
def run(memory: Memory, times: Floats, prompts: Floats, outputs: Floats, until: float) -> bool:
    """See `run_record`."""
    return run_record(memory[0], times, prompts, outputs, until)


@compiled
def evict(memory: Memory, r: int, now: float) -> None:
    """See `evict_record`."""
    evict_record(memory[0], r, now)


@compiled
def blocked(memory: Memory, r: int) -> bool:
    """Tell whether a replica's queue waits for a sequence slot or KV cache."""
    return bool(memory[0].waiting[r] > 0 and not fits(memory[0], r))


@compiled
def seat(memory: Memory, slot: int, at: float) -> None:
    """Let a slot's first request of a closed loop arrive at a time."""
    later(memory[0], slot, at)
