"""The compiled inner loop and the plain one do the same, whatever happens to the replicas."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ridgeline.sim.requests.engines import Arrivals, ClosedLoop, CompiledEngines, Engines, Serving
from ridgeline.sim.requests.reference import PlainEngines
from ridgeline.sim.requests.traffic import SizeMix, Sizes
from ridgeline.sim.requests.truth import ProfileTruth, Truth

pytestmark = pytest.mark.slow


TICK = 15.0
MIX = SizeMix(prompt=300.0, prompt_variation=1.0, output=60.0, output_variation=1.0)


def uneven_sizes(count: int, rng: np.random.Generator) -> Sizes:
    """Return sizes with fractions: two answers never end together, so their order is one."""
    drawn = MIX.draw(count, rng)
    return Sizes(prompts=drawn.prompts, outputs=drawn.outputs + rng.uniform(0.0, 1.0, count))


def small_truth(max_seqs: int, kv_tokens: float) -> Truth:
    def profile(name: str, each: float, length: float) -> ProfileTruth:
        return ProfileTruth(
            name=name,
            concurrency=(1.0, 4.0, 8.0),
            step_seconds=(0.05, 0.05 + 4 * each, 0.05 + 8 * each),
            tokens_per_step=(length, length, length),
            kv_tokens=kv_tokens,
        )

    return Truth(
        name="small",
        profiles=(profile("eagle", 0.02, 2.2), profile("none", 0.004, 1.0)),
        max_seqs=max_seqs,
        reference_context=300.0,
        kv_seconds_per_token=2e-6,
        prefill_seconds_per_token=2e-4,
        knee_tokens=32.0,
        lookahead=3,
    )


@dataclass(frozen=True)
class Deed:
    """Something that happens to a replica between two ticks."""

    kind: str
    place: int
    profile: int


deeds = st.builds(
    Deed,
    st.sampled_from(["start", "drain", "evict", "nothing", "nothing"]),
    st.integers(0, 2),
    st.integers(0, 1),
)
servings = st.builds(
    Serving,
    round_robin=st.booleans(),
    shed_above=st.sampled_from([1.0, 4.0, 1e9]),
    max_tries=st.integers(1, 3),
    retry_seconds=st.just(3.3),
    prefix_hit=st.sampled_from([0.0, 0.6]),
    warm_seconds=st.just(40.0),
)


def play(engines: Engines, arrivals: Arrivals | None, script: list[Deed]) -> list[np.ndarray]:
    """Return everything that can be seen of the engines, tick by tick."""
    for place in range(3):
        engines.start(place, place % 2, 0.0)
    engines.warm_up(0)
    engines.set_think_seconds(4.0)
    if arrivals is not None:
        engines.offer(arrivals)
    seen = []
    for tick, deed in enumerate(script, start=1):
        now = tick * TICK
        engines.run(now)
        if deed.kind == "drain":
            engines.drain(deed.place)
        elif deed.kind == "evict":
            engines.evict(deed.place, now)
        elif deed.kind == "start":
            engines.evict(deed.place, now)
            engines.start(deed.place, deed.profile, now)
        totals, counts = engines.totals()
        seen += [totals, np.array(counts, dtype=float)]
        for place in range(3):
            seen.append(engines.counters(place))
            held = (*engines.held(place), engines.waits_for_capacity(place))
            seen.append(np.array(held, dtype=float))
    return seen


@given(
    seed=st.integers(0, 2**32 - 1),
    rate=st.sampled_from([0.5, 2.0, 6.0]),
    serving=servings,
    truth=st.builds(small_truth, st.integers(1, 8), st.sampled_from([700.0, 2000.0, 1e9])),
    script=st.lists(deeds, min_size=4, max_size=10),
)
@hypothesis_settings(max_examples=120)
def test_an_open_loop_is_the_same_in_both(
    seed: int, rate: float, serving: Serving, truth: Truth, script: list[Deed]
) -> None:
    rng = np.random.default_rng(seed)
    length = len(script) * TICK
    times = np.sort(rng.uniform(0.0, length, rng.poisson(rate * length)))
    sizes = uneven_sizes(len(times), rng)
    arrivals = Arrivals(times=times, prompts=sizes.prompts, outputs=sizes.outputs)
    compiled = play(CompiledEngines(truth, serving, places=3), arrivals, script)
    plain = play(PlainEngines(truth, serving, places=3), arrivals, script)
    for ours, theirs in zip(compiled, plain, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    users=st.integers(1, 25),
    serving=servings,
    script=st.lists(deeds, min_size=4, max_size=10),
)
@hypothesis_settings(max_examples=60)
def test_a_closed_loop_is_the_same_in_both(
    seed: int, users: int, serving: Serving, script: list[Deed]
) -> None:
    rng = np.random.default_rng(seed)
    thinks = rng.exponential(1.0, 8192)
    loop = ClosedLoop(users=users, thinks=thinks, sizes=uneven_sizes(8192, rng))
    truth = small_truth(8, 2000.0)
    compiled = play(CompiledEngines(truth, serving, places=3, loop=loop), None, script)
    plain = play(PlainEngines(truth, serving, places=3, loop=loop), None, script)
    for ours, theirs in zip(compiled, plain, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)
