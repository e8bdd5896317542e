"""The named queries: the only PromQL that ridgeline sends in its tick.

Each query asks one signal of *all* servings of an endpoint at once and returns at most one series
per engine, labelled with namespace, Pod and engine. What holds for all of them:

- `max by (…)`, never `sum by (…)`, joins series of one engine: a Pod that two scrape jobs or two
  highly-available Prometheus servers scrape shows up twice with the same numbers, and a sum would
  double its load. An engine exports exactly one series per signal, so nothing is lost.
- Counters are read by `rate()`, which survives their resets. It extrapolates past the samples that
  it has by about half a scrape interval at most, so a Pod that is younger than the window reads too
  low by the missing share: replicas younger than the window have to be left out. One sample gives
  no rate at all.
- A metric that was renamed is asked under both names, joined by `or` *after* aggregation: one
  engine's number comes from one name only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ridgeline.telemetry.answer_queries import ANSWER_QUERIES
from ridgeline.telemetry.fast_queries import FAST_QUERIES
from ridgeline.telemetry.named_query import (
    AGE_STEPS,
    ENGINE_LABEL,
    POSITION_LABEL,
    REASON_LABEL,
    Cadence,
    NamedQuery,
    QueryContext,
    query_context,
    quote,
)
from ridgeline.telemetry.slow_queries import (
    GPU_QUERIES,
    IDENTITY_QUERIES,
    LATENCY_QUERIES,
    LOAD_QUERIES,
    STEP_QUERIES,
)

__all__ = [
    "AGE_STEPS",
    "ENGINE_LABEL",
    "FAST",
    "POSITION_LABEL",
    "REASON_LABEL",
    "REGISTRY",
    "SLOW",
    "Cadence",
    "NamedQuery",
    "QueryContext",
    "query_context",
    "quote",
]

_SLOW_QUERIES: Final = (
    *STEP_QUERIES,
    *LOAD_QUERIES,
    *LATENCY_QUERIES,
    *ANSWER_QUERIES,
    *IDENTITY_QUERIES,
    *GPU_QUERIES,
)

REGISTRY: Final[Mapping[str, NamedQuery]] = MappingProxyType(
    {query.name: query for query in (*FAST_QUERIES, *_SLOW_QUERIES)}
)
"""Every query by its name, the fast ones first."""

FAST: Final = tuple(query.name for query in FAST_QUERIES)
SLOW: Final = tuple(query.name for query in _SLOW_QUERIES)
