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
SOURCES = {
    "draft-k4": "draft-k4/c16",
    "none": "none/c16",
    "dynamic-k4": "dynamic-k4/c16",
    "dynamic-k4-off": "dynamic-k4/c32",
}
"""Recorded profile and load by the name of the committed pages."""
FAMILIES = (
    "inter_token_latency_seconds",
    "request_time_per_output_token_seconds",
    "time_to_first_token_seconds",
    "iteration_tokens_total",
    "generation_tokens",
    "num_requests_running",
    "num_requests_waiting",
    "num_requests_waiting_by_reason",
    "num_preemptions",
    "kv_cache_usage_perc",
    "prompt_tokens",
    "prompt_tokens_by_source",
    "request_prompt_tokens",
    "request_generation_tokens",
    "request_queue_time_seconds",
    "request_success",
    "e2e_request_latency_seconds",
    "spec_decode_num_drafts",
    "spec_decode_num_draft_tokens",
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
    for name, recorded in SOURCES.items():
        for moment in ("before", "after"):
            page = (recordings / f"{recorded}-{moment}.prom").read_text()
            (PAGES / f"{name}-{moment}.prom").write_text(trimmed(page))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
