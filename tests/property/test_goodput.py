"""What the cost model promises for any target, profile and workload."""

import math
from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.acceptance import rates_from_counters
from ridgeline.costmodel.arm import Acceptance, Arm, Calibration, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import Estimate, estimate
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.lookahead import best_lookahead, lookahead_schedule
from ridgeline.costmodel.shape import Experts, ModelShape
from ridgeline.costmodel.step_time import StepModel, StepTime, step_model, step_seconds
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.terms.links import Link
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict
from tests.unit.costmodel.profiles import made_up
from tests.unit.costmodel.targets import (
    EAGLE3_8B,
    LLAMA_8B,
    LLAMA_70B,
    MIXTRAL,
    NONE,
    QWEN_06B,
    QWEN_8B,
)

DRAFTING = (Method.EAGLE, Method.EAGLE3, Method.MTP, Method.DRAFT_MODEL, Method.NGRAM)
REAL_GPUS = st.sampled_from([each.accelerator for each in load_catalogue().entries])
PRECISIONS = st.sampled_from(Precision)
CONCURRENCIES = st.floats(1.0, 512.0)
WORKLOADS = st.builds(
    Workload, context_tokens=st.floats(0.0, 20_000.0), prefill_per_token=st.floats(0.0, 5.0)
)
RATES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)

ANY = st.floats(-300.0, 300.0).map(lambda power: 10.0**power)
"""Any positive number that a slip of the pen could leave."""
LIKELY = st.floats(6.0, 12.5).map(lambda power: 10.0**power)
WIDE = st.floats(1e-3, 1e9)


@st.composite
def wild_gpus(draw: st.DrawFn) -> Accelerator:
    native = draw(st.booleans())
    return made_up(
        memory_gib=draw(WIDE),
        bandwidth_gb_s=draw(WIDE),
        bf16_tflops=draw(WIDE),
        fp8_tflops=draw(WIDE) if native else None,
        native_fp8=native,
        link=draw(st.sampled_from(Link)),
        link_gb_s=draw(WIDE),
        link_span=draw(st.none() | st.integers(2, 8)),
    )


@st.composite
def wild_shapes(draw: st.DrawFn) -> ModelShape:
    params = draw(LIKELY | ANY)
    share = draw(st.none() | st.floats(1e-6, 0.99))
    expert_params = params * share if share is not None else 0.0
    count = draw(st.integers(1, 512))
    experts = None
    if 0.0 < expert_params < params:
        experts = Experts(
            count=count,
            active=draw(st.integers(1, count)),
            params=expert_params,
            layers=draw(st.integers(1, 200)),
        )
    return ModelShape(
        name="wild",
        layers=draw(st.integers(1, 128) | st.integers(1, 10**9)),
        hidden=draw(st.integers(1, 16384) | st.integers(1, 10**9)),
        vocabulary=draw(st.integers(1, 200_000) | st.integers(1, 10**9)),
        params=params,
        experts=experts,
        kv_elements_per_token=draw(st.floats(0.0, 1e6) | ANY),
        windowed_kv_elements_per_token=draw(st.just(0.0) | st.floats(0.0, 1e6) | ANY),
        window=draw(st.integers(0, 10**9)),
        kv_splits=draw(st.none() | st.integers(1, 64)),
        checked=draw(st.booleans()),
        source="made up",
    )


REAL_SHAPES = st.sampled_from((LLAMA_8B, LLAMA_70B, MIXTRAL, EAGLE3_8B))
SHAPES = wild_shapes() | REAL_SHAPES


@st.composite
def acceptances(draw: st.DrawFn) -> Acceptance:
    rates = draw(RATES | st.just([]))
    return Acceptance(
        rates=rates_from_counters(rates, 8 if rates else 0),
        hit=draw(st.floats(0.0, 1.0)),
        origin=draw(st.sampled_from(Origin)),
        relative_sd=draw(st.floats(0.0, 0.3) | st.floats(0.0, 1e300)),
    )


@st.composite
def wild_arms(draw: st.DrawFn) -> list[Arm]:
    return [
        Arm(
            name=f"p{index}",
            method=draw(st.sampled_from(Method)),
            lookahead=draw(st.integers(0, 5) | st.sampled_from((8, 10**9))),
            draft=draw(REAL_SHAPES | SHAPES | st.none()),
            tree_nodes=draw(st.none() | st.integers(1, 100)),
            tree_width=draw(st.integers(1, 64)),
            acceptance=draw(acceptances() | acceptances() | st.none()),
            calibration=Calibration(
                log_scale=draw(st.floats(-1e300, 1e300)), windows=draw(st.integers(0, 10**9))
            ),
        )
        for index in range(draw(st.integers(1, 8)))
    ]


