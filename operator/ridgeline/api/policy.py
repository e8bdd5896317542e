"""SpeculationPolicy: tuning that several servings of a namespace share."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ridgeline.api.errors import InvalidObject, InvalidPolicy
from ridgeline.api.fields import ApiModel
from ridgeline.api.objects import ApiVersion, ObjectMeta, findings_of, read_object
from ridgeline.api.tuning import Tuning
from ridgeline.terms.names import POLICY_KIND


class PolicyKind(StrEnum):
    """Kinds that are read here."""

    SPECULATION_POLICY = POLICY_KIND


class SpeculationPolicySpec(Tuning):
    """Tuning for the servings that name the policy in policyRef."""


class SpeculationPolicy(ApiModel):
    """Tuning that several servings share; what a serving sets itself wins."""

    api_version: ApiVersion = ApiVersion.V1ALPHA1
    kind: PolicyKind = PolicyKind.SPECULATION_POLICY
    metadata: ObjectMeta
    spec: SpeculationPolicySpec


def parse_policy(body: Mapping[str, Any], *, strict: bool = False) -> SpeculationPolicy:
    """Read a policy.

    Args:
        body: The object as the API server or a YAML file gives it.
        strict: Refuse unknown fields (lint).

    Raises:
        InvalidPolicy: On the first field that holds what it must not.
    """
    return read_object(SpeculationPolicy, InvalidPolicy, body, strict=strict)


def invalid_policy_fields(
    body: Mapping[str, Any], *, strict: bool = False
) -> tuple[InvalidObject, ...]:
    """Return every finding about a policy; none when `parse_policy` would read it."""
    return findings_of(SpeculationPolicy, InvalidPolicy, body, strict=strict)
