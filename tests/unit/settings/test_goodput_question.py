"""What the Goodput strategy asks the cost model: whose word counts, and what is doubted."""

import math
from dataclasses import replace

import pytest

from ridgeline.costmodel.arm import Origin, Tier
from ridgeline.costmodel.memory import Room, room_of
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.settings import goodput
from ridgeline.settings.goodput import MEASURED_SD, STATED_SD, answer, ask
from ridgeline.settings.model_drafts import NoDraft
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict
from tests.unit.settings.questions import BASIS, LLAMA, NONE, asked, eagle3, inputs

STATED = (0.7, 0.5, 0.3)
MEASURED = LearnedArm(profile="eagle3", acceptance=(0.6, 0.4, 0.2), log_scale=0.1, windows=30)


def learned(basis: str = BASIS, **fields: object) -> Learned:
    values: dict[str, object] = {"context_tokens": 800.0, "prefill_per_token": 0.25, **fields}
    return Learned(basis=basis, arms=(MEASURED,), **values)  # type: ignore[arg-type]


def test_without_any_word_acceptance_is_a_prior() -> None:
    first, none = asked().arms
    assert first.acceptance is not None
    assert first.acceptance.origin is Origin.PRIOR
    assert none.acceptance is not None
    assert none.acceptance.origin is Origin.NONE_NEEDED


def test_a_stated_acceptance_replaces_the_prior_with_its_own_uncertainty() -> None:
    (first, _) = asked(profiles=(eagle3(acceptance=STATED), NONE)).arms
    assert first.acceptance is not None
    assert first.acceptance.rates == STATED
    assert first.acceptance.origin is Origin.STATED
    assert first.acceptance.relative_sd == STATED_SD


def test_a_measured_acceptance_wins_over_a_stated_one() -> None:
    (first, _) = asked(profiles=(eagle3(acceptance=STATED), NONE), learned=learned()).arms
    assert first.acceptance is not None
    assert first.acceptance.rates == MEASURED.acceptance
    assert first.acceptance.origin is Origin.MEASURED
    assert first.acceptance.relative_sd == MEASURED_SD
    assert first.calibration.windows == MEASURED.windows
    assert first.calibration.log_scale == pytest.approx(MEASURED.log_scale)


def test_fewer_rates_than_the_lookahead_go_on_as_they_fell() -> None:
    profile = eagle3(num_speculative_tokens=4, acceptance=(0.8, 0.4))
    (first, _) = asked(profiles=(profile, NONE)).arms
    assert first.acceptance is not None
    assert first.acceptance.rates == pytest.approx((0.8, 0.4, 0.2, 0.1))


def test_what_was_learned_of_how_often_lookups_hit_is_used() -> None:
    ngram = Profile(name="eagle3", method=Method.NGRAM, num_speculative_tokens=3)
    known = Learned(
        basis=BASIS,
        arms=(LearnedArm(profile="eagle3", acceptance=(0.9, 0.8, 0.7), drafted=0.65, windows=3),),
    )
    (first, _) = asked(profiles=(ngram, NONE), learned=known).arms
    assert first.acceptance is not None
    assert first.acceptance.hit == 0.65


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        ((), {"engine_version": "0.25.0"}),
        ((), {"gpu": "a100-sxm-80gb"}),
        (("--tensor-parallel-size=2",), {}),
        (("--pipeline-parallel-size=2",), {}),
    ],
)
def test_another_basis_drops_what_was_learned(
    flags: tuple[str, ...], fields: dict[str, str]
) -> None:
    question = asked(*flags, learned=learned(), **fields)  # type: ignore[arg-type]
    first, _ = question.arms
    assert question.basis != BASIS
    assert first.acceptance is not None
    assert first.acceptance.origin is Origin.PRIOR
    assert not first.calibration.seen
    assert question.workload.context_tokens != 800.0


def test_the_requests_are_as_telemetry_saw_them() -> None:
    question = asked(learned=learned())
    assert question.workload.context_tokens == 800.0
    assert question.workload.prefill_per_token == 0.25
    assert question.doubts == ()


@pytest.mark.parametrize("known", [None, learned(context_tokens=None)])
def test_contexts_that_nobody_knows_make_the_table_undecided(known: Learned | None) -> None:
    profiles = (eagle3(acceptance=STATED), NONE)
    question = asked(profiles=profiles, learned=known)
    (doubt,) = question.doubts
    assert "1000 tokens are assumed" in doubt
    table = answer(question).cutoff
    assert isinstance(table, CutoffTable)
    assert table.verdict is Verdict.UNDECIDED
    assert doubt in table.reasons
    certain = answer(asked(profiles=profiles, learned=learned())).cutoff
    assert isinstance(certain, CutoffTable)
    assert certain.verdict is Verdict.YES


