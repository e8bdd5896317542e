"""`ridgeline replay`: a record decided again, compared, and made a test of."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline.cli.main import app
from ridgeline.policy.facts import Problem
from ridgeline.telemetry.record import RecordedTick, RecordHeader
from ridgeline.telemetry.record_past import UNKNOWN
from ridgeline.telemetry.record_read import read_header, read_record
from ridgeline.telemetry.record_write import write_record
from ridgeline.terms.reasons import Reason

RECORD = Path(__file__).parents[2] / "replay" / "load-rises.jsonl.gz"
SERVING = """
apiVersion: ridgeline.dev/v1alpha1
kind: SpeculativeServing
metadata: {{name: llama, namespace: default}}
spec:
  targetRef: {{name: llama}}
  mode: {mode}
  {more}
  profiles:
    - name: eagle2
      method: Eagle
      model: yuhuili/EAGLE-LLaMA3-Instruct-70B
      numSpeculativeTokens: 4
    - {{name: none, method: Disabled}}
"""
RANGES = "cutoff: {{ranges: [{{profile: eagle2, upToConcurrency: {at}}}, {{profile: none}}]}}"
POLICY = """
apiVersion: ridgeline.dev/v1alpha1
kind: SpeculationPolicy
metadata: {{name: careful, namespace: default}}
spec:
  stabilization: {{busierSeconds: {busier}}}
  cutoff: {{ranges: [{{profile: eagle2, upToConcurrency: {at}}}, {{profile: none}}]}}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["replay", *arguments])
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: str) -> dict[str, Any]:
    code, printed, said = run(*arguments, "-o", "json")
    assert code == 0, said
    found: dict[str, Any] = json.loads(printed)
    return found


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.fixture
def serving(tmp_path: Path) -> str:
    """As it was recorded but for the cut-off, which lies out of reach, and a dwell of 30 s."""
    more = RANGES.format(at=60) + "\n  stabilization: {busierSeconds: 30}"
    return written(tmp_path, "serving.yaml", SERVING.format(mode="Automatic", more=more))


def test_the_code_of_today_decides_as_was_recorded() -> None:
    told = document(str(RECORD))
    assert told["compared"] == ["as recorded", "today's code"]
    assert told["differences"] == []
    ((roll,),) = [each["rolls"] for each in told["ways"]]
    assert (roll["profile"], roll["reason"]) == ("none", "AboveCutoff")


def test_another_serving_decides_otherwise_and_says_where(serving: str, tmp_path: Path) -> None:
    report = tmp_path / "r.html"
    told = document(str(RECORD), "--serving", serving, "--report", str(report))
    (way,) = told["ways"]
    assert (way["name"], way["rolls"]) == ("serving.yaml", [])
    first, *_ = told["differences"]
    assert first["one"]["recommended"] == "none"
    assert first["other"] == {
        "outcome": "Keep",
        "profile": "eagle2",
        "recommended": "eagle2",
        "reason": "BestProfileActive",
    }
    assert "below 60" in first["otherMessage"]
    page = report.read_text()
    assert "Where they differ" in page
    assert page.count("<figure") == 2


def test_two_policies_are_held_against_each_other(serving: str, tmp_path: Path) -> None:
    """A policy is followed only where the serving says nothing itself."""
    bare = written(tmp_path, "bare.yaml", SERVING.format(mode="Automatic", more=""))
    low = written(tmp_path, "low.yaml", POLICY.format(at=20, busier=15))
    high = written(tmp_path, "high.yaml", POLICY.format(at=30, busier=15))
    told = document(str(RECORD), "-f", bare, "--policy", low, "--diff", high)
    assert told["compared"] == ["bare.yaml with low.yaml", "high.yaml"]
    one, other = (each["rolls"][0]["from"] for each in told["ways"])
    assert one < other
    assert told["differences"]
    own = document(str(RECORD), "-f", serving, "--diff", low)
    assert own["differences"] == []


