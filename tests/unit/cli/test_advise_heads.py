"""`ridgeline advise` and a tensor-parallel size that vLLM does not start with."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_advise_command import CONFIG, document, page

QWEN = ("--model", "Qwen/Qwen3-32B", "--accelerator", "h200-sxm", "--method", "NGram:3")
REFUSED = "vLLM refuses --tensor-parallel-size 7: Qwen/Qwen3-32B has 64 heads of attention"


def test_a_size_that_does_not_divide_the_heads_is_told() -> None:
    assert REFUSED in document(*QWEN, "--tp", "7")["notes"][0]
    assert page(*QWEN, "--tp", "7").splitlines()[1].startswith(f"No: {REFUSED}")
    told = document(*QWEN, "--tp", "7")
    assert (told["answer"], told["headline"][: len(REFUSED) + 4]) == ("No", f"No: {REFUSED}")


def test_it_stands_above_the_serving_that_would_not_start() -> None:
    assert f"# {REFUSED}" in page(*QWEN, "--tp", "7", "-o", "yaml")


@pytest.mark.parametrize("size", ["1", "2", "8"])
def test_a_size_that_divides_them_is_not_spoken_of(size: str) -> None:
    assert "vLLM refuses" not in page(*QWEN, "--tp", size, "-o", "yaml")
    assert not any("vLLM refuses" in each for each in document(*QWEN, "--tp", size)["notes"])


def test_the_heads_of_a_config_are_read_too(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**CONFIG, "num_attention_heads": 24}))
    asked = ("--model", str(file), "--accelerator", "h200-sxm", "--method", "NGram:3")
    (note,) = (each for each in document(*asked, "--tp", "16")["notes"] if "refuses" in each)
    assert "24 heads" in note
