"""A short run of the fuzzer over the reading of answers, the same each time."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = 20_000
ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_made_up_bytes_give_data_or_one_typed_error(tmp_path: Path) -> None:
    for number, answer in enumerate(CORPUS):
        (tmp_path / str(number)).write_bytes(answer)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.unit.telemetry.fuzz_answers",
            str(tmp_path),
            f"-runs={RUNS}",
            "-seed=6",
            "-max_len=1024",
            f"-artifact_prefix={tmp_path}/",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert re.search(rf"Done {RUNS} runs", done.stderr), done.stderr[-4000:]


def _answer(*values: str, **extra: object) -> bytes:
    result = [
        {
            "metric": {"namespace": "a", "pod": f"p-{n}", "engine": "0", "position": str(n)},
            "value": [1, value],
        }
        for n, value in enumerate(values)
    ]
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data} | extra, separators=(",", ":")).encode()


CORPUS = (
    _answer("1", "0.25"),
    _answer("NaN", "+Inf", "-3e-7"),
    _answer("1", warnings=["w"], infos=["i"], isPartial=True),
    _answer("1e308", "1e308", "1e999", isPartial=0),
    _answer("1").replace(b'"p-0"', b'"\\u00e9"'),
    _answer(),
    b'{"status":"error","error":"x"}',
)