@pytest.mark.parametrize(
    ("flags", "size"),
    [
        ((), 2.0),
        (("--kv-cache-dtype=fp8_e5m2",), 1.0),
        (("--kv-cache-dtype", "auto", "--dtype=float32"), 4.0),
    ],
)
def test_the_cache_has_the_format_of_the_flag(flags: tuple[str, ...], size: float) -> None:
    question = asked(*flags, learned=learned())
    assert question.deployment.kv_bytes == size
    assert question.doubts == ()


def test_a_cache_of_an_unknown_format_is_taken_for_16_bits_and_doubted() -> None:
    question = asked("--kv-cache-dtype=turbo3", learned=learned())
    assert question.deployment.kv_bytes == 2.0
    (doubt,) = question.doubts
    assert "turbo3" in doubt
    doubted, certain = answer(question).cutoff, answer(asked(learned=learned())).cutoff
    assert isinstance(doubted, CutoffTable)
    assert isinstance(certain, CutoffTable)
    assert (certain.verdict, doubted.verdict) == (Verdict.YES, Verdict.UNDECIDED)


def test_limits_of_the_engine_are_those_of_the_flags() -> None:
    usual = asked().deployment
    assert (usual.max_num_seqs, usual.captured_tokens) == (None, 512)
    assert usual.gpu_memory_utilization == 0.9
    assert not usual.legacy_engine
    told = asked(
        "--max-num-seqs=64",
        "--enforce-eager",
        "--gpu-memory-utilization=0.8",
        "--tensor-parallel-size=4",
        "--pipeline-parallel-size=2",
        "--data-parallel-size=3",
        "--enable-expert-parallel",
    ).deployment
    assert (told.max_num_seqs, told.captured_tokens) == (64, 0)
    assert told.gpu_memory_utilization == 0.8
    assert (told.tensor_parallel, told.pipeline_parallel, told.data_parallel) == (4, 2, 3)
    assert told.expert_parallel


def test_no_row_reaches_beyond_the_limit_of_requests() -> None:
    table = answer(asked("--max-num-seqs=16", learned=learned())).cutoff
    assert isinstance(table, CutoffTable)
    assert max(each.concurrency[-1] for each in table.curves) == 16


@pytest.mark.parametrize(("version", "legacy"), [("0.9.2", True), ("0.10.0", False), (None, False)])
def test_an_old_engine_is_recommended_for_only(version: str | None, *, legacy: bool) -> None:
    question = asked(profiles=(eagle3(acceptance=STATED), NONE), engine_version=version)
    assert question.deployment.legacy_engine is legacy
    table = answer(question).cutoff
    assert isinstance(table, CutoffTable)
    assert any("engines up to 0.9" in each for each in table.reasons) is legacy


def test_the_version_is_part_of_what_learning_holds_for() -> None:
    assert "vLLM 0.24.0" in BASIS
    assert "unknown version" in asked(engine_version=None).basis


def test_a_head_takes_no_more_memory_than_it_brings() -> None:
    """Without an output matrix of its own a pass reads the target's, which lies there already."""
    profile = Profile(name="eagle", method=Method.EAGLE, num_speculative_tokens=3)
    question = asked(profiles=(profile, NONE))
    first, _ = question.arms
    assert first.draft is not None
    assert first.draft_added_params is not None
    matrix = first.draft.hidden * first.draft.vocabulary
    assert first.draft.params - first.draft_added_params == pytest.approx(matrix)
    room = room_of(question.deployment, first, question.workload)
    assert isinstance(room, Room)
    assert room.draft_bytes == pytest.approx(2 * first.draft_added_params)


def test_a_draft_that_cannot_be_told_is_noted_and_the_others_are_answered() -> None:
    lost = Profile(
        name="draft", method=Method.DRAFT_MODEL, model="org/nobody", num_speculative_tokens=3
    )
    profiles = (lost, eagle3(acceptance=STATED), NONE)
    question = asked(profiles=profiles, learned=learned())
    assert question.arms[0].draft is None
    assert any("org/nobody" in each for each in question.notes)
    table = answer(question).cutoff
    assert isinstance(table, CutoffTable)
    assert [each.profile for each in table.curves] == ["eagle3", "none"]
    assert any("draft: the shape of its draft is not known" in each for each in table.reasons)


