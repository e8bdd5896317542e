"""A record gives back what was written, whatever the facts were; damage never surprises."""

import gzip
import math
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.record import PAST, RecordedTick, RecordError, RecordHeader
from ridgeline.telemetry.record_read import read_record
from ridgeline.telemetry.record_write import write_record
from tests.property.recorded import any_tick
from tests.unit.telemetry.record_ticks import ticks

HEADER = RecordHeader(ridgeline="1.2.3", source=PAST, window_seconds=120.0)


def told(written: list[RecordedTick]) -> tuple[list[RecordedTick], int]:
    """What reading gives of written ticks, and how much damage was told."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl.gz"
        assert write_record(path, HEADER, written) == len(written)
        damage: list[str] = []
        return list(read_record(path, on_damage=damage.append)), len(damage)


@given(st.lists(any_tick, min_size=1, max_size=2))
@settings(max_examples=40)
def test_any_ticks_are_read_as_they_were_written(written: list[RecordedTick]) -> None:
    assert told(written) == (written, 0)


@given(any_tick, st.integers(0, 20))
@settings(max_examples=10)
def test_settings_and_memory_that_stay_are_read_in_every_tick(
    tick: RecordedTick, more: int
) -> None:
    assert told([tick] * (more + 1)) == ([tick] * (more + 1), 0)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_ticks_damage_or_one_typed_error(data: bytes, packed: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl.gz"
        path.write_bytes(gzip.compress(data) if packed else data)
        try:
            ticks = list(read_record(path, on_damage=lambda _: None))
        except RecordError:
            return
    assert all(math.isfinite(each.at) for each in ticks)


@given(st.integers(1, 9), st.data())
@settings(max_examples=60)
def test_no_damage_makes_up_a_tick(count: int, data: st.DataObject) -> None:
    """Whatever bytes of a file change or go: what is read was written, and a loss is told."""
    written = ticks(count)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl.gz"
        write_record(path, HEADER, written, member_seconds=45)
        packed = bytearray(path.read_bytes())
        start = data.draw(st.integers(10, len(packed) - 1))
        piece = data.draw(st.binary(max_size=30))
        packed[start : start + data.draw(st.integers(0, 400))] = piece
        path.write_bytes(packed)
        damage: list[str] = []
        found = list(read_record(path, on_damage=damage.append))
    assert [each for each in found if each not in written] == []
    assert damage or found == written or found == written[: len(found)]
