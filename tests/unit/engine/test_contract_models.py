"""Head and draft model against the target, from what their config.json tell."""

import pytest

from ridgeline.engine.check_subject import CheckedModel
from ridgeline.engine.findings import Severity
from tests.unit.engine.contracts import draft, eagle, found, ngram

TARGET = CheckedModel(name="org/target", vocabulary=128256, hidden=4096, model_type="llama")


@pytest.mark.parametrize("config", [draft(), eagle(), eagle(method="eagle3")])
def test_another_vocabulary_stops_the_start(config: dict[str, object]) -> None:
    finding = found(config, target=TARGET, draft=CheckedModel(vocabulary=32000))["Vocabulary"]
    assert finding.severity is Severity.ERROR
    assert "32000 tokens and the target's 128256" in finding.consequence
    assert "padded" not in finding.consequence
    assert finding.value == f'"{config["model"]}"'


def test_the_same_vocabulary_is_fine() -> None:
    got = found(draft(), target=TARGET, draft=CheckedModel(vocabulary=128256, hidden=2048))
    assert not {"Vocabulary", "HiddenSize"} & set(got)


def test_a_padded_vocabulary_is_named_as_such() -> None:
    target, small = CheckedModel(vocabulary=152064), CheckedModel(vocabulary=151936)
    finding = found(draft(), target=target, draft=small)["Vocabulary"]
    assert "perhaps one tokenizer, padded differently" in finding.consequence
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("version", "offered"), [("0.24.0", False), ("0.25.0", True)])
def test_the_way_out_for_another_vocabulary(version: str, offered: bool) -> None:
    small = CheckedModel(vocabulary=32000)
    finding = found(draft(), version, target=TARGET, draft=small)["Vocabulary"]
    assert ("use_heterogeneous_vocab" in finding.fix) is offered
    mapped = found(draft(use_heterogeneous_vocab=True), version, target=TARGET, draft=small)
    assert ("Vocabulary" in mapped) is not offered


def test_a_mapped_vocabulary_is_for_draft_models_alone() -> None:
    small = CheckedModel(vocabulary=32000)
    assert "Vocabulary" not in found(
        draft(use_heterogeneous_vocab=True), target=TARGET, draft=small
    )
    assert "Vocabulary" in found(eagle(use_heterogeneous_vocab=True), target=TARGET, draft=small)


def test_a_head_of_another_width() -> None:
    finding = found(eagle(), target=TARGET, draft=CheckedModel(hidden=5120))["HiddenSize"]
    assert "hidden states of 5120 and the target has 4096" in finding.consequence
    assert "HiddenSize" not in found(draft(), target=TARGET, draft=CheckedModel(hidden=5120))


def test_what_is_not_known_is_not_judged() -> None:
    nothing = CheckedModel()
    for target, other in ((nothing, CheckedModel(vocabulary=1, hidden=1)), (TARGET, nothing)):
        got = found(eagle(), target=target, draft=other)
        assert not {"Vocabulary", "HiddenSize"} & set(got)
    assert "Vocabulary" not in found(ngram(), target=TARGET, draft=CheckedModel(vocabulary=1))


@pytest.mark.parametrize(
    ("version", "model_type", "supported"),
    [
        ("0.9.2", "llama", True),
        ("0.9.2", "qwen3", False),
        ("0.10.1", "qwen3", True),
        ("0.10.2", "gpt_oss", False),
        ("0.11.0", "gpt_oss", True),
        ("0.21.0", "mistral", False),
        ("0.22.0", "mistral", True),  # the config looks no longer
        ("0.9.2", "", True),
    ],
)
def test_eagle3_targets(version: str, model_type: str, supported: bool) -> None:
    target = CheckedModel(model_type=model_type)
    got = found(eagle(method="eagle3"), version, target=target)
    assert ("Eagle3Target" not in got) is supported
    assert "Eagle3Target" not in found(eagle(), version, target=target)


@pytest.mark.parametrize(("version", "starts"), [("0.10.0", False), ("0.10.1", True)])
def test_a_speculators_checkpoint_speculates_by_itself(version: str, starts: bool) -> None:
    target = CheckedModel(name="org/speculator", speculators=True)
    assert ("SpeculatorsCheckpoint" in found(None, version, target=target)) is starts
    assert "SpeculatorsCheckpoint" not in found(eagle(), version, target=target)
    assert "SpeculatorsCheckpoint" not in found(None, version, target=TARGET)


def test_a_speculators_head_over_several_gpus() -> None:
    head, config = CheckedModel(speculators=True), eagle(method="eagle3")
    assert "SpeculatorsHead" in found(config, flags="-tp 4", target=TARGET, draft=head)
    assert "SpeculatorsHead" not in found(config, target=TARGET, draft=head)
    assert "SpeculatorsHead" not in found(config, flags="-tp 4", target=TARGET, draft=TARGET)
