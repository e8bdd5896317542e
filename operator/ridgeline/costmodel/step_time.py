"""How long an engine step of a profile takes, by concurrency.

    T = target pass(N = B·v + B·E[L]·r, B) + draft + step + req·B + eager·layers (N above captured)
    v = 1 (none) | K+1 (chain) | nodes+1 (tree) | 1 + K·hit (n-gram, suffix: they draft sometimes)
    r = prompt tokens computed per generated token: chunked prefill shares the step

    draft = K·(max(draft pass(B·width, B), least time of a layer · layers) + pass)   with a model
          | lookup + lookup per request · B                                          n-gram, suffix

With p pipeline stages a step holds B/p requests. A profile with lookahead 0 whose method speculates
is one that drafts nothing and keeps its drafter loaded: the step without, plus its price.

Uncalibrated milliseconds are off by −19 to +91 %; the ratio of two profiles is what is good.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator, Measured
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS, Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.forward import Forward, forward_of
from ridgeline.costmodel.known import implausible, missing_of
from ridgeline.costmodel.suitability import crosses_pcie
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

LOOKS_UP: Final = frozenset({Method.NGRAM, Method.SUFFIX})
"""Methods that look drafts up on the host, without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """The parts of one engine step, in seconds; they add up to `total`.

    Attributes:
        memory: What the roofline would take for one token (reading the weights).
        compute: What more it takes for all tokens of the step.
        kv: Reading the target's KV cache.
        all_reduce: Exchange between GPUs.
        experts: Overhead of the layers with experts.
        draft: Drafting: passes of the draft, or look-ups.
        host: Host time of the step and its requests.
        eager: What a step above the captured size costs more.
        price: What a loaded drafter costs that drafts nothing.
    """

    memory: float
    compute: float
    kv: float
    all_reduce: float
    experts: float
    draft: float
    host: float
    eager: float
    price: float

    @property
    def total(self) -> float:
        """Seconds of the step."""
        return math.fsum(
            (
                self.memory,
                self.compute,
                self.kv,
                self.all_reduce,
                self.experts,
                self.draft,
                self.host,
                self.eager,
                self.price,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """The step time of one profile as factors of concurrency, worked out once.

    Attributes:
        length: Acceptance length E[L]: tokens per request-step.
        tokens: Tokens in the step per request.
        stages: Pipeline stages.
        target: The target's pass.
        draft: The draft's pass; `None` without a model that drafts.
        draft_tokens: Tokens in a draft pass per request.
        passes: Draft passes per step.
        pass_floor: Least seconds of a draft pass: launching its kernels.
        pass_seconds: Seconds of a draft pass beside its work.
        step: Seconds of the step beside its requests.
        request: Seconds that a request adds on the host.
        lookup: The part of `step` that is looking drafts up.
        lookup_request: The part of `request` that is looking drafts up.
        eager: Seconds more above the captured size.
        captured: Tokens of the largest captured step.
        loaded: Whether a drafter is loaded that drafts nothing.
        constants: The constants of the formula.
    """

    length: float
    tokens: float
    stages: float
    target: Forward
    draft: Forward | None
    draft_tokens: float
    passes: float
    pass_floor: float
    pass_seconds: float
    step: float
    request: float
    lookup: float
    lookup_request: float
    eager: float
    captured: float
    loaded: bool
    constants: Constants

    def seconds(self, concurrency: float) -> float:
        """Return the seconds of a step at a concurrency."""
        return self.sweep((concurrency,))[0]

    def sweep(self, concurrencies: Sequence[float]) -> list[float]:
        """Return the seconds of a step at each concurrency; they must not fall."""
        target, each = self.target, self.tokens / self.stages
        constant = target.fixed + self.step
        linear = target.exchange * each + (target.kv + self.request) / self.stages
        powers = [concurrency**self.constants.roofline_power for concurrency in concurrencies]
        found = [
            roofline + constant + linear * concurrency
            for roofline, concurrency in zip(
                _rooflines(target, each, concurrencies, powers, self.constants),
                concurrencies,
                strict=True,
            )
        ]
        if self.draft is not None:
            drafting = self._drafts(self.draft, concurrencies, powers)
            found = [one + other for one, other in zip(found, drafting, strict=True)]
        eager_from = self.captured / each
        if concurrencies[-1] > eager_from:
            for index in range(bisect_right(concurrencies, eager_from), len(found)):
                found[index] += self._eager(each * concurrencies[index])
        if self.loaded:
            for index, concurrency in enumerate(concurrencies):
                found[index] *= 1.0 + _price(concurrency, self.constants)
        return found

    def _drafts(
        self, draft: Forward, concurrencies: Sequence[float], powers: Sequence[float]
    ) -> list[float]:
        """Return the seconds of all draft passes of a step at each concurrency."""
        each = self.draft_tokens / self.stages
        linear = draft.kv / self.stages + draft.exchange * each
        fixed, floor, passes = draft.fixed, self.pass_floor, self.passes
        beside = self.pass_seconds
        rooflines = _rooflines(draft, each, concurrencies, powers, self.constants)
        works = [
            roofline + fixed + linear * concurrency
            for roofline, concurrency in zip(rooflines, concurrencies, strict=True)
        ]
        if works[0] < floor:  # they rise
            works = [max(work, floor) for work in works]
        return [passes * (work + beside) for work in works]

    def _eager(self, tokens: float) -> float:
        """Return what steps above the captured size cost more, on average over steps.

        Tokens per step vary around their mean, so it sets in by and by and not with a jump.
        """
        above = tokens - self.captured
        ramp = self.captured * self.constants.eager_ramp
        if above >= ramp:
            return self.eager if above > 0.0 else 0.0
        return self.eager * above / ramp if above > 0.0 else 0.0

    def parts(self, concurrency: float) -> StepTime:
        """Return the parts of a step at a concurrency."""
        requests = concurrency / self.stages
        tokens, target = self.tokens * requests, self.target
        single = _roofline(target, 1.0, self.constants)
        memory = min(single, _roofline(target, tokens, self.constants))
        power = concurrency**self.constants.roofline_power
        drafting = self._drafts(self.draft, (concurrency,), (power,))[0] if self.draft else 0.0
        looking = self.lookup + self.lookup_request * requests
        parts = StepTime(
            memory=memory,
            compute=_roofline(target, tokens, self.constants) - memory,
            kv=target.kv * requests,
            all_reduce=target.fixed - target.expert_overhead + target.exchange * tokens,
            experts=target.expert_overhead,
            draft=drafting + looking,
            host=self.step - self.lookup + (self.request - self.lookup_request) * requests,
            eager=self._eager(tokens),
            price=0.0,
        )
        if not self.loaded:
            return parts
        return StepTime(
            memory=parts.memory,
            compute=parts.compute,
            kv=parts.kv,
            all_reduce=parts.all_reduce,
            experts=parts.experts,
            draft=parts.draft,
            host=parts.host,
            eager=parts.eager,
            price=parts.total * _price(concurrency, self.constants),
        )


def step_seconds(
    deployment: Deployment, arm: Arm, workload: Workload, concurrency: float
) -> StepTime | CannotSay:
    """Return the parts of one engine step, before calibration.

    Args:
        deployment: The target.
        arm: The profile.
        workload: The mean request.
        concurrency: Requests in decode per engine, a positive number.
    """
    if not (math.isfinite(concurrency) and 0 < concurrency <= 1e6):
        return CannotSay(
            reason=f"concurrency is {concurrency}", way_out="give a number above 0, at most 1e6"
        )
    model = step_model(deployment, arm, workload)
    return model if isinstance(model, CannotSay) else model.parts(concurrency)


def step_model(
    deployment: Deployment,
    arm: Arm,
    workload: Workload,
    constants: Constants = CONSTANTS,
    target: Forward | None = None,
) -> StepModel | CannotSay:
    """Return the step time of a profile as factors of concurrency.

    Args:
        deployment: The target.
        arm: The profile.
        workload: The mean request.
        constants: The constants of the formula.
        target: The target's pass from another profile of the same target and workload.
    """
    constants = measured_constants(deployment.accelerator, constants)
    # The target's pass from another profile was made from facts that were checked.
    missing = missing_of(arm) or (implausible(deployment, workload) if target is None else None)
    if missing is not None:
        return missing
    length, verified, passes = _drafted(arm)
    drafts = passes > 0
    looks_up = drafts and arm.method in LOOKS_UP
    draft = _draft_pass(deployment, arm, workload, constants) if drafts and not looks_up else None
    lookup = constants.lookup_seconds if looks_up else 0.0
    lookup_request = constants.lookup_request_seconds if looks_up else 0.0
    return StepModel(
        length=length,
        tokens=verified + length * workload.prefill_per_token,
        stages=float(deployment.pipeline_parallel),
        target=target or _target_pass(deployment, workload, constants),
        draft=draft,
        draft_tokens=float(arm.tree_width),
        passes=float(passes),
        pass_floor=constants.draft_layer_seconds * (arm.draft.layers if arm.draft else 0),
        pass_seconds=constants.draft_pass_seconds + _link_wait(deployment, arm, constants),
        step=constants.step_seconds + lookup,
        request=constants.request_seconds + lookup_request,
        lookup=lookup,
        lookup_request=lookup_request,
        eager=deployment.model.layers * constants.eager_layer_seconds,
        captured=float(deployment.captured_tokens),
        loaded=arm.method.speculates and not drafts,
        constants=constants,
    )


@lru_cache(maxsize=64)
def _with(constants: Constants, measured: Measured) -> Constants:
    return replace(constants, **measured.told())


def measured_constants(accelerator: Accelerator, constants: Constants) -> Constants:
    """Return the constants with what was measured on the GPU in their place."""
    return constants if accelerator.measured is None else _with(constants, accelerator.measured)


def _drafted(arm: Arm) -> tuple[float, float, int]:
    """Return acceptance length, verified tokens per request, and draft passes."""
    acceptance = arm.acceptance
    if not arm.method.speculates or acceptance is None:
        return 1.0, 1.0, 0
    lookahead = arm.lookahead
    if arm.method is Method.SUFFIX and lookahead == 0:
        lookahead = len(acceptance.rates)
    if lookahead == 0:
        return 1.0, 1.0, 0
    length = 1.0 + acceptance.hit * math.fsum(acceptance.rates[:lookahead])
    drafted = arm.tree_nodes if arm.tree_nodes is not None else lookahead
    return length, 1.0 + drafted * acceptance.hit, lookahead


def _target_pass(deployment: Deployment, workload: Workload, constants: Constants) -> Forward:
    return forward_of(
        deployment,
        deployment.model,
        deployment.precision,
        workload.context_tokens,
        constants,
    )


def _draft_pass(
    deployment: Deployment, arm: Arm, workload: Workload, constants: Constants
) -> Forward | None:
    if arm.draft is None:
        return None
    usual = deployment.precision if arm.method is Method.MTP else Precision.BF16
    return forward_of(
        deployment,
        arm.draft,
        arm.draft_precision or usual,
        workload.context_tokens,
        constants,
    )


def _link_wait(deployment: Deployment, arm: Arm, constants: Constants) -> float:
    """Return what a pass of a draft model waits for the link, beyond its all-reduces."""
    size = deployment.tensor_parallel
    if arm.method is not Method.DRAFT_MODEL or not crosses_pcie(deployment.accelerator, size):
        return 0.0
    return constants.draft_hop_seconds * (size - 1)


def _roofline(forward: Forward, tokens: float, constants: Constants) -> float:
    power = constants.roofline_power
    touched = forward.dense + forward.experts * (1.0 - forward.miss**tokens)
    total: float = (touched**power + (forward.compute * tokens) ** power) ** (1.0 / power)
    return total


def _rooflines(
    forward: Forward,
    each: float,
    concurrencies: Sequence[float],
    powers: Sequence[float],
    constants: Constants,
) -> list[float]:
    """Return `_roofline` at each concurrency, with what does not change taken out of the loop.

    Args:
        forward: The pass.
        each: Tokens per request.
        concurrencies: Requests.
        powers: The same to the roofline's power.
        constants: The constants of the formula.
    """
    power, root = constants.roofline_power, 1.0 / constants.roofline_power
    multiply = (forward.compute * each) ** power
    if not forward.experts:
        read = forward.dense**power
        return [(read + multiply * raised) ** root for raised in powers]
    dense, experts, miss = forward.dense, forward.experts, forward.miss**each
    return [
        ((dense + experts * (1.0 - miss**concurrency)) ** power + multiply * raised) ** root
        for concurrency, raised in zip(concurrencies, powers, strict=True)
    ]


def _price(concurrency: float, constants: Constants) -> float:
    """Return the price of a loaded, idle drafter as a share of the step."""
    quiet, busy = constants.loaded_quiet, constants.loaded_busy
    share = min(max((concurrency - 2.0) / (189.0 - 2.0), 0.0), 1.0)
    return quiet + share * (busy - quiet)
