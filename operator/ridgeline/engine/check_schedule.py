"""The in-engine schedule: K by concurrency, as vLLM reads it.

vLLM takes rows of first, last, K. The first row starts at 1 and none overlap; a gap, and what lies
behind the last row, carry the K before them; K is cut to `num_speculative_tokens` (read in
`v1/spec_decode/dynamic/utils.py` of the releases that have it).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeGuard

from ridgeline.engine.check_subject import LOOKAHEAD, SCHEDULE, Subject, key_finding
from ridgeline.engine.findings import Finding, Severity

Row = tuple[int, int, int]


def check_schedule(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the table; a release without tables refuses or ignores the key."""
    table = subject.keys.get(SCHEDULE)
    if table is None or not subject.contract.honours_schedule:
        return
    if not _is_table(table):
        yield _finding(
            "ScheduleShape",
            table,
            "the start stops: it must be rows of three whole numbers (first, last, K)",
            "write it as [[1,16,4],[17,512,0]]",
        )
        return
    rows = sorted((row[0], row[1], row[2]) for row in table)
    yield from _rows(table, rows)
    yield from _meeting(table, rows)
    yield from _against_server(subject, table, rows)
    yield from _whether_honoured(subject, table)


def _is_table(value: object) -> TypeGuard[list[list[int]]]:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, list | tuple) and len(row) == 3 for row in value)
        and all(isinstance(n, int) and not isinstance(n, bool) for row in value for n in row)
    )


def _rows(table: object, rows: Sequence[Row]) -> Iterator[Finding]:
    for first, last, lookahead in rows:
        if first < 1 or last < first or lookahead < 0:
            yield _finding(
                "ScheduleRow",
                table,
                f"the start stops at row [{first},{last},{lookahead}]",
                "write first >= 1, last >= first and K >= 0",
            )


def _meeting(table: object, rows: Sequence[Row]) -> Iterator[Finding]:
    if rows[0][0] > 1:
        yield _finding(
            "ScheduleStart",
            table,
            f"the engine dies at the start: nothing is told for 1 to {rows[0][0] - 1} requests",
            "let the first row start at 1",
        )
    for before, after in pairwise(rows):
        if after[0] <= before[1]:
            yield _finding(
                "ScheduleOverlap",
                table,
                f"the engine dies at the start: {after[0]} lies in two rows",
                f"let the later row start at {before[1] + 1}",
            )
        elif after[0] > before[1] + 1:
            yield _finding(
                "ScheduleGap",
                table,
                f"{before[1] + 1} to {after[0] - 1} requests take the K of {before[2]} before them",
                "close the gap, so that the table says what happens",
                Severity.WARNING,
            )


def _against_server(subject: Subject, table: object, rows: Sequence[Row]) -> Iterator[Finding]:
    lookahead, most = subject.lookahead, subject.served.max_num_seqs
    highest = max(row[2] for row in rows)
    if lookahead is not None and highest > lookahead:
        yield _finding(
            "ScheduleAboveLookahead",
            table,
            f"a K of {highest} is cut to {LOOKAHEAD} {lookahead}",
            f"write {lookahead} there, or raise {LOOKAHEAD}",
            Severity.WARNING,
        )
    beyond = [row for row in rows if most is not None and row[0] > most]
    if beyond:
        yield _finding(
            "ScheduleBeyondMaxNumSeqs",
            table,
            f"the row from {beyond[0][0]} on is never reached: --max-num-seqs is {most}",
            "remove the row",
            Severity.INFO,
        )


def _whether_honoured(subject: Subject, table: object) -> Iterator[Finding]:
    contract, engines = subject.contract, subject.served.data_parallel
    if engines > 1 and not contract.schedule_with_data_parallel:
        dropped = contract.schedule_dropped_with_data_parallel
        yield _finding(
            "ScheduleDataParallel",
            table,
            f"with --data-parallel-size {engines}, {subject.release} leaves the table out and "
            f"always drafts {subject.lookahead}"
            if dropped
            else f"with --data-parallel-size {engines}, engines choose different K and wait for "
            "each other for ever",
            "remove the table: with several engines only the profile can change",
            Severity.WARNING if dropped else Severity.ERROR,
        )
    if subject.method and subject.method not in contract.schedule_methods:
        yield _finding(
            "ScheduleMethod",
            table,
            f"{subject.release} does not follow the table with method {subject.method}",
            f"remove the table, or choose one of {', '.join(sorted(contract.schedule_methods))}",
            Severity.WARNING,
        )


def _finding(
    check: str, table: object, consequence: str, fix: str, severity: Severity = Severity.ERROR
) -> Finding:
    return key_finding(
        check=check, key=SCHEDULE, value=table, consequence=consequence, fix=fix, severity=severity
    )