def test_notes_of_two_profiles_with_one_head_stand_once() -> None:
    profiles = (
        eagle3(model="org/own-head"),
        eagle3(name="less", num_speculative_tokens=1, model="org/own-head"),
        NONE,
    )
    notes = asked(profiles=profiles).notes
    assert len([each for each in notes if "org/own-head" in each]) == 1


@pytest.mark.parametrize("missing", ["accelerator", "model"])
def test_a_missing_fact_is_the_answer(missing: str) -> None:
    problem = Problem(reason=Reason.MODEL_UNKNOWN, message="nobody knows")
    assert ask((NONE,), inputs(**{missing: problem})) is problem  # type: ignore[arg-type]


def test_a_model_that_does_not_fit_cannot_be_predicted() -> None:
    found = answer(asked(serves="meta-llama/Llama-3.1-70B-Instruct", gpu="l4"))
    assert isinstance(found.cutoff, Problem)
    assert found.cutoff.reason is Reason.CANNOT_PREDICT
    assert "no room" in found.cutoff.message
    assert "more GPUs" in found.cutoff.message


def test_the_prediction_tells_lengths_and_scales_also_of_what_was_not_seen() -> None:
    told = answer(asked(learned=learned())).prediction
    assert told is not None
    assert told.basis == BASIS
    assert told.lengths == pytest.approx({"eagle3": 2.2, "none": 1.0})
    assert told.scales == pytest.approx({"eagle3": 0.1, "none": 0.1})
    assert all(math.isfinite(each) for each in told.scales.values())


@pytest.mark.parametrize("flag", ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"])
def test_slices_do_not_work_together(flag: str) -> None:
    found = ask((eagle3(), NONE), inputs(flag, gpu="h100-sxm-mig-3g.40gb"))
    assert isinstance(found, Problem)
    assert found.reason is Reason.ACCELERATOR_SHARED
    assert "2 GPUs" in found.message
    assert "h100-sxm-mig-3g.40gb" in found.message
    assert "whole GPUs" in found.message


def test_one_slice_is_a_small_gpu_of_its_own() -> None:
    whole, part = asked(learned=learned()), asked(gpu="h100-sxm-mig-3g.40gb", learned=learned())
    assert part.basis != whole.basis
    assert part.deployment.accelerator.bandwidth_gb_s == pytest.approx(
        whole.deployment.accelerator.bandwidth_gb_s / 2
    )


def test_mtp_needs_a_layer_that_the_model_has() -> None:
    mtp = Profile(name="mtp", method=Method.MTP, num_speculative_tokens=1)
    model = inputs(serves=LLAMA).model
    assert not isinstance(model, Problem)
    assert isinstance(model.draft(Method.MTP, None), NoDraft)
    assert asked(profiles=(mtp, NONE)).arms[0].draft is None


SCHEDULE = ((1, 16, 3), (17, 1024, 0))
ROWS = (Tier(first=1, last=16, lookahead=3), Tier(first=17, last=1024, lookahead=0))


@pytest.mark.parametrize(
    ("version", "flags", "rows"),
    [
        ("0.24.0", (), ROWS),
        (None, (), ROWS),
        ("0.23.0", (), ()),
        ("0.27.1", ("--data-parallel-size", "2"), ()),
    ],
)
def test_a_schedule_counts_where_the_engine_follows_it(
    version: str | None, flags: tuple[str, ...], rows: tuple[Tier, ...]
) -> None:
    (first, _) = asked(
        *flags, profiles=(eagle3(schedule=SCHEDULE), NONE), engine_version=version
    ).arms
    assert first.schedule == rows


def test_no_length_is_told_of_a_profile_whose_lookahead_changes_with_the_load() -> None:
    scheduled = answer(asked(profiles=(eagle3(schedule=SCHEDULE, acceptance=STATED), NONE)))
    always = answer(asked(profiles=(eagle3(acceptance=STATED), NONE)))
    assert scheduled.prediction is not None
    assert always.prediction is not None
    assert scheduled.prediction.scheduled == ("eagle3",)
    assert "eagle3" not in scheduled.prediction.lengths
    assert always.prediction.scheduled == ()
    assert "eagle3" in always.prediction.lengths


def test_questions_that_are_alike_are_answered_once() -> None:
    """A thousand servings of one model on one GPU start with one table."""
    one, other = asked(), asked()
    first, second = answer(one).cutoff, answer(replace(other, basis="another")).cutoff
    longer = replace(one, workload=replace(one.workload, context_tokens=4000.0))
    assert first == second
    assert answer(longer).cutoff != first
    assert goodput._table.cache_info().maxsize is not None
    before = goodput._table.cache_info().misses
    answer(asked())
    assert goodput._table.cache_info().misses == before
