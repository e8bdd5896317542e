"""Capacity of an engine, and what a load costs on it."""

import math
from dataclasses import replace

import pytest

from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import Bound, Capacity, capacity, slower
from ridgeline.costmodel.cost import Demand, Plan, plan
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.profile_advice import Asked, profile_advice
from ridgeline.costmodel.startup import RollCost, StartUp, roll_cost
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.profiles import gpu
from tests.unit.costmodel.targets import CHAT, EAGLE3_8B, LLAMA_8B, NONE

TARGET = Deployment(
    accelerator=gpu("h100-sxm"), model=LLAMA_8B, precision=Precision.BF16, max_num_seqs=256
)
EAGLE = Arm(
    name="eagle",
    method=Method.EAGLE3,
    lookahead=3,
    draft=EAGLE3_8B,
    acceptance=Acceptance(rates=(0.7, 0.45, 0.28), origin=Origin.STATED, relative_sd=0.08),
)


def model(arm: Arm = NONE, target: Deployment = TARGET) -> ArmModel:
    (found,) = arm_models(target, (arm,), CHAT)
    assert isinstance(found, ArmModel)
    return found


def most(found: Capacity | CannotSay) -> Capacity:
    assert isinstance(found, Capacity)
    return found


def carried(found: Plan | CannotSay) -> Plan:
    assert isinstance(found, Plan)
    return found


def straight(per_request: float = 10.0, requests: float = 100.0) -> Capacity:
    """An engine that makes so many tokens per second for each request, up to the most."""
    tokens = per_request * requests
    return Capacity(
        curve=Curve(
            profile="p", concurrency=(1.0, requests), tokens_per_second=(per_request, tokens)
        ),
        concurrency=requests,
        tokens_per_second=tokens,
        tpot_seconds=1.0 / per_request,
        bound=Bound.REQUESTS,
    )


def test_without_a_limit_the_flag_sets_the_capacity() -> None:
    found = most(capacity(model()))
    assert found.bound is Bound.REQUESTS
    assert found.concurrency == 256.0
    assert found.tokens_per_second == pytest.approx(model().goodput(256.0))
    assert found.tpot_seconds == pytest.approx(256.0 / model().goodput(256.0))


def test_where_memory_admits_fewer_it_is_what_sets_the_capacity() -> None:
    small = replace(TARGET, accelerator=gpu("l4"), max_num_seqs=1024)
    found = most(capacity(model(target=small)))
    assert found.bound is Bound.MEMORY
    assert found.concurrency < 1024


def test_a_limit_on_latency_is_just_kept() -> None:
    limit = 0.009
    found = most(capacity(model(), limit))
    assert found.bound is Bound.LATENCY
    assert 1.0 < found.concurrency < 256.0
    assert found.tpot_seconds == pytest.approx(limit, rel=1e-6)
    beyond = found.concurrency * 1.01
    assert beyond / model().goodput(beyond) > limit


def test_a_limit_that_one_request_breaks_cannot_be_said_to_have_a_capacity() -> None:
    found = capacity(model(), 0.001)
    assert isinstance(found, CannotSay)
    assert "limit of 1 ms" in str(found)
    assert found.way_out


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_that_is_no_time_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="tpot_limit"):
        capacity(model(), limit)


def test_a_slower_engine_makes_fewer_tokens_in_proportion() -> None:
    usual, slow = most(capacity(model())), most(capacity(slower(model(), 2.0)))
    assert slow.tokens_per_second == pytest.approx(usual.tokens_per_second / 2.0)
    with pytest.raises(ValueError, match="factor"):
        slower(model(), 0.0)


def test_the_cost_is_what_all_replicas_cost_over_what_they_make() -> None:
    # 1,000 tokens/s an engine, 20 % free: 1,600 take two replicas of four GPUs at 3 an hour each.
    demand = Demand(tokens_per_second=1600.0, gpus=4, gpu_hour=3.0)
    found = carried(plan(straight(), demand))
    assert found.replicas == 2
    assert found.concurrency == pytest.approx(80.0)
    assert found.used == pytest.approx(0.8)
    assert found.tpot_seconds == pytest.approx(0.1)
    assert found.per_hour == pytest.approx(24.0)
    assert found.per_million == pytest.approx(24.0 / 3600.0 / 1600.0 * 1e6)
    assert found.per_million_full == pytest.approx(12.0 / 3600.0 / 1000.0 * 1e6)


