"""Writes a regression test from a record: the test, and the record that it reads, side by side."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from ridgeline.sim.replayed import Replay
from ridgeline.telemetry.record import RecordError, RecordHeader, recorded_decision
from ridgeline.telemetry.record_write import write_record

RECORD_SUFFIX: Final = ".jsonl.gz"

_TEST: Final = '''\
"""What is decided on a record, moment by moment.

Written by `ridgeline replay --as-test`; the record lies beside this file, with the settings that it
is decided by. Where a decision is to change, write both anew, and say why in the commit.
"""

from pathlib import Path

from ridgeline.sim.replay import replay
from ridgeline.telemetry.record_read import read_record

RECORD = Path(__file__).with_name({record})
SERVING = {serving}

DECISIONS = (
    # seconds since the first moment, what is done, profile, reason
{rows}
)


def test_{function}() -> None:
    damage: list[str] = []
    ticks = list(read_record(RECORD, on_damage=damage.append))
    assert damage == []
    assert {{f"{{each.namespace}}/{{each.serving}}" for each in ticks}} == {{SERVING}}
    found: list[tuple[int, str, str | None, str]] = []
    for tick, decision in zip(ticks, replay(ticks), strict=True):
        said = (decision.outcome.value, decision.profile, decision.reason.value)
        if not found or found[-1][1:] != said:
            found.append((round(tick.at - ticks[0].at), *said))
    assert tuple(found) == DECISIONS
'''


def check_test(path: Path) -> None:
    """Refuse a name that pytest would not find.

    Raises:
        ValueError: It is none.
    """
    name = path.stem.removeprefix("test_")
    if path.suffix != ".py" or not path.stem.startswith("test_") or not name.isidentifier():
        raise ValueError(f"--as-test {path}: name it test_WORDS.py, with letters, digits and _")


def write_test(path: Path, header: RecordHeader, replay: Replay) -> Path:
    """Write the test and its record; return the record's path.

    Args:
        path: The test, as `check_test` lets it through.
        header: Header of the record.
        replay: What is decided.

    Raises:
        RecordError: One of the two cannot be written, or is there already.
    """
    record = path.with_name(path.stem + RECORD_SUFFIX)
    for each in (path, record):
        if os.path.exists(each):
            raise RecordError(f"--as-test: {each} is there already: remove it, or name another")
    settled = zip(replay.ticks, replay.settings, replay.decisions, strict=True)
    ticks = [
        replace(tick, settings=asked, decision=recorded_decision(decision))
        for tick, asked, decision in settled
    ]
    write_record(record, header, ticks)
    text = _TEST.format(
        record=json.dumps(record.name),
        serving=json.dumps(f"{ticks[0].namespace}/{ticks[0].serving}"),
        rows="\n".join(_rows(replay)),
        function=path.stem.removeprefix("test_"),
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        record.unlink(missing_ok=True)
        raise RecordError(f"--as-test {path} cannot be written: {error.strerror}") from error
    return record


def _rows(replay: Replay) -> list[str]:
    first = replay.ticks[0].at
    rows: list[str] = []
    before: tuple[str, str | None, str] | None = None
    for tick, decision in zip(replay.ticks, replay.decisions, strict=True):
        said = (decision.outcome.value, decision.profile, decision.reason.value)
        if said != before:
            # A JSON text is a Python one, too; whatever is in a record, it stays a text.
            words = (str(None) if each is None else json.dumps(each) for each in said)
            rows.append(f"    ({round(tick.at - first)}, {', '.join(words)}),")
        before = said
    return rows
