"""Aggregation in constant memory."""

import math
from random import Random

import pytest

from ridgeline.sim.load.command import describe
from ridgeline.sim.load.results import Aggregate, RequestResult, Sketch


def test_quantiles_are_within_two_and_a_half_per_cent() -> None:
    sketch, random = Sketch(), Random(1)
    samples = sorted(random.lognormvariate(-1, 1) for _ in range(5000))
    for sample in samples:
        sketch.add(sample)
    got = sketch.distribution()
    assert got.count == 5000
    assert got.mean == pytest.approx(sum(samples) / 5000)
    for q, value in ((0.5, got.p50), (0.9, got.p90), (0.99, got.p99)):
        assert value == pytest.approx(samples[int(q * 5000) - 1], rel=0.03)


def test_extremes_keep_to_the_ends_and_nothing_non_finite_is_taken() -> None:
    sketch = Sketch()
    sketch.add(0.0)
    sketch.add(1e9)
    assert sketch.distribution().count == 2
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="cannot be aggregated"):
            sketch.add(value)


def test_an_empty_sketch_is_all_zero() -> None:
    assert Sketch().distribution().p99 == 0.0


def test_failed_requests_count_but_add_no_time_and_no_tokens() -> None:
    aggregate = Aggregate(begun=2)
    done = RequestResult(
        target="http://a", started_s=0, latency_s=2, ttft_s=0.5, tpot_s=0.1, tokens=16
    )
    aggregate.add(done)
    aggregate.add(RequestResult(target="http://a", started_s=0, latency_s=9, error="timeout"))
    summary = aggregate.summary(4.0)
    assert (summary.answered, summary.failed, summary.tokens) == (1, 1, 16)
    assert (summary.latency.count, summary.ttft.count, summary.tpot.count) == (1, 1, 1)
    assert summary.tokens_per_s == 4.0
    assert summary.by_target == {"http://a": 1}
    assert "1 of 2 requests answered in 4.0 s (1 failed" in describe(summary)
    assert summary.as_dict()["tokens_per_s"] == 4.0
