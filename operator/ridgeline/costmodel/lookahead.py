"""How many drafts pay: the best lookahead K by concurrency, and the engine's own schedule of it.

Position i adds p_i to E[L], and to the step a draft pass and one more token of each request to
verify. While steps are captured both marginal costs do not fall with i and p_i does not rise, so
the first position that does not pay ends the row; above the captured size there are jumps, so all K
are compared.

A schedule holds the drafter loaded, and its K = 0 carries that price.
"""

import math
from dataclasses import replace
from typing import Final

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.arm import Tier as Tier
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.step_time import StepModel, step_model
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method

WORTH: Final = 0.005
"""Share of goodput that a larger K must add to be taken: less is noise."""


def best_lookahead(
    deployment: Deployment,
    arm: Arm,
    workload: Workload,
    concurrency: float,
    *,
    drafter_stays: bool = False,
) -> int | CannotSay:
    """Return the K of most goodput, from 0 to the profile's own lookahead.

    Args:
        deployment: The target.
        arm: The profile; its lookahead is the largest K.
        workload: The mean request.
        concurrency: Requests in decode per engine.
        drafter_stays: Whether K = 0 keeps the drafter loaded and pays for it.
    """
    if not (math.isfinite(concurrency) and 1e-3 <= concurrency <= 1e6):
        return CannotSay(reason=f"concurrency is {concurrency}", way_out="give 0.001 to 1e6")
    models = _models(deployment, arm, workload, drafter_stays=drafter_stays)
    return models if isinstance(models, CannotSay) else _best(models, concurrency)


def lookahead_schedule(
    deployment: Deployment, arm: Arm, workload: Workload
) -> tuple[Tier, ...] | CannotSay:
    """Return the best K by requests in a step, without gaps from 1 to the most that is admitted.

    This is what `num_speculative_tokens_per_batch_size` of vLLM takes. The drafter stays loaded.
    """
    models = _models(deployment, arm, workload, drafter_stays=True)
    if isinstance(models, CannotSay):
        return models
    room = room_of(deployment, arm, workload)
    if isinstance(room, CannotSay):
        return room
    # Memory admits fewer when contexts are longer, never more than the engine's flag.
    most = deployment.max_num_seqs or int(CONSTANTS.unknown_max_seqs)
    tiers: list[Tier] = []
    first = 1
    while first <= most:
        lookahead = _best(models, float(first))
        last = _last(models, first, most, lookahead)
        if tiers and tiers[-1].lookahead == lookahead:
            tiers[-1] = replace(tiers[-1], last=last)
        else:
            tiers.append(Tier(first=first, last=last, lookahead=lookahead))
        first = last + 1
    return tuple(tiers)


def _models(
    deployment: Deployment, arm: Arm, workload: Workload, *, drafter_stays: bool
) -> list[StepModel] | CannotSay:
    """Return the step model of each K from 0 up."""
    if arm.method is Method.SUFFIX:
        # A lookahead of 0 means "as many as it finds" here: there is none to choose from.
        return CannotSay(
            reason=f"{arm.name}: suffix decoding drafts as many tokens as it finds",
            way_out="there is no lookahead to choose",
        )
    if not arm.method.speculates:
        return CannotSay(
            reason=f"{arm.name} does not speculate", way_out="ask for a profile that does"
        )
    if arm.tree_nodes is not None:
        return CannotSay(
            reason=f"{arm.name} drafts a tree, whose nodes do not follow from K",
            way_out="compare trees as profiles of their own",
        )
    found: list[StepModel] = []
    zero = replace(arm, lookahead=0) if drafter_stays else Arm(name="none", method=Method.DISABLED)
    for each in (zero, *(replace(arm, lookahead=k) for k in range(1, arm.lookahead + 1))):
        model = step_model(deployment, each, workload, target=found[0].target if found else None)
        if isinstance(model, CannotSay):
            return model
        found.append(model)
    return found


def _best(models: list[StepModel], concurrency: float) -> int:
    best, most = 0, 0.0
    for lookahead, model in enumerate(models):
        rate = model.length / model.seconds(concurrency)
        if rate > most * (1.0 + WORTH):
            best, most = lookahead, rate
    return best


def _last(models: list[StepModel], first: int, most: int, lookahead: int) -> int:
    """Return the last number of requests, from `first` on, that keeps a lookahead.

    Steps are doubled and then halved: ranges that begin and end within one step are not found, and
    are not worth a row.
    """
    step, reached = 1, first
    while reached + step <= most and _best(models, float(reached + step)) == lookahead:
        reached += step
        step = max(1, reached // 8)
    while step > 1:
        step = (step + 1) // 2
        if reached + step <= most and _best(models, float(reached + step)) == lookahead:
            reached += step
    while reached < most and _best(models, float(reached + 1)) == lookahead:
        reached += 1
    return reached
