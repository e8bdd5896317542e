"""Take the pictures of the page about simulations: a report as a real browser shows it.

python -m tests.tools.report_pictures [FOLDER]

They are written to docs/images unless a folder is named, in about a minute. They need Chromium
(Debian: apt-get install chromium) and fonts, so they are alike, not equal, on two machines.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PIL import Image
from typer.testing import CliRunner

from ridgeline.cli.main import app
from tests.tools.browser import running
from tests.tools.pictures import FOLDER

COMMAND: Final = ("simulate", "--published", "70b", "--seed", "1")
LIGHT: Final = "simulate-report.png"
DARK: Final = "simulate-report-dark.png"
WIDTH: Final = 960
COLOURS: Final = 64


def main(arguments: Sequence[str] | None = None) -> int:
    """Take them."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    folder = Path(given[0]) if given else FOLDER
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.html"
        done = CliRunner().invoke(app, [*COMMAND, "--report", str(report)])
        if done.exit_code != 0:
            print(done.output, file=sys.stderr)
            return 1
        asyncio.run(_take(report, folder))
    return 0


async def _take(report: Path, folder: Path) -> None:
    with running() as browser:
        async with browser.page(report) as page:
            await page.look(width=WIDTH)
            part = "document.getElementById('part-2').getBoundingClientRect().top + scrollY"
            second = round(await page.evaluate(part))
            _write(folder / LIGHT, await page.picture(height=second - 40))
            await page.look(width=WIDTH, dark=True)
            _write(folder / DARK, await page.picture(top=second - 20, height=1500))


def _write(path: Path, png: bytes) -> None:
    """Write a picture with few colours: it is lines and letters."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