def test_another_serving_is_held_against_the_record_as_it_is(serving: str) -> None:
    told = document(str(RECORD), "--diff", serving)
    assert told["compared"] == ["today's code", "serving.yaml"]
    assert [len(each["rolls"]) for each in told["ways"]] == [1, 0]


def test_what_a_person_reads_has_the_reasons(serving: str) -> None:
    code, printed, _ = run(str(RECORD), "--serving", serving)
    assert code == 0
    assert "serving.yaml: no roll would have been begun." in printed
    assert "Where as recorded and serving.yaml differ" in printed
    assert "switch to none (AboveCutoff)" in printed
    assert "22 moments of default/llama over 3.83 minutes" in printed


def test_recommending_only_is_told(tmp_path: Path) -> None:
    more = RANGES.format(at=20) + "\n  stabilization: {busierSeconds: 15}"
    file = written(tmp_path, "look.yaml", SERVING.format(mode="RecommendOnly", more=more))
    (way,) = document(str(RECORD), "-f", file)["ways"]
    assert way["rolls"] == []
    wanted = [each for each in way["decisions"] if each["reason"] == "RecommendOnly"]
    assert {each["recommended"] for each in wanted} == {"none"}


def test_schedules_are_those_of_the_moment(tmp_path: Path) -> None:
    """The record begins at 10:01 UTC: a window from 10 to 11 o'clock is open, the next is not."""
    window = """
  schedules:
    - {{name: day, cron: "0 {hour} * * *", durationSeconds: 3600, timeZone: UTC, profile: none}}"""
    for hour, rolls in ((10, ["none"]), (15, [])):
        more = RANGES.format(at=60) + window.format(hour=hour)
        file = written(tmp_path, "s.yaml", SERVING.format(mode="Automatic", more=more))
        (way,) = document(str(RECORD), "-f", file)["ways"]
        assert [each["profile"] for each in way["rolls"]] == rolls
        assert all(each["reason"] == "Scheduled" for each in way["rolls"])


def ticks() -> list[RecordedTick]:
    return list(read_record(RECORD))


def test_a_test_is_written_that_passes_and_fails_with_another_decision(
    serving: str, tmp_path: Path
) -> None:
    test = tmp_path / "test_far_cutoff.py"
    code, _, said = run(str(RECORD), "--serving", serving, "--as-test", str(test))
    assert code == 0
    assert "test_far_cutoff.jsonl.gz" in said
    text = test.read_text()
    assert '(0, "Keep", "eagle2", "BestProfileActive"),' in text
    assert passes(test)
    # The same record with the settings of the other serving decides otherwise.
    record = tmp_path / "test_far_cutoff.jsonl.gz"
    before = list(read_record(record))
    settings = [each.settings for each in ticks()]
    changed = [replace(tick, settings=other) for tick, other in zip(before, settings, strict=True)]
    record.unlink()
    write_record(record, read_header(RECORD), changed)
    assert not passes(test)


