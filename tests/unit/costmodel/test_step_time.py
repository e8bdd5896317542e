"""Step times against published ones, and what each part does."""

from dataclasses import replace
from statistics import fmean

import pytest

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import Estimate, estimate
from ridgeline.costmodel.lookahead import best_lookahead
from ridgeline.costmodel.step_time import StepModel, StepTime, step_model, step_seconds
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.targets import (
    CHAT,
    EAGLE_8B,
    MIXTRAL,
    MT_BENCH,
    NONE,
    QWEN_4B,
    QWEN_14B,
    accepted,
    arm,
    on,
    shape,
)

PUBLISHED = {
    1: {0: 6.521, 1: 7.368, 3: 8.841, 5: 10.326},
    4: {0: 6.602, 1: 7.473, 3: 8.981, 5: 10.400},
    16: {0: 6.899, 1: 7.852, 3: 9.518, 5: 11.196},
    64: {0: 7.774, 1: 9.656, 3: 13.498, 5: 16.831},
    256: {0: 14.491, 1: 27.138, 3: 41.848, 5: 57.404},
}
"""Milliseconds by batch and lookahead: Llama 3.1 8B with EAGLE, H100 (vLLM PR 32374)."""
BEST_K = {1: 3, 4: 3, 16: 3, 64: 1, 256: 0}
MT_BENCH_LOAD = Workload(context_tokens=208.0, prefill_per_token=0.3)


def eagle(lookahead: int) -> Arm:
    if lookahead == 0:
        return NONE
    return Arm(
        name="eagle",
        method=Method.EAGLE,
        lookahead=lookahead,
        draft=EAGLE_8B,
        acceptance=accepted(MT_BENCH),
    )


def step(*args: object) -> StepTime:
    found = step_seconds(*args)  # type: ignore[arg-type]
    assert isinstance(found, StepTime), found
    return found


def test_published_step_times_are_met_within_four_per_cent() -> None:
    errors = [
        abs(step(on(), eagle(k), MT_BENCH_LOAD, batch).total * 1e3 / published - 1.0)
        for batch, row in PUBLISHED.items()
        for k, published in row.items()
    ]
    assert len(errors) == 20
    assert fmean(errors) <= 0.04


@pytest.mark.parametrize(("batch", "best"), BEST_K.items())
def test_the_best_of_the_published_lookaheads_is_found(batch: int, best: int) -> None:
    rates = {}
    for k in (0, 1, 3, 5):
        found = estimate(on(), eagle(k), NONE, MT_BENCH_LOAD, batch)
        assert isinstance(found, Estimate)
        rates[k] = found.tokens_per_second
    assert max(rates, key=lambda k: rates[k]) == best


def test_speed_ups_of_a_head_on_h100_have_the_published_shape() -> None:
    found = []
    for batch in (1, 8, 32, 64):
        one = estimate(on(), arm(2.4), NONE, CHAT, batch)
        assert isinstance(one, Estimate)
        found.append(one.speedup)
    assert found == pytest.approx([1.9, 1.9, 1.7, 1.5], abs=0.05)


def test_a_draft_model_over_pcie_takes_the_measured_time() -> None:
    target = on("l4", QWEN_14B, 4, Precision.FP8)
    draft = arm(3.83, 5, QWEN_4B, Method.DRAFT_MODEL)
    # Measured on 4 L4: 19.5 ms per step without, 118 ms per cycle with.
    assert step(target, NONE, CHAT, 1).total == pytest.approx(0.0195, rel=0.1)
    assert step(target, draft, CHAT, 1).total == pytest.approx(0.118, rel=0.1)


def test_a_passing_draft_without_pcie_waits_for_no_link() -> None:
    draft = arm(3.83, 5, QWEN_4B, Method.DRAFT_MODEL)
    bridged = on("h100-nvl", QWEN_14B, 2)
    apart = on("h100-nvl", QWEN_14B, 4)
    near, far = (step(each, draft, CHAT, 1).draft for each in (bridged, apart))
    assert far > near + 5 * 2.5e-3


def test_an_experts_model_reads_more_weights_the_more_tokens_a_step_has() -> None:
    dense = replace(MIXTRAL, experts=None)
    few, many = (step(on(model=MIXTRAL), NONE, CHAT, n).total for n in (1, 16))
    flat = [step(on(model=dense), NONE, CHAT, n).total for n in (1, 16)]
    assert many > 1.8 * few
    assert flat[1] < 1.2 * flat[0]


