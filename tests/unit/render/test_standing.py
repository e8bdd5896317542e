"""The drawing of where a serving stands: its borders and the present point lie where they are."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from ridgeline.render.standing import Reach, Standing, standing_lines, standing_rows

TABLE: list[dict[str, Any]] = [
    {
        "profile": "eagle2",
        "upToConcurrency": 20,
        "returnBelowConcurrency": 16,
        "actAtConcurrency": 12,
    },
    {"profile": "none"},
]
ROWS = standing_rows(TABLE)


def drawn(here: float | None, width: int = 60, *, plain: bool = False) -> list[str]:
    return list(standing_lines(Standing(rows=ROWS, here=here, active="none"), width, plain=plain))


def test_a_table_is_read_as_status_tells_it() -> None:
    assert (
        Reach(profile="eagle2", up_to=20.0, back_below=16.0, act_at=12.0),
        Reach(profile="none"),
    ) == ROWS


def test_ranges_meet_at_the_border_and_share_the_band() -> None:
    eagle, none, axis, *_ = drawn(5.0)
    border = axis.index("┴")
    assert eagle.rstrip()[-1] == "▒"
    assert len(eagle.rstrip()) in (border, border + 1)
    assert none.index("█") in (border, border + 1)
    assert none.startswith("none *")
    band = eagle.index("▒")
    assert none.index("▒") == band
    left = eagle.index("█")
    assert (band - left) / (border - left) == pytest.approx(16 / 20, abs=0.06)


@pytest.mark.parametrize("here", [0.0, 5.0, 19.9, 20.1, 4000.0])
def test_the_present_point_stands_on_its_side_of_the_border(here: float) -> None:
    lines = drawn(here)
    (now,) = [line for line in lines if line.startswith("now")]
    (acts,) = [line for line in lines if line.startswith("acts at")]
    axis = lines[2]
    assert f"{here:g}" in now
    assert (now.index("▲") <= axis.index("┴")) == (here < 20.0 or now.index("▲") == axis.index("┴"))
    assert (now.index("▲") <= acts.index("△")) == (here <= 12.0)
    assert max(map(len, lines)) <= 60


def test_an_unknown_point_is_said_to_be_unknown() -> None:
    assert drawn(None)[-1].split() == ["now", "not", "known"]


def test_a_table_of_one_row_is_full() -> None:
    first, *_ = standing_lines(Standing(rows=(Reach(profile="none"),), here=3.0), 60)
    assert set(first.removeprefix("none").strip()) == {"█"}


def test_where_a_terminal_has_no_blocks_ascii_is_drawn() -> None:
    assert "".join(drawn(5.0, plain=True)).isascii()
    stream = StringIO()
    for encoding, blocks in (("utf-8", True), ("ascii", False)):
        console = Console(file=stream, width=70)
        console.options.encoding = encoding
        options = console.options.update()
        options.encoding = encoding
        text = "".join(
            str(each) for each in Standing(rows=ROWS, here=5.0).__rich_console__(console, options)
        )
        assert ("█" in text) == blocks
        assert text.isascii() != blocks
