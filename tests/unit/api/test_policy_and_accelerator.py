"""SpeculationPolicy and AcceleratorProfile: CEL and model agree, and what is refused is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ridgeline.api.accelerator import (
    AcceleratorProfileSpec,
    invalid_accelerator_fields,
    parse_accelerator,
)
from ridgeline.api.errors import InvalidAccelerator, InvalidObject, InvalidPolicy
from ridgeline.api.policy import SpeculationPolicySpec, invalid_policy_fields, parse_policy
from ridgeline.api.rules import Rule
from ridgeline.api.schema import Schema, structural_schema
from ridgeline.terms.links import Link
from tests.unit.api import policy_and_accelerator_cases as cases
from tests.unit.api.bodies import Case, Spec
from tests.unit.api.evaluator import all_rules, broken_rules


@dataclass(frozen=True)
class Kind:
    """One of the two kinds, with what its tests need."""

    good: Callable[[], Spec]
    body: Callable[[Spec], dict[str, Any]]
    parse: Callable[..., Any]
    findings: Callable[..., tuple[InvalidObject, ...]]
    refusal: type[InvalidObject]
    schema: Schema

    def refused(self, case: Case) -> InvalidObject:
        with pytest.raises(self.refusal) as refused:
            self.parse(self.body(cases.edited(self.good(), case)))
        return refused.value


POLICY = Kind(
    cases.good_policy,
    cases.policy_body,
    parse_policy,
    invalid_policy_fields,
    InvalidPolicy,
    structural_schema(SpeculationPolicySpec),
)
ACCELERATOR = Kind(
    cases.good_accelerator,
    cases.accelerator_body,
    parse_accelerator,
    invalid_accelerator_fields,
    InvalidAccelerator,
    structural_schema(AcceleratorProfileSpec),
)


def both(policies: tuple[Case, ...], accelerators: tuple[Case, ...]) -> pytest.MarkDecorator:
    pairs = [(POLICY, case) for case in policies] + [(ACCELERATOR, case) for case in accelerators]
    names = [f"{kind.refusal.__name__} {case.name}" for kind, case in pairs]
    return pytest.mark.parametrize(("kind", "case"), pairs, ids=names)


@both(cases.KEPT_POLICIES, cases.KEPT_ACCELERATORS)
def test_what_breaks_no_rule_is_accepted_by_cel_and_model(kind: Kind, case: Case) -> None:
    spec = cases.edited(kind.good(), case)
    assert list(broken_rules(kind.schema, spec, "spec")) == []
    assert kind.parse(kind.body(spec), strict=True).spec.document() == spec
    assert kind.findings(kind.body(spec), strict=True) == ()


@both(cases.BROKEN_POLICIES, cases.BROKEN_ACCELERATORS)
def test_a_broken_rule_is_refused_by_cel_and_model_in_the_same_words(
    kind: Kind, case: Case
) -> None:
    assert case.rule is not None
    spec = cases.edited(kind.good(), case)
    assert list(broken_rules(kind.schema, spec, "spec")) == [(case.field, case.rule.message)]
    refused = kind.refused(case)
    assert (refused.field, refused.way_out) == (case.field, case.rule.message)
    assert len(kind.findings(kind.body(spec))) == 1


@both(cases.POLICIES_OUT_OF_BOUNDS, cases.ACCELERATORS_OUT_OF_BOUNDS)
def test_a_value_out_of_bounds_is_told_with_field_and_way_out(kind: Kind, case: Case) -> None:
    refused = kind.refused(case)
    assert refused.field == case.field
    assert refused.way_out in str(refused)


def test_every_rule_of_an_accelerator_has_a_case_that_it_refuses() -> None:
    rules: list[Rule[Any] | None] = [case.rule for case in cases.BROKEN_ACCELERATORS]
    assert {rule.message for rule in rules if rule} == set(all_rules(ACCELERATOR.schema))


@pytest.mark.parametrize("field", cases.NOT_SHARED)
def test_a_policy_takes_nothing_that_is_the_servings_alone(field: str) -> None:
    body = cases.policy_body({**cases.good_policy(), field: cases.NOT_SHARED[field]})
    (finding,) = invalid_policy_fields(body, strict=True)
    assert finding.field == f"spec.{field}"
    assert field not in parse_policy(body).spec.document()


@pytest.mark.parametrize(
    ("kind", "wrong"), [(POLICY, "SpeculativeServing"), (ACCELERATOR, "SpeculationPolicy")]
)
def test_another_kind_is_refused(kind: Kind, wrong: str) -> None:
    with pytest.raises(kind.refusal, match="kind is"):
        kind.parse({**kind.body(kind.good()), "kind": wrong})


def test_units_and_names_are_those_of_the_resource() -> None:
    spec = parse_accelerator(cases.accelerator_body(cases.good_accelerator())).spec
    assert spec.match is not None
    assert spec.match.product_names == ("ACME-X1-64GB", "acme_x1")
    numbers = (
        spec.memory_gib,
        spec.memory_bandwidth,
        spec.dense_bf16_tflops,
        spec.dense_fp8_tflops,
        spec.dense_fp4_tflops,
        spec.ridge_tokens,
    )
    assert numbers == (64, 2500, 600, 1200, 2400, 90)
    assert spec.link is not None
    assert (spec.link.kind, spec.link.bandwidth, spec.native_fp8) == (Link.PCIE, 64, True)


def test_metadata_of_the_api_server_is_read() -> None:
    metadata: Mapping[str, Any] = {"name": "x", "generation": 3, "managedFields": []}
    for kind in (POLICY, ACCELERATOR):
        read = kind.parse({**kind.body(kind.good()), "metadata": metadata}, strict=True)
        assert (read.metadata.name, read.metadata.generation) == ("x", 3)
        assert read.metadata.namespace == ""
