"""The fleet's sums from its engines."""

import math

import pytest

from ridgeline.policy.facts import EngineFacts
from ridgeline.policy.law.signals import FleetSignals, fleet_signals


def engine(**signals: float) -> EngineFacts:
    return EngineFacts(engine="0", age_seconds=5.0, **signals)  # type: ignore[arg-type]


def test_sums_are_over_engines_and_concurrency_is_their_mean() -> None:
    seen = fleet_signals(
        [
            engine(
                generated_tokens_per_second=100.0,
                waiting=1.0,
                waiting_for_capacity=1.0,
                queue_seconds_per_second=0.5,
                preemptions_per_second=0.0,
                decode_concurrency=10.0,
                mean_output_tokens=200.0,
            ),
            engine(
                generated_tokens_per_second=300.0,
                waiting=2.0,
                waiting_for_capacity=0.0,
                queue_seconds_per_second=0.25,
                preemptions_per_second=0.1,
                decode_concurrency=20.0,
                mean_output_tokens=400.0,
            ),
        ]
    )
    assert seen == FleetSignals(
        generated_tokens_per_second=400.0,
        waiting_requests=3.0,
        mean_output_tokens=350.0,
        concurrency=15.0,
        waiting_for_capacity=1.0,
        queued_requests=0.75,
        preemptions_per_second=0.1,
    )


@pytest.mark.parametrize("other", [{}, {"generated_tokens_per_second": math.nan}])
def test_a_part_is_never_taken_for_the_whole(other: dict[str, float]) -> None:
    seen = fleet_signals([engine(generated_tokens_per_second=100.0), engine(**other)])
    assert seen.generated_tokens_per_second is None


def test_nothing_is_known_of_no_engine() -> None:
    assert fleet_signals([]) == FleetSignals()


def test_time_without_a_place_is_not_counted_as_concurrency() -> None:
    busy = engine(decode_concurrency=40.0, mean_batch=25.0, preemptions_per_second=0.2)
    assert fleet_signals([busy]).concurrency == 25.0
    calm = engine(decode_concurrency=40.0, mean_batch=25.0, preemptions_per_second=0.0)
    assert fleet_signals([calm]).concurrency == 40.0
