"""The engine in virtual time: the identities that a reader of vLLM's counters relies on."""

from statistics import fmean

import pytest

from ridgeline.sim.stand_in.scheduler import Engine, Generation
from ridgeline.sim.stand_in.speculation import Speculation
from tests.unit.sim.virtual_engine import (
    ACCEPTANCE,
    Record,
    eagle,
    make_engine,
    run_closed_loop,
)


def submit(engine: Engine, *, prompt: int = 8, answer: int = 4, now: float = 0.0) -> Generation:
    generation = Generation(
        prompt_tokens=prompt,
        max_tokens=answer,
        stop_after=2**31,
        deliver=lambda tokens, reason: None,
        arrived=now,
    )
    engine.submit(generation)
    return generation


def step(engine: Engine, now: float) -> float:
    plan = engine.plan(now)
    assert plan is not None
    engine.complete(plan, now + plan.duration_s)
    return now + plan.duration_s


def expected_length(k: int) -> float:
    """E[L] = 1 + Σ p_i, with p_i the product of the conditional probabilities."""
    total, prefix = 1.0, 1.0
    for position in range(k):
        prefix *= ACCEPTANCE[min(position, len(ACCEPTANCE) - 1)]
        total += prefix
    return total


@pytest.mark.parametrize("speculation", [None, eagle(4)], ids=["none", "eagle"])
@pytest.mark.parametrize("users", [3, 16, 40])
def test_concurrency_is_the_rate_of_the_step_latency_sum(
    users: int, speculation: Speculation | None
) -> None:
    record = Record()
    elapsed = run_closed_loop(
        make_engine(record, speculation=speculation), users=users, duration_s=400.0
    )
    decoding = [len(s.step_latencies_s) for s in record.steps]
    rate = sum(record.step_latencies_s) / elapsed
    by_steps = sum(decoding) / len(record.steps)
    assert rate == pytest.approx(by_steps, rel=0.05)
    assert 0.85 * users < rate <= users


@pytest.mark.parametrize("k", [1, 3, 4])
def test_acceptance_length_from_three_counters(k: int) -> None:
    record = Record()
    run_closed_loop(
        make_engine(record, speculation=eagle(k)), users=8, duration_s=800.0, answer=400
    )
    length = (record.generation_tokens - record.first_tokens) / len(record.step_latencies_s)
    assert length == pytest.approx(expected_length(k), rel=0.02)


def test_acceptance_length_is_exactly_one_without_speculation() -> None:
    record = Record()
    run_closed_loop(make_engine(record), users=8, duration_s=100.0)
    assert record.generation_tokens - record.first_tokens == len(record.step_latencies_s)


def test_time_per_token_of_requests_agrees_with_the_counters() -> None:
    record = Record()
    run_closed_loop(make_engine(record, speculation=eagle()), users=8, duration_s=800.0)
    counters = sum(record.step_latencies_s) / (record.generation_tokens - record.first_tokens)
    whole = [r for r in record.requests if r.generation_tokens == 64]
    assert fmean(r.time_per_output_token_s for r in whole) == pytest.approx(counters, rel=0.03)


def test_every_decode_step_counts_one_draft_per_request_and_accepts_prefixes() -> None:
    record = Record()
    run_closed_loop(make_engine(record, speculation=eagle(4)), users=8, duration_s=400.0)
    drafts = sum(s.drafts for s in record.steps)
    assert drafts == len(record.step_latencies_s)
    assert sum(s.draft_tokens for s in record.steps) == 4 * drafts
    by_position = [sum(s.accepted_by_position[i] for s in record.steps) for i in range(4)]
    assert by_position == sorted(by_position, reverse=True)
    assert by_position[0] / drafts == pytest.approx(0.6, abs=0.03)
    assert by_position[1] / by_position[0] == pytest.approx(0.55, abs=0.04)


def test_tokens_beyond_the_end_are_accepted_but_not_handed_out() -> None:
    record = Record()
    run_closed_loop(make_engine(record, speculation=eagle(4)), users=4, duration_s=200.0, answer=5)
    assert {r.generation_tokens for r in record.requests} <= {1, 2, 3, 4, 5}
    accepted = sum(sum(s.accepted_by_position) for s in record.steps)
    handed_out = record.generation_tokens - record.first_tokens - len(record.step_latencies_s)
    assert accepted > handed_out


def test_the_first_token_comes_with_the_prefill_step_and_has_no_step_latency() -> None:
    record = Record()
    engine = make_engine(record)
    submit(engine, prompt=100, now=1.0)
    now = step(engine, 1.5)
    (report,) = record.steps
    assert report.prompt_tokens == 100
    assert report.generation_tokens == 1
    assert report.step_latencies_s == ()
    (waited,) = report.first_token_times_s
    assert waited == pytest.approx(now - 1.0)


