"""Bounds of a load run, and traces."""

import math
from pathlib import Path
from typing import Any

import pytest

from ridgeline.sim.load.settings import (
    Arrival,
    ClosedLoop,
    InvalidLoadError,
    LoadSettings,
    OpenLoop,
    Replay,
    read_trace,
)

VALID: dict[str, Any] = {
    "targets": ("http://127.0.0.1:8000",),
    "mode": ClosedLoop(users=1),
    "duration_s": 1.0,
}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"targets": ()}, "no target"),
        ({"targets": ("localhost:8000",)}, "localhost:8000"),
        ({"duration_s": 0.0}, "duration_s=0"),
        ({"duration_s": math.inf}, "duration_s=inf"),
        ({"duration_s": math.nan}, "duration_s=nan"),
        ({"grace_s": -1.0}, "grace_s=-1"),
        ({"prompt_tokens": 0}, "prompt_tokens=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"spread": 1.1}, "spread=1.1"),
        ({"mode": ClosedLoop(users=-1)}, "users=-1"),
        ({"mode": ClosedLoop(users=10**14)}, "at most 100000"),
        ({"mode": ClosedLoop(users=1, think_s=math.nan)}, "think_s=nan"),
        ({"mode": OpenLoop(rate_per_s=math.nan)}, "rate_per_s=nan"),
        ({"mode": Replay(arrivals=(), speed=0.0)}, "speed=0"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidLoadError, match=named):
        LoadSettings(**VALID | change)
    LoadSettings(**VALID)


def test_a_trace_is_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0.5,10,20\n0.5,1,2\n")
    assert list(read_trace(path)) == [
        Arrival(at_s=0.5, prompt_tokens=10, output_tokens=20),
        Arrival(at_s=0.5, prompt_tokens=1, output_tokens=2),
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("arrival_s,prompt_tokens\n0,1\n", "output_tokens is missing"),
        ("arrival_s,prompt_tokens,output_tokens\n0,x,1\n", "line 2"),
        ("arrival_s,prompt_tokens,output_tokens\nnan,1,1\n", "line 2"),
        ("arrival_s,prompt_tokens,output_tokens\n0,0,1\n", "line 2"),
        ("arrival_s,prompt_tokens,output_tokens\n0,1\n", "line 2"),
        ("arrival_s,prompt_tokens,output_tokens\n2,1,1\n1,1,1\n", "line 3: sort"),
    ],
)
def test_a_broken_trace_is_refused_by_line(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InvalidLoadError, match=named):
        list(read_trace(path))
