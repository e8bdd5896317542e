"""Models by the names that people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.settings.models import find_model, load_models, nearest

LLAMA = "meta-llama/Llama-3.1-8B"

SAME = [
    ("meta-llama/Llama-3.1-8B", LLAMA),
    ("meta-llama/Llama-3.1-8B-Instruct", LLAMA),
    ("meta-llama/Meta-Llama-3.1-8B-Instruct", LLAMA),
    ("META-LLAMA/LLAMA-3.1-8B-INSTRUCT", LLAMA),
    ("llama3.1-8b", LLAMA),
    ("llama_3.1_8b_instruct", LLAMA),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", LLAMA),
    ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", LLAMA),
    ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", LLAMA),
    ("/models/Llama-3.1-8B-Instruct/", LLAMA),
    ("s3://bucket/models/Llama-3.1-8B-Instruct-FP8-KV", LLAMA),
    ("/hub/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f2", LLAMA),
    ("/hub/models--meta-llama--Llama-3.1-8B-Instruct", LLAMA),
    ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "meta-llama/Llama-3.1-70B"),
    ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
    ("meta-llama/Llama-2-7b-chat-hf", "meta-llama/Llama-2-7b"),
    ("TheBloke/Llama-2-13B-chat-GPTQ", "meta-llama/Llama-2-13b"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-7B"),
    ("Qwen/Qwen3-32B-FP8-Static-PerTensor", "Qwen/Qwen3-32B"),
    ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-30B-A3B"),
    ("google/gemma-3-27b-it", "google/gemma-3-27b"),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "meta-llama/Llama-3.3-70B-Instruct"),
    ("microsoft/phi-4", "microsoft/phi-4"),
    ("LLaMA3.1-Instruct 8B", LLAMA),
    ("LLaMA2-Chat 70B", "meta-llama/Llama-2-70b"),
    ("Vicuna 13B", "meta-llama/Llama-2-13b"),
    ("Mixtral-8x7B-Instruct", "mistralai/Mixtral-8x7B-v0.1"),
]

UNKNOWN = [
    *("", "/", "//", "-", "instruct", "meta-llama/", "base"),
    "acme/Llama-3.1-8B-Instruct-finance",
    "acme/Llama-3.1-8B-Instruct-abliterated",
    "acme/Llama-3.1-8B-v2",
    "acme/my-model",
    "/mnt/models",
    "meta-llama/Llama-3.1-9B",
    "meta-llama/Llama-3.1",
    "meta-llama/Llama-3-1-8B",
    "mistralai/Mistral-7B",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
]


@pytest.mark.parametrize(("written", "name"), SAME)
def test_ways_to_write_a_name(written: str, name: str) -> None:
    found = find_model(written)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("written", UNKNOWN)
def test_what_is_not_known_is_not_guessed(written: str) -> None:
    assert find_model(written) is None


@pytest.mark.parametrize("name", [each for entry in load_models().entries for each in entry.names])
def test_every_name_of_the_catalogue_finds_its_row_and_no_fine_tune_of_it(name: str) -> None:
    entry = load_models().find(name)
    assert entry is not None
    assert name in entry.names
    for written in (f"other/{name.rpartition('/')[2]}-AWQ", name.upper(), f"/data/{name}/"):
        assert load_models().find(written) is entry
    assert find_model(f"{name}-medical") is None


def test_names_that_look_alike_are_offered() -> None:
    assert nearest("meta-llama/Llama-3.1-8B-finance")[0] == LLAMA
    assert LLAMA in nearest("llama-3.1-8")
    assert nearest("xyzzy") == ()
    assert len(nearest("Qwen3-8", count=2)) <= 2


@given(st.text())
def test_any_text_gives_an_answer(name: str) -> None:
    found = find_model(name)
    assert found is None or found.params > 0
    assert len(nearest(name)) <= 3
