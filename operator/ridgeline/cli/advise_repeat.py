"""What a serving out of advice has no field for, and the commands that repeat the advice."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ridgeline.cli.advise_question import AdviseInputs
from ridgeline.settings.advise_model import uneven_heads
from ridgeline.terms.precision import Precision

FILE: Final = "serving.yaml"
"""How the commands call the file that the serving is saved to."""

_MOST_SIMULATED: Final = 512
"""Most of --max-num-seqs that a simulation takes."""


def repeated(
    inputs: AdviseInputs, body: dict[str, Any], accelerator_files: Sequence[Path]
) -> tuple[str, ...]:
    """Return lines that tell on which facts the advice rests, and how to say them again.

    They are facts of the Deployment and of the requests, which no field of a serving holds.

    Args:
        inputs: What was told.
        body: The serving that is printed.
        accelerator_files: Files with AcceleratorProfiles that were given.
    """
    files = [part for each in accelerator_files for part in ("--file", _shown(each))]
    engine = _engine(inputs, body)
    lengths = _lengths(inputs)
    simulated = engine
    most = inputs.served.max_num_seqs
    if most is not None and most > _MOST_SIMULATED:
        at = engine.index("--max-num-seqs")
        simulated = [*engine[:at], *engine[at + 2 :]]
    heads = uneven_heads(inputs.model.target, inputs.served.tensor_parallel)
    return (
        *((heads,) if heads else ()),
        f"It holds for {inputs.served.tensor_parallel} × {inputs.accelerator.name} per engine, "
        f"{_most(most)}, and {_requests(inputs)}: a Deployment's arguments tell the first two.",
        f"Without its file, saved as {FILE}, ask again with:",
        f"  ridgeline cutoff --file {FILE} {' '.join([*files, *engine, *lengths])}",
        f"  ridgeline simulate --file {FILE} {' '.join([*files, *simulated])}",
    )


def _shown(file: Path) -> str:
    """Return a path as one word of one line."""
    return shlex.quote("".join(each for each in str(file) if each.isprintable()))


def _engine(inputs: AdviseInputs, body: dict[str, Any]) -> list[str]:
    served = inputs.served
    told = ["--tp", str(served.tensor_parallel)]
    if served.max_num_seqs is not None:
        told += ["--max-num-seqs", str(served.max_num_seqs)]
    if "precision" not in body["spec"]["model"] and inputs.precision is not Precision.BF16:
        told += ["--precision", inputs.precision.value]
    if inputs.engine_version is not None:
        told += ["--engine-version", inputs.engine_version]
    return told


def _lengths(inputs: AdviseInputs) -> list[str]:
    if not inputs.workload_told:
        return []
    workload = inputs.workload
    return [
        *("--context", f"{workload.context_tokens:.6g}"),
        *("--prefill", f"{workload.prefill_per_token:.6g}"),
    ]


def _most(max_num_seqs: int | None) -> str:
    if max_num_seqs is None:
        return "vLLM's default of --max-num-seqs"
    return f"--max-num-seqs {max_num_seqs}"


def _requests(inputs: AdviseInputs) -> str:
    workload = inputs.workload
    return (
        f"contexts of {workload.context_tokens:.6g} tokens with {workload.prefill_per_token:.3g} "
        "prompt tokens per generated one"
    )
