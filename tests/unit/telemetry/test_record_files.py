"""Records on disk: bounded, sound after a crash, and honest about what is damaged."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from ridgeline.telemetry import record_read
from ridgeline.telemetry.record import FORMAT, RecordedTick, RecordError
from ridgeline.telemetry.record_read import read_header, read_record
from ridgeline.telemetry.record_write import RecordFolder, record_files, write_record
from tests.unit.telemetry.record_ticks import HEADER, SETTINGS, tick, ticks

MEMBER_TICKS = 4
"""Ticks of 15 s in a member of a minute."""
MIB = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.jsonl.gz"


def read(path: Path) -> tuple[list[RecordedTick], list[str]]:
    damage: list[str] = []
    return list(read_record(path, on_damage=damage.append)), damage


def members(data: bytes) -> list[bytes]:
    """The members of a file, as they stand there."""
    found = []
    while data:
        unpacker = zlib.decompressobj(wbits=31)
        unpacker.decompress(data)
        found.append(data[: len(data) - len(unpacker.unused_data)])
        data = unpacker.unused_data
    return found


def rewritten(path: Path, change: dict[bytes, bytes]) -> None:
    """Replace texts inside the members of a file."""
    text = [gzip.decompress(each) for each in members(path.read_bytes())]
    for old, new in change.items():
        assert any(old in each for each in text)
        text = [each.replace(old, new, 1) for each in text]
    path.write_bytes(b"".join(gzip.compress(each, mtime=0) for each in text))


def test_a_file_is_written_whole_or_not_at_all(path: Path) -> None:
    def broken_off() -> Iterator[RecordedTick]:
        yield tick()
        raise RecordError("the source failed")

    with pytest.raises(RecordError, match="the source failed"):
        write_record(path, HEADER, broken_off())
    assert list(path.parent.iterdir()) == []


def test_no_file_is_overwritten(path: Path) -> None:
    path.write_bytes(b"mine")
    with pytest.raises(RecordError, match="exists: name another"):
        write_record(path, HEADER, ticks(1))
    assert path.read_bytes() == b"mine"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"cannot be written \(No such file"):
        write_record(tmp_path / "no" / "r.jsonl.gz", HEADER, ticks(1))


def test_settings_are_told_once_in_a_member(path: Path) -> None:
    write_record(path, HEADER, ticks(2 * MEMBER_TICKS), member_seconds=60)
    for each in members(path.read_bytes()):
        assert gzip.decompress(each).count(b'"cooldown_seconds"') == 1
    changed = replace(SETTINGS, cooldown_seconds=9.0)
    told = [*ticks(2), replace(tick(2), settings=changed), replace(tick(3), settings=SETTINGS)]
    path.unlink()
    write_record(path, HEADER, told)
    assert [each.settings for each in read(path)[0]] == [SETTINGS, SETTINGS, changed, SETTINGS]


def test_settings_of_two_servings_are_kept_apart(path: Path) -> None:
    other = replace(SETTINGS, suspended=True)
    told = []
    for first, second in zip(ticks(3), ticks(3, serving="qwen"), strict=True):
        told += [first, replace(second, settings=other)]
    write_record(path, HEADER, told)
    assert read(path) == (told, [])


def test_a_cut_file_loses_its_last_line_alone(path: Path) -> None:
    written = ticks(MEMBER_TICKS + 3)
    write_record(path, HEADER, written, member_seconds=60)
    path.write_bytes(path.read_bytes()[:-12])
    got, damage = read(path)
    assert got == written[: len(got)]
    assert MEMBER_TICKS <= len(got) < len(written)
    (told,) = damage
    assert "the file is cut" in told


def test_every_cut_gives_a_beginning_of_what_was_written(path: Path) -> None:
    written = ticks(MEMBER_TICKS + 2)
    write_record(path, HEADER, written, member_seconds=60)
    whole = path.read_bytes()
    for length in range(10, len(whole), 37):
        path.write_bytes(whole[:length])
        got, damage = read(path)
        assert got == written[: len(got)]
        ends = [len(members(whole)[0])]
        assert bool(damage) == (length not in ends)


def test_a_broken_member_costs_no_other(path: Path) -> None:
    written = ticks(3 * MEMBER_TICKS)
    write_record(path, HEADER, written, member_seconds=60)
    first, second, third = members(path.read_bytes())
    harmless = 0
    for place in range(10, len(second), 23):
        spoilt = bytearray(second)
        spoilt[place] ^= 0x20
        path.write_bytes(first + bytes(spoilt) + third)
        got, damage = read(path)
        if not damage:
            # The last bits before the checksum fill a byte up and mean nothing.
            assert got == written
            harmless += 1
            continue
        assert got == written[:MEMBER_TICKS] + written[2 * MEMBER_TICKS :]
        (told,) = damage
        assert "left out" in told
    assert harmless <= 1


def test_a_broken_line_costs_no_other(path: Path) -> None:
    written = ticks(3)
    write_record(path, HEADER, written)
    rewritten(path, {f'"at":{written[1].at}'.encode(): b'"at":oops'})
    got, damage = read(path)
    assert got == [written[0], written[2]]
    (told,) = damage
    assert "line 3 of a member is left out: not JSON" in told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"BestProfileActive"', b'"NoSuchReason"', "decision"),
        (b'"type":"TargetFacts"', b'"type":"Stranger"', "target: type is 'Stranger'"),
        (b'"age_seconds":4.0', b'"age_seconds":null', "age_seconds"),
        (b'"age_seconds":4.0', b'"age_seconds":1e999', "out of range"),
        (b'"uid":"uid-1"', b'"uid":7', "uid"),
    ],
)
def test_a_line_with_a_value_that_cannot_be_is_told(
    path: Path, old: bytes, new: bytes, said: str
) -> None:
    write_record(path, HEADER, ticks(1))
    rewritten(path, {old: new})
    got, damage = read(path)
    assert got == []
    assert said in damage[0]


def test_what_depends_on_a_lost_line_is_not_guessed(path: Path) -> None:
    write_record(path, HEADER, ticks(3))
    rewritten(path, {f'"at":{tick().at}'.encode(): b'"at":oops'})
    got, damage = read(path)
    assert got == []
    assert len(damage) == 3
    assert "stood in a line that is lost" in damage[1]


def test_fields_of_other_versions_do_not_hurt(path: Path) -> None:
    """A newer writer knows more fields, an older one fewer; what is left takes its default."""
    written = tick()
    write_record(path, HEADER, [written])
    rewritten(
        path,
        {
            b'"facts":{': b'"new":1,"facts":{"new":[],',
            b'"engine":"0",': b'"engine":"0","new":{},',
            b',"frozen":false': b"",
        },
    )
    assert read(path) == ([written], [])


def test_a_newer_format_is_refused(path: Path) -> None:
    write_record(path, HEADER, ticks(1))
    rewritten(path, {b'"format":%d' % FORMAT: b'"format":99'})
    with pytest.raises(RecordError, match=r"its format is 99, .* use a newer one"):
        read(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "the file is empty"), (b"hello", "give a file that ridgeline"), (None, "No such")],
)
def test_what_is_no_record_is_told(path: Path, data: bytes | None, said: str) -> None:
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RecordError, match=said):
        read(path)


def test_a_member_that_unpacks_without_end_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_read, "MAX_MEMBER_BYTES", 100_000)
    written = ticks(1)
    write_record(path, HEADER, written)
    path.write_bytes(gzip.compress(b"\n" * 10_000_000, mtime=0) + path.read_bytes())
    got, damage = read(path)
    assert got == written
    assert "more than 100000 bytes" in damage[0]


def test_the_header_is_read_by_itself(path: Path) -> None:
    write_record(path, HEADER, ticks(1))
    assert read_header(path) == HEADER


def test_damage_is_logged_unless_somebody_listens(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_record(path, HEADER, ticks(2))
    path.write_bytes(path.read_bytes()[:-3])
    list(read_record(path))
    assert "the file is cut" in caplog.text


def filled(directory: Path, count: int, *, max_bytes: int) -> list[RecordedTick]:
    """Write ticks that compress badly into a folder; return them."""
    folder = RecordFolder(directory, HEADER, max_bytes=max_bytes)
    written = []
    for number in range(count):
        written.append(tick(number, concurrency=(number * 0.6180339887) % 40))
        folder.add(written[-1])
        assert sum(each.stat().st_size for each in directory.glob("*")) <= max_bytes
    folder.close()
    return written


def test_a_folder_keeps_its_limit_and_the_newest(tmp_path: Path) -> None:
    written = filled(tmp_path, 300, max_bytes=32 * 1024)
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 32 * 1024
    got, damage = read(tmp_path)
    assert damage == []
    assert 20 < len(got) < len(written)
    assert got == written[-len(got) :]


def test_the_next_process_keeps_what_is_there_and_the_limit(tmp_path: Path) -> None:
    before = filled(tmp_path, 8, max_bytes=MIB)
    again = filled(tmp_path, 8, max_bytes=MIB)
    assert len(record_files(tmp_path)) == 2
    assert read(tmp_path) == (before + again, [])
    filled(tmp_path, 300, max_bytes=32 * 1024)
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 32 * 1024


def test_a_killed_process_loses_a_minute_at_most(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path, HEADER, max_bytes=MIB)
    written = ticks(10)
    for each in written:
        folder.add(each)
    got, damage = read(tmp_path)
    assert damage == []
    assert got == written[: len(got)]
    assert written[-1].at - got[-1].at <= 60
    folder.close()
    assert read(tmp_path)[0] == written


def test_a_tick_that_cannot_be_written_leaves_the_others_whole(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path, HEADER, max_bytes=MIB)
    settings = replace(SETTINGS, forced="\ud800")
    with pytest.raises(ValueError, match="surrogates"):
        folder.add(replace(tick(), settings=settings))
    folder.add(tick(1))
    folder.close()
    assert read(tmp_path) == ([tick(1)], [])


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no record"):
        read(tmp_path)


def test_lines_are_json_that_any_tool_reads(path: Path) -> None:
    write_record(path, HEADER, ticks(2))
    lines = gzip.decompress(path.read_bytes()).splitlines()
    header, first, second = (msgspec.json.decode(each) for each in lines)
    assert header["header"]["format"] == FORMAT
    assert first["facts"]["replicas"][0]["engines"][0]["decode_concurrency"] == 5.0
    assert "settings" not in second
