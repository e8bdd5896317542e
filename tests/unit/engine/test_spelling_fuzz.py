"""A short run of the fuzzer over the reading and replacing of a config, the same each time."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = 8_000
ROOT = Path(__file__).parents[3]
CORPUS = (
    '--speculative-config\0{"method":"eagle","model":"o/h","num_speculative_tokens":4}\0--port\0001',
    "serve\0m\0--speculative_config.method=mtp\0--spec-tokens\0002",
    '-sc={"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}',
    "-sc.a.b+=1,2\0-sc.num_speculative_tokens_per_batch_size=[[1,16,4],[17,64,0]]",
    "sh\0-c\0exec vllm serve m --speculative-config '{}' \"$@\"\0--\0x",
    '--speculative-config=\'{"method":"ngram"}\'\0--config\0f.yaml',
    '-sc={""method"":""ngram""}\0-sc=$(SPECULATION_CONFIG)\0--spec-method=$$(A)',
    '-sc={"method":"custom_class","model":"a.b","code-revision":"x"}',
)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_made_up_words_give_a_config_or_one_typed_error(tmp_path: Path) -> None:
    for number, words in enumerate(CORPUS):
        (tmp_path / str(number)).write_text(words)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.unit.engine.fuzz_spelling",
            str(tmp_path),
            f"-runs={RUNS}",
            "-seed=6",
            "-max_len=512",
            f"-artifact_prefix={tmp_path}/",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert re.search(rf"Done {RUNS} runs", done.stderr), done.stderr[-4000:]
