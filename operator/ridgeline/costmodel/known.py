"""What a prediction needs to know, and what to say where it is missing or makes no sense."""

from typing import Final

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method

NEEDS_DRAFT: Final = frozenset({Method.EAGLE, Method.EAGLE3, Method.MTP, Method.DRAFT_MODEL})
"""Methods that draft with a model."""

MOST_PARAMS: Final = 1e14
MOST_LAYERS: Final = 10_000
MOST_WIDTH: Final = 10_000_000
MOST_KV: Final = 1e9
MOST_CONTEXT: Final = 1e8
MOST_PREFILL: Final = 1e5
MOST_LOOKAHEAD: Final = 1_000
MOST_GPUS: Final = 100_000
"""Bounds so far out that only a slip of the pen meets them; beyond, arithmetic would overflow."""


def missing_of(arm: Arm) -> CannotSay | None:
    """Return what keeps a profile from being predicted, `None` when nothing does."""
    if not arm.method.speculates:
        return None
    drafts = arm.lookahead > 0 or arm.method is Method.SUFFIX
    if drafts and arm.acceptance is None:
        return CannotSay(
            reason=f"{arm.name}: nothing is known of how often its drafts are accepted",
            way_out="let it run here once, or state its acceptance",
        )
    if drafts and not _enough_positions(arm):
        return CannotSay(
            reason=f"{arm.name}: acceptance is known of fewer positions than its "
            f"lookahead {arm.lookahead}",
            way_out="give one rate for each position",
        )
    if arm.method in NEEDS_DRAFT and arm.draft is None:
        return CannotSay(
            reason=f"{arm.name}: the shape of its draft is not known",
            way_out="give it, or name a draft that the catalogue has",
        )
    if arm.lookahead > MOST_LOOKAHEAD or (arm.tree_nodes or 0) > MOST_LOOKAHEAD**2:
        return CannotSay(
            reason=f"{arm.name}: lookahead {arm.lookahead} is out of reason",
            way_out=f"give at most {MOST_LOOKAHEAD}",
        )
    if arm.draft is not None:
        return _odd_shape(arm.draft)
    return None


def _enough_positions(arm: Arm) -> bool:
    return arm.acceptance is not None and len(arm.acceptance.rates) >= arm.lookahead


def implausible(deployment: Deployment, workload: Workload) -> CannotSay | None:
    """Return which fact of a target or its requests makes no sense, `None` when all do."""
    gpus = deployment.tensor_parallel * deployment.pipeline_parallel * deployment.data_parallel
    if gpus > MOST_GPUS:
        return CannotSay(
            reason=f"{gpus} GPUs per replica are out of reason", way_out="correct the sizes"
        )
    if workload.context_tokens > MOST_CONTEXT or workload.prefill_per_token > MOST_PREFILL:
        return CannotSay(
            reason=f"a context of {workload.context_tokens:g} tokens with "
            f"{workload.prefill_per_token:g} prompt tokens per generated token is out of reason",
            way_out="correct the workload",
        )
    return _odd_shape(deployment.model)


def _odd_shape(shape: ModelShape) -> CannotSay | None:
    for name, value, most in (
        ("parameters", shape.params, MOST_PARAMS),
        ("layers", shape.layers, MOST_LAYERS),
        ("width", shape.hidden, MOST_WIDTH),
        ("vocabulary", shape.vocabulary, MOST_WIDTH),
        ("KV numbers per token", shape.kv_elements_per_token, MOST_KV),
        ("KV numbers per token", shape.windowed_kv_elements_per_token, MOST_KV),
    ):
        if value > most:
            return CannotSay(
                reason=f"{shape.name}: {value:g} {name} are out of reason",
                way_out="correct the shape of the model",
            )
    return None
