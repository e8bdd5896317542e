"""How wrong a predicted speed-up may be, and what may not be acted on whatever it says.

    sd(ln S)² = (sd(E[L]) ÷ E[L])² of both profiles + model²
    model     = 0.07 dense, chain · 0.15 experts · 0.30 trees and legacy engines

Once the step times of both profiles were observed here, what was learned replaces the model's
error: after n independent windows (of the profile with fewer) (1 − gain)^n of it is left, beside
0.04.
"""

import math
from collections.abc import Iterable
from typing import Final

from ridgeline.costmodel.arm import Arm, Origin
from ridgeline.costmodel.constants import Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.suitability import crosses_pcie, judge
from ridgeline.terms.methods import Method
from ridgeline.terms.verdict import Verdict

PIPELINE: Final = (
    "pipeline parallelism was never measured against this model: compare both profiles"
)


def model_sd(deployment: Deployment, arms: Iterable[Arm], constants: Constants) -> float:
    """Return the standard deviation of ln S of an unseen profile, from the model alone."""
    if deployment.legacy_engine or any(each.tree_nodes is not None for each in arms):
        return constants.doubtful_sd
    return constants.chain_sd if deployment.model.experts is None else constants.experts_sd


def ratio_sd(deployment: Deployment, one: Arm, other: Arm, constants: Constants) -> float:
    """Return the standard deviation of ln of the ratio of two profiles' goodput."""
    model = model_sd(deployment, (one, other), constants)
    if one.calibration.seen and other.calibration.seen:
        windows = min(one.calibration.windows, other.calibration.windows, 1000)
        left = model * (1.0 - constants.learning_gain) ** windows
        model = math.hypot(constants.seen_sd, left)
    return math.hypot(
        model, *(each.acceptance.relative_sd for each in (one, other) if each.acceptance)
    )


def doubts(deployment: Deployment, arm: Arm, none: Arm | None) -> tuple[str, ...]:
    """Return why a profile that speculates may be recommended only; empty when it may be acted on.

    Args:
        deployment: The target.
        arm: A profile that speculates.
        none: The profile that does not, if there is one.
    """
    seen = none is not None and none.calibration.seen and arm.calibration.seen
    found = []
    if arm.acceptance is not None and arm.acceptance.origin is Origin.PRIOR:
        found.append(
            f"{arm.name}: first contact, nothing is known of its acceptance here; what is shown "
            "rests on what its method usually has: let it run once, as a trial"
        )
    if arm.tree_nodes is not None:
        found.append(f"{arm.name}: draft trees are predicted too poorly to act on")
    if deployment.legacy_engine:
        found.append(f"{arm.name}: engines up to 0.9 are predicted too poorly to act on")
    if arm.method is Method.DRAFT_MODEL:
        judged = judge(arm.method, deployment.accelerator, deployment.tensor_parallel)
        if judged.verdict is not Verdict.YES and judged.because and _over_pcie(deployment):
            found.append(f"{arm.name}: {judged.because}")
    if not seen:
        found.extend(_unseen(deployment))
    return tuple(found)


def unchecked(deployment: Deployment, arms: Iterable[Arm]) -> tuple[str, ...]:
    """Return which facts come from memory, as sentences."""
    found = []
    gpu = deployment.accelerator
    if not gpu.checked:
        found.append(f"the figures of {gpu.name} are from memory and were not checked")
    shapes = [deployment.model, *(each.draft for each in arms if each.draft is not None)]
    found.extend(
        f"the shape of {name} is from memory and was not checked"
        for name in dict.fromkeys(each.name for each in shapes if not each.checked)
    )
    return tuple(found)


def _unseen(deployment: Deployment) -> list[str]:
    found = []
    if deployment.model.experts is not None:
        found.append(
            "mixture-of-experts models are predicted too poorly to act on before the step times of "
            "both profiles were seen here"
        )
    if deployment.pipeline_parallel > 1:
        found.append(PIPELINE)
    return found


def _over_pcie(deployment: Deployment) -> bool:
    return crosses_pcie(deployment.accelerator, deployment.tensor_parallel)
