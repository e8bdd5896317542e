"""Every rule says the same in CEL (the API server) and in the models."""

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.api.schema import structural_schema
from ridgeline.api.serving import InvalidServing, invalid_fields, parse_serving
from ridgeline.api.spec import TARGET_CHANGES_WHILE_SUSPENDED, SpeculativeServingSpec
from tests.unit.api import cases, engine_setting_cases
from tests.unit.api.bodies import Case, Spec, body, good_spec
from tests.unit.api.evaluator import Finding, all_rules, broken_rules, holds, with_defaults

SCHEMA = structural_schema(SpeculativeServingSpec)
ONE_RULE = (*cases.BROKEN_RULES,)
MORE_RULES = (
    *engine_setting_cases.MORE,
    *cases.CUTOFFS_FALL,
    cases.TWO_DISABLED,
    cases.LAST_OF_EIGHT_FALLS,
)


def names(group: Iterable[Case]) -> list[str]:
    return [case.name for case in group]


def cel_findings(spec: Spec) -> list[Finding]:
    return list(broken_rules(SCHEMA, with_defaults(SCHEMA, spec), "spec"))


@pytest.mark.parametrize("case", cases.KEPT_RULES, ids=names(cases.KEPT_RULES))
def test_what_breaks_no_rule_is_accepted_by_cel_and_model(case: Case) -> None:
    assert cel_findings(case.spec()) == []
    assert parse_serving(body(case.spec()), strict=True).spec.document() == with_defaults(
        SCHEMA, case.spec()
    )


@pytest.mark.parametrize("case", ONE_RULE, ids=names(ONE_RULE))
def test_a_broken_rule_is_refused_by_cel_and_model_in_the_same_words(case: Case) -> None:
    assert case.rule is not None
    assert cel_findings(case.spec()) == [(case.field, case.rule.message)]
    with pytest.raises(InvalidServing) as refused:
        parse_serving(body(case.spec()))
    assert (refused.value.field, refused.value.way_out) == (case.field, case.rule.message)
    assert refused.value.value is not None
    assert len(invalid_fields(body(case.spec()))) == 1


@pytest.mark.parametrize("case", MORE_RULES, ids=names(MORE_RULES))
def test_the_first_of_several_broken_rules_is_told(case: Case) -> None:
    assert case.rule is not None
    assert (case.field, case.rule.message) in cel_findings(case.spec())
    with pytest.raises(InvalidServing) as refused:
        parse_serving(body(case.spec()))
    assert (refused.value.field, refused.value.way_out) == (case.field, case.rule.message)


def test_every_rule_has_a_case_that_it_refuses() -> None:
    refused = {case.rule.message for case in (*ONE_RULE, *MORE_RULES) if case.rule}
    rules = set(all_rules(SCHEMA)) - {TARGET_CHANGES_WHILE_SUSPENDED.message}
    assert refused == rules


@pytest.mark.parametrize(
    ("new_name", "suspended", "accepted"),
    [("llama", False, True), ("other", False, False), ("other", True, True)],
)
def test_the_target_changes_only_while_suspended(
    new_name: str, suspended: bool, accepted: bool
) -> None:
    old = with_defaults(SCHEMA, good_spec())
    new = copy.deepcopy(old)
    new["targetRef"]["name"] = new_name
    new["suspend"] = suspended
    assert holds(TARGET_CHANGES_WHILE_SUSPENDED.cel, self=new, oldSelf=old) is accepted


NAMES = st.sampled_from(["a", "b", "c", "none"])
SMALL = st.integers(1, 4)
PROFILE: Any = st.fixed_dictionaries(
    {
        "name": NAMES,
        "method": st.sampled_from(["Eagle", "MTP", "NGram", "Suffix", "Disabled", "Disabled"]),
    },
    optional={
        "model": st.sampled_from(["m/one", "m/two"]),
        "numSpeculativeTokens": SMALL,
        "promptLookupMax": SMALL,
        "promptLookupMin": SMALL,
    },
)
RANGE: Any = st.fixed_dictionaries(
    {"profile": NAMES},
    optional={
        "upToConcurrency": st.integers(1, 12),
        "returnBelowConcurrency": st.integers(1, 12),
    },
)
SPEC: Any = st.fixed_dictionaries(
    {
        "targetRef": st.just({"name": "llama"}),
        "profiles": st.lists(PROFILE, min_size=1, max_size=4, unique_by=lambda p: p["name"]),
    },
    optional={
        "cutoff": st.fixed_dictionaries(
            {},
            optional={
                "strategy": st.sampled_from(["Fixed", "Ridge"]),
                "preset": st.sampled_from(["h100-bf16", "h100-fp8"]),
                "ranges": st.lists(RANGE, min_size=1, max_size=4),
            },
        )
    },
)


@st.composite
def rising(draw: st.DrawFn) -> list[Spec]:
    """Draw ranges that are nearly right, so that both answers come up often."""
    edges = sorted(draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
    rows: list[Spec] = [
        {"profile": name, "upToConcurrency": edge}
        for name, edge in zip(("a", "b", "c"), edges, strict=False)
    ]
    for row in rows:
        if draw(st.booleans()):
            lower = draw(st.integers(max(1, row["upToConcurrency"] - 2), row["upToConcurrency"]))
            row["returnBelowConcurrency"] = lower
    return [*rows, {"profile": "none"}]


RISING = rising()
GOOD_PROFILES = [
    {"name": "a", "method": "MTP", "numSpeculativeTokens": 3},
    {"name": "b", "method": "MTP", "numSpeculativeTokens": 2},
    {"name": "c", "method": "MTP", "numSpeculativeTokens": 1},
    {"name": "none", "method": "Disabled"},
]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(SPEC)
def test_cel_and_model_accept_the_same_specs(spec: Spec) -> None:
    assert (cel_findings(spec) == []) == (invalid_fields(body(spec)) == ())


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(RANGE, min_size=1, max_size=4) | RISING)
def test_cel_and_model_accept_the_same_ranges(rows: list[Spec]) -> None:
    spec = {
        "targetRef": {"name": "llama"},
        "profiles": GOOD_PROFILES,
        "cutoff": {"ranges": rows},
    }
    assert (cel_findings(spec) == []) == (invalid_fields(body(spec)) == ())
