"""Whose word holds for each field of `rollout`, and what is decided by."""

from typing import Any

import pytest

from ridgeline.api import defaults
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.settings.rollout import resolve_rollout, roll_settings
from ridgeline.settings.sources import Origin, Source
from ridgeline.terms.names import API_VERSION, SERVING_KIND
from ridgeline.terms.rolls import RequalifyPolicy, TrialPolicy
from tests.unit.api.bodies import good_spec

SERVING = Source(origin=Origin.SERVING)
POLICY = Source(origin=Origin.POLICY, policy="team")


def spec(**rollout: Any) -> SpeculativeServingSpec:
    body = {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": {"name": "llama", "namespace": "ns"},
        "spec": {**good_spec(), "rollout": rollout},
    }
    return parse_serving(body).spec


def test_nobody_compares_anew_who_does_not_ask() -> None:
    resolved = resolve_rollout([(spec(), SERVING)])
    assert roll_settings(resolved).requalify is RequalifyPolicy.NEVER is defaults.REQUALIFY
    assert resolved.requalify.source.origin is Origin.DEFAULT


@pytest.mark.parametrize(
    ("own", "shared", "value", "source"),
    [
        ({"requalify": "Trial"}, {}, RequalifyPolicy.TRIAL, SERVING),
        ({}, {"requalify": "Trial"}, RequalifyPolicy.TRIAL, POLICY),
        ({"requalify": "Never"}, {"requalify": "Trial"}, RequalifyPolicy.NEVER, SERVING),
    ],
)
def test_a_policy_may_share_it(
    own: dict[str, str], shared: dict[str, str], value: RequalifyPolicy, source: Source
) -> None:
    resolved = resolve_rollout([(spec(**own), SERVING), (spec(**shared), POLICY)])
    assert (resolved.requalify.value, resolved.requalify.source) == (value, source)
    assert roll_settings(resolved).trial is TrialPolicy.ALLOWED
