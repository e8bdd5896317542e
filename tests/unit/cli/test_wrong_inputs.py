"""Whatever a person gives a command by mistake, what comes back is words and no stack trace."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline.cli.kubectl import app as kubectl
from ridgeline.cli.main import app as ridgeline

REPOSITORY = Path(__file__).parents[3]
RECORD = str(REPOSITORY / "tests/replay/load-rises.jsonl.gz")
SAMPLES = str(REPOSITORY / "deploy/samples")

SERVING = "apiVersion: ridgeline.dev/v1alpha1\nkind: SpeculativeServing\n"
FILES: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "words": b"hello\n",
    "broken.yaml": b"a: [1\nb: {",
    "list.yaml": b"[1, 2]",
    "number.yaml": b"3",
    "nan.yaml": b"a: .nan\n",
    "nan.json": b'{"hidden_size": NaN}',
    "negative.json": b'{"hidden_size": -1, "num_hidden_layers": -3, "model_type": "llama"}',
    "deep.json": b"[" * 1200,
    "long.json": b'{"a": ' + b"1" * 5000 + b"}",
    "nul": b"a\0b",
    "nan.csv": b"arrival_s,prompt_tokens,output_tokens\nnan,1,1\n",
    "half.jsonl.gz": b"\x1f\x8b\x08\0\0\0\0\0",
    "shapes.yaml": (SERVING + "metadata: {name: {a: 1}}\nspec: {profiles: 3}\n").encode(),
    "lists.yaml": (SERVING + "metadata: [1]\nspec: 3\n").encode(),
    "config.yaml": b"kind: Config\nclusters: 3\ncontexts: [1]\ncurrent-context: [a]\n",
}
NAMES = [*FILES, "folder", "missing", "no\0name", "n" * 5000]
"""What is given for a file; some of them are files."""

ADVISE = "advise --accelerator h100-sxm --method Eagle3:3 --acceptance 0.7 --model"
RECORDED = "record -n team --target llama"
READS = [
    f"{ADVISE} @",
    f"{ADVISE} Qwen/Qwen3-32B --accelerator-file @",
    f"{ADVISE} Qwen/Qwen3-32B --plot @",
    "cutoff -f @",
    "simulate --file @",
    "simulate --published 8b --days 0.05 --report @",
    "lint @",
    f"lint {SAMPLES} --model-config @",
    f"lint {SAMPLES} --draft-config @",
    "check --config @",
    "run --config @",
    "replay @",
    f"replay {RECORD} -f @",
    f"replay {RECORD} --policy @ -f @",
    f"replay {RECORD} --diff @",
    f"replay {RECORD} --as-test @",
    f"replay {RECORD} --report @",
    "record cut @ --out cut.jsonl.gz",
    f"{RECORDED} --config @ --out out.jsonl.gz",
    f"{RECORDED} --prometheus http://127.0.0.1:1 --bearer-token-file @ --out out.jsonl.gz",
    "calibrate fit @",
    "calibrate measure --model m --out grid.json --python @",
    "calibrate measure --model m --out grid.json --python /bin/false --engine @",
    "model describe @",
    "load --url http://127.0.0.1:1 --duration 0.01 --trace @",
    "kubectl report x --out @",
]
VERBS = ("explain", "status", "history", "cutoff", "suspend", "resume", "release", "report")
CONNECTS = [
    *(f"kubectl {verb} x --kubeconfig @" for verb in VERBS),
    "kubectl force x y --kubeconfig @",
]
FIELDS = ("nan", "inf", "-1", "0", "1e999", "x", "", "9" * 400)
"""What is given for a number."""

NUMBERS = [
    *(
        f"{ADVISE} Qwen/Qwen3-32B {option}=@"
        for option in (
            *("--tensor-parallel", "--prompt-tokens", "--output-tokens", "--context", "--load"),
            *("--concurrency", "--max-num-seqs", "--replicas", "--headroom", "--gpu-price"),
            *("--max-tpot", "--measured-tpot", "--startup-seconds", "--acceptance", "--vllm"),
        )
    ),
    "cutoff --model Qwen/Qwen3-32B --accelerator h100-sxm --profile eagle3:3 --context=@",
    "cutoff --model Qwen/Qwen3-32B --accelerator h100-sxm --profile eagle3:3 --acceptance=@",
    "cutoff --model Qwen/Qwen3-32B --accelerator h100-sxm --profile=eagle3:@",
    *(
        f"simulate --published 8b --days 0.05 --processes 1 {option}=@"
        for option in ("--days", "--load", "--noise", "--replicas", "--start-seconds", "--tick")
    ),
    *(
        f"{RECORDED} --prometheus http://127.0.0.1:1 --out o {each}=@"
        for each in ("--from", "--step")
    ),
    "load --url http://127.0.0.1:1 --users 1 --duration=@",
    "load --url http://127.0.0.1:1 --duration 0.01 --rate=@",
    "kubectl report x --prometheus http://127.0.0.1:1 --from=@",
    "kubectl status --watch --interval=@",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    nowhere = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: []\n"
    text = "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
    (tmp_path / "nowhere").write_text(nowhere + text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    return tmp_path


def asked(line: str, value: str) -> tuple[Any, list[str]]:
    words = [each.replace("@", value) for each in line.split()]
    return (kubectl, words[1:]) if words[0] == "kubectl" else (ridgeline, words)


def trouble(line: str, value: str) -> str | None:
    """Tell what is wrong with how a command takes a value; `None` for nothing."""
    app, words = asked(line, value)
    result = CliRunner().invoke(app, words)
    shown = f"{value[:40]!r}"
    if not isinstance(result.exception, SystemExit | None):
        return f"{shown}: {result.exception!r:.200}"
    if result.exit_code not in {0, 1, 2}:
        return f"{shown}: status {result.exit_code}"
    if result.exit_code and not (result.stderr.strip() or result.stdout.strip()):
        return f"{shown}: status {result.exit_code} and not a word"
    return None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", READS)
def test_no_file_ends_in_a_stack_trace(line: str) -> None:
    assert [found for name in NAMES if (found := trouble(line, name))] == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", CONNECTS)
def test_no_kubeconfig_ends_in_a_stack_trace(line: str) -> None:
    names = ["binary", "config.yaml", "folder", "missing", "number.yaml"]
    assert [found for name in names if (found := trouble(line, name))] == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", NUMBERS)
def test_no_number_ends_in_a_stack_trace(line: str) -> None:
    assert [found for text in FIELDS if (found := trouble(line, text))] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("line", ["model describe @", "cutoff -f @", "lint @", "replay @"])
def test_a_file_without_permission_is_told(folder: Path, line: str) -> None:
    (folder / "words").chmod(0)
    app, words = asked(line, "words")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "ridgeline.cli", *words]


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("advise", "--help"),
        ("lint", SAMPLES, "-o", "json"),
        ("replay", RECORD, "-o", "json"),
        ("replay", RECORD),
    ],
)
def test_a_reader_that_goes_away_ends_it_in_silence(words: tuple[str, ...]) -> None:
    """As `| head -1` does."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(program(*words), stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("words", [("version",), ("advise", "--help"), ("replay", RECORD)])
def test_a_full_disk_is_told_in_a_line(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(program(*words), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "ridgeline: the output cannot be written: No space left on device\n"


def test_an_interrupt_ends_a_command_in_silence(tmp_path: Path) -> None:
    """At a moment at which it surely waits: standard input, which nobody closes."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    words = program("calibrate", "fit", str(fifo))
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process, fifo.open("wb"):
        # Opening waits for the reader: once it is through, the command has come to its file.
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in told
