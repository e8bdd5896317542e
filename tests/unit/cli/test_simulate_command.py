"""`ridgeline simulate`: from files and flags to a table, JSON and a report; every usage error."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline.cli.main import app

PUBLISHED = ("--published", "8b", "--days", "0.1", "--tick", "60", "--processes", "1")
MODEL = (
    *("--model", "meta-llama/Llama-3.1-8B-Instruct", "--accelerator", "h100-sxm"),
    *("--profile", "eagle3:3", "--days", "0.05", "--tick", "60", "--processes", "1"),
)
SERVING = """
apiVersion: ridgeline.dev/v1alpha1
kind: SpeculativeServing
metadata: {name: llama, namespace: inference}
spec:
  targetRef: {name: llama}
  accelerator: h100-sxm
  model: {name: meta-llama/Llama-3.1-8B-Instruct}
  cutoff:
    ranges:
      - {profile: eagle, upToConcurrency: 50}
      - {profile: none}
  schedules:
    - {name: night, cron: "0 0 * * *", durationSeconds: 18000, timeZone: UTC, profile: none}
  profiles:
    - name: eagle
      method: Eagle3
      model: yuhuili/EAGLE3-LLaMA3.1-Instruct-8B
      numSpeculativeTokens: 3
    - {name: none, method: Disabled}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: llama, namespace: inference}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: llama}}
  template:
    metadata: {labels: {app: llama}}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args:
            - --speculative-config=$(SPECULATION_CONFIG)
            - --model=meta-llama/Llama-3.1-8B-Instruct
          envFrom: [{configMapRef: {name: no-speculation}}]
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: str) -> dict[str, Any]:
    code, printed, said = run(*arguments, "-o", "json")
    assert code == 0, said
    found: dict[str, Any] = json.loads(printed)
    return found


def test_a_published_deployment_is_told_as_a_table_and_a_report(tmp_path: Path) -> None:
    report = tmp_path / "r.html"
    code, printed, said = run(*PUBLISHED, "--report", str(report))
    assert code == 0, said
    assert "8b, as published: strategies side by side" in printed
    for name in ("stay on eagle", "stay on none", "ridgeline, Goodput", "best in hindsight"):
        assert name in printed
    assert "note: Canaries and trials are rolled as a whole" in printed
    page = report.read_text()
    assert "<h1>Would ridgeline pay for 8b, as published?</h1>" in page
    assert page.count("<figure") == 5
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("load", "said"),
    [("0.3", "(tokens/s)"), ("5", "requests queue then, whatever the profile")],
)
def test_more_load_than_the_fleet_carries_is_told(load: str, said: str) -> None:
    code, out, _ = run(*PUBLISHED, "--load", load)
    assert code == 0
    told = " ".join(out.split())
    assert "what the fleet carries" in told
    assert said in told
    assert ("requests queue then" in told) == (load == "5")


def test_a_model_on_a_gpu_is_compared_by_every_strategy() -> None:
    told = document(*MODEL, "--fixed-cutoff", "40", "--replicas", "2", "--seed", "7")
    assert told["version"] == 1
    assert (told["seed"], told["singleRequests"]) == (7, False)
    names = [each["name"] for each in told["strategies"]]
    assert names == [
        "stay on eagle3-3",
        "stay on none",
        "eagle3-3 with an in-engine schedule",
        f"script at {told['cutoffConcurrency']:.0f}",
        "ridgeline, Goodput",
        "ridgeline, Ridge",
        "ridgeline, Fixed 40",
        "best in hindsight",
    ]
    assert told["strategies"][0]["runsToday"]
    assert "what its method usually has, a guess" in told["cautions"][0]
    assert "2 replicas, no spare" in told["facts"]["fleet"]


