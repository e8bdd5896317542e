"""Draw the pictures of the page about `ridgeline advise`, from what the command itself draws.

python -m tests.tools.advise_pictures [FOLDER]

They are written to docs/images unless a folder is named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from ridgeline.cli.advise_facts import advised
from ridgeline.cli.advise_inputs import Typed, inputs_of
from ridgeline.costmodel.acceptance import Task
from ridgeline.costmodel.cost import HEADROOM
from ridgeline.render.advise_chart import advice_charts
from ridgeline.render.plots import Chart
from tests.tools.pictures import drawn_by

TYPED: Final = Typed(
    model="Qwen/Qwen3-32B",
    accelerator="h100-sxm",
    accelerator_file=[],
    method=["Eagle3:3", "NGram:3"],
    acceptance=["eagle3-3=0.70,0.45,0.28", "ngram-3=0.55,0.42,0.33"],
    task=Task.CHAT,
    tensor_parallel=2,
    precision=None,
    vllm="0.24.0",
    prompt_tokens=600.0,
    output_tokens=400.0,
    context=[],
    concurrency=8.0,
    max_num_seqs=256,
    max_num_batched_tokens=None,
    load="30req/s",
    replicas=None,
    headroom=HEADROOM,
    gpu_price=3.0,
    max_tpot=20.0,
    measured_tpot=None,
    startup_seconds=None,
)
"""The command of the page, option by option; a test holds the two together."""


@cache
def charts() -> tuple[Chart, ...]:
    """Return the charts that the command draws."""
    report = advised(inputs_of(TYPED)).report
    told = report.cutoff.predicted
    if isinstance(told, str):
        raise TypeError(told)
    return advice_charts(report, told)


CHARTS: Final[Mapping[str, Callable[[], Chart]]] = {
    "advise-speedup.svg": lambda: charts()[0],
    "advise-context.svg": lambda: charts()[1],
    "advise-cost.svg": lambda: charts()[2],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw every picture and return the exit status."""
    return drawn_by("python -m tests.tools.advise_pictures", CHARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
