"""Adaptive verification beyond what the engine's own checks know: GPU, cache format, memory.

vLLM's announcement of it names what it is refused with; LoRA, pipelines and eager mode, which the
released packages refuse, are among the traps of the engine's contract.
"""

from collections.abc import Iterator
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.engine.check_subject import Subject, key_finding
from ridgeline.engine.findings import Finding, Severity

_KEY: Final = "enable_adaptive_verification"
_SERVED: Final = ("b100", "b200", "gb200", "b300", "gb300")
"""Beginnings of the catalogue's names of GPUs with SM100 and its successor."""

_ROOMY: Final = 0.85
"""With 0.9 of the memory, capturing graphs for (K+1) · max-num-seqs tokens was seen to fail."""


def adaptive_findings(subject: Subject, accelerator: Accelerator | None) -> Iterator[Finding]:
    """Yield what adaptive verification needs and a server has not.

    Args:
        subject: The server.
        accelerator: Its GPU; `None` when not known.
    """
    if subject.keys.get(_KEY) is not True or _KEY not in subject.contract.keys:
        return
    served = subject.served
    if accelerator is not None and not accelerator.name.startswith(_SERVED):
        yield _finding(
            "AdaptiveVerificationGpu",
            f"it is made for GPUs of the type SM100, and this is {accelerator.name}: the start "
            "stops",
            f"remove {_KEY}",
        )
    if not served.kv_cache_dtype.startswith("fp8"):
        told = served.kv_cache_dtype or "not given"
        yield _finding(
            "AdaptiveVerificationCache",
            f"it needs --kv-cache-dtype fp8, which is {told}",
            "set --kv-cache-dtype=fp8",
        )
    share = served.gpu_memory_utilization or subject.contract.default_memory_utilization
    if share > _ROOMY:
        yield _finding(
            "AdaptiveVerificationMemory",
            f"graphs are captured for (K+1) · max-num-seqs tokens, and --gpu-memory-utilization "
            f"{share:g} leaves too little for them",
            f"set --gpu-memory-utilization={_ROOMY:g}, or lower --max-num-seqs",
        )


def _finding(check: str, consequence: str, fix: str) -> Finding:
    return key_finding(
        check=check,
        key=_KEY,
        value=True,
        consequence=consequence,
        fix=fix,
        severity=Severity.WARNING,
    )
