"""The page about cut-offs says what the code does."""

import re
from pathlib import Path

import pytest

from ridgeline.costmodel.ridge import RIDGE_FRACTION, ridge_table, ridge_tokens
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.profiles import NONE, eagle, gpu

PAGE = (Path(__file__).parents[3] / "docs" / "concepts" / "cutoffs.md").read_text(encoding="utf-8")
H100 = gpu("h100-sxm")


@pytest.mark.parametrize(("users", "lookahead"), [(32, 5), (20, 5), (1, 5)])
def test_the_published_cases(users: int, lookahead: int) -> None:
    people = "user" if users == 1 else "users"
    found = re.search(
        rf"^\| {users} {people}, K={lookahead} \| (\d+) \| (.*) \|$", PAGE, re.MULTILINE
    )
    assert found is not None
    tokens, told = int(found[1]), found[2]
    table = ridge_table([eagle(lookahead), NONE], H100, precision=Precision.BF16, tensor_parallel=1)
    off = table.rows[table.row_at(users)].profile == "none"
    assert tokens == users * (lookahead + 1)
    assert ("off" in told) == off


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("= {}, quoted as 0.41", f"{RIDGE_FRACTION:.4f}"),
        ("{} tokens per step |", f"{H100.knee_tokens(Precision.BF16):.0f}"),
        ("on H100 the knee stays at {}", f"{H100.knee_tokens(Precision.FP8):.0f}"),
        ("{}\nfor W8A16", f"{H100.knee_tokens(Precision.W8A16):.0f}"),
        ("{} for W4A16", f"{H100.knee_tokens(Precision.W4A16):.0f}"),
        ("a knee of {}", f"{gpu('h200-sxm').knee_tokens(Precision.BF16):.0f}"),
        ("| 1.73 | 1.68 | 1.47 | 1.21 | {} |", f"{ridge_tokens(H100, Precision.BF16) / 4:.0f}"),
    ],
)
def test_the_numbers(sentence: str, number: str) -> None:
    assert sentence.format(number) in PAGE