def passes(test: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, cwd=test.parent, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout
    return done.returncode == 0


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    test = tmp_path / "test_x.py"
    test.write_text("mine")
    code, _, said = run(str(RECORD), "--as-test", str(test))
    assert code == 1
    assert "is there already: remove it, or name another" in said
    assert test.read_text() == "mine"
    assert not (tmp_path / "test_x.jsonl.gz").exists()


def test_a_hostile_name_stays_a_text_in_the_test(tmp_path: Path) -> None:
    name = "x\"\"\"\nimport os; os._exit(7)\n'''"
    record = tmp_path / "r.jsonl.gz"
    write_record(record, read_header(RECORD), [replace(each, serving=name) for each in ticks()])
    test = tmp_path / "test_hostile.py"
    code, _, _ = run(str(record), "--as-test", str(test))
    assert code == 0
    assert passes(test)


@pytest.fixture
def past(tmp_path: Path) -> str:
    """The record as Prometheus would tell it, up to the roll."""
    lost = Problem(reason=Reason.TARGET_NOT_FOUND, message="not known")
    found = [
        replace(
            each,
            facts=replace(each.facts, target=lost, plan=None),
            settings=None,
            memory=None,
            decision=None,
            unknown=UNKNOWN,
        )
        for each in ticks()[:15]
    ]
    file = tmp_path / "past.jsonl.gz"
    header = RecordHeader(ridgeline="1", source="past", window_seconds=60.0)
    write_record(file, header, found)
    return str(file)


def test_the_past_is_decided_with_a_serving_and_what_ran(past: str, tmp_path: Path) -> None:
    more = RANGES.format(at=20) + "\n  stabilization: {busierSeconds: 30}"
    file = written(tmp_path, "s.yaml", SERVING.format(mode="Automatic", more=more))
    told = document(past, "-f", file, "--active", "eagle2")
    assert told["ways"][0]["rolls"][0]["profile"] == "none"
    assert "The record tells of no decisions to hold this against." in told["summary"]
    assert any("a stand-in was taken" in each for each in told["cautions"])
    code, _, said = run(past, "-f", file)
    assert code == 2
    assert "name the profile with --active (eagle2, none)" in said


def test_a_record_of_several_servings_has_to_be_told_which(tmp_path: Path) -> None:
    record = tmp_path / "two.jsonl.gz"
    both = [*ticks(), *(replace(each, serving="qwen") for each in ticks())]
    write_record(record, read_header(RECORD), both)
    code, _, said = run(str(record))
    assert code == 2
    assert "tells of 2 servings: choose by --name: default/llama, default/qwen" in said
    assert document(str(record), "--name", "default/qwen")["serving"] == "default/qwen"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--policy", "p.yaml"), 2, "--policy p.yaml: give the serving that follows it"),
        (("--report", "r.pdf"), 2, "--report r.pdf: end its name in .html"),
        (("--as-test", "x.py"), 2, "--as-test x.py: name it test_WORDS.py"),
        (("--as-test", "test_a-b.py"), 2, "name it test_WORDS.py, with letters, digits and _"),
        (("--name", "a/b"), 2, "--name a/b: "),
        (("--active", "none"), 2, "--active none: the record tells itself what ran"),
        (("--serving", "none.yaml"), 2, "--file none.yaml cannot be read: No such file"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], code: int, said: str) -> None:
    found, printed, told = run(str(RECORD), *arguments)
    assert (found, printed) == (code, "")
    assert said in told
    assert told.startswith("ridgeline replay: ")
    assert "Traceback" not in told


def test_a_record_that_somebody_unpacked_is_decided_alike(tmp_path: Path) -> None:
    plain = tmp_path / "record.jsonl"
    plain.write_bytes(gzip.decompress(RECORD.read_bytes()))
    assert run(str(plain)) == run(str(RECORD))


def test_files_that_are_no_records_or_policies_are_told(serving: str, tmp_path: Path) -> None:
    other = written(tmp_path, "x.jsonl.gz", "nothing")
    code, _, told = run(other)
    assert (code, "is no record: give a file that ridgeline wrote" in told) == (2, True)
    code, _, told = run(written(tmp_path, "empty.jsonl.gz", ""))
    assert (code, "is no record: the file is empty" in told) == (2, True)
    code, _, told = run(str(tmp_path / "none.jsonl.gz"))
    assert (code, "cannot be read (No such file" in told) == (2, True)
    packed = tmp_path / "y.jsonl.gz"
    packed.write_bytes(gzip.compress(b"hello"))
    code, _, told = run(str(packed))
    assert (code, "is no record: it is something else, or damaged" in told) == (2, True)
    assert "malformed" not in told
    code, _, told = run(str(RECORD), "-f", serving, "--policy", serving)
    assert (code, "holds 0 SpeculationPolicies: give one" in told) == (1, True)
    policy = written(tmp_path, "p.yaml", POLICY.format(at=20, busier=15))
    code, _, told = run(str(RECORD), "--diff", policy)
    assert (code, "give the one that follows this policy with --serving" in told) == (2, True)
