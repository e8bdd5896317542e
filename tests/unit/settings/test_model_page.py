"""The reference page of models, and the tool that makes it."""

from pathlib import Path

import pytest

from ridgeline.settings.model_document import main, page
from ridgeline.settings.models import load_models

REPOSITORY = Path(__file__).parents[3]


def test_every_model_and_every_head_has_its_rows_with_every_name() -> None:
    lines = page().splitlines()
    for entry in load_models().entries:
        own = [line for line in lines if line.startswith(f"| `{entry.facts.name}`")]
        assert len(own) == 2, entry.facts.name
        assert all(f"`{name}`" in own[0] for name in entry.names)
    for head in load_models().heads:
        assert sum(line.startswith(f"| `{head.name}` |") for line in lines) == 1


def test_the_tables_are_whole() -> None:
    columns = {line.count("|") for line in page().splitlines() if line.startswith("|")}
    assert columns == {11, 12, 10}


def test_figures_are_those_of_the_shape() -> None:
    lines = page().splitlines()
    row = next(line for line in lines if line.startswith("| `meta-llama/Llama-3.1-8B`"))
    # 2 · 8 KV heads · 128 · 32 layers · 2 bytes = 128 KiB
    assert "| 8.03 | 8.03 | – | 128 | – |" in row
    row = next(line for line in lines if line.startswith("| `google/gemma-3-1b`"))
    assert "| 4 | 22 up to 512 |" in row


def test_unchecked_rows_say_no() -> None:
    for entry in load_models().entries:
        row = next(line for line in page().splitlines() if f"| `{entry.facts.name}`" in line)
        assert row.endswith("| yes |" if entry.facts.checked else "| no |")


def test_check_tells_a_changed_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "models.md"
    assert main(["--check", str(file)]) == 1
    assert main([str(file)]) == 0
    assert main(["--check", str(file)]) == 0
    file.write_text("by hand\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", str(file)]) == 1
    assert "python -m ridgeline.settings.model_document" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "by hand\n", "--check writes nothing"


def test_wrong_arguments_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["a", "b"]) == 2
    assert "usage: python -m ridgeline.settings.model_document" in capsys.readouterr().err


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert main(["--check", str(REPOSITORY / "docs" / "reference" / "models.md")]) == 0
