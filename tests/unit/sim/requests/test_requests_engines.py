"""What replicas deliver, and what becomes of requests."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.requests import arrays, kernel
from ridgeline.sim.requests.engines import Arrivals, ClosedLoop, CompiledEngines, Serving
from ridgeline.sim.requests.simulate import simulate
from ridgeline.sim.requests.traffic import Sizes
from tests.unit.sim.requests.settings_for_tests import Still, setting, truth


def saturated(users: int, profile: int, *, prompt: float = 200.0) -> float:
    """Return the tokens/s of one replica whose users never pause."""
    ones = np.ones(8192)
    sizes = Sizes(prompts=prompt * ones, outputs=400.0 * ones)
    loop = ClosedLoop(users=users, thinks=ones, sizes=sizes)
    engines = CompiledEngines(truth(prefill=0.0), Serving(), places=1, loop=loop)
    engines.start(0, profile, 0.0)
    engines.run(300.0)
    before = engines.counters(0)[kernel.TOKENS]
    engines.run(900.0)
    return float((engines.counters(0)[kernel.TOKENS] - before) / 600.0)


@pytest.mark.parametrize(("profile", "length"), [(0, 2.0), (1, 1.0)])
@pytest.mark.parametrize("users", [1, 4, 8, 16])
def test_a_replica_delivers_what_the_table_says(profile: int, length: float, users: int) -> None:
    own = truth(prefill=0.0)
    expected = users * length / own.profiles[profile].steps(16)[users]
    assert saturated(users, profile) == pytest.approx(expected, rel=0.01)
    speeds = own.speeds(own.profiles[profile].name, prompt=200.0, output=400.0)
    if users <= 8:  # beyond, the speculating profile gets slower, and a controller's curve is flat
        assert speeds[users] == pytest.approx(expected, rel=1e-6)


def test_more_users_than_slots_wait() -> None:
    assert saturated(40, 1) == pytest.approx(saturated(16, 1), rel=0.01)


def test_a_longer_context_makes_steps_longer() -> None:
    def took(prompt: float) -> float:
        engines = CompiledEngines(truth(prefill=0.0, kv_seconds=1e-5), Serving(), places=1)
        engines.start(0, 1, 0.0)
        engines.offer(
            Arrivals(times=np.zeros(1), prompts=np.array([prompt]), outputs=np.array([101.0]))
        )
        for tick in range(100):  # the context is brought up to date between events
            engines.run(0.1 * tick)
        return float(engines.totals()[0][kernel.LATENCY])

    # 100 tokens; each of them reads prompt + what was produced before, against the reference 250
    assert took(200.0) == pytest.approx(100 * 0.025, rel=0.01)
    assert took(1200.0) == pytest.approx(100 * (0.025 + 1e-5 * 950.0), rel=0.02)


def test_kv_cache_limits_how_many_are_admitted() -> None:
    own = truth(prefill=0.0)
    narrow = replace(own, profiles=tuple(replace(p, kv_tokens=650.0) for p in own.profiles))
    engines = CompiledEngines(narrow, Serving(), places=1)
    engines.start(0, 1, 0.0)
    many = np.full(5, 100.0)
    engines.offer(Arrivals(times=np.linspace(0.0, 0.1, 5), prompts=many, outputs=2.0 * many))
    engines.run(1.0)
    assert engines.held(0) == (2, 0, 3)
    assert engines.waits_for_capacity(0)


def test_a_restarted_replica_computes_whole_prompts_until_its_cache_is_warm() -> None:
    def computed(serving: Serving, *, warm: bool) -> float:
        engines = CompiledEngines(truth(), serving, places=1)
        engines.start(0, 1, 0.0)
        if warm:
            engines.warm_up(0)
        one = np.ones(1)
        engines.offer(Arrivals(times=0.0 * one, prompts=1000.0 * one, outputs=2.0 * one))
        engines.run(10.0)
        return float(engines.counters(0)[kernel.PROMPT_TOKENS])

    cached = Serving(prefix_hit=0.6)
    assert computed(cached, warm=False) == pytest.approx(1000.0)
    assert computed(cached, warm=True) == pytest.approx(400.0)


def test_a_full_queue_sheds_after_the_last_try() -> None:
    base = setting(level=6000.0, seconds=300.0)
    patient = simulate(base, Still())
    shedding = Serving(shed_above=4, max_tries=2, retry_seconds=5.0)
    result = simulate(replace(base, serving=shedding), Still())
    assert patient.shed == patient.retried == 0
    assert result.shed > 0
    assert result.retried >= result.shed
    assert result.arrived == result.completed + result.shed
    assert result.mean_latency_seconds < patient.mean_latency_seconds


def test_requests_that_lose_their_replica_try_again_elsewhere() -> None:
    engines = CompiledEngines(truth(), Serving(retry_seconds=5.0), places=2)
    engines.start(0, 1, 0.0)
    engines.offer(Arrivals(times=np.zeros(3), prompts=np.full(3, 10.0), outputs=np.full(3, 50.0)))
    engines.run(0.5)
    engines.evict(0, 0.5)
    engines.start(1, 1, 0.5)
    engines.run(60.0)
    totals, counts = engines.totals()
    assert counts == (3, 3, 0, 3)
    assert totals[kernel.LATENCY] > 3 * 5.5  # from the first arrival, not from the second try
    assert engines.counters(1)[kernel.FINISHED] == 3


@pytest.mark.parametrize("round_robin", [False, True])
def test_the_router_spreads_what_arrives(round_robin: bool) -> None:
    base = setting()
    seen = Still()
    simulate(replace(base, serving=Serving(round_robin=round_robin)), seen)
    loads = [each.decode_concurrency for each in seen.seen[-1].engines]
    assert len(loads) == 4
    assert max(loads) < 2.0 * min(loads)


def test_more_open_requests_than_there_is_room_for_is_an_error() -> None:
    count = arrays.ROOM + 10
    engines = CompiledEngines(truth(), Serving(), places=1)
    engines.start(0, 1, 0.0)
    many = np.ones(count)
    engines.offer(Arrivals(times=0.0 * many, prompts=many, outputs=100.0 * many))
    with pytest.raises(OverflowError, match="requests are open: shed"):
        engines.run(1.0)


def test_a_fleet_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="give at most 33"):
        CompiledEngines(truth(), Serving(), places=34)