@st.composite
def wild_deployments(draw: st.DrawFn) -> Deployment:
    return Deployment(
        accelerator=draw(REAL_GPUS | wild_gpus()),
        model=draw(REAL_SHAPES | SHAPES),
        precision=draw(PRECISIONS),
        kv_bytes=draw(st.sampled_from((0.5, 1.0, 2.0, 4.0))),
        tensor_parallel=draw(st.integers(1, 16) | st.sampled_from((1, 10**9))),
        pipeline_parallel=draw(st.integers(1, 4)),
        expert_parallel=draw(st.booleans()),
        data_parallel=draw(st.integers(1, 8)),
        max_num_seqs=draw(st.none() | st.integers(1, 10**9)),
        gpu_memory_utilization=draw(st.just(0.9) | st.floats(1e-6, 1.0)),
        captured_tokens=draw(st.integers(0, 10**9)),
        legacy_engine=draw(st.booleans()),
    )


@st.composite
def wild_workloads(draw: st.DrawFn) -> Workload:
    return Workload(
        context_tokens=draw(st.just(0.0) | ANY), prefill_per_token=draw(st.just(0.0) | ANY)
    )


@settings(max_examples=100)
@given(
    wild_deployments(),
    wild_arms(),
    WORKLOADS | wild_workloads(),
    st.floats(0, 10),
    st.floats(0, 10),
)
def test_no_input_gives_more_than_a_table_or_a_reason(
    deployment: Deployment, arms: list[Arm], workload: Workload, margin: float, z: float
) -> None:
    # CutoffTable, Band and Curve refuse what is not finite or not in order: making them asserts it.
    found = goodput_table(deployment, arms, workload, margin=margin, z=z)
    if isinstance(found, CannotSay):
        assert found.reason
        assert found.way_out
        return
    names = [each.name for each in arms]
    assert {row.profile for row in found.rows} <= set(names)
    assert found.reasons
    assert {each.profile for each in found.curves} <= set(names)
    if found.verdict is Verdict.NO:
        assert not next(e for e in arms if e.name == found.rows[0].profile).method.speculates


@settings(max_examples=100)
@given(wild_deployments(), wild_arms(), wild_workloads() | WORKLOADS, st.floats())
def test_no_input_gives_an_estimate_that_is_no_number(
    deployment: Deployment, arms: list[Arm], workload: Workload, concurrency: float
) -> None:
    for arm in arms:
        found = estimate(deployment, arm, NONE, workload, concurrency)
        if isinstance(found, Estimate):
            numbers = (found.tokens_per_second, found.tpot_seconds, found.speedup)
            assert all(math.isfinite(each) and each > 0.0 for each in numbers)
        best = best_lookahead(deployment, replace(arm, lookahead=arm.lookahead % 9), workload, 8.0)
        assert isinstance(best, CannotSay) or 0 <= best <= 8
        step = step_seconds(deployment, arm, workload, concurrency)
        assert isinstance(step, CannotSay) or math.isfinite(step.total)


# From here on: targets that exist.


@st.composite
def targets(draw: st.DrawFn, *, dense: bool = False) -> Deployment:
    models = (LLAMA_8B, LLAMA_70B, QWEN_8B) if dense else (LLAMA_8B, LLAMA_70B, MIXTRAL)
    return Deployment(
        accelerator=draw(REAL_GPUS),
        model=draw(st.sampled_from(models)),
        precision=draw(PRECISIONS),
        tensor_parallel=draw(st.sampled_from((1, 2, 4, 8))),
    )


def speculating(
    rates: list[float], method: Method, draft: ModelShape = EAGLE3_8B, hit: float = 1.0
) -> Arm:
    fitting = rates_from_counters(rates, len(rates))
    return Arm(
        name="spec",
        method=method,
        lookahead=len(rates),
        draft=None if method is Method.NGRAM else draft,
        acceptance=Acceptance(rates=fitting, hit=hit, origin=Origin.MEASURED),
    )


def model(deployment: Deployment, arm: Arm, workload: Workload) -> StepModel:
    found = step_model(deployment, arm, workload)
    assert isinstance(found, StepModel), found
    return found


def speedup(deployment: Deployment, arm: Arm, workload: Workload, concurrency: float) -> float:
    none, one = (model(deployment, each, workload) for each in (NONE, arm))
    return one.length * none.seconds(concurrency) / one.seconds(concurrency)


