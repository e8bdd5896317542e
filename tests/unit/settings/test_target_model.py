"""The model that a target serves: whose word counts, and what a shape alone tells."""

from typing import Any

import pytest

from ridgeline.api.spec import Model
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.served_model import ServedModel
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.settings.goodput import answer, ask
from ridgeline.settings.model_drafts import NoDraft
from ridgeline.settings.model_heads import Draft
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict
from tests.unit.settings.asked import serving
from tests.unit.settings.questions import LLAMA, NONE, inputs

SHAPE: dict[str, Any] = {
    "layers": 32,
    "hiddenSize": 4096,
    "vocabularySize": 128256,
    "parametersMillions": 8030,
    "kvElementsPerToken": 65536,
}
EXPERTS = {"count": 8, "active": 2, "layers": 32, "parametersMillions": 6000}


def told(**fields: Any) -> Model:
    model = serving(model=fields).model
    assert model is not None
    return model


def found(model: Model | None, name: str = "") -> TargetModel:
    target = target_model(model, ServedModel(name=name))
    assert isinstance(target, TargetModel), target
    return target


def unknown(model: Model | None, name: str = "") -> str:
    problem = target_model(model, ServedModel(name=name))
    assert isinstance(problem, Problem)
    assert problem.reason is Reason.MODEL_UNKNOWN
    return problem.message


def test_the_command_line_names_the_model() -> None:
    target = found(None, LLAMA)
    assert target.shape.name == "meta-llama/Llama-3.1-8B"
    assert target.found_by == "the container's arguments"
    assert target.facts is not None


def test_a_person_s_name_wins_over_the_command_line() -> None:
    target = found(told(name="Qwen/Qwen3-8B"), LLAMA)
    assert target.shape == found(None, "Qwen/Qwen3-8B").shape
    assert target.found_by == "spec.model.name"


def test_a_precision_alone_leaves_the_name_to_the_command_line() -> None:
    target = found(told(precision="FP8"), LLAMA)
    assert target.shape == found(None, LLAMA).shape
    assert target.found_by == "the container's arguments"


def test_a_shape_wins_over_every_name() -> None:
    target = found(told(shape={**SHAPE, "layers": 30}, name="Qwen/Qwen3-8B"), LLAMA)
    assert target.shape.layers == 30
    assert target.shape.name == "Qwen/Qwen3-8B"
    assert target.found_by == "spec.model.shape"
    assert target.facts is None
    assert target.shape.checked


def test_an_unknown_model_is_told_with_names_like_it_and_ways_out() -> None:
    message = unknown(None, "org/Llama-3.1-9B")
    assert "'org/Llama-3.1-9B'" in message
    assert "the container's arguments" in message
    names = message.partition("names that look like it: ")[2].partition(")")[0]
    assert "meta-llama/Llama-3.1-8B" in names.split(", ")
    assert "spec.model.name" in message
    assert "spec.model.shape" in message
    assert "Ridge and Fixed" in message
    assert "spec.model.name names" in unknown(told(name="org/Llama-3.1-9B"), LLAMA)


def test_a_model_that_nothing_looks_like_is_told_without_names() -> None:
    assert "look like" not in unknown(None, "zzz/qqqqqq")


def test_no_name_at_all_is_told_with_ways_out() -> None:
    message = unknown(None)
    assert "name no model" in message
    assert "spec.model.name" in message
    assert "spec.model.shape" in message


def test_a_shape_with_experts_reads_them_in_part() -> None:
    shape = found(told(shape={**SHAPE, "experts": EXPERTS})).shape
    assert shape.experts is not None
    assert (shape.experts.count, shape.experts.active, shape.experts.layers) == (8, 2, 32)
    assert shape.experts.params == 6e9
    assert shape.active_params == pytest.approx(8.03e9 - 6e9 + 6e9 / 4)


def test_a_shape_with_a_window_keeps_it() -> None:
    window = {"windowedKvElementsPerToken": 32768, "windowTokens": 1024}
    shape = found(told(shape={**SHAPE, **window})).shape
    assert shape.kv_elements(2048) == 65536 * 2048 + 32768 * 1024


@pytest.mark.parametrize(("method", "features"), [(Method.EAGLE, 2), (Method.EAGLE3, 3)])
def test_a_head_from_a_shape_alone_is_one_of_its_layers(method: Method, features: int) -> None:
    draft = found(told(shape=SHAPE)).draft(method, "org/head")
    assert isinstance(draft, Draft)
    layer = (8.03e9 - 2 * 4096 * 128256) / 32
    own = method is Method.EAGLE3
    output = 4096 * (32_000 if own else 128_256)
    assert draft.shape.layers == 1
    assert draft.shape.params == pytest.approx(features * 4096**2 + layer + output)
    assert draft.added_params == pytest.approx(draft.shape.params - (0 if own else output))
    assert draft.shape.kv_elements_per_token == 65536 / 32
    assert not draft.shape.checked
    (note,) = draft.notes
    assert "org/head" in note


def test_a_head_of_a_shape_is_like_the_one_of_its_model() -> None:
    from_shape = found(told(shape=SHAPE)).draft(Method.EAGLE3, None)
    from_catalogue = found(None, LLAMA).draft(Method.EAGLE3, None)
    assert isinstance(from_shape, Draft)
    assert isinstance(from_catalogue, Draft)
    assert from_shape.shape.params == pytest.approx(from_catalogue.shape.params, rel=0.15)


def test_beside_a_shape_a_draft_model_is_found_in_the_catalogue() -> None:
    draft = found(told(shape=SHAPE)).draft(Method.DRAFT_MODEL, "meta-llama/Llama-3.2-1B-Instruct")
    assert isinstance(draft, Draft)
    assert draft.shape.layers == 16
    assert draft.added_params == draft.shape.params


@pytest.mark.parametrize(
    ("method", "name"), [(Method.DRAFT_MODEL, "org/nobody"), (Method.MTP, None)]
)
def test_what_a_shape_cannot_tell_is_said(method: Method, name: str | None) -> None:
    draft = found(told(shape=SHAPE)).draft(method, name)
    assert isinstance(draft, NoDraft)
    assert method.value in draft.message
    assert "name a draft model" in draft.message


@pytest.mark.parametrize("method", [Method.NGRAM, Method.SUFFIX, Method.DISABLED])
def test_what_drafts_without_a_model_needs_none(method: Method) -> None:
    assert found(told(shape=SHAPE)).draft(method, None) is None


def test_a_shape_with_experts_is_recommended_for_only() -> None:
    profile = Profile(
        name="ngram", method=Method.NGRAM, num_speculative_tokens=3, acceptance=(0.9, 0.9, 0.9)
    )
    target = found(told(shape={**SHAPE, "experts": EXPERTS}))
    question = ask((profile, NONE), inputs(model=target))
    assert not isinstance(question, Problem)
    table = answer(question).cutoff
    assert isinstance(table, CutoffTable)
    assert table.verdict is Verdict.UNDECIDED
    assert any("mixture-of-experts" in each for each in table.reasons)
