"""`python -m tests.leaders.observe`: watch an audit log until told to end; one line a violation."""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.leaders.audit import Tail
from tests.leaders.blindness import Journal
from tests.leaders.observer import Observer
from tests.leaders.rules import Rules

EVERY_S = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch until SIGTERM or SIGINT; the last line is the report. 1 when a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.leaders.observe", description=__doc__)
    parser.add_argument("log", type=Path, help="the API server's audit log")
    parser.add_argument("rules", help="the rules, as JSON")
    parser.add_argument("journal", type=Path, help="when nothing could be seen")
    chosen = parser.parse_args(arguments)
    ended: list[int] = []
    for by in (signal.SIGTERM, signal.SIGINT):
        signal.signal(by, lambda number, _: ended.append(number))
    observer, journal = Observer(load_rules(chosen.rules)), Journal(chosen.journal)
    tail = Tail(chosen.log)
    _say({"watching": str(chosen.log)})
    while not ended:
        _step(observer, journal, tail)
        time.sleep(EVERY_S)
    _step(observer, journal, tail)
    for each in observer.finish():
        _say({"violation": dataclasses.asdict(each)})
    _say({"report": dataclasses.asdict(observer.report)})
    return 1 if observer.report.violations else 0


def dump_rules(rules: Rules) -> str:
    """The JSON form of rules."""
    return json.dumps({**dataclasses.asdict(rules), "users": sorted(rules.users)})


def load_rules(text: str) -> Rules:
    """Rules from their JSON form."""
    data = json.loads(text)
    return Rules(
        users=frozenset(data["users"]),
        agents=tuple(data["agents"]),
        lease=(data["lease"][0], data["lease"][1]),
        max_rolls=int(data["max_rolls"]),
        blind_after_s=float(data["blind_after_s"]),
    )


def _step(observer: Observer, journal: Journal, tail: Tail) -> None:
    entries = tail.read()
    # What is in the log by now happened in a time that the journal has been told of.
    journal.read_into(observer.blindness)
    for each in observer.see(entries):
        _say({"violation": dataclasses.asdict(each)})


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
