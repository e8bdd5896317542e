"""Models, heads and targets that the tests of predictions share; figures of published configs."""

from collections.abc import Sequence

from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.costmodel.arm import Acceptance, Arm, Calibration, Origin
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.shape import Experts, ModelShape
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.profiles import gpu

NONE = Arm(name="none", method=Method.DISABLED)
CHAT = Workload(context_tokens=500.0)


def shape(
    name: str,
    layers: int,
    hidden: int,
    vocabulary: int,
    params: float,
    kv_heads: int,
    head_size: int = 128,
    **more: object,
) -> ModelShape:
    values: dict[str, object] = {
        "kv_elements_per_token": float(2 * kv_heads * head_size * layers),
        "checked": True,
        "source": "config.json",
    }
    return ModelShape(
        name=name,
        layers=layers,
        hidden=hidden,
        vocabulary=vocabulary,
        params=params,
        **(values | more),  # type: ignore[arg-type]
    )


LLAMA_8B = shape("Llama 3.1 8B", 32, 4096, 128256, 8.03e9, 8)
LLAMA_70B = shape("Llama 3 70B", 80, 8192, 128256, 70.55e9, 8)
QWEN_8B = shape("Qwen3 8B", 36, 4096, 151936, 8.19e9, 8)
QWEN_14B = shape("Qwen3 14B", 40, 5120, 151936, 14.77e9, 8)
QWEN_4B = shape("Qwen3 4B", 36, 2560, 151936, 4.02e9, 8)
QWEN_06B = shape("Qwen3 0.6B", 28, 1024, 151936, 0.596e9, 8)
MIXTRAL = shape(
    "Mixtral 8x7B",
    32,
    4096,
    32000,
    46.7e9,
    8,
    experts=Experts(count=8, active=2, params=45.1e9, layers=32),
)
EAGLE_8B = shape("EAGLE 8B", 1, 4096, 128256, 0.777e9, 8)
EAGLE3_8B = shape("EAGLE-3 8B", 1, 4096, 32000, 0.425e9, 8)
EAGLE_70B = shape("EAGLE 70B", 1, 8192, 128256, 2.04e9, 8)

MT_BENCH = (0.68, 0.39, 0.20, 0.10, 0.06)
"""EAGLE on MT-Bench, by position (vLLM PR 32374)."""


def on(
    name: str = "h100-sxm",
    model: ModelShape = LLAMA_8B,
    tensor_parallel: int = 1,
    precision: Precision = Precision.BF16,
    **more: object,
) -> Deployment:
    return Deployment(
        accelerator=gpu(name),
        model=model,
        tensor_parallel=tensor_parallel,
        precision=precision,
        **more,  # type: ignore[arg-type]
    )


def accepted(rates: Sequence[float], **more: object) -> Acceptance:
    values: dict[str, object] = {"origin": Origin.MEASURED, "relative_sd": 0.02}
    return Acceptance(rates=tuple(rates), **(values | more))  # type: ignore[arg-type]


def arm(
    length: float,
    lookahead: int = 3,
    draft: ModelShape | None = EAGLE3_8B,
    method: Method = Method.EAGLE3,
    name: str = "spec",
    **more: object,
) -> Arm:
    """A profile with an acceptance length."""
    values: dict[str, object] = {"acceptance": accepted(rates_from_length(length, lookahead))}
    return Arm(
        name=name,
        method=method,
        lookahead=lookahead,
        draft=draft,
        **(values | more),  # type: ignore[arg-type]
    )


def seen(windows: int = 200, log_scale: float = 0.0) -> Calibration:
    return Calibration(log_scale=log_scale, windows=windows)


def cutoff(table: object) -> float:
    """The first border of a table that has one."""
    assert isinstance(table, CutoffTable), table
    up_to = table.rows[0].up_to
    assert up_to is not None, table.reasons
    return up_to
