"""CI's second look takes whole files, because the tests of some tell one story."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tools.failed_files import failed_files


def test_a_file_is_named_once_however_many_of_its_tests_failed(tmp_path: Path) -> None:
    cache = tmp_path / "lastfailed"
    failed = ("tests/b.py::test_one[x::y]", "tests/a.py", "tests/b.py::test_two")
    cache.write_text(json.dumps(dict.fromkeys(failed, True)))
    assert failed_files(cache) == ["tests/a.py", "tests/b.py"]
