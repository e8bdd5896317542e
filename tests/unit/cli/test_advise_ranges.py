"""`ridgeline advise`: verdict, ranges and speed-ups tell one story."""

import re

from tests.unit.cli.test_advise_command import page

TWO = (
    *("--model", "Qwen/Qwen3-32B", "--accelerator", "h100-sxm", "--tensor-parallel", "2"),
    *("--method", "Eagle3:3", "--method", "NGram:3", "--max-num-seqs", "256"),
    *("--acceptance", "eagle3-3=0.70,0.45,0.28"),
    *("--prompt-tokens", "600", "--output-tokens", "400"),
)


def why(*ngram: str) -> list[str]:
    """Return the lines that say why a profile has no range, each unfolded."""
    told = page(*TWO, "--acceptance", f"ngram-3={','.join(ngram)}")
    below = told.split("Cut-offs, in requests")[1].split("\n\n")[0]
    return re.findall(r"^ngram-3 has no range, .*(?:\n.*)*", below, re.MULTILINE)


def test_a_profile_that_is_faster_than_none_and_has_no_range_is_explained() -> None:
    (line,) = why("0.55", "0.42", "0.33")
    assert "faster than none at B = 1, 8, 32, 64, 128" in line
    assert "the range of ngram-3 lies within the band of a border next to it" in line


def test_a_profile_that_wins_by_less_than_the_margin_is_explained_by_it() -> None:
    (line,) = why("0.05", "0", "0")
    assert line.endswith("ngram-3 wins nowhere by 3%, and has no row")


def test_a_profile_that_is_never_faster_needs_no_explanation() -> None:
    assert why("0", "0", "0") == []


def test_an_edge_beyond_what_the_engine_admits_is_no_number() -> None:
    told = page(*TWO, "--acceptance", "ngram-3=0.55,0.42,0.33", "-o", "wide")
    assert "(band 77 to beyond the 256 admitted)" in told
    assert re.search(r"eagle3-3 +77 to beyond the 256 admitted", told)
    assert "(77.5 to beyond the 256 admitted), then none" in told
    assert "4096" not in told


def test_the_release_may_be_told_as_cutoff_and_simulate_spell_it() -> None:
    assert page(*TWO, "--engine-version", "0.24.0") == page(*TWO, "--vllm", "0.24.0")
