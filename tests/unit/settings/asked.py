"""What people ask for, as parsed specs."""

from typing import Any

from ridgeline.api.policy import SpeculationPolicySpec, parse_policy
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec

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
