"""What people ask for, as parsed specs, and what comes of it."""

from typing import Any

from ridgeline.api.policy import SpeculationPolicySpec, parse_policy
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.policy.facts import Problem
from ridgeline.policy.settings import PolicySettings
from ridgeline.settings.cutoffs import RidgeInputs
from ridgeline.settings.goodput import Answer
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.settings.resolve import profiles_of, settings_of
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason

PROFILES: list[dict[str, Any]] = [
    {"name": "eagle", "method": "Eagle", "model": "org/head", "numSpeculativeTokens": 5},
    {"name": "ngram", "method": "NGram", "numSpeculativeTokens": 2},
    {"name": "none", "method": "Disabled"},
]


def serving(**fields: Any) -> SpeculativeServingSpec:
    """Return a serving's spec: a target, three profiles, and the given fields."""
    spec = {"targetRef": {"name": "llama"}, "profiles": PROFILES, **fields}
    return parse_serving({"metadata": {"name": "s"}, "spec": spec}, strict=True).spec


def policy(**fields: Any) -> SpeculationPolicySpec:
    """Return a policy's spec."""
    return parse_policy({"metadata": {"name": "shared"}, "spec": fields}, strict=True).spec


UNKNOWN = Problem(reason=Reason.ACCELERATOR_UNKNOWN, message="nobody knows it")


NOT_ASKED = Answer(
    cutoff=Problem(reason=Reason.CANNOT_PREDICT, message="the cost model has nothing to say")
)


def settled(resolved: ResolvedSpec, ridge: RidgeInputs | None = None) -> PolicySettings:
    """Return the policy settings, on a GPU that nobody knows unless `ridge` is given."""
    unknown = RidgeInputs(accelerator=UNKNOWN, precision=Precision.BF16, tensor_parallel=1)
    return settings_of(resolved, profiles_of(resolved.own), ridge or unknown, lambda: NOT_ASKED)
