"""Every constant of the cost model, with where it comes from.

A constant marked weak hardly matters, or rests on one source; docs/concepts/cost-model.md shows
them all. Seconds, bytes, shares.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Final

_FIXTURE: Final = "step times of Llama 3.1 8B with EAGLE (vLLM PR 32374) and SpecDecode-Bench"


def _from(value: float, source: str, *, weak: bool = False) -> Any:
    return field(default=value, metadata={"source": source, "weak": weak})


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The constants of the step-time formula and of its uncertainty."""

    bandwidth_share: float = _from(0.81, f"fit: {_FIXTURE}; NVIDIA aiconfigurator uses 0.8")
    """Share of the data sheet's bandwidth that reading weights reaches."""
    compute_share: float = _from(0.67, f"fit: {_FIXTURE}")
    """Share of the data sheet's dense rate that matrix products reach."""
    roofline_power: float = _from(1.5, f"fit: {_FIXTURE}; 1 is a sum, infinity the larger of both")
    """p of [W^p + C^p]^(1/p): how far memory and arithmetic overlap."""
    step_seconds: float = _from(0.67e-3, f"fit: {_FIXTURE}")
    """Host time of one engine step."""
    request_seconds: float = _from(4.3e-6, f"fit: {_FIXTURE}")
    """Host time that each request adds to a step."""
    draft_pass_seconds: float = _from(0.25e-3, f"fit: {_FIXTURE}")
    """Host and launch time of one draft pass."""
    draft_layer_seconds: float = _from(43e-6, f"fit: {_FIXTURE} and draft models of its kind")
    """Least time of one layer of a draft: launching its kernels, however little they do."""
    lookup_seconds: float = _from(0.05e-3, "fit: SpecDecode-Bench, n-gram")
    """Host time of looking drafts up, for n-gram and suffix, per step."""
    lookup_request_seconds: float = _from(4e-6, "fit: SpecDecode-Bench, n-gram")
    """The same, for each request."""
    all_reduce_seconds: float = _from(9.2e-6, "fit: SpecDecode-Bench, 70B at TP 4", weak=True)
    """Latency of one all-reduce over NVLink or XGMI."""
    pcie_hop_seconds: float = _from(10e-6, "NVIDIA aiconfigurator, p2p latency", weak=True)
    """Latency of one hop over PCIe; an all-reduce over t GPUs has 2·(t−1)."""
    link_share: float = _from(0.7, "common experience with all-reduce", weak=True)
    """Share of a link's data-sheet rate that an all-reduce reaches."""
    pcie_gb_s: float = _from(32.0, "PCIe 4.0 x16, one direction", weak=True)
    """PCIe rate in GB/s where the GPU's own link does not reach all GPUs of an engine."""
    draft_hop_seconds: float = _from(2.5e-3, "one case: 14B FP8 with a 4B draft, 4×L4", weak=True)
    """What a pass of a draft model over PCIe costs beyond its all-reduces, per further GPU."""
    eager_layer_seconds: float = _from(
        0.13e-3, "one table supports it, another does not", weak=True
    )
    """What a layer costs more in a step above the captured size."""
    eager_ramp: float = _from(0.25, "assumed: tokens per step vary around their mean", weak=True)
    """Share of the captured size within which steps above it become the rule."""
    expert_layer_seconds: float = _from(60e-6, "fit: few MoE models", weak=True)
    """What routing and gathering cost in each layer with experts."""
    loaded_quiet: float = _from(0.066, "vLLM issue 49548: 2 requests on H100 NVL", weak=True)
    """Price of a loaded drafter that drafts nothing, as a share of the step, at 2 requests."""
    loaded_busy: float = _from(0.216, "vLLM issue 49548: 189 requests on H100 NVL", weak=True)
    """The same at 189 requests and more; straight in between."""
    reserve_gib: float = _from(2.0, "usual size of activations and captured graphs", weak=True)
    """Memory of each GPU, in GiB, that is neither weights nor KV cache."""
    unknown_max_seqs: float = _from(1024.0, "largest default of vLLM's max_num_seqs", weak=True)
    """Most requests per engine where the flag is not known."""
    chain_sd: float = _from(0.07, "spread of dense chains on current engines")
    """Standard deviation of ln S from the model alone: dense model, chain of drafts."""
    experts_sd: float = _from(0.15, "spread of mixture-of-experts cells")
    """The same for mixture-of-experts models."""
    doubtful_sd: float = _from(0.30, "spread of trees and of engines up to 0.9")
    """The same for trees and legacy engines."""
    seen_sd: float = _from(0.04, "3 to 5 % on the ratio once both profiles were seen")
    """What stays of it once both profiles' step times were observed."""
    learning_gain: float = _from(0.05, "best of the estimators that were tried")
    """Share of a new window in the learned scale."""
    learning_clip: float = _from(0.5, "best of the estimators that were tried")
    """Most that one window may differ from what was learned, in ln of step time."""


CONSTANTS: Final = Constants()


def sources() -> tuple[tuple[str, float, str, bool], ...]:
    """Return name, value, source and weakness of every constant."""
    return tuple(
        (
            each.name,
            float(getattr(CONSTANTS, each.name)),
            str(each.metadata["source"]),
            bool(each.metadata["weak"]),
        )
        for each in fields(Constants)
    )