def test_latent_caches_are_copied_to_every_gpu_and_others_divided() -> None:
    divided, copied = (
        step(
            on(model=shape("m", 32, 4096, 32000, 8e9, 8, kv_splits=n), tensor_parallel=8),
            NONE,
            CHAT,
            64,
        ).kv
        for n in (8, 1)
    )
    assert copied == pytest.approx(8 * divided)


def test_looking_drafts_up_verifies_only_what_it_finds() -> None:
    seldom, always = (
        step(
            on(),
            arm(2.0, 4, None, Method.NGRAM, acceptance=accepted((0.5,) * 4, hit=hit)),
            CHAT,
            64,
        )
        for hit in (0.25, 1.0)
    )
    plain = step(on(), NONE, CHAT, 64)
    # 2 and 5 tokens each, where none has 1.
    assert plain.compute < seldom.compute < 0.4 * always.compute
    assert seldom.draft == always.draft == pytest.approx(0.05e-3 + 64 * 4e-6)


def test_pipeline_stages_share_the_requests_of_a_step() -> None:
    one, two = (step_model(on(pipeline_parallel=n), eagle(3), CHAT) for n in (1, 2))
    assert isinstance(one, StepModel)
    assert isinstance(two, StepModel)
    assert two.seconds(64) == pytest.approx(one.seconds(32))
    assert two.parts(64).total == pytest.approx(two.seconds(64))


def test_whole_experts_are_spread_over_the_engines_and_meet_all_their_tokens() -> None:
    alone, spread = (
        step(on(model=MIXTRAL, expert_parallel=True, data_parallel=n), NONE, CHAT, 64).memory
        for n in (1, 2)
    )
    shares = [1 - 0.75**n for n in (1, 2)]
    dense = 1.6e9 * 2 / (3.35e12 * 0.81)
    experts = 45.1e9 * 2 / (3.35e12 * 0.81)
    assert alone == pytest.approx(dense + experts * shares[0], rel=0.01)
    assert spread == pytest.approx(dense + experts / 2 * shares[1], rel=0.01)


def test_a_draft_of_many_small_layers_takes_the_time_to_launch_them() -> None:
    deep = shape("deep", 100, 64, 1000, 1e6, 1, 16)
    draft = arm(2.0, 3, deep, Method.DRAFT_MODEL)
    for concurrency in (1, 64):
        found = step_model(on(), draft, CHAT)
        assert isinstance(found, StepModel)
        without = step(on(), replace(draft, draft=EAGLE_8B), CHAT, concurrency)
        assert found.parts(concurrency).draft == pytest.approx(3 * (100 * 43e-6 + 0.25e-3))
        assert found.seconds(concurrency) > without.total - without.draft + 3 * 100 * 43e-6


def test_a_drafter_that_drafts_nothing_costs_what_was_measured() -> None:
    idle = replace(eagle(5), lookahead=0)
    # vLLM issue 49548: +6.6 % at 2 requests, +21.6 % at 189.
    for concurrency, price in ((2, 0.066), (189, 0.216)):
        without = step(on(), NONE, CHAT, concurrency).total
        assert step(on(), idle, CHAT, concurrency).total == pytest.approx(without * (1 + price))


def test_steps_above_the_captured_size_cost_more() -> None:
    small, large = on(captured_tokens=64), on(captured_tokens=4096)
    below, above = (step(each, NONE, CHAT, 128) for each in (large, small))
    assert below.eager == 0.0
    assert above.total == pytest.approx(below.total + 32 * 0.13e-3)
    assert step(on(captured_tokens=0), NONE, CHAT, 1).eager > 0.0


def test_an_absurd_concurrency_is_told_and_not_computed() -> None:
    for value in (0.0, -1.0, float("nan"), float("inf"), 1e9):
        assert isinstance(step_seconds(on(), NONE, CHAT, value), CannotSay)


def test_lookahead_falls_with_concurrency_and_ends_at_none() -> None:
    head = eagle(5)
    found = [best_lookahead(on(), head, MT_BENCH_LOAD, b) for b in (1, 16, 64, 256)]
    assert found == sorted(found, reverse=True)  # type: ignore[type-var]
    assert found[0] == 2
    assert found[-1] == 0
