"""The observer sees every rule that is broken, and none where none is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.paths import REPO
from tests.leaders.audit import Entry, Tail
from tests.leaders.blindness import Blindness, Journal
from tests.leaders.observe import dump_rules, load_rules
from tests.leaders.observer import Observer
from tests.leaders.order import StoreOrder
from tests.leaders.rules import Kind, Report
from tests.leaders.told import BEGIN, BLIND_AFTER_S, LEASE_S, RULES, A, B, Told


def observed(told: Told, blind: Iterable[tuple[float, float]] = ()) -> Report:
    """What an observer makes of a log; `blind` are stretches in seconds since its beginning."""
    stretches = [(BEGIN + begin, BEGIN + end) for begin, end in blind]
    observer = Observer(RULES, Blindness(stretches=stretches))
    for each in told.entries():
        observer.see([each])
    observer.finish()
    return observer.report


def kinds(report: Report) -> list[Kind]:
    return [each.kind for each in report.violations]


def begun() -> Told:
    """A log in which A leads, a target serves, and nothing is wrong."""
    told = Told()
    told.renew(A)
    told.target()
    told.renew(A)
    return told


def good() -> Told:
    """Two rolls by A, rehearsed; then B takes over, and makes one."""
    told = begun()
    told.apply("eagle", query="fieldManager=ridgeline-profile&force=false&dryRun=All")
    told.roll("eagle")
    told.renew(A)
    told.settle()
    told.roll("none")
    told.renew(B)
    told.apply("none", code=409)
    told.settle()
    told.roll("eagle", user=B)
    told.renew(B)
    told.settle()
    return told


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    report = observed(good())
    assert report.violations == []
    assert report.rolls == 3
    assert report.takeovers == 1
    assert report.writes == {"profile": 3, "status": 3}
    assert report.refused == 1


def _foreign_field(told: Told) -> None:
    told.announce("eagle")
    spec = {"spec": {"replicas": 3}}
    told.apply("eagle", change=spec)


def _second_env_item(told: Told) -> None:
    told.announce("eagle")
    env = [{"name": "SPECULATION_CONFIG", "value": "c"}, {"name": "OTHER", "value": ""}]
    containers = [{"name": "vllm", "env": env}]
    told.apply("eagle", change={"spec": {"template": {"spec": {"containers": containers}}}})


def _by_force(told: Told) -> None:
    told.announce("eagle")
    told.apply("eagle", query="fieldManager=ridgeline-profile&force=true")


def _another_manager(told: Told) -> None:
    told.announce("eagle")
    told.apply("eagle", query="fieldManager=kubectl&force=false")


def _another_object(told: Told) -> None:
    pod = {"resource": "pods", "namespace": "inference", "name": "llama-0"}
    told.write(A, "delete", "/api/v1/namespaces/inference/pods/llama-0", pod)


def _a_spec(told: Told) -> None:
    serving = {"apiGroup": "ridgeline.dev", "resource": "speculativeservings"}
    serving |= {"namespace": "inference", "name": "llama"}
    told.write(A, "patch", "/apis/ridgeline.dev", serving, body={"spec": {}})


def _a_refused_one(told: Told) -> None:
    told.apply("eagle", change={"spec": {"replicas": 3}}, code=403)


def _no_version(told: Told) -> None:
    told.announce("eagle")
    annotations = {"ridgeline.dev/serving": json.dumps({"serving": "llama"})}
    told.apply("eagle", change={"metadata": {"name": "llama", "annotations": annotations}})


def _over_a_newer_one(told: Told) -> None:
    read = told.revision
    told.settle()  # somebody has written meanwhile
    told.announce("eagle")
    told.apply("eagle", read=read - 1)


def _by_a_standby(told: Told) -> None:
    told.renew(B)
    told.renew(A)
    told.announce("eagle")
    told.apply("eagle", user=B)


def _by_one_who_lost_it(told: Told) -> None:
    told.announce("eagle")
    told.renew(B)
    told.apply("eagle", user=A)


def _given_back(told: Told) -> None:
    told.announce("eagle")
    told.renew(A, holder="")
    told.apply("eagle")


def _after_it_ran_out(told: Told) -> None:
    told.announce("eagle")
    told.now += LEASE_S + 1.0
    told.event()
    told.now += 1.0
    told.apply("eagle")


def _two_rolls(told: Told) -> None:
    told.roll("eagle")
    told.roll("other")


def _undone_and_begun_again(told: Told) -> None:
    told.roll("eagle")
    told.settle()
    told.renew(A)
    told.roll("none")
    told.announce("none", state="Undoing")
    told.apply("eagle")
    told.renew(A)
    told.roll("none")


def _more_than_allowed(told: Told) -> None:
    told.target("other")
    told.renew(A)
    told.roll("eagle")
    told.renew(A)
    told.roll("eagle", name="other")


def _unannounced(told: Told) -> None:
    told.apply("eagle")


def _announced_to_another(told: Told) -> None:
    told.announce("other")
    told.apply("eagle")


def _the_same_again(told: Told) -> None:
    told.roll("eagle")
    told.apply("eagle")


def _the_same_roll_after_its_end(told: Told) -> None:
    told.announce("eagle", start="noon")
    told.apply("eagle")
    told.settle()
    told.renew(A)
    told.apply("none", user="admin")
    told.settle()
    told.renew(A)
    told.announce("eagle", start="noon")
    told.apply("eagle")


BROKEN: dict[str, tuple[Callable[[Told], None], Kind]] = {
    "a foreign field": (_foreign_field, Kind.FOREIGN),
    "a second env item": (_second_env_item, Kind.FOREIGN),
    "by force": (_by_force, Kind.FOREIGN),
    "as another manager": (_another_manager, Kind.FOREIGN),
    "another object": (_another_object, Kind.FOREIGN),
    "a spec": (_a_spec, Kind.FOREIGN),
    "a foreign field, refused": (_a_refused_one, Kind.FOREIGN),
    "no uid, no version": (_no_version, Kind.UNFENCED),
    "over a newer one": (_over_a_newer_one, Kind.STALE),
    "by a standby": (_by_a_standby, Kind.NOT_HOLDER),
    "by one who lost the Lease": (_by_one_who_lost_it, Kind.NOT_HOLDER),
    "by one who gave the Lease back": (_given_back, Kind.NOT_HOLDER),
    "after the Lease ran out": (_after_it_ran_out, Kind.EXPIRED),
    "a second roll within the first": (_two_rolls, Kind.TWO_ROLLS),
    "a roll while one is undone": (_undone_and_begun_again, Kind.TWO_ROLLS),
    "more rolls than allowed": (_more_than_allowed, Kind.OVER_BUDGET),
    "a roll that nobody announced": (_unannounced, Kind.UNANNOUNCED),
    "another roll than announced": (_announced_to_another, Kind.UNANNOUNCED),
    "the same content again": (_the_same_again, Kind.TWICE),
    "the same roll after its end": (_the_same_roll_after_its_end, Kind.TWICE),
}


@pytest.mark.parametrize(("breaks", "kind"), BROKEN.values(), ids=BROKEN.keys())
def test_it_tells_what_was_broken(breaks: Callable[[Told], None], kind: Kind) -> None:
    told = begun()
    breaks(told)
    told.renew(A)
    assert set(kinds(observed(told))) == {kind}


def test_every_rule_has_a_log_that_breaks_it() -> None:
    assert {kind for _, kind in BROKEN.values()} == set(Kind) - {Kind.BLIND}


@pytest.mark.parametrize(
    ("blind_for", "announced_before", "found"),
    [
        (BLIND_AFTER_S - 1.0, False, []),
        (BLIND_AFTER_S + 1.0, False, [Kind.BLIND]),
        # What was decided while something could be seen may be carried out.
        (BLIND_AFTER_S + 1.0, True, []),
    ],
)
def test_no_roll_is_decided_blind(
    blind_for: float, announced_before: bool, found: list[Kind]
) -> None:
    told = begun()
    told.renew(A, lasts=60)
    blind_since = told.now + 1.5
    if announced_before:
        told.announce("eagle")
    told.now = blind_since + blind_for
    if not announced_before:
        told.announce("eagle")
    told.apply("eagle")
    assert kinds(observed(told, [(blind_since, told.now + 1.0)])) == found
    assert observed(told, [(blind_since, blind_since + 1.0)]).violations == []


def test_an_undone_roll_is_no_second_one() -> None:
    told = begun()
    told.roll("eagle")
    told.settle()
    told.renew(A)
    told.roll("none")
    told.announce("none", state="Undoing")
    told.renew(A)
    told.apply("eagle")
    told.settle()
    told.renew(A)
    told.roll("none")
    assert observed(told).violations == []


@pytest.mark.parametrize("lost_to", [B, None])
def test_an_event_that_comes_late_is_counted_and_breaks_nothing(lost_to: str | None) -> None:
    told = begun()
    told.roll("eagle")
    told.event()
    if lost_to is not None:
        told.renew(lost_to)
    told.now += 60.0
    told.event(A)
    report = observed(told)
    assert report.violations == []
    assert report.late_events == 1
    assert report.writes["event"] == 2


def test_a_write_of_one_who_was_stopped_and_whom_nobody_followed_is_counted() -> None:
    told = begun()
    told.announce("eagle")
    told.now += LEASE_S + 1.0
    told.apply("eagle")
    report = observed(told)
    assert report.violations == []
    assert report.late_writes == 1
    assert report.late_events == 0


def test_a_lease_lasts_from_when_its_renewal_could_be_seen() -> None:
    told = begun()
    told.renew(A, begun_before_s=LEASE_S)
    told.roll("eagle")
    assert observed(told).violations == []


def test_what_people_do_is_not_judged() -> None:
    told = begun()
    told.apply("eagle", user="admin", change={"spec": {"replicas": 3}}, query="")
    assert observed(told).violations == []


def test_the_order_is_that_of_the_store_and_not_of_the_log() -> None:
    told = good()
    entries = told.entries()
    # The log tells a takeover before a write that the store had taken first.
    place = next(i for i, each in enumerate(entries) if each.user == B)
    early = Told()
    early.lines = list(told.lines)
    swapped = [*entries[: place - 1], entries[place], entries[place - 1], *entries[place + 1 :]]
    assert _orders(swapped) == _orders(entries)


def _orders(entries: Iterable[Entry]) -> list[int | None]:
    order = StoreOrder()
    placed = [each for entry in entries for each in order.add([entry])] + order.rest()
    return [each.version for each in placed if each.version is not None]


def test_a_log_is_read_while_it_grows(tmp_path: Path) -> None:
    lines = good().lines
    log = tmp_path / "audit.log"
    log.write_text("half a line")
    tail = Tail(log)
    with log.open("a") as file:
        file.write(" of before\n" + lines[0] + "\n" + lines[1][:20])
    assert [each.user for each in tail.read()] == [A]
    with log.open("a") as file:
        file.write(lines[1][20:] + "\n")
    assert [each.user for each in tail.read()] == ["admin"]
    assert tail.read() == []


def test_blindness_is_told_by_a_file(tmp_path: Path) -> None:
    journal, blindness = Journal(tmp_path / "journal"), Blindness()
    journal.write(10.0, blind=True)
    journal.read_into(blindness)
    assert blindness.since(50.0) == 10.0
    journal.write(20.0, blind=False)
    journal.read_into(blindness)
    assert blindness.since(50.0) is None
    assert blindness.since(15.0) == 10.0


def test_rules_go_to_a_process_and_back() -> None:
    assert load_rules(dump_rules(RULES)) == RULES


def test_a_process_of_its_own_tells_violations_and_reports(tmp_path: Path) -> None:
    told = begun()
    _unannounced(told)
    log = tmp_path / "audit.log"
    log.touch()
    command = [sys.executable, "-m", "tests.leaders.observe", str(log), dump_rules(RULES)]
    with subprocess.Popen(
        [*command, str(tmp_path / "journal")], cwd=REPO, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "watching" in json.loads(process.stdout.readline())
        log.write_text("\n".join([*told.lines, ""]))
        time.sleep(1.0)
        process.send_signal(signal.SIGTERM)
        said: list[dict[str, Any]] = [json.loads(each) for each in process.stdout]
    assert process.returncode == 1
    assert said[0]["violation"]["kind"] == Kind.UNANNOUNCED
    assert said[-1]["report"]["writes"] == {"profile": 1}


def test_it_has_nothing_of_the_operator() -> None:
    look = "import sys, tests.leaders.observe; sys.exit('ridgeline' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], cwd=REPO, check=False)
    assert done.returncode == 0
