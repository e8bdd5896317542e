"""How many requests fit: what weights and caches of target and draft take from concurrency.

    KV budget  = utilisation · memory · GPUs − weights − draft weights − reserve per GPU
    most       = min(max_num_seqs, budget ÷ bytes of the caches of one request)

A draft takes twice: its weights once, its own KV cache for every request.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.accelerator import WEIGHT_BYTES
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS, Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

GIB: Final = 2.0**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the GPUs of one engine have room for.

    Attributes:
        max_concurrency: Most requests in decode, at the workload's mean context.
        by_memory: Whether memory sets it, and not the engine's flag.
        draft_bytes: Bytes of the draft's weights.
        kv_bytes: Bytes of the caches of one request, the draft's included.
        draft_kv_bytes: The draft's part of it.
    """

    max_concurrency: float
    by_memory: bool
    draft_bytes: float
    kv_bytes: float
    draft_kv_bytes: float


def room_of(
    deployment: Deployment, arm: Arm, workload: Workload, constants: Constants = CONSTANTS
) -> Room | CannotSay:
    """Return how many requests fit on a profile.

    The facts must be known (`known.missing_of`).
    """
    gpus = float(deployment.tensor_parallel * deployment.pipeline_parallel)
    per_gpu = deployment.accelerator.memory_gib * deployment.gpu_memory_utilization
    weights = _weight_bytes(deployment.model, deployment.precision, deployment)
    draft = arm.draft if arm.method.speculates else None
    usual = deployment.precision if arm.method is Method.MTP else Precision.BF16
    added = draft.params if draft and arm.draft_added_params is None else arm.draft_added_params
    draft_bytes = (added or 0.0) * WEIGHT_BYTES[arm.draft_precision or usual] if draft else 0.0
    left = (per_gpu - constants.reserve_gib) * GIB * gpus - weights - draft_bytes
    draft_kv = _kv_bytes(draft, deployment, workload) if draft else 0.0
    kv = _kv_bytes(deployment.model, deployment, workload) + draft_kv
    flag = float(deployment.max_num_seqs or constants.unknown_max_seqs)
    if left < kv or left <= 0:
        return CannotSay(
            reason=f"{arm.name}: weights of {(weights + draft_bytes) / GIB:.0f} GiB leave no room "
            f"for one request of {workload.context_tokens:.0f} tokens on {gpus:.0f} × "
            f"{deployment.accelerator.name} of {per_gpu:.0f} GiB",
            way_out="use more GPUs or a smaller precision, or correct the facts",
            impossible=True,
        )
    by_memory = kv > 0 and left / kv < flag
    return Room(
        max_concurrency=left / kv if by_memory else flag,
        by_memory=by_memory,
        draft_bytes=draft_bytes,
        kv_bytes=kv,
        draft_kv_bytes=draft_kv,
    )


def _weight_bytes(shape: ModelShape, precision: Precision, deployment: Deployment) -> float:
    experts = shape.experts.params if shape.experts else 0.0
    spread = deployment.data_parallel if deployment.expert_parallel else 1
    return (shape.params - experts + experts / spread) * WEIGHT_BYTES[precision]


def _kv_bytes(shape: ModelShape, deployment: Deployment, workload: Workload) -> float:
    copies = 1.0
    if shape.kv_splits is not None:
        copies = max(1.0, deployment.tensor_parallel / shape.kv_splits)
    return shape.kv_elements(workload.context_tokens) * deployment.kv_bytes * copies