def test_a_long_prompt_is_computed_in_chunks_within_the_token_budget() -> None:
    record = Record()
    engine = make_engine(record, max_num_batched_tokens=64)
    submit(engine, prompt=150)
    now = 0.0
    for _ in range(3):
        now = step(engine, now)
    assert [s.generation_tokens for s in record.steps] == [0, 0, 1]
    assert [s.prompt_tokens for s in record.steps] == [0, 0, 150]


def test_requests_beyond_max_num_seqs_wait() -> None:
    record = Record()
    engine = make_engine(record, max_num_seqs=2)
    requests = [submit(engine, answer=3) for _ in range(3)]
    now = step(engine, 0.0)
    assert (record.steps[0].running, record.steps[0].waiting) == (2, 1)
    while not all(r.over for r in requests):
        now = step(engine, now)
    assert [round(r.queued_s, 3) > 0 for r in record.requests] == [False, False, True]
    assert engine.plan(now) is None


def test_the_record_of_a_request_splits_its_time() -> None:
    record = Record()
    engine = make_engine(record)
    submit(engine, answer=3, now=0.0)
    now = 2.0
    while not record.requests:
        now = step(engine, now)
    (done,) = record.requests
    assert done.queued_s == 2.0
    assert done.end_to_end_s == pytest.approx(done.queued_s + done.prefill_s + done.decode_s)
    assert done.time_per_output_token_s == pytest.approx(done.decode_s / 2)
    assert done.reason == "length"


def test_a_full_cache_sends_the_youngest_back_and_nothing_is_lost() -> None:
    record = Record()
    engine = make_engine(record, kv_tokens=100)
    old, young = submit(engine, prompt=30, answer=40), submit(engine, prompt=30, answer=40)
    now = 0.0
    while not (old.over and young.over):
        now = step(engine, now)
        assert record.steps[-1].kv_usage <= 1.0
    assert record.preemptions >= 1
    assert (old.preemptions, young.preemptions > 0) == (0, True)
    assert [r.generation_tokens for r in record.requests] == [40, 40]
    assert record.generation_tokens == 80
    assert record.generation_tokens - record.first_tokens == len(record.step_latencies_s)


def test_an_aborted_request_leaves_the_step_that_is_under_way() -> None:
    record = Record()
    engine = make_engine(record)
    gone, stays = submit(engine), submit(engine)
    now = step(engine, 0.0)
    plan = engine.plan(now)
    assert plan is not None
    engine.abort(gone)
    engine.abort(gone)
    engine.complete(plan, now + 1)
    assert record.aborts == 1
    assert (gone.emitted, stays.emitted) == (1, 2)


def test_a_schedule_chooses_k_by_the_scheduled_requests_and_the_idle_drafter_costs() -> None:
    schedule = ((1, 4, 4), (5, 512, 0))
    quiet, busy, none = Record(), Record(), Record()
    run_closed_loop(
        make_engine(quiet, speculation=eagle(schedule=schedule)), users=4, duration_s=50.0
    )
    run_closed_loop(
        make_engine(busy, speculation=eagle(schedule=schedule)), users=30, duration_s=50.0
    )
    run_closed_loop(make_engine(none), users=30, duration_s=50.0)
    assert sum(s.drafts for s in quiet.steps) == len(quiet.step_latencies_s)
    assert sum(s.drafts for s in busy.steps) == 0
    assert fmean(busy.step_latencies_s) > 1.05 * fmean(none.step_latencies_s)
    assert len(busy.steps[-1].accepted_by_position) == 4


def test_equal_seeds_give_equal_runs() -> None:
    runs = []
    for seed in (5, 5, 6):
        record = Record()
        run_closed_loop(
            make_engine(record, speculation=eagle(), seed=seed), users=5, duration_s=50.0
        )
        runs.append([s.generation_tokens for s in record.steps])
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_prompt_that_does_not_fit_the_cache_waits_for_room() -> None:
    record = Record()
    engine = make_engine(record, kv_tokens=100)
    first, second = submit(engine, prompt=60, answer=3), submit(engine, prompt=60, answer=3)
    now = step(engine, 0.0)
    assert (record.steps[0].running, record.steps[0].waiting) == (1, 1)
    while not (first.over and second.over):
        now = step(engine, now)
    assert record.preemptions == 0


def test_an_aborted_request_gives_its_place_free_wherever_it_is() -> None:
    record = Record()
    engine = make_engine(record, max_num_seqs=1)
    runs, waits = submit(engine), submit(engine)
    step(engine, 0.0)
    engine.abort(waits)
    assert engine.load == 1
    engine.abort(runs)
    assert engine.load == 0
    assert engine.plan(1.0) is None


def test_the_v0_engine_above_its_threshold_pays_nothing_for_its_drafter() -> None:
    v0, none = Record(), Record()
    speculation = Speculation(method="draft_model", lookahead=4, off_above=4, v0=True)
    run_closed_loop(make_engine(v0, speculation=speculation), users=10, duration_s=50.0)
    run_closed_loop(make_engine(none), users=10, duration_s=50.0)
    assert sum(s.drafts for s in v0.steps) == 0
    assert fmean(v0.step_latencies_s) == pytest.approx(fmean(none.step_latencies_s))
