"""One forward pass of one model: how long reading, multiplying and exchanging take.

For N tokens of B requests on t GPUs of bandwidth BW and arithmetic rate F, in seconds:

    pass = [W^p + C^p]^(1/p) + KV + AR (+ experts' overhead)
    W    = bytes of weights touched ÷ (t·BW·share)      of E experts 1 − (1 − active/E)^N are read
    C    = 2 · active parameters · N ÷ (t·F·share)
    KV   = B · context · bytes per token ÷ (t·BW)
    AR   = 2·layers·(latency + 2(t−1)/t · N·hidden·2 bytes ÷ (link·share))

The factors that do not depend on N and B are worked out once (`Forward`), since a table asks for a
few hundred points.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.accelerator import WEIGHT_BYTES, Accelerator
from ridgeline.costmodel.constants import Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.suitability import crosses_pcie
from ridgeline.terms.links import Link
from ridgeline.terms.precision import Precision

GIGA: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """What a pass costs, as factors of the tokens N and requests B in it. All in seconds.

    Attributes:
        dense: Reading the weights that every pass reads.
        experts: Reading all routed experts once; 0 of a dense model.
        miss: Probability that one token leaves a given expert alone.
        compute: Multiplying, per token.
        kv: Reading the KV cache, per request.
        fixed: Latency of the all-reduces and overhead of the layers with experts.
        exchange: Sending of the all-reduces, per token.
        expert_overhead: The part of `fixed` that the experts cause.
    """

    dense: float
    experts: float
    miss: float
    compute: float
    kv: float
    fixed: float
    exchange: float
    expert_overhead: float


def forward_of(
    deployment: Deployment,
    shape: ModelShape,
    precision: Precision,
    context_tokens: float,
    constants: Constants,
) -> Forward:
    """Return the factors of one pass of a model on the GPUs of a deployment.

    Args:
        deployment: Where it runs; its own model need not be the one that passes.
        shape: The model that passes: the target, or a draft.
        precision: Of the weights of that model.
        context_tokens: Mean context of a request.
        constants: The constants of the formula.
    """
    gpu, size = deployment.accelerator, float(deployment.tensor_parallel)
    bandwidth = gpu.bandwidth_gb_s * GIGA * constants.bandwidth_share
    runs_as = gpu.runs_as(precision)
    read_param = WEIGHT_BYTES[runs_as] / (bandwidth * size)
    multiply_param = 2.0 / (_rate(gpu, runs_as) * constants.compute_share * size)
    expert_params = shape.experts.params if shape.experts else 0.0
    # Whole experts on GPUs of their own are spread over all engines of the replica, and meet the
    # tokens of all of them.
    engines = float(deployment.data_parallel) if deployment.expert_parallel else 1.0
    miss, overhead = 1.0, 0.0
    if shape.experts is not None:
        miss = (1.0 - shape.experts.active / shape.experts.count) ** engines
        overhead = shape.experts.layers * constants.expert_layer_seconds
    latency, per_byte = _all_reduce(deployment, constants)
    all_reduces = 2.0 * shape.layers
    return Forward(
        dense=(shape.params - expert_params) * read_param,
        experts=expert_params * read_param / engines,
        miss=miss,
        compute=shape.active_params * multiply_param,
        kv=_kv_bytes(deployment, shape, context_tokens) / (gpu.bandwidth_gb_s * GIGA),
        fixed=all_reduces * latency + overhead,
        exchange=all_reduces * per_byte * shape.hidden * 2.0,
        expert_overhead=overhead,
    )


def _rate(gpu: Accelerator, runs_as: Precision) -> float:
    """Return the dense arithmetic rate in FLOP/s, as the knee implies it."""
    knee = gpu.knee_tokens(runs_as)
    return knee * 2.0 * gpu.bandwidth_gb_s * GIGA / WEIGHT_BYTES[runs_as]


def _kv_bytes(deployment: Deployment, shape: ModelShape, context_tokens: float) -> float:
    """Return the bytes of one request's cache that each GPU reads."""
    splits = deployment.tensor_parallel
    if shape.kv_splits is not None:
        splits = min(splits, shape.kv_splits)
    return shape.kv_elements(context_tokens) * deployment.kv_bytes / splits


def _all_reduce(deployment: Deployment, constants: Constants) -> tuple[float, float]:
    """Return the seconds of one all-reduce: latency, and per byte."""
    gpu, size = deployment.accelerator, deployment.tensor_parallel
    if size == 1:
        return 0.0, 0.0
    share = 2.0 * (size - 1) / size
    if crosses_pcie(gpu, size):
        rate = gpu.link_gb_s if gpu.link is Link.PCIE else constants.pcie_gb_s
        latency = constants.pcie_hop_seconds * 2.0 * (size - 1)
    else:
        rate, latency = gpu.link_gb_s, constants.all_reduce_seconds
    return latency, share / (rate * GIGA * constants.link_share)
