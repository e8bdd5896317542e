"""What is done fast for nearly all fleets gives what the careful way gives for every fleet."""

import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.facts import EngineFacts, ReplicaFacts, TelemetryFacts
from ridgeline.policy.fleet import join
from ridgeline.policy.sums import exact_sum

numbers = st.one_of(
    st.none(),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 1e308, -1e308, math.inf, -math.inf, math.nan]),
)


def careful_sum(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None and math.isfinite(each)]
    if not known or len(known) != len(values):
        return None
    try:
        total = math.fsum(sorted(known))
    except OverflowError:
        return None
    return total if math.isfinite(total) else None


@given(st.lists(numbers, max_size=8), st.randoms(use_true_random=False))
def test_a_sum_is_the_careful_one_in_any_order(values: list[float | None], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert exact_sum(values) == careful_sum(values) == exact_sum(shuffled)


engines = st.builds(
    EngineFacts,
    engine=st.sampled_from("01"),
    age_seconds=st.one_of(st.floats(), st.sampled_from([5.0, 60.0, 61.0, -60.0, -61.0])),
    decode_concurrency=numbers,
    not_finite=st.sampled_from([(), ("drafts",), ("decode_concurrency",)]),
)
replicas = st.builds(
    ReplicaFacts,
    name=st.just("p"),
    ready_seconds=st.sampled_from([500.0, 10.0, math.nan]),
    profile=st.none(),
    engines=st.lists(engines, max_size=2).map(tuple),
    expected_engines=st.integers(0, 2),
)


def careful_group(replica: ReplicaFacts, telemetry: TelemetryFacts) -> str:
    if not replica.ready_seconds >= telemetry.window_seconds:
        return "pending"
    if not replica.engines:
        return "silent"
    levels = [each.decode_concurrency for each in replica.engines]
    marked = any("decode_concurrency" in each.not_finite for each in replica.engines)
    if marked or any(each is not None and not math.isfinite(each) for each in levels):
        return "not_finite"
    ages = [each.age_seconds + telemetry.read_seconds_ago for each in replica.engines]
    limit = telemetry.stale_after_seconds
    if not all(math.isfinite(age) and abs(age) <= limit for age in ages):
        return "stale"
    names = {each.engine for each in replica.engines}
    whole = len(names) == len(replica.engines) >= replica.expected_engines
    return "joined" if whole and all(x is not None and x >= 0 for x in levels) else "partial"


@given(replicas, st.sampled_from([0.0, 3.0]), st.sampled_from([60.0, math.inf, math.nan]))
def test_a_replica_is_seen_as_the_careful_look_sees_it(
    replica: ReplicaFacts, ago: float, limit: float
) -> None:
    telemetry = TelemetryFacts(
        endpoint="e", window_seconds=120.0, stale_after_seconds=limit, read_seconds_ago=ago
    )
    fleet = join((replica,), telemetry)
    group = careful_group(replica, telemetry)
    assert getattr(fleet, group) == (replica,)
    assert fleet.expected == (0 if group == "pending" else 1)
    assert fleet.engines == (replica.engines if group == "joined" else ())


def test_an_engine_marked_as_not_finite_is_never_plainly_seen() -> None:
    engine = EngineFacts(
        engine="0", age_seconds=5.0, decode_concurrency=8.0, not_finite=("decode_concurrency",)
    )
    replica = ReplicaFacts(name="p", ready_seconds=500.0, profile=None, engines=(engine,))
    telemetry = TelemetryFacts(endpoint="e", window_seconds=120.0, stale_after_seconds=60.0)
    assert join((replica,), telemetry).not_finite == (replica,)


def test_a_sum_that_overflows_on_the_way_in_some_order_is_not_known_in_any() -> None:
    values = [1e308, 1e308, -1e308, -1e308]
    assert exact_sum(values) == exact_sum(values[::-1]) == careful_sum(values)
    mixed = [values[0], values[2], values[1], values[3]]
    assert exact_sum(mixed) == careful_sum(values)
