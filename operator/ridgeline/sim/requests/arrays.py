"""The memory that the inner event loop works on: one record of arrays of fixed size.

A record goes to a compiled function as one address. Sizes are fixed so that one compilation serves
every simulation.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PLACES = 33
"""Most replicas, spare GPUs included."""
SEQS = 512
"""Most requests in decode of one replica."""
PROFILES = 8
ROOM = 200_000
"""Most requests that are open at once."""
POOL = 8192
"""Thinking times and sizes that a closed loop draws from, again and again."""

SETTINGS = 10
COUNTERS = 10
TOTALS = 5
CURSORS = 12

FIELDS: tuple[tuple[str, type, tuple[int, ...]], ...] = (
    ("step_seconds", np.float64, (PROFILES, SEQS + 1)),
    ("tokens_per_step", np.float64, (PROFILES, SEQS + 1)),
    ("kv_seconds", np.float64, (PROFILES,)),
    ("kv_tokens", np.float64, (PROFILES,)),
    ("settings", np.float64, (SETTINGS,)),
    ("accepting", np.int64, (PLACES,)),
    ("profile", np.int64, (PLACES,)),
    ("started", np.float64, (PLACES,)),
    ("virtual", np.float64, (PLACES,)),
    ("updated", np.float64, (PLACES,)),
    ("next_event", np.float64, (PLACES,)),
    ("context", np.float64, (PLACES,)),
    ("reserved", np.float64, (PLACES,)),
    ("running", np.int64, (PLACES,)),
    ("waiting", np.int64, (PLACES,)),
    ("head", np.int64, (PLACES,)),
    ("tail", np.int64, (PLACES,)),
    ("prefilling", np.int64, (PLACES,)),
    ("heap_key", np.float64, (PLACES, SEQS + 1)),
    ("heap_slot", np.int64, (PLACES, SEQS + 1)),
    ("counters", np.float64, (PLACES, COUNTERS)),
    ("first", np.float64, (ROOM,)),
    ("queued_at", np.float64, (ROOM,)),
    ("prompt", np.float64, (ROOM,)),
    ("output", np.float64, (ROOM,)),
    ("tries", np.int64, (ROOM,)),
    ("link", np.int64, (ROOM,)),
    ("future_at", np.float64, (ROOM,)),
    ("future_slot", np.int64, (ROOM,)),
    ("totals", np.float64, (TOTALS,)),
    ("cursors", np.int64, (CURSORS,)),
    ("think", np.float64, (POOL,)),
    ("pool_prompt", np.float64, (POOL,)),
    ("pool_output", np.float64, (POOL,)),
)

RECORD = np.dtype(list(FIELDS))

Memory = NDArray[np.void]
"""An array of one record."""


class State(Protocol):
    """The record's fields. Rows are replicas, or slots of requests.

    A slot is free, queued, in prefill, in decode, or due later.
    """

    step_seconds: Floats
    tokens_per_step: Floats
    kv_seconds: Floats
    kv_tokens: Floats
    settings: Floats
    accepting: Ints
    profile: Ints
    started: Floats
    virtual: Floats
    updated: Floats
    next_event: Floats
    context: Floats
    reserved: Floats
    running: Ints
    waiting: Ints
    head: Ints
    tail: Ints
    prefilling: Ints
    heap_key: Floats
    heap_slot: Ints
    counters: Floats
    first: Floats
    queued_at: Floats
    prompt: Floats
    output: Floats
    tries: Ints
    link: Ints
    future_at: Floats
    future_slot: Ints
    totals: Floats
    cursors: Ints
    think: Floats
    pool_prompt: Floats
    pool_output: Floats
