"""The page of an advice on paper, where nobody can scroll a table sideways."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ridgeline.cli.main import app
from tests.tools.browser import BrowserMissingError, running

ASKED = (
    *("advise", "--model", "Qwen/Qwen3-32B", "--accelerator", "h100-sxm", "--tp", "2"),
    *("--method", "Eagle3:3", "--acceptance", "0.70,0.45,0.28", "--vllm", "0.24.0"),
    *("--load", "30req/s", "--gpu-price", "3"),
)

CUT_OFF = (
    "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth).length"
)

PAPER_WIDTH = 700
"""CSS pixels of a page of A4 between its margins, about."""


async def test_no_column_of_a_table_is_cut_off_on_paper(tmp_path: Path) -> None:
    file = tmp_path / "advice.html"
    done = CliRunner().invoke(app, [*ASKED, "--plot", str(file)])
    assert done.exit_code == 0, done.output
    try:
        with running() as browser:
            async with browser.page(file) as page:
                await page.look(media="print", width=PAPER_WIDTH)
                assert await page.evaluate("document.querySelectorAll('.wide').length") > 5
                assert await page.evaluate(CUT_OFF) == 0
    except BrowserMissingError as missing:
        pytest.skip(str(missing))
