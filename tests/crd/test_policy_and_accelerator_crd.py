"""What a real API server makes of SpeculationPolicy and AcceleratorProfile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.policy import parse_policy
from tests.crd.kube import Kubectl
from tests.unit.api import policy_and_accelerator_cases as cases
from tests.unit.api.bodies import Case

ROOT = Path(__file__).parents[2]
PLURALS = ("speculationpolicies", "acceleratorprofiles")
Body = dict[str, Any]


def bodies(
    policies: tuple[Case, ...], accelerators: tuple[Case, ...]
) -> list[tuple[str, Body, Case]]:
    return [
        *(
            (
                f"policy: {case.name}",
                cases.policy_body(cases.edited(cases.good_policy(), case)),
                case,
            )
            for case in policies
        ),
        *(
            (
                f"accelerator: {case.name}",
                cases.accelerator_body(cases.edited(cases.good_accelerator(), case)),
                case,
            )
            for case in accelerators
        ),
    ]


KEPT = bodies(cases.KEPT_POLICIES, cases.KEPT_ACCELERATORS)
BROKEN = bodies(cases.BROKEN_POLICIES, cases.BROKEN_ACCELERATORS)
OUT = bodies(cases.POLICIES_OUT_OF_BOUNDS, cases.ACCELERATORS_OUT_OF_BOUNDS)


def every(group: list[tuple[str, Body, Case]]) -> pytest.MarkDecorator:
    pairs = [(document, case) for _, document, case in group]
    return pytest.mark.parametrize(("document", "case"), pairs, ids=[name for name, *_ in group])


@pytest.fixture
def accelerator(kubectl: Kubectl) -> Iterator[str]:
    """Apply the good accelerator profile under a name of the test's own."""
    document = cases.accelerator_body(cases.good_accelerator(), name=f"x-{kubectl.namespace}")
    answer = kubectl.apply(document)
    assert answer.code == 0, answer.err
    yield document["metadata"]["name"]
    kubectl.ok("delete", "accel", document["metadata"]["name"])


@pytest.mark.parametrize("plural", PLURALS)
def test_the_crd_is_served_and_nothing_of_its_schema_was_dropped(
    server: Kubectl, plural: str
) -> None:
    held = server.get("crd", f"{plural}.ridgeline.dev")
    conditions = {c["type"]: c["status"] for c in held["status"]["conditions"]}
    assert conditions["NamesAccepted"] == conditions["Established"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    file = ROOT / "crds" / f"ridgeline.dev_{plural}.yaml"
    ours = yaml.safe_load(file.read_text())["spec"]["versions"][0]
    assert held["spec"]["versions"][0]["schema"] == ours["schema"]


@every(KEPT)
def test_what_breaks_no_rule_is_accepted(server: Kubectl, document: Body, case: Case) -> None:
    answer = server.apply(document, "--dry-run=server")
    assert answer.code == 0, answer.err


@every(BROKEN)
def test_a_broken_rule_is_refused_with_its_field_and_message(
    server: Kubectl, document: Body, case: Case
) -> None:
    answer = server.apply(document, "--dry-run=server")
    assert case.rule is not None
    assert answer.code != 0
    assert case.rule.message in answer.err
    assert f"{case.field}: Invalid value" in answer.err


@every(OUT)
def test_a_value_out_of_bounds_is_refused_with_its_field(
    server: Kubectl, document: Body, case: Case
) -> None:
    answer = server.apply(document, "--dry-run=server")
    assert answer.code != 0
    assert case.field in answer.err


@pytest.mark.parametrize("field", cases.NOT_SHARED)
def test_a_policy_takes_nothing_that_is_the_servings_alone(server: Kubectl, field: str) -> None:
    document = cases.policy_body({**cases.good_policy(), field: cases.NOT_SHARED[field]})
    answer = server.apply(document, "--dry-run=server")
    assert answer.code != 0
    assert field in answer.err


def test_an_empty_policy_stays_empty(kubectl: Kubectl) -> None:
    assert kubectl.apply(cases.policy_body({})).code == 0
    assert kubectl.get("spp", "shared")["spec"] == {}


def test_a_policy_lives_in_a_namespace_and_an_accelerator_in_none(
    kubectl: Kubectl, accelerator: str
) -> None:
    assert kubectl.apply(cases.policy_body(cases.good_policy())).code == 0
    policy, profile = kubectl.get("spp", "shared"), kubectl.get("accel", accelerator)
    assert policy["metadata"]["namespace"] == kubectl.namespace
    assert "namespace" not in profile["metadata"]
    assert parse_policy(policy, strict=True).spec.document() == cases.good_policy()
    assert parse_accelerator(profile, strict=True).spec.document() == cases.good_accelerator()


def test_get_shows_the_columns(kubectl: Kubectl, accelerator: str) -> None:
    assert kubectl.apply(cases.policy_body({**cases.good_policy()})).code == 0
    header, row = kubectl.ok("get", "spp").splitlines()
    assert header.split() == [
        *("NAME", "STRATEGY", "PRESET", "COOLDOWN", "SWITCHES", "A", "DAY", "AGE"),
    ]
    assert row.split()[:-1] == ["shared", "Fixed", "900", "4"]
    header, row = kubectl.ok("get", "accel", accelerator, "--output=wide").splitlines()
    assert "PRODUCTS" in header
    shown = row.split()[1:7]
    assert shown == ["64", "2500", "600", "1200", "PCIe", "90"]
    assert "ACME-X1-64GB" in row


def test_they_answer_to_the_category(kubectl: Kubectl, accelerator: str) -> None:
    assert kubectl.apply(cases.policy_body({})).code == 0
    listed = kubectl.ok("get", "speculation", "--output=name").split()
    assert "speculationpolicy.ridgeline.dev/shared" in listed
    assert f"acceleratorprofile.ridgeline.dev/{accelerator}" in listed


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("spp", "Tuning that several servings of a namespace share."),
        ("spp.spec.cooldownSeconds", "When not set: 1800."),
        ("accel", "A GPU that the operator's catalogue lacks"),
        ("accel.spec.memoryBandwidthGBps", "in GB/s"),
        ("accel.spec.link.bandwidthGBps", "one direction"),
    ],
)
def test_explain_tells_what_a_field_means(server: Kubectl, path: str, told: str) -> None:
    assert told in " ".join(server.ok("explain", path).split())