def test_what_is_true_may_differ_from_what_is_believed() -> None:
    believed = document(*MODEL)
    worse = document(*MODEL, "--truth", "acceptance=0.2", "--truth", "step-time.eagle3-3=1.1")
    assert worse["cutoffConcurrency"] == believed["cutoffConcurrency"]
    assert worse["facts"]["what is true"] == "acceptance=0.2, step-time.eagle3-3=1.1"
    first, none = (believed["strategies"][n]["meanLatencySeconds"] for n in (0, 1))
    assert worse["strategies"][0]["meanLatencySeconds"] > 1.2 * first
    assert worse["strategies"][1]["meanLatencySeconds"] == none


def test_a_serving_is_simulated_as_it_asks(tmp_path: Path) -> None:
    """Its strategy, schedules, replicas and spare GPU, and no in-engine schedule at 0.11."""
    file = tmp_path / "serving.yaml"
    file.write_text(SERVING)
    told = document("--file", str(file), "--days", "0.1", "--tick", "60", "--processes", "1")
    names = [each["name"] for each in told["strategies"]]
    assert not any("schedule" in each for each in names)
    assert names[3:6] == ["ridgeline, Fixed", "ridgeline, Goodput", "ridgeline, Ridge"]
    assert told["facts"]["fleet"] == "3 replicas, 1 spare for a roll"
    fixed = told["strategies"][3]
    assert fixed["about"] == "as the serving asks"
    # The night's window is open when the simulation begins.
    assert [each["to"] for each in fixed["rolls"]] == ["none"]


def test_a_serving_without_its_deployment_is_simulated_with_a_loud_note(tmp_path: Path) -> None:
    file = tmp_path / "serving.yaml"
    file.write_text(SERVING.partition("---")[0])
    short = ("--file", str(file), "--days", "0.05", "--tick", "60", "--processes", "1")
    first = document(*short)["cautions"][0]
    assert "ts Deployment 'llama' is not there, so these are taken: tensor-parallel size 1" in first
    assert "or say --tp, --max-num-seqs, --engine-version" in first


