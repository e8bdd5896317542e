"""The reference page of engine versions."""

from pathlib import Path

import pytest

from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.engine_contract_document import main, page

REPOSITORY = Path(__file__).parents[3]


def row(first: str) -> str:
    return next(line for line in page().splitlines() if line.startswith(f"| {first} |"))


def test_features_of_releases_that_are_alike_stand_in_one_row() -> None:
    cells = [each.strip() for each in row("0.11.1 … 0.14.0").split("|")[2:-1]]
    assert cells == [
        *("yes", "yes", "yes", "no", "yes", "yes", "yes", "no", "–"),
        *("ignored", "ignored", "no speculation", "128", "never"),
    ]
    assert "| alone |" in row("0.24.0 … 0.25.0")
    assert "| one engine |" in row("0.26.0 … 0.33.0")
    assert "| 1 or the target's | works | refused | usage error | 32 |" in row("0.8.5 … 0.9.0")


def test_every_name_has_the_releases_that_know_it() -> None:
    assert row("`disable_by_batch_size`").startswith(
        "| `disable_by_batch_size` | 0.8.5 … 0.16.0 | Whole | NoEffect | from 2 |"
    )
    assert row("`num_speculative_tokens_per_batch_size`").split("|")[2] == " from 0.24.0 "
    assert row("`medusa`") == "| `medusa` | 0.8.5 … 0.32.0 |"
    assert row("`-sc`") == "| `-sc` | from 0.19.0 |"
    assert row("`vllm:prompt_tokens_recomputed_total`").endswith("| 0.16.0 … 0.19.1 |")


def test_every_trap_says_what_to_do() -> None:
    for contract in load_engine_contracts():
        for trap in contract.traps:
            assert trap.fix in row(trap.name)
    assert row("AsyncScheduling").split("|")[2:5] == [
        *(" 0.10.0 … 0.11.0 ", " Error ", " AsyncScheduling "),
    ]


def test_no_cell_breaks_its_table() -> None:
    widths: list[set[int]] = []
    before = ""
    for line in page().splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                widths.append(set())
            widths[-1].add(line.count("|"))
        before = line
    assert len(widths) == 6
    assert all(len(each) == 1 for each in widths)


def test_the_page_in_the_repository_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(REPOSITORY / "docs/reference/engine-versions.md")
    assert main(["--check", file]) == 0
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
