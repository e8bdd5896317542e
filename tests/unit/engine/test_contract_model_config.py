"""What a config.json tells the checks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.check_model_config import checked_model
from ridgeline.engine.check_subject import CheckedModel
from tests.unit.engine.contracts import eagle, found

LLAMA = {"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096}
SPECULATORS = {
    "speculators_model_type": "eagle3",
    "speculators_config": {"proposal_methods": [{"speculative_tokens": 3}, {}]},
    "transformer_layer_config": LLAMA,
    "draft_vocab_size": 32000,
}


def test_a_dense_model() -> None:
    assert checked_model(LLAMA, "org/llama") == CheckedModel(
        name="org/llama", vocabulary=128256, hidden=4096, model_type="llama"
    )


def test_a_model_for_several_media_is_read_by_its_text() -> None:
    got = checked_model({"model_type": "gemma3", "text_config": {**LLAMA, "hidden_size": 2560}}, "")
    assert (got.model_type, got.hidden, got.vocabulary) == ("llama", 2560, 128256)


@pytest.mark.parametrize(
    "key",
    ["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers"],
)
@pytest.mark.parametrize("layers", [0, 2])
def test_mtp_layers(key: str, layers: int) -> None:
    assert checked_model({**LLAMA, key: layers}, "").mtp_layers == layers
    assert checked_model(LLAMA, "").mtp_layers is None


def test_a_head_of_the_speculators_library() -> None:
    got = checked_model(SPECULATORS, "org/head")
    assert (got.speculators, got.trained_lookahead, got.hidden) == (True, 3, 4096)
    assert got.vocabulary == 128256  # the head's own draft vocabulary is mapped to it


def test_a_head_that_names_its_targets_width() -> None:
    assert checked_model({**LLAMA, "target_hidden_size": 8192}, "").hidden == 8192


def test_two_files_that_do_not_go_together() -> None:
    target = checked_model(LLAMA, "org/target")
    head = checked_model({**LLAMA, "vocab_size": 32000, "hidden_size": 2560}, "org/head")
    assert {"Vocabulary", "HiddenSize"} <= set(found(eagle(), target=target, draft=head))


@pytest.mark.parametrize("value", [None, "4096", 4096.0, True, -1, 0, [1], {}])
def test_a_value_of_another_kind_is_not_told(value: object) -> None:
    got = checked_model({"vocab_size": value, "hidden_size": value, "model_type": 3}, "")
    assert (got.vocabulary, got.hidden, got.model_type) == (None, None, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(config=st.dictionaries(st.sampled_from([*LLAMA, *SPECULATORS, "text_config"]), JSON))
def test_no_file_makes_it_fail(config: dict[str, Any]) -> None:
    got = checked_model(config, "")
    for value in (got.vocabulary, got.hidden, got.trained_lookahead):
        assert value is None or value > 0
