"""What the hardware alone says about a method of speculation.

Published experience and measurements decide here, not the knee: the knee knows nothing of what a
draft costs, and that is what goes wrong on links and on older GPUs.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.terms.links import Link
from ridgeline.terms.methods import Method
from ridgeline.terms.verdict import Verdict

NEVER_DRAFT_FROM_TP: Final = 4
"""Tensor-parallel size from which a draft model over PCIe is refused.

Every pass of the draft waits for all-reduces of a few microseconds of work each, over one hop per
further GPU. Measured on 4×L4 with a 14B FP8 target and a 4B draft, K=5: 118 ms per cycle against
19.5 ms per step without, a loss at every concurrency.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether a method is worth having on some hardware.

    Attributes:
        verdict: Yes, No, or that it depends on what the hardware does not tell.
        because: One sentence for a person; empty for a plain Yes.
    """

    verdict: Verdict
    because: str = ""


def crosses_pcie(accelerator: Accelerator, tensor_parallel: int) -> bool:
    """Whether the GPUs of one engine must talk over PCIe."""
    if tensor_parallel <= 1:
        return False
    span = accelerator.link_span
    return accelerator.link in (Link.PCIE, Link.NONE) or (
        span is not None and tensor_parallel > span
    )


def judge(method: Method, accelerator: Accelerator, tensor_parallel: int) -> Judgement:
    """Return what the hardware says about a method that speculates.

    Args:
        method: How drafts are made.
        accelerator: The GPU.
        tensor_parallel: GPUs that one engine spans; at least 1.
    """
    if crosses_pcie(accelerator, tensor_parallel):
        return _over_pcie(method, accelerator, tensor_parallel)
    if accelerator.consumer:
        return Judgement(
            verdict=Verdict.YES,
            because=f"speculation may help on {accelerator.name}, a consumer card that seldom has "
            "many requests at a time; nobody has published its break-even: compare both profiles",
        )
    if not accelerator.native_fp8:
        return Judgement(
            verdict=Verdict.UNDECIDED,
            because=f"on {accelerator.name} it depends on the model and on tensor parallelism: "
            "GPUs without native FP8 have about half the room of H100 (8B), and a large model over "
            "several GPUs has more; set Fixed ranges from a measurement of your own",
        )
    return Judgement(verdict=Verdict.YES)


def _over_pcie(method: Method, accelerator: Accelerator, tensor_parallel: int) -> Judgement:
    where = f"tensor parallelism {tensor_parallel} over PCIe on {accelerator.name}"
    if method is not Method.DRAFT_MODEL:
        return Judgement(
            verdict=Verdict.UNDECIDED,
            because=f"{method.value} drafts without a second model, so what PCIe costs a draft "
            f"model does not tell about it; {where} was not measured with it: compare both "
            "profiles and set Fixed ranges",
        )
    if tensor_parallel >= NEVER_DRAFT_FROM_TP:
        return Judgement(
            verdict=Verdict.NO,
            because=f"never a draft model with {where}: its passes wait for all-reduces over PCIe "
            "(measured on 4 L4: slower at every concurrency)",
        )
    return Judgement(
        verdict=Verdict.UNDECIDED,
        because=f"a draft model with {where} pays for all-reduces in each of its passes, and how "
        "much depends on the draft: compare both profiles and set Fixed ranges",
    )
