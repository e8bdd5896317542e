"""A SpeculationPolicy as the watch store holds it → what `resolve_spec` takes."""

from collections.abc import Mapping
from typing import Any

from ridgeline.api.errors import InvalidPolicy
from ridgeline.api.policy import SpeculationPolicySpec, parse_policy
from ridgeline.policy.facts import Problem
from ridgeline.terms.names import POLICY_KIND
from ridgeline.terms.reasons import Reason


def named_policy(name: str, spec: Mapping[str, Any]) -> tuple[str, SpeculationPolicySpec | Problem]:
    """Return a policy by its name, or why it cannot be followed.

    Args:
        name: Its name.
        spec: Its spec as the API server gives it.
    """
    try:
        policy = parse_policy({"metadata": {"name": name}, "spec": spec})
    except InvalidPolicy as refused:
        return name, Problem(reason=Reason.SPEC_INVALID, message=f"{POLICY_KIND} {name}: {refused}")
    return name, policy.spec
