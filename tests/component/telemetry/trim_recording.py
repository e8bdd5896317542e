"""Cuts recorded /metrics pages of a real vLLM down to the families that telemetry reads.

    python -m tests.component.telemetry.trim_recording RECORDINGS

RECORDINGS holds `<profile>/c<N>-before.prom` and `-after.prom`: pages of vLLM 0.32.0 (CPU build,
tiny models) before and after 20 s of load by N closed-loop clients. The results are the committed
files in `pages/`; tests read only those.
"""

import re
import sys
from pathlib import Path

PAGES = Path(__file__).with_name("pages")
SOURCES = ("draft-k4", "none")
CLIENTS = 16
FAMILIES = (
    "inter_token_latency_seconds",
    "request_time_per_output_token_seconds",
    "time_to_first_token_seconds",
    "iteration_tokens_total",
    "generation_tokens",
    "num_requests_running",
    "num_requests_waiting",
    "spec_decode_num_drafts",
    "spec_decode_num_accepted_tokens_per_pos",
)
_WANTED = re.compile(
    rf"(?:# (?:HELP|TYPE) )?vllm:(?:{'|'.join(FAMILIES)})"
    r"(?:_total|_created|_bucket|_sum|_count)?[ {]"
)


def trimmed(page: str) -> str:
    """The lines of the wanted families, unchanged and in their order."""
    return "".join(line for line in page.splitlines(keepends=True) if _WANTED.match(line))


def main(recordings: Path) -> None:
    PAGES.mkdir(exist_ok=True)
    for source in SOURCES:
        for moment in ("before", "after"):
            page = (recordings / source / f"c{CLIENTS}-{moment}.prom").read_text()
            (PAGES / f"{source}-{moment}.prom").write_text(trimmed(page))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