def test_a_csv_file_is_played(tmp_path: Path) -> None:
    file = tmp_path / "load.csv"
    rows = "".join(f"{60 * n},{2 + n % 5}\n" for n in range(60))
    file.write_text("time_s,requests_per_second\n" + rows)
    told = document("--published", "8b", "--traffic", str(file), "--processes", "1")
    assert told["days"] == pytest.approx(1 / 24)
    single = document(
        *("--published", "8b", "--traffic", str(file), "--processes", "1", "--single-requests")
    )
    assert single["singleRequests"]
    latencies = [each["strategies"][1]["meanLatencySeconds"] for each in (told, single)]
    assert latencies[0] == pytest.approx(latencies[1], rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--model is not given: name it, or give a serving with --file, or take a published"),
        (("--published", "9b"), "--published 9b: give one of 70b, 8b, weak"),
        (("--published", "8b", "--tp", "2"), "--tp: --published brings its own"),
        (("--published", "8b", "--truth", "acceptance=0.5"), "write cutoff=-20%"),
        (("--published", "8b", "--truth", "cutoff=-90%"), "give -75% to +300%"),
        (("--published", "8b", "--days", "nan"), "--days nan: give 0.05 to 100"),
        (("--published", "8b", "--load", "inf"), "--load inf: give 0.01 to 10"),
        (("--published", "8b", "--noise", "2"), "--noise 2.0: give 0 to 1"),
        (("--published", "8b", "--tick", "20"), "--tick 20: give a multiple of 15"),
        (("--published", "8b", "--start-seconds", "x"), "--start-seconds x: write it as 120:300"),
        (("--published", "8b", "--start-seconds", "9:5"), "exchange the two"),
        (("--published", "8b", "--traffic", "week"), "--traffic week: give one of diurnal, bursty"),
        (("--published", "8b", "--requests", "poems"), "--requests poems: give one of chat, azure"),
        (("--published", "8b", "--report", "r.txt"), "--report r.txt: end its name in .html"),
        (("--published", "8b", "--load", "1", "--requests-per-second", "1"), "leave one out"),
        ((*MODEL, "--truth", "acceptance.x=0.5"), "there is no profile 'x': eagle3-3, none"),
        ((*MODEL, "--truth", "acceptance=1.5,2"), "--truth acceptance "),
        ((*MODEL, "--truth", "step-time=0"), "--truth step-time=0: give a factor of 0.1 to 10"),
        ((*MODEL, "--truth", "memory=1"), "--truth memory=1: 'memory' is not known here: write"),
        ((*MODEL, "--truth", "acceptance"), "--truth acceptance: write acceptance=0.6"),
        ((*MODEL, "--vllm", "x"), "--engine-version x: write it as 0.24.0"),
        ((*MODEL, "--accelerator", "H100"), "--accelerator H100 is a family of GPUs"),
        ((*MODEL, "--model", "a/config.json"), "ridgeline model describe a/config.json"),
        ((*MODEL, "--today", "x"), "--today x: there is no such profile: eagle3-3"),
        (("--model", "nobody/none", "--accelerator", "h100-sxm"), "--model nobody/none: the cat"),
    ],
)
def test_wrong_usage_is_told_in_one_message(arguments: tuple[str, ...], said: str) -> None:
    code, printed, told = run(*arguments)
    assert code == 2
    assert printed == ""
    assert said in told
    assert told.startswith("ridgeline simulate: ")
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s,requests_per_second\n0,1\n60,nan\n", "line 3: requests_per_second is 'nan'"),
        ("a,b\n1,2\n", "the header has a, b, and time_s is missing"),
        ("time_s,requests_per_second\n0,1e300\n60,1e300\n", "line 2: requests_per_second is '1e"),
    ],
)
def test_traffic_that_cannot_be_used_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    code, _, told = run("--published", "8b", "--traffic", str(file))
    assert code == 2
    assert said in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s,requests_per_second\n0,0\n60,0\n", "every requests_per_second of"),
        ("time_s,requests_per_second\n0,1e-300\n60,0\n", "is 0, or next to it"),
        ("arrival_s,prompt_tokens,output_tokens\n5,1,1\n", "arrive at one moment (1 in all)"),
        ("arrival_s,prompt_tokens,output_tokens\n5,1,1\n5,1,1\n", "one moment (2 in all)"),
    ],
)
def test_traffic_in_which_nothing_happens_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    code, printed, told = run("--published", "8b", "--traffic", str(file))
    assert (code, printed) == (1, "")
    assert told.startswith("ridgeline simulate: nothing to simulate: ")
    assert said in told


def test_more_single_requests_than_fit_are_told(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("time_s,requests_per_second\n0,1e6\n3600,1e6\n")
    code, _, told = run("--published", "8b", "--traffic", str(file), "--single-requests")
    assert code == 2
    assert "7,200 million requests are more than 40 million: give a shorter file" in told


def test_what_cannot_be_written_or_read_is_told(tmp_path: Path) -> None:
    code, _, told = run(*PUBLISHED, "--report", str(tmp_path / "no" / "r.html"))
    assert code == 2
    assert "cannot be written: No such file" in told
    code, _, told = run("--file", str(tmp_path / "none.yaml"))
    assert code == 2
    assert "cannot be read" in told


def test_a_deployment_that_stops_all_at_once_is_not_rolled(tmp_path: Path) -> None:
    file = tmp_path / "serving.yaml"
    rolling = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
    file.write_text(SERVING.replace(rolling, "strategy: {type: Recreate}"))
    code, _, told = run("--file", str(file))
    assert code == 1
    assert "has strategy Recreate" in told


def test_without_the_extra_the_way_out_is_told() -> None:
    script = (
        "import sys; sys.modules['numba'] = None\n"
        "from ridgeline.cli.main import app\n"
        "app(['simulate', '--published', '8b'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'ridgeline[simulate]'" in done.stderr
    assert "Traceback" not in done.stderr