@pytest.mark.parametrize(
    ("load", "headroom", "replicas"),
    [(800.0, 0.2, 1), (801.0, 0.2, 2), (1000.0, 0.0, 1), (1001.0, 0.0, 2), (1.0, 0.2, 1)],
)
def test_replicas_are_the_fewest_that_leave_the_headroom(
    load: float, headroom: float, replicas: int
) -> None:
    demand = Demand(tokens_per_second=load, gpus=1, headroom=headroom)
    assert carried(plan(straight(), demand)).replicas == replicas


def test_with_the_replicas_told_the_gain_is_latency_and_not_money() -> None:
    demand = Demand(tokens_per_second=3000.0, gpus=1, gpu_hour=3.0, replicas=1)
    off = carried(plan(most(capacity(model())), demand))
    on = carried(plan(most(capacity(model(EAGLE))), demand))
    assert on.per_million == off.per_million
    assert on.tpot_seconds < off.tpot_seconds


def test_too_few_replicas_cannot_carry_the_load_and_enough_are_named() -> None:
    demand = Demand(tokens_per_second=3000.0, gpus=1, replicas=2)
    found = plan(straight(), demand)
    assert isinstance(found, CannotSay)
    assert "2 replicas are predicted to deliver at most 2000" in found.reason
    assert "4 replicas" in found.way_out


def test_without_a_price_there_is_no_cost() -> None:
    found = carried(plan(straight(), Demand(tokens_per_second=10.0, gpus=1)))
    assert (found.per_million, found.per_million_full, found.per_hour) == (None, None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens_per_second": 0.0},
        {"tokens_per_second": math.nan},
        {"gpus": 0},
        {"gpu_hour": math.inf},
        {"gpu_hour": -1.0},
        {"replicas": 0},
        {"headroom": 1.0},
        {"headroom": math.nan},
    ],
)
def test_a_demand_out_of_reason_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Demand(**({"tokens_per_second": 1.0, "gpus": 1} | wrong))  # type: ignore[arg-type]


def test_a_load_is_carried_at_both_edges_of_the_error() -> None:
    asked = Asked(
        concurrency=8.0,
        prompt_tokens=500.0,
        demand=Demand(tokens_per_second=20_000.0, gpus=1, gpu_hour=3.0),
    )
    found = profile_advice(TARGET, model(EAGLE), model(), CHAT, asked)
    assert found.factor == 1.91
    assert found.load is not None
    fast, likely, slow = (
        carried(each) for each in (found.load.fast, found.load.likely, found.load.slow)
    )
    assert fast.replicas < likely.replicas < slow.replicas
    assert fast.per_million is not None
    assert likely.per_million_full is not None
    assert fast.per_million_full == pytest.approx(likely.per_million_full / 1.91)


def test_a_draft_takes_memory_from_the_kv_cache_whatever_the_flag_is() -> None:
    asked = Asked(concurrency=8.0, prompt_tokens=500.0)
    with_draft = profile_advice(TARGET, model(EAGLE), model(), CHAT, asked).memory
    without = profile_advice(TARGET, model(), model(), CHAT, asked).memory
    assert with_draft is not None
    assert without is not None
    assert 0.02 < with_draft.share < 0.06
    assert without.share == 0.0
    assert with_draft.requests > 256


def test_a_roll_costs_what_stands_idle_and_is_not_guessed() -> None:
    found = roll_cost(3, 4, 600.0, 2.5)
    assert isinstance(found, RollCost)
    assert found.gpu_hours == pytest.approx(2.0)
    assert found.price == pytest.approx(5.0)
    unknown = roll_cost(3, 4, None, 2.5)
    assert isinstance(unknown, CannotSay)
    assert "measure one Pod" in unknown.way_out
    assert isinstance(roll_cost(3, 4, math.nan, 2.5), CannotSay)
    assert StartUp(target_bytes=50.0, draft_bytes=5.0).more == pytest.approx(0.1)
