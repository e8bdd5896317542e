"""Traffic files: what is read, and the one message for each that cannot be used."""

from pathlib import Path

import numpy as np
import pytest

from ridgeline.sim.compare.load_curve import LoadCurve, TrafficFileError, read_traffic
from ridgeline.sim.requests.traffic import MIXES, Trace

REQUESTS = "arrival_s,prompt_tokens,output_tokens\n"
CURVE = "time_s,requests_per_second\n"


def read(folder: Path, text: str) -> Trace | LoadCurve:
    path = folder / "traffic.csv"
    path.write_text(text)
    return read_traffic(path)


def test_requests_begin_at_the_first(tmp_path: Path) -> None:
    trace = read(tmp_path, REQUESTS + "1000,10,20\n1002.5,30,40\n")
    assert isinstance(trace, Trace)
    assert trace.times.tolist() == [0.0, 2.5]
    assert trace.sizes.prompts.tolist() == [10.0, 30.0]
    assert trace.sizes.outputs.tolist() == [20.0, 40.0]


@pytest.mark.parametrize("text", [REQUESTS + "0,1,1\n1,1,1\n", CURVE + "0,1\n60,1\n"])
def test_a_byte_order_mark_is_taken_off(tmp_path: Path, text: str) -> None:
    path = tmp_path / "traffic.csv"
    path.write_text(text, encoding="utf-8-sig")
    assert read_traffic(path).seconds == read(tmp_path, text).seconds


def test_a_curve_holds_each_row_until_the_next(tmp_path: Path) -> None:
    curve = read(tmp_path, CURVE + "600,1\n630,3\n660,2\n")
    assert isinstance(curve, LoadCurve)
    assert curve.requests_per_second.tolist() == pytest.approx([1, 1, 3, 3, 2, 2])
    assert curve.seconds == 90.0
    assert (curve.prompt, curve.output) == (None, None)
    assert curve.mix(MIXES["chat"]) == MIXES["chat"]


def test_steps_that_are_no_ticks_keep_the_number_of_requests(tmp_path: Path) -> None:
    rows = "".join(f"{40 * n},{n % 3}\n" for n in range(30))
    curve = read(tmp_path, CURVE + rows)
    assert isinstance(curve, LoadCurve)
    arrived = float(np.sum(curve.requests_per_second) * 15.0)
    assert arrived == pytest.approx(sum(40 * (n % 3) for n in range(30)), rel=1e-9)


def test_sizes_are_means_over_requests(tmp_path: Path) -> None:
    head = "time_s,requests_per_second,prompt_tokens,output_tokens\n"
    curve = read(tmp_path, head + "0,1,100,10\n60,3,200,30\n")
    assert isinstance(curve, LoadCurve)
    assert (curve.prompt, curve.output) == (175.0, 25.0)
    mix = curve.mix(MIXES["chat"])
    assert (mix.prompt, mix.output) == (175.0, 25.0)
    assert mix.output_variation == MIXES["chat"].output_variation


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the header has nothing, and time_s is missing: give arrival_s"),
        ("when,load\n1,2\n", "the header has when, load, and time_s is missing: give"),
        ("time_s,requests_per_second,rps2\n1,2,3\n", "and 'rps2' is not known: give"),
        ("arrival_s,prompt\n1,2\n", "column prompt_tokens is missing; add it to the header"),
        (REQUESTS, "has no request"),
        (REQUESTS + "5,1,1\n4,1,1\n", "line 3: sort the rows by arrival_s"),
        (REQUESTS + "nan,1,1\n", "line 2: arrival_s is 'nan': give a number of seconds"),
        (REQUESTS + "1,x,1\n", "line 2: prompt_tokens is 'x': give a whole number"),
        (REQUESTS + "1,,1\n", "line 2: prompt_tokens is '': give a whole number"),
        (REQUESTS + "1,1\n", "line 2: output_tokens is '': give a whole number"),
        (REQUESTS + "1,1.5,1\n", "line 2: prompt_tokens is '1.5': give a whole number"),
        (REQUESTS + "1,1,1e300\n", "line 2: both sizes must be at most 10000000 tokens"),
        (REQUESTS + "-1,1,1\n", "line 2: arrival_s must be at least 0"),
        (CURVE + "0,1e300\n60,1\n", "line 2: requests_per_second is '1e300': give 0 to 1,000,000"),
        (CURVE + "0,1\n1e300,1\n", "spans 2.31481e\\+295 days: give times in seconds"),
        (CURVE + "0,1\n60,1\n7200,1\n", "gap of 7140 s after time_s 60, where 60 s are usual"),
        (
            "time_s,requests_per_second,prompt_tokens\n0,1,1e300\n60,1,5\n",
            "prompt_tokens is '1e300': give 0 to 10,000,000",
        ),
        (REQUESTS + "0,1,1\n1e12,1,1\n", "days: give times in seconds, and at most 100 days"),
        (CURVE + "0,1\n", "has 1 rows: a curve has at least two"),
        (CURVE + "0,1\n60,nan\n", "line 3: requests_per_second is 'nan': give a number, 0 or more"),
        (CURVE + "0,1\n60,\n", "line 3: requests_per_second is '': give a number"),
        (CURVE + "0,1\n60,-1\n", "line 3: requests_per_second is '-1': give a number, 0 or more"),
        (CURVE + "0,1\nx,1\n", "line 3: time_s is 'x': give a number"),
        (CURVE + "0,1\n60,1,7\n", "line 3 has 3 cells, the header has 2"),
        (CURVE + "0,1\n60,1\n60,2\n120,1\n", "row 3: time_s 60 does not lie after 60: sort"),
        (CURVE + "0,1\n60,1\n30,2\n", "row 3: time_s 30 does not lie after 60: sort"),
        (CURVE + "0,1\n60,1\n120,1\n600,1\n", "row 4: a gap of 480 s after time_s 120, where 60 s"),
        (
            "time_s,requests_per_second,output_tokens\n0,1,0\n60,1,5\n",
            "output_tokens is '0': give a number, 1 or more",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_once(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TrafficFileError, match=said) as told:
        read(tmp_path, text)
    assert str(told.value).count("\n") == 0
    assert "traffic.csv" in str(told.value)


def test_what_is_no_text_or_not_there_is_told(tmp_path: Path) -> None:
    binary = tmp_path / "x.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(TrafficFileError, match="is not UTF-8 text: save it as a CSV in UTF-8"):
        read_traffic(binary)
    with pytest.raises(TrafficFileError, match="cannot be read: No such file"):
        read_traffic(tmp_path / "none.csv")
    with pytest.raises(TrafficFileError, match="cannot be read: Is a directory"):
        read_traffic(tmp_path)