@given(targets(), RATES, st.sampled_from(DRAFTING), WORKLOADS, CONCURRENCIES)
def test_a_speed_up_is_at_most_the_acceptance_length(
    target: Deployment, rates: list[float], method: Method, workload: Workload, concurrency: float
) -> None:
    arm = speculating(rates, method)
    assert arm.acceptance is not None
    assert speedup(target, arm, workload, concurrency) <= arm.acceptance.length * (1 + 1e-9)


@given(targets(), RATES, st.sampled_from(DRAFTING), WORKLOADS, CONCURRENCIES, st.floats(0.0, 1.0))
def test_a_speed_up_never_falls_when_acceptance_rises(
    target: Deployment,
    rates: list[float],
    method: Method,
    workload: Workload,
    concurrency: float,
    share: float,
) -> None:
    # Below the captured size: above it more accepted tokens can mean more prompts in a step, and so
    # one that is not captured.
    target = replace(target, captured_tokens=10**7)
    better = [rate + share * (1.0 - rate) for rate in rates]
    low, high = (
        speedup(target, speculating(each, method), workload, concurrency)
        for each in (rates, better)
    )
    assert high >= low * (1 - 1e-9)


@given(targets(dense=True), RATES, st.floats(0.0, 1000.0), st.floats(1.0, 256.0))
def test_the_speed_up_of_a_dense_chain_with_a_head_falls_with_concurrency(
    target: Deployment, rates: list[float], context: float, concurrency: float
) -> None:
    # At fixed context, within 2 %: while drafting costs the same at any concurrency, what it adds
    # is spread over a longer step, most of all at long contexts, where the cache grows the step.
    target = replace(target, captured_tokens=10**7)
    arm = speculating(rates, Method.EAGLE3)
    workload = Workload(context_tokens=context)
    quiet, busy = (speedup(target, arm, workload, each) for each in (concurrency, 2 * concurrency))
    assert busy <= quiet * 1.02


@given(targets(dense=True), RATES, WORKLOADS, CONCURRENCIES, st.floats(1.0, 10.0))
def test_faster_arithmetic_never_lowers_the_speed_up_of_a_head(
    target: Deployment, rates: list[float], workload: Workload, concurrency: float, factor: float
) -> None:
    target = replace(target, captured_tokens=10**7, precision=Precision.BF16)
    gpu = target.accelerator
    faster = replace(gpu, bf16_tflops=gpu.bf16_tflops * factor)
    arm = speculating(rates, Method.EAGLE3)
    # A pass of the head is no longer than a step of the target: true of every head there is.
    none = model(target, NONE, workload).seconds(concurrency)
    drafted = step_seconds(target, arm, workload, concurrency)
    assert isinstance(drafted, StepTime)
    assume(drafted.draft / arm.lookahead <= none)
    slow, fast = (
        speedup(replace(target, accelerator=each), arm, workload, concurrency)
        for each in (gpu, faster)
    )
    assert fast >= slow * (1 - 1e-9)


@given(targets(), st.sampled_from(DRAFTING), WORKLOADS, CONCURRENCIES)
def test_a_lookahead_of_zero_is_none_plus_its_price(
    target: Deployment, method: Method, workload: Workload, concurrency: float
) -> None:
    idle = replace(speculating([0.5], method), lookahead=0)
    none, loaded = (model(target, each, workload) for each in (NONE, idle))
    price = loaded.seconds(concurrency) / none.seconds(concurrency) - 1.0
    assert loaded.length == 1.0
    assert 0.066 - 1e-9 <= price <= 0.216 + 1e-9


@given(targets(), RATES, st.sampled_from(DRAFTING), WORKLOADS, CONCURRENCIES)
def test_the_parts_of_a_step_add_up_to_it(
    target: Deployment, rates: list[float], method: Method, workload: Workload, concurrency: float
) -> None:
    one = model(target, speculating(rates, method), workload)
    parts = one.parts(concurrency)
    assert math.isclose(parts.total, one.seconds(concurrency), rel_tol=1e-9)
    assert (
        min(
            parts.memory,
            parts.compute,
            parts.kv,
            parts.all_reduce,
            parts.draft,
            parts.host,
            parts.eager,
        )
        >= 0.0
    )


@given(targets(), RATES, st.sampled_from(DRAFTING), WORKLOADS, st.floats(1.0, 256.0))
def test_a_step_never_gets_shorter_with_more_requests(
    target: Deployment, rates: list[float], method: Method, workload: Workload, concurrency: float
) -> None:
    one = model(target, speculating(rates, method), workload)
    assert one.seconds(concurrency * 1.1) >= one.seconds(concurrency)


