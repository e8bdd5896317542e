"""The reference page of reasons, and the tool that makes it."""

from pathlib import Path

import pytest

from ridgeline.terms.explanation import Explanation
from ridgeline.terms.explanations import EXPLANATIONS
from ridgeline.terms.reasons import Reason
from tests.tools.reasons import SECTIONS, main, page

REPOSITORY = Path(__file__).parents[3]


def test_every_reason_has_one_row_with_its_way_out() -> None:
    text = page()
    for reason in Reason:
        rows = [line for line in text.splitlines() if line.startswith(f"| `{reason}` |")]
        assert len(rows) == 1
        assert EXPLANATIONS[reason].way_out.replace("|", "\\|") in rows[0]
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        title for title, _ in SECTIONS
    ]


def test_a_reason_without_explanation_is_refused() -> None:
    rest = dict(EXPLANATIONS)
    del rest[Reason.COOLDOWN]
    with pytest.raises(ValueError, match="Cooldown"):
        page(rest)


def test_a_bar_does_not_break_the_table() -> None:
    odd = EXPLANATIONS | {Reason.COOLDOWN: Explanation("a|b", "c\nd")}
    assert "| `Cooldown` | a\\|b | c d |" in page(odd)


def test_check_tells_a_changed_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reasons.md"
    assert main(["--check", str(file)]) == 1
    assert main([str(file)]) == 0
    assert main(["--check", str(file)]) == 0
    file.write_text(file.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", str(file)]) == 1
    assert "-by hand" in capsys.readouterr().err
    assert "by hand" in file.read_text(encoding="utf-8"), "--check writes nothing"


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert main(["--check", str(REPOSITORY / "docs" / "reference" / "reasons.md")]) == 0
