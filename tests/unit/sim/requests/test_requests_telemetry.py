"""What the operator sees of the simulated fleet."""

from dataclasses import replace

import pytest

from ridgeline.sim.requests.simulate import simulate
from ridgeline.sim.requests.telemetry import TelemetrySettings
from tests.unit.sim.requests.settings_for_tests import RollsAt, Still, setting


def watched(telemetry: TelemetrySettings, level: float = 900.0) -> Still:
    law = Still()
    simulate(replace(setting(level=level), telemetry=telemetry), law)
    return law


def test_rates_are_the_fleets_own() -> None:
    law = watched(TelemetrySettings(noise=0.0, loss=0.0))
    last = law.seen[-1]
    tokens = sum(each.tokens_per_second or 0.0 for each in law.seen[60:]) / len(law.seen[60:])
    assert tokens == pytest.approx(900.0, rel=0.05)
    for each in last.engines:
        assert each.generated_tokens_per_second / each.request_steps_per_second == pytest.approx(
            2.0, rel=0.05
        )
        assert each.request_steps_per_second / each.steps_per_second == pytest.approx(
            each.decode_concurrency, rel=0.2
        )
        assert each.mean_prompt_tokens == pytest.approx(200.0, rel=0.3)
        assert each.mean_output_tokens == pytest.approx(100.0, rel=0.3)
        assert each.age_seconds == 0.0


def test_noise_shakes_each_reading() -> None:
    still = watched(TelemetrySettings(noise=0.0, loss=0.0))
    noisy = watched(TelemetrySettings(noise=0.2, loss=0.0))
    off = [
        (ours.tokens_per_second or 0.0) / (theirs.tokens_per_second or 1.0) - 1.0
        for ours, theirs in zip(noisy.seen[20:], still.seen[20:], strict=True)
    ]
    deviation = (sum(each**2 for each in off) / len(off)) ** 0.5
    assert deviation == pytest.approx(0.2 / 2, rel=0.2)  # the mean of four replicas


def test_lost_scrapes_age_and_then_hide_a_replica() -> None:
    law = watched(TelemetrySettings(noise=0.0, loss=0.7))
    ages = {each.age_seconds for seen in law.seen for each in seen.engines}
    assert max(ages) <= 60.0
    assert {15.0, 45.0} <= ages
    assert any(len(seen.engines) < seen.serving for seen in law.seen[20:])


def test_nothing_is_seen_without_scrapes() -> None:
    law = watched(TelemetrySettings(loss=1.0))
    assert all(seen.engines == () and seen.serving == 4 for seen in law.seen)
    assert law.seen[-1].concurrency is None
    assert law.seen[-1].tokens_per_second is None


def test_a_full_fleet_waits_for_capacity() -> None:
    full = watched(TelemetrySettings(noise=0.0, loss=0.0), level=3000.0).seen[-1]
    assert all(each.waiting_for_capacity == each.waiting > 0 for each in full.engines)
    assert all(each.running <= 17 for each in full.engines)
    easy = watched(TelemetrySettings(noise=0.0, loss=0.0)).seen
    assert all(each.waiting_for_capacity == 0 for seen in easy for each in seen.engines)


def test_a_new_pod_has_a_new_name_and_no_past() -> None:
    law = RollsAt(600.0)
    simulate(setting(), law)
    before = {each.name for each in law.seen[30].engines}
    after = {each.name for each in law.seen[-1].engines}
    assert len(before) == len(after) == 4
    assert not before & after
    assert min(each.ready_seconds for each in law.seen[-1].engines) < 3000.0
