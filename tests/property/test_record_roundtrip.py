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

HEADER = RecordHeader(ridgeline="1.2.3", source=PAST, window_seconds=120.0)


def told(ticks: list[RecordedTick], spoil: bytes | None = None) -> tuple[list[RecordedTick], int]:
    """What reading gives of written ticks, and how much damage was told."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl.gz"
        assert write_record(path, HEADER, ticks) == len(ticks)
        if spoil is not None:
            path.write_bytes(spoil)
        damage: list[str] = []
        return list(read_record(path, on_damage=damage.append)), len(damage)


@given(st.lists(any_tick, min_size=1, max_size=4))
def test_any_ticks_are_read_as_they_were_written(ticks: list[RecordedTick]) -> None:
    assert told(ticks) == (ticks, 0)


@given(any_tick, st.integers(0, 20))
def test_settings_and_memory_that_stay_are_read_in_every_tick(
    tick: RecordedTick, more: int
) -> None:
    assert told([tick] * (more + 1)) == ([tick] * (more + 1), 0)


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=200)
def test_any_bytes_give_ticks_damage_or_one_typed_error(data: bytes, packed: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl.gz"
        path.write_bytes(gzip.compress(data) if packed else data)
        try:
            ticks = list(read_record(path, on_damage=lambda _: None))
        except RecordError:
            return
    assert all(math.isfinite(each.at) for each in ticks)
