"""Whatever a file holds, reading traffic gives traffic or one message."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.sim.compare.load_curve import LoadCurve, TrafficFileError, read_traffic
from ridgeline.sim.requests.traffic import Trace

HEADERS = st.sampled_from(
    [
        "arrival_s,prompt_tokens,output_tokens",
        "time_s,requests_per_second",
        "time_s,requests_per_second,prompt_tokens,output_tokens",
        "time_s,requests_per_second,output_tokens",
    ]
)
CELLS = st.one_of(
    st.integers(-5, 500).map(str),
    st.floats().map(str),
    st.sampled_from(["", " ", "nan", "inf", "-0", "1e309", "0x10", "1_000", '"', "a,b", "\x00"]),
)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=5).map(",".join), max_size=12)


def read(folder: Path, content: bytes) -> Trace | LoadCurve | None:
    path = folder / "traffic.csv"
    path.write_bytes(content)
    try:
        return read_traffic(path)
    except TrafficFileError:
        return None


@given(HEADERS, ROWS)
def test_rows_of_anything(
    tmp_path_factory: pytest.TempPathFactory, header: str, rows: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    found = read(folder, "\n".join([header, *rows]).encode())
    if isinstance(found, LoadCurve):
        assert np.isfinite(found.requests_per_second).all()
        assert found.requests_per_second.min() >= 0
    if isinstance(found, Trace):
        assert np.isfinite(found.times).all()
        assert (np.diff(found.times) >= 0).all()
        assert found.sizes.outputs.min() >= 1


@given(st.binary(max_size=400))
def test_bytes_of_anything(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    read(tmp_path_factory.getbasetemp(), content)
