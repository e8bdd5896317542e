"""What drafts for a target: heads, draft models and the target's own layer."""

import pytest

from ridgeline.settings.model_drafts import NoDraft, draft_of, vocabulary_misfit
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.model_heads import Draft, Head, typical_head
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method

HEADS = {each.name: each for each in load_models().heads}
TARGETS = [each.facts for each in load_models().entries]


def target(name: str) -> ModelFacts:
    entry = load_models().find(name)
    assert entry is not None
    return entry.facts


def drafts(method: Method, name: str | None, of: str) -> Draft:
    found = draft_of(method, name, target(of))
    assert isinstance(found, Draft), found
    return found


def refusal(method: Method, name: str | None, of: str) -> str:
    found = draft_of(method, name, target(of))
    assert isinstance(found, NoDraft)
    return found.message


@pytest.mark.parametrize(
    "head", [each for each in HEADS.values() if each.published_billions], ids=lambda h: h.name
)
def test_the_count_from_the_shape_is_the_published_one(head: Head) -> None:
    """Published with two digits (vLLM's docs), EAGLE-3's as a file of 811 MiB at 16 bits."""
    assert head.published_billions is not None
    assert head.added_params / 1e9 == pytest.approx(head.published_billions, rel=0.02)


class TestHeads:
    def test_an_eagle_pass_reads_the_targets_output_matrix_too(self) -> None:
        found = drafts(Method.EAGLE, "yuhuili/EAGLE-LLaMA3-Instruct-8B", "Meta-Llama-3-8B")
        assert found.shape.params - found.added_params == 128256 * 4096
        assert found.shape.kv_elements_per_token == 2 * 8 * 128
        assert found.shape.checked
        assert found.notes == ()

    def test_an_eagle3_pass_reads_its_own_smaller_one(self) -> None:
        found = drafts(Method.EAGLE3, "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "Llama-3.1-8B")
        assert found.shape.params == found.added_params
        assert found.shape.vocabulary == 32000
        # fc, attention over two hidden states side by side, MLP, output matrix
        assert found.added_params == (
            3 * 4096**2 + 2 * 4096 * (4096 + 2 * 1024) + 4096**2 + 3 * 4096 * 14336 + 4096 * 32000
        )

    def test_names_are_found_whatever_case_and_organisation(self) -> None:
        found = drafts(Method.EAGLE, "/heads/eagle-llama3-instruct-8b", "Meta-Llama-3-8B")
        assert found.shape.name == "yuhuili/EAGLE-LLaMA3-Instruct-8B"

    def test_a_head_of_another_size_does_not_fit(self) -> None:
        message = refusal(Method.EAGLE, "yuhuili/EAGLE-LLaMA3-Instruct-70B", "Meta-Llama-3-8B")
        assert "8192 against 4096" in message
        assert "use a head of that target" in message

    def test_a_head_without_output_matrix_needs_the_targets_vocabulary(self) -> None:
        message = refusal(Method.EAGLE, "yuhuili/EAGLE-llama2-chat-7B", "Llama-3.1-8B")
        assert "vocabulary 32000 against 128256" in message

    def test_a_head_of_the_right_size_for_another_model_is_told(self) -> None:
        found = drafts(Method.EAGLE, "yuhuili/EAGLE-LLaMA3-Instruct-8B", "Llama-3.1-8B")
        assert "not for meta-llama/Llama-3.1-8B" in found.notes[0]

    def test_a_name_made_for_another_method_is_not_that_head(self) -> None:
        found = drafts(Method.EAGLE3, "yuhuili/EAGLE-LLaMA3-Instruct-8B", "Meta-Llama-3-8B")
        assert not found.shape.checked

    def test_an_unknown_head_is_taken_for_a_known_one_of_the_same_target(self) -> None:
        found = drafts(Method.EAGLE3, "org/new-head", "Qwen/Qwen3-235B-A22B")
        assert found.shape.params == HEADS["SpecForge/qwen3-235B-A22B-eagle3"].added_params
        assert found.shape.name == "org/new-head"
        assert not found.shape.checked
        assert "taken for SpecForge/qwen3-235B-A22B-eagle3" in found.notes[0]

    @pytest.mark.parametrize("name", ["org/new-head", None])
    def test_else_it_is_derived_and_says_so(self, name: str | None) -> None:
        found = drafts(Method.EAGLE3, name, "Qwen/Qwen3-8B")
        assert not found.shape.checked
        assert found.shape.source == "derived from the shape of Qwen/Qwen3-8B"
        assert "not in the catalogue" in found.notes[0]

    @pytest.mark.parametrize(
        ("name", "of"),
        [
            ("yuhuili/EAGLE-LLaMA3-Instruct-8B", "Meta-Llama-3-8B"),
            ("yuhuili/EAGLE-llama2-chat-7B", "Llama-2-7b"),
            ("yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "Llama-3.1-8B"),
            ("SpecForge/qwen3-30B-eagle3", "Qwen3-30B-A3B"),
        ],
    )
    def test_a_derived_head_is_what_was_published(self, name: str, of: str) -> None:
        known = HEADS[name]
        derived = typical_head(target(of), known.method, "derived")
        assert derived.added_params == known.added_params
        assert derived.draft().shape.params == known.draft().shape.params

    def test_a_derived_head_has_keys_and_values_where_its_target_has_latents(self) -> None:
        derived = drafts(Method.EAGLE3, "org/new-head", "deepseek-ai/DeepSeek-V2")
        assert derived.shape.kv_elements_per_token == 2 * 8 * 128

    @pytest.mark.parametrize("of", TARGETS, ids=lambda facts: facts.name)
    @pytest.mark.parametrize("method", [Method.EAGLE, Method.EAGLE3])
    def test_every_target_has_one_much_smaller_than_itself(
        self, of: ModelFacts, method: Method
    ) -> None:
        found = draft_of(method, None, of)
        assert isinstance(found, Draft)
        assert 0 < found.added_params <= found.shape.params
        dense = of.params - of.vocabulary * of.hidden * (1 if of.tied else 2)
        assert found.added_params - found.shape.vocabulary * found.shape.hidden < dense


class TestDraftModels:
    def test_a_smaller_model_of_the_family(self) -> None:
        found = drafts(Method.DRAFT_MODEL, "Qwen/Qwen3-0.6B-FP8", "Qwen/Qwen3-32B")
        assert found.shape.name == "Qwen/Qwen3-0.6B"
        assert found.added_params == found.shape.params

    def test_another_vocabulary_is_refused(self) -> None:
        message = refusal(Method.DRAFT_MODEL, "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-72B")
        assert "151936 against the target's 152064" in message
        assert "use a draft model with the target's vocabulary" in message

    def test_an_unknown_one_is_refused_with_names_like_it(self) -> None:
        message = refusal(Method.DRAFT_MODEL, "org/Qwen3-0.6B-tuned", "Qwen/Qwen3-32B")
        assert "org/Qwen3-0.6B-tuned is not in the catalogue" in message
        assert "Qwen/Qwen3-0.6B" in message.partition("look like it")[2]
        assert "look like" not in refusal(Method.DRAFT_MODEL, "xyzzy", "Qwen/Qwen3-32B")

    def test_a_profile_without_one_is_refused(self) -> None:
        assert "set its model" in refusal(Method.DRAFT_MODEL, None, "Qwen/Qwen3-32B")

    def test_vocabularies_of_one_size_fit(self) -> None:
        assert vocabulary_misfit(32000, 32000) is None


class TestOwnLayers:
    def test_a_pass_touches_one_layer_and_its_active_experts(self) -> None:
        found = drafts(Method.MTP, None, "deepseek-ai/DeepSeek-V3")
        experts = found.shape.experts
        assert experts is not None
        assert (experts.layers, experts.count, experts.active) == (1, 256, 8)
        assert found.shape.kv_elements_per_token == 576
        # 11.5 billion of its own, and output matrix and embedding shared (DeepSeek-V3's README).
        assert found.added_params / 1e9 == pytest.approx(11.5, rel=0.02)
        assert found.shape.params - found.added_params == 129280 * 7168

    def test_a_dense_model_has_a_dense_layer(self) -> None:
        found = drafts(Method.MTP, None, "XiaomiMiMo/MiMo-7B-Base")
        facts = target("XiaomiMiMo/MiMo-7B-Base")
        assert found.shape.experts is None
        assert found.added_params == (facts.attention_params + 3 * 4096 * 11008 + 2 * 4096**2)

    def test_a_model_without_such_layers_has_none(self) -> None:
        assert "comes without a layer" in refusal(Method.MTP, None, "meta-llama/Llama-3.1-8B")


@pytest.mark.parametrize("method", [Method.NGRAM, Method.SUFFIX, Method.DISABLED])
def test_some_methods_draft_without_a_model(method: Method) -> None:
    assert draft_of(method, None, target("meta-llama/Llama-3.1-8B")) is None
