"""A load generator: users who wait for their answers, arrivals that do not, or a trace.

``python -m ridgeline.sim.load --help`` tells the flags. As a library::

    generator = LoadGenerator(LoadSettings(targets=(url,), mode=ClosedLoop(users=8), duration_s=60))
    summary = await generator.run()
"""

from collections.abc import Sequence

from ridgeline.sim.load.generator import LoadGenerator
from ridgeline.sim.load.results import Distribution, RequestResult, Summary
from ridgeline.sim.load.settings import (
    Arrival,
    ClosedLoop,
    LoadSettings,
    OpenLoop,
    Replay,
    read_trace,
)

__all__ = [
    "Arrival",
    "ClosedLoop",
    "Distribution",
    "LoadGenerator",
    "LoadSettings",
    "OpenLoop",
    "Replay",
    "RequestResult",
    "Summary",
    "main",
    "read_trace",
]


def main(argv: Sequence[str]) -> int:
    """Drives load until its bound is reached, then prints the summary.

    Args:
        argv: The arguments after the program's name.

    Returns:
        0 when at least one request was answered, 1 when none was, 2 for a usage error.
    """
    from ridgeline.sim.load.command import run

    return run(argv)
