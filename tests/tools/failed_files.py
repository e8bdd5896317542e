"""Prints the test files in which a test of the last run failed, one a line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def failed_files(cache: Path = LAST_FAILED) -> list[str]:
    """The files of the tests that pytest's cache names as failed, in order, each once.

    Raises:
        FileNotFoundError: no run has left a failed test.
    """
    return sorted({name.partition("::")[0] for name in json.loads(cache.read_text())})


def main() -> int:
    """Print them; without any, fail: a run that broke otherwise is not to pass for a good one."""
    files = failed_files() if LAST_FAILED.exists() else []
    print("\n".join(files))
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main())
