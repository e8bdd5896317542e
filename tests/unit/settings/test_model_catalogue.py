"""The rows of the models' data file: counted from the shape, and compared with the publishers'."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from ridgeline.settings.models import DATA_FILE, ModelEntry, load_models, parse_models

ROWS = {entry.facts.name: entry for entry in load_models().entries}
MIXTURES = [each for each in ROWS.values() if each.published_active_billions is not None]


def content() -> dict[str, Any]:
    file = Path(__file__).parents[3] / "operator" / "ridgeline" / "settings" / DATA_FILE
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_at_least_twenty_models_were_read_in_published_configurations() -> None:
    assert sum(each.facts.checked for each in ROWS.values()) >= 20


@pytest.mark.parametrize("entry", ROWS.values(), ids=list(ROWS))
def test_the_count_from_the_shape_is_the_published_one(entry: ModelEntry) -> None:
    assert entry.published_billions is not None
    assert entry.facts.params / 1e9 == pytest.approx(entry.published_billions, rel=0.02)
    assert entry.facts.shape().params == entry.facts.params


@pytest.mark.parametrize("entry", MIXTURES, ids=lambda each: each.facts.name)
def test_the_count_per_token_is_the_published_one_with_or_without_the_embedding(
    entry: ModelEntry,
) -> None:
    """Publishers count the embedding or not, and round to one or two digits."""
    published = entry.published_active_billions
    assert published is not None
    active = entry.facts.shape().active_params / 1e9
    without = active - entry.facts.vocabulary * entry.facts.hidden / 1e9
    off = min(abs(each - published) for each in (active, without))
    assert off / published < 0.07


def test_only_rows_from_memory_are_not_checked() -> None:
    for entry in ROWS.values():
        facts = entry.facts
        assert facts.as_of == "2026-11-29"
        assert facts.checked == (facts.source != "from memory"), facts.name


@pytest.mark.parametrize(
    ("name", "kind", "per_token", "windowed", "window"),
    [
        # 2 · KV heads · head size · layers; DeepSeek: (512 + 64) · layers.
        ("meta-llama/Llama-2-7b", "MHA", 2 * 32 * 128 * 32, 0, 0),
        ("meta-llama/Llama-3.1-8B", "GQA", 2 * 8 * 128 * 32, 0, 0),
        ("deepseek-ai/DeepSeek-V3", "MLA", 576 * 61, 0, 0),
        ("mistralai/Mistral-7B-v0.1", "GQA, sliding", 0, 2 * 8 * 128 * 32, 4096),
        ("google/gemma-3-27b", "GQA, sliding", 2 * 16 * 128 * 10, 2 * 16 * 128 * 52, 1024),
        ("openai/gpt-oss-120b", "GQA, sliding", 2 * 8 * 64 * 18, 2 * 8 * 64 * 18, 128),
        ("Qwen/Qwen3-Next-80B-A3B", "hybrid", 2 * 2 * 256 * 12, 0, 0),
        ("google/gemma-3-1b", "MQA, sliding", 2 * 256 * 4, 2 * 256 * 22, 512),
    ],
)
def test_what_a_token_leaves_in_the_cache(
    name: str, kind: str, per_token: int, windowed: int, window: int
) -> None:
    facts = ROWS[name].facts
    shape = facts.shape()
    assert facts.attention == kind
    assert shape.kv_elements_per_token == per_token
    assert (shape.windowed_kv_elements_per_token, shape.window) == (windowed, window)


def test_experts_are_those_of_the_layers_that_have_some() -> None:
    experts = ROWS["deepseek-ai/DeepSeek-V3"].facts.shape().experts
    assert experts is not None
    assert (experts.count, experts.active, experts.layers) == (256, 8, 58)
    assert experts.params == 58 * 256 * 3 * 7168 * 2048


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: rows["models"][0].update(layers=0), "layers"),
        (lambda rows: rows["models"][0].update(kvHeads=5), "cannot share 5"),
        (lambda rows: rows["models"][0].update(intermediate=0), "intermediate is 0"),
        (lambda rows: rows["models"][0].update(surprise=1), "surprise"),
        (lambda rows: rows["models"][0].update(source="hearsay"), "hearsay"),
        (lambda rows: rows["models"][0].pop("checked"), "checked"),
        (lambda rows: rows["models"][0].update(window={"layers": 99, "tokens": 8}), "99 of its"),
        (lambda rows: rows["models"][0].update(publishedBillions=0), "publishedBillions"),
        (lambda rows: rows["models"].append(rows["models"][0]), "two rows are called"),
        (lambda rows: rows["heads"][0].update(targets=["org/other"]), "org/other"),
        (lambda rows: rows["heads"][0].update(targets=[]), "no model"),
        (lambda rows: rows["heads"][0].update(method="Magic"), "method"),
    ],
)
def test_a_row_that_cannot_be_is_refused(spoil: Any, message: str) -> None:
    spoilt = content()
    spoil(spoilt)
    with pytest.raises((ValidationError, ValueError), match=message):
        parse_models(spoilt)


def test_more_kinds_of_attention_than_layers_are_refused() -> None:
    spoilt = content()
    spoilt["models"][0].update(
        window={"layers": 20, "tokens": 8},
        linear={"layers": 20, "keyHeads": 1, "valueHeads": 1, "keySize": 1, "valueSize": 1},
    )
    with pytest.raises(ValueError, match="more kinds of attention"):
        parse_models(spoilt)
