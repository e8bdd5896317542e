"""Package the chart of a release: it pulls the image that was built with it, by its digest.

    python -m tests.tools.release_chart --registry ghcr.io/OWNER --digest sha256:… --out FOLDER

The chart in the repository names a placeholder, since nobody can pull from there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHART = Path(__file__).resolve().parents[2] / "charts" / "ridgeline"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def with_image(values: str, registry: str, digest: str) -> str:
    """Return values.yaml with another image.

    Raises:
        ValueError: The digest is none, or the file has not the two lines that are to be replaced.
    """
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is no digest: sha256: and 64 hexadecimal digits")
    for old, new in (
        ("  registry: ridgeline.dev\n", f"  registry: {registry}\n"),
        ('  digest: ""\n', f"  digest: {digest}\n"),
    ):
        if values.count(old) != 1:
            raise ValueError(f"values.yaml must have the line {old.strip()!r} exactly once")
        values = values.replace(old, new)
    return values


def main(arguments: list[str] | None = None) -> int:
    """Package the chart; print where it lies."""
    parser = argparse.ArgumentParser(description=__doc__, prog="release_chart")
    parser.add_argument("--registry", required=True)
    parser.add_argument("--digest", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--helm", default="helm")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        chart = Path(scratch) / "ridgeline"
        shutil.copytree(CHART, chart)
        values = chart / "values.yaml"
        try:
            changed = with_image(values.read_text(), chosen.registry, chosen.digest)
        except ValueError as error:
            print(f"release_chart: {error}", file=sys.stderr)
            return 1
        values.write_text(changed)
        command = [chosen.helm, "package", str(chart), "--destination", str(chosen.out)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
