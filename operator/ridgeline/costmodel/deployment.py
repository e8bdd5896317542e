"""One target as the cost model sees it: a model on GPUs, apart from how it speculates."""

from dataclasses import dataclass

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.shape import ModelShape
from ridgeline.terms.precision import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What does not change between the profiles of a target.

    Attributes:
        accelerator: The GPU.
        model: The served model.
        precision: Of its weights and of the arithmetic on them.
        kv_bytes: Bytes of one number in the KV cache: 2 for 16 bits, 1 for 8.
        tensor_parallel: GPUs that one layer is spread over.
        pipeline_parallel: Groups of layers, each on GPUs of its own.
        expert_parallel: Whether whole experts lie on the GPUs, instead of a slice of each.
        data_parallel: Engines per replica.
        max_num_seqs: Most requests in one step (vLLM's flag); `None` while it is not known.
        gpu_memory_utilization: Share of each GPU's memory that the engine takes.
        captured_tokens: Tokens per step up to which the step is a captured graph; 0 with
            `--enforce-eager`.
        legacy_engine: Whether the engine is vLLM 0.9 or older, or another with its overheads.

    Raises:
        ValueError: When a size is not positive.
    """

    accelerator: Accelerator
    model: ModelShape
    precision: Precision
    kv_bytes: float = 2.0
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: bool = False
    data_parallel: int = 1
    max_num_seqs: int | None = None
    gpu_memory_utilization: float = 0.9
    captured_tokens: int = 512
    legacy_engine: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that no server has."""
        for name in ("tensor_parallel", "pipeline_parallel", "data_parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        if self.max_num_seqs is not None and self.max_num_seqs < 1:
            raise ValueError(f"max_num_seqs is {self.max_num_seqs}: give 1 or more")
        if self.kv_bytes not in (0.5, 1.0, 2.0, 4.0):
            raise ValueError(f"kv_bytes is {self.kv_bytes}: give 0.5, 1, 2 or 4")
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise ValueError(
                f"gpu_memory_utilization is {self.gpu_memory_utilization}: give up to 1"
            )
        if self.captured_tokens < 0:
            raise ValueError(f"captured_tokens is {self.captured_tokens}: give 0 or more")
