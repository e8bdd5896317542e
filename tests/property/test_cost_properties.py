"""What holds of capacity and cost whatever the engine, the load and the price are."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import Capacity, capacity, slower
from ridgeline.costmodel.cost import Demand, Plan, plan
from ridgeline.costmodel.first_token import first_token_seconds
from ridgeline.costmodel.goodput import ArmModel
from tests.unit.costmodel.test_capacity_and_cost import EAGLE, model

MODELS: Final = (model(), model(EAGLE))
ENGINES = st.builds(slower, st.sampled_from(MODELS), st.floats(min_value=0.1, max_value=10.0))
LIMITS = st.none() | st.floats(min_value=0.001, max_value=1.0)
LOADS = st.floats(min_value=0.01, max_value=1e7)


def most(found: Capacity | CannotSay) -> float:
    return 0.0 if isinstance(found, CannotSay) else found.tokens_per_second


@given(engine=ENGINES, limit=st.floats(min_value=0.001, max_value=1.0))
def test_a_stricter_limit_never_raises_the_capacity(engine: ArmModel, limit: float) -> None:
    strict, loose, free = (most(capacity(engine, each)) for each in (limit, limit * 2, None))
    assert strict <= loose * (1 + 1e-9)
    assert loose <= free * (1 + 1e-9)


@given(engine=ENGINES, limit=LIMITS, load=LOADS, headroom=st.floats(0.0, 0.9))
def test_a_plan_carries_its_load_within_its_limits(
    engine: ArmModel, limit: float | None, load: float, headroom: float
) -> None:
    found = capacity(engine, limit)
    if isinstance(found, CannotSay):
        return
    demand = Demand(tokens_per_second=load, gpus=4, gpu_hour=2.0, headroom=headroom)
    made = plan(found, demand)
    if isinstance(made, CannotSay):
        assert load / found.tokens_per_second > 1000
        return
    assert made.replicas * found.tokens_per_second * (1 - headroom) >= load * (1 - 1e-6)
    assert 0.0 < made.used <= 1.0 - headroom + 1e-6
    assert limit is None or made.tpot_seconds <= limit * (1 + 1e-2)
    assert made.per_million is not None
    assert made.per_million_full is not None
    assert made.per_million_full <= made.per_million * (1 + 1e-6)


@given(load=LOADS, factor=st.floats(min_value=1.01, max_value=5.0))
def test_a_slower_engine_never_costs_less(load: float, factor: float) -> None:
    demand = Demand(tokens_per_second=load, gpus=1, gpu_hour=2.0)

    def cost(times: float) -> float:
        found = capacity(slower(MODELS[1], times))
        assert isinstance(found, Capacity)
        made = plan(found, demand)
        assert isinstance(made, Plan)
        assert made.per_million is not None
        return made.per_million

    assert cost(1.0) <= cost(factor) * (1 + 1e-9)


@given(
    prompt=st.floats(min_value=1.0, max_value=1e5),
    concurrency=st.floats(min_value=0.01, max_value=256.0),
    budget=st.integers(min_value=64, max_value=16_384),
)
def test_a_longer_prompt_never_comes_sooner(prompt: float, concurrency: float, budget: int) -> None:
    one = first_token_seconds(MODELS[1], concurrency, prompt, budget)
    longer = first_token_seconds(MODELS[1], concurrency, prompt * 1.5, budget)
    if isinstance(one, CannotSay):
        assert isinstance(longer, CannotSay)
        return
    assert isinstance(longer, float)
    assert 0.0 < one <= longer * (1 + 1e-9)