# Most pairs have no border at all, or none wins everywhere.
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(targets(dense=True), RATES, st.sampled_from((Method.EAGLE3, Method.DRAFT_MODEL)), WORKLOADS)
def test_at_a_border_the_profiles_are_equal_by_the_margin(
    target: Deployment, rates: list[float], method: Method, workload: Workload
) -> None:
    arm = speculating(rates, method, EAGLE3_8B if method is Method.EAGLE3 else QWEN_06B)
    found = goodput_table(target, [arm, NONE], workload)
    assume(isinstance(found, CutoffTable) and len(found.rows) == 2)
    assert isinstance(found, CutoffTable)
    row = found.rows[0]
    assume(row.profile == "spec")
    assert row.up_to is not None
    ratios = []
    for place in (0.97, 1.0, 1.03):
        at = estimate(target, arm, NONE, workload, row.up_to * place)
        assert isinstance(at, Estimate)
        ratios.append(at.speedup)
    assert ratios[1] == max(min(ratios[1], 1.03 * 1.01), 1.03 * 0.99)
    assert ratios[0] >= ratios[2] * 0.999


@st.composite
def profiles(draw: st.DrawFn) -> list[Arm]:
    arms = []
    for index in range(draw(st.integers(1, 7))):
        method = draw(st.sampled_from(DRAFTING))
        draft = QWEN_06B if method is Method.DRAFT_MODEL else EAGLE3_8B
        one = speculating(draw(RATES), method, draft)
        assert one.acceptance is not None
        sure = replace(one.acceptance, relative_sd=draw(st.floats(0.0, 0.2)))
        arms.append(replace(one, name=f"p{index}", acceptance=sure))
    return [*arms, NONE]


@given(targets(), profiles(), WORKLOADS)
def test_no_profile_beats_the_one_of_the_table_by_much_unless_a_reason_says_so(
    target: Deployment, arms: list[Arm], workload: Workload
) -> None:
    found = goodput_table(target, arms, workload)
    assume(isinstance(found, CutoffTable))
    assert isinstance(found, CutoffTable)
    assume(not any("not worth a roll" in each or "two ranges" in each for each in found.reasons))
    edges = [1.0, *(row.up_to or 0.0 for row in found.rows[:-1])]
    edges.append(max(each.concurrency[-1] for each in found.curves))
    for row, low, high in zip(found.rows, edges, edges[1:], strict=False):
        curves = {each.profile: each.tokens_at(math.sqrt(low * high)) for each in found.curves}
        # Twice the margin for what is not worth a row, and a little for the straight curves.
        assert curves[row.profile] >= max(curves.values()) / (1.03 * 1.03 * 1.01)


@given(targets(), RATES, WORKLOADS, st.integers(1, 600))
def test_a_schedule_covers_every_batch_once(
    target: Deployment, rates: list[float], workload: Workload, most: int
) -> None:
    target = replace(target, max_num_seqs=most)
    tiers = lookahead_schedule(target, speculating(rates, Method.EAGLE3), workload)
    assume(not isinstance(tiers, CannotSay))
    assert not isinstance(tiers, CannotSay)
    batches = [n for tier in tiers for n in range(tier.first, tier.last + 1)]
    assert batches == list(range(1, most + 1))
    assert all(0 <= tier.lookahead <= len(rates) for tier in tiers)


@given(targets(), RATES, WORKLOADS, st.floats(-1.0, 1.0))
def test_what_both_profiles_have_in_common_changes_no_border(
    target: Deployment, rates: list[float], workload: Workload, scale: float
) -> None:
    def table(log_scale: float) -> CutoffTable | CannotSay:
        same = Calibration(log_scale=log_scale, windows=100)
        arms = [replace(speculating(rates, Method.EAGLE3), calibration=same)]
        return goodput_table(target, [*arms, replace(NONE, calibration=same)], workload)

    plain, scaled = table(0.0), table(scale)
    assume(isinstance(plain, CutoffTable) and isinstance(scaled, CutoffTable))
    assert isinstance(plain, CutoffTable)
    assert isinstance(scaled, CutoffTable)
    assert [row.profile for row in plain.rows] == [row.profile for row in scaled.rows]
    for one, other in zip(plain.rows[:-1], scaled.rows[:-1], strict=True):
        assert math.isclose(one.up_to or 0.0, other.up_to or 0.0, rel_tol=1e-6)
