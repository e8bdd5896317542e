"""The reference page of accelerators, and the tool that makes it."""

from pathlib import Path

import pytest

from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.document import main, page
from ridgeline.settings.presets import load_presets

REPOSITORY = Path(__file__).parents[3]


def test_every_gpu_and_every_preset_has_its_rows() -> None:
    lines = page().splitlines()
    for name in load_catalogue().names:
        assert sum(line.startswith(f"| `{name}` |") for line in lines) == 2
    for name in load_presets():
        assert sum(line.startswith(f"| `{name}` |") for line in lines) == 1


def test_every_label_form_stands_there() -> None:
    text = page()
    for entry in load_catalogue().entries:
        for form in entry.labels.all():
            assert f"`{form}`" in text


def test_the_tables_are_whole() -> None:
    columns = [line.count("|") for line in page().splitlines() if line.startswith("|")]
    assert set(columns) == {16, 8}


def test_unchecked_rows_say_no() -> None:
    row = next(line for line in page().splitlines() if line.startswith("| `rtx-4090` | 24"))
    assert row.endswith("| from memory | 2026-11-29 | no |")


def test_check_tells_a_changed_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "accelerators.md"
    assert main(["--check", str(file)]) == 1
    assert main([str(file)]) == 0
    assert main(["--check", str(file)]) == 0
    file.write_text(file.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", str(file)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert "by hand" in file.read_text(encoding="utf-8"), "--check writes nothing"
    assert main([]) == 2


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert main(["--check", str(REPOSITORY / "docs" / "reference" / "accelerators.md")]) == 0
