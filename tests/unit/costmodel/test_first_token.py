"""Time to the first token: the running step, the prompt in chunks, and the draft's part of it."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.first_token import first_token_seconds, tokens_per_step
from tests.unit.costmodel.profiles import gpu
from tests.unit.costmodel.test_capacity_and_cost import EAGLE, model


def seconds(found: float | CannotSay) -> float:
    assert isinstance(found, float)
    return found


def test_a_short_prompt_waits_half_a_step_and_joins_the_next() -> None:
    step = model().step.seconds(8.0)
    assert seconds(first_token_seconds(model(), 8.0, 1.0, 8192)) == pytest.approx(
        1.5 * step, rel=0.02
    )


def test_a_long_prompt_takes_a_step_for_each_chunk() -> None:
    one = seconds(first_token_seconds(model(), 8.0, 2000.0, 8192))
    chunked = seconds(first_token_seconds(model(), 8.0, 2000.0, 508))
    assert chunked > one
    # 500 tokens are free beside the 8 in decode: four steps, each with a full chunk.
    full = replace(model().step, tokens=model().step.tokens + 500.0 / 8.0).seconds(8.0)
    assert chunked == pytest.approx(model().step.seconds(8.0) / 2.0 + 4.0 * full)


def test_it_grows_with_the_prompt_and_with_the_load() -> None:
    times = [seconds(first_token_seconds(model(), 8.0, each, 8192)) for each in (100.0, 1000.0)]
    busy = seconds(first_token_seconds(model(), 128.0, 1000.0, 8192))
    assert times[0] < times[1] < busy


def test_a_draft_makes_it_longer_since_it_computes_the_prompt_too() -> None:
    off = seconds(first_token_seconds(model(), 8.0, 4000.0, 8192))
    on = seconds(first_token_seconds(model(EAGLE), 8.0, 4000.0, 8192))
    head_alone = model(EAGLE).step.draft
    assert head_alone is not None
    assert on - off > 4000.0 * head_alone.compute * 0.9


def test_a_learned_scale_holds_for_it_as_well() -> None:
    twice = replace(model(), scale=2.0)
    assert seconds(first_token_seconds(twice, 8.0, 500.0, 8192)) == pytest.approx(
        2.0 * seconds(first_token_seconds(model(), 8.0, 500.0, 8192))
    )


def test_where_decode_fills_the_step_nothing_can_be_said() -> None:
    found = first_token_seconds(model(EAGLE), 512.0, 500.0, 2048)
    assert isinstance(found, CannotSay)
    assert "--max-num-batched-tokens" in found.way_out


@pytest.mark.parametrize(
    ("concurrency", "prompt"), [(0.0, 1.0), (float("nan"), 1.0), (1.0, 0.0), (1.0, float("inf"))]
)
def test_numbers_out_of_reason_are_not_reckoned_with(concurrency: float, prompt: float) -> None:
    assert isinstance(first_token_seconds(model(), concurrency, prompt, 2048), CannotSay)


@pytest.mark.parametrize(
    ("name", "budget"), [("h100-sxm", 8192), ("a100-sxm-80gb", 2048), ("l4", 2048)]
)
def test_the_budget_is_that_of_vllm_on_the_gpu(name: str, budget: int) -> None:
    assert tokens_per_step(gpu(name)) == budget
