"""A deployment as the cost model predicts it, made the truth of a simulation.

A law that believes the same model is then right by construction, so what is true can be told to
differ from what is believed: another acceptance, slower steps.

Prompts are computed within the steps (chunked prefill), as the cost model has it: their price is in
the step times, and a request waits for its first token only as long as it queues.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.costmodel.acceptance import rates_from_counters
from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.lookahead import lookahead_schedule
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.workload import Workload
from ridgeline.sim.requests.arrays import PROFILES, SEQS
from ridgeline.sim.requests.truth import ProfileTruth, Truth

_SCHEDULED: Final = " with an in-engine schedule"

SCHEDULED: Final = "{}" + _SCHEDULED
"""Name of the profile that lets the engine choose its lookahead step by step."""

_MORE_CONTEXT: Final = 1000.0

_UNLIMITED: Final = 100_000
"""Requests that no flag limits, to see what memory has room for."""


def base_of(name: str) -> str:
    """Return the profile that one with an in-engine schedule is made from."""
    return name.removesuffix(_SCHEDULED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """In what the truth differs from what is believed.

    Attributes:
        acceptance: p_1 … p_K by profile.
        step_time: Factor on step times by profile.
    """

    acceptance: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    step_time: Mapping[str, float] = field(default_factory=dict)

    def arm(self, arm: Arm) -> Arm:
        """Return a profile with its true acceptance; one with a schedule has that of its base."""
        rates = self.acceptance.get(base_of(arm.name))
        if rates is None or arm.acceptance is None:
            return arm
        known = rates_from_counters(rates, arm.lookahead or len(rates))
        true = Acceptance(rates=known, hit=arm.acceptance.hit, origin=Origin.MEASURED)
        return replace(arm, acceptance=true)

    def factor(self, profile: str) -> float:
        """Return the factor on a profile's step times."""
        return self.step_time.get(base_of(profile), 1.0)


def predicted_truth(
    deployment: Deployment,
    arms: Sequence[Arm],
    workload: Workload,
    differs: Differs | None = None,
    *,
    schedules: bool = False,
    full_tokens: float | None = None,
) -> Truth | CannotSay:
    """Return a deployment's truth, or why the model cannot tell it.

    Profiles that the model cannot predict are left out; one without speculation must be left.

    Args:
        deployment: Where it runs.
        arms: Its profiles.
        workload: The mean request in decode.
        differs: In what the truth differs.
        schedules: Whether each profile is there with an in-engine schedule of its lookahead, too.
        full_tokens: Tokens that a request in decode has at its end, prompt and answer; `None`: its
            context. The simulation reserves them from the beginning, where a real engine takes
            blocks as they fill, so it is given as much more room as they exceed the context.
    """
    changed = differs or Differs()
    believed = list(arms)
    if schedules:
        made = (scheduled(deployment, each, workload) for each in arms)
        believed += [each for each in made if each is not None]
    found = arm_models(deployment, [changed.arm(each) for each in believed], workload)
    known = [each for each in found if isinstance(each, ArmModel)]
    none = next((each for each in known if not each.arm.method.speculates), None)
    if none is None:
        missing = next((each for each in found if isinstance(each, CannotSay)), None)
        return missing or CannotSay(
            reason="no profile is without speculation", way_out="add one with method Disabled"
        )
    most = min(SEQS, deployment.max_num_seqs or int(CONSTANTS.unknown_max_seqs))
    speculating = [each for each in known if each.arm.method.speculates][: PROFILES - 1]
    first = speculating[0] if speculating else none
    return Truth(
        name=f"{deployment.model.name} on {deployment.tensor_parallel} × "
        f"{deployment.accelerator.name}",
        profiles=tuple(
            _profile(
                each, deployment, workload, most, changed, full_tokens or workload.context_tokens
            )
            for each in (*speculating, none)
        ),
        max_seqs=most,
        reference_context=workload.context_tokens,
        kv_seconds_per_token=_kv_seconds(deployment, none.arm, workload),
        prefill_seconds_per_token=0.0,
        prefill_fixed_seconds=0.0,
        knee_tokens=deployment.accelerator.knee_tokens(deployment.precision),
        lookahead=first.arm.lookahead,
    )


def scheduled(deployment: Deployment, arm: Arm, workload: Workload) -> Arm | None:
    """Return a profile whose engine follows the best lookahead by the requests in each step.

    `None` for a profile that has a schedule already, or no lookahead to choose.
    """
    if arm.schedule or not arm.method.speculates or arm.acceptance is None:
        return None
    tiers = lookahead_schedule(deployment, arm, workload)
    if isinstance(tiers, CannotSay):
        return None
    return replace(arm, name=SCHEDULED.format(arm.name), schedule=tiers)


def _profile(
    model: ArmModel,
    deployment: Deployment,
    workload: Workload,
    most: int,
    differs: Differs,
    full_tokens: float,
) -> ProfileTruth:
    grid = [float(each) for each in range(1, most + 1)]
    scale = model.scale * differs.factor(model.arm.name)
    steps = [model.step_at(each) for each in grid]
    return ProfileTruth(
        name=model.arm.name,
        concurrency=tuple(grid),
        step_seconds=tuple(
            scale * step.seconds(each) for step, each in zip(steps, grid, strict=True)
        ),
        tokens_per_step=tuple(each.length for each in steps),
        kv_tokens=_kv_tokens(deployment, model.arm, workload, full_tokens),
    )


def _kv_tokens(deployment: Deployment, arm: Arm, workload: Workload, full_tokens: float) -> float:
    room = room_of(replace(deployment, max_num_seqs=_UNLIMITED), arm, workload)
    if isinstance(room, CannotSay) or not room.by_memory:
        return 1e12
    return max(1.0, room.max_concurrency * full_tokens)


def _kv_seconds(deployment: Deployment, none: Arm, workload: Workload) -> float:
    """Return what a token more in the KV cache costs a step."""
    longer = replace(workload, context_tokens=workload.context_tokens + _MORE_CONTEXT)
    now, then = (arm_models(deployment, [none], each)[0] for each in (workload, longer))
    if isinstance(now, CannotSay) or isinstance(then, CannotSay):
        return 0.0
    return max(0.0, now.scale * (then.step.seconds(1.0) - now.step.seconds(1.0)) / _MORE_CONTEXT)
