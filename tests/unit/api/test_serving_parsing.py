"""How a body becomes a serving, and what is said when it does not."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from ridgeline.api import defaults
from ridgeline.api.roll_status import RolloutStatus
from ridgeline.api.serving import InvalidServing, invalid_fields, parse_serving
from ridgeline.api.status import SpeculativeServingStatus
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode, Strategy
from ridgeline.terms.rolls import RollState
from tests.unit.api import cases
from tests.unit.api.bodies import Case, body, good_spec

Body = dict[str, Any]


def refusal(body_: Body, *, strict: bool = False) -> InvalidServing:
    with pytest.raises(InvalidServing) as refused:
        parse_serving(body_, strict=strict)
    return refused.value


def test_the_smallest_serving_only_recommends_and_leaves_the_rest_to_settings() -> None:
    serving = parse_serving(
        body({"targetRef": {"name": "x"}, "profiles": [{"name": "none", "method": "Disabled"}]})
    )
    spec = serving.spec
    assert (spec.mode, spec.suspend) == (Mode.RECOMMEND_ONLY, False)
    assert spec.profiles[0].method is Method.DISABLED
    shared = (spec.cutoff, spec.stabilization, spec.cooldown_seconds, spec.max_switches_per_day)
    assert (*shared, spec.telemetry, spec.injection) == (None,) * 6
    assert (spec.policy_ref, spec.accelerator, spec.model) == (None,) * 3
    assert serving.status == SpeculativeServingStatus()


def test_metadata_of_the_api_server_is_read() -> None:
    metadata = {
        "name": "a",
        "namespace": "ns",
        "uid": "u-1",
        "generation": 7,
        "resourceVersion": "12",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"a": "b"},
        "managedFields": [{"manager": "x"}],
    }
    read = parse_serving({**body(good_spec()), "metadata": metadata}, strict=True).metadata
    assert (read.namespace, read.uid, read.generation) == ("ns", "u-1", 7)
    assert read.resource_version == "12"
    assert read.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read.deletion_timestamp is None


@pytest.mark.parametrize(
    ("place", "field"),
    [
        (lambda b: b, "later"),
        (lambda b: b["spec"], "spec.later"),
        (lambda b: b["spec"]["profiles"][1], "spec.profiles[1].later"),
        (lambda b: b["spec"]["cutoff"]["ranges"][0], "spec.cutoff.ranges[0].later"),
    ],
)
def test_unknown_fields_are_ignored_live_and_refused_in_lint(
    place: Callable[[Body], Body], field: str
) -> None:
    newer = body(good_spec())
    place(newer)["later"] = 5
    assert parse_serving(newer) == parse_serving(body(good_spec()))
    refused = refusal(newer, strict=True)
    assert (refused.field, refused.value) == (field, 5)
    assert "remove it" in refused.way_out


def test_attribute_names_are_no_field_names() -> None:
    spec = good_spec()
    spec["target_ref"] = spec.pop("targetRef")
    assert refusal(body(spec)).field == "spec.targetRef"


def test_reasons_and_condition_types_of_a_newer_operator_are_read() -> None:
    newer = body(good_spec())
    moment = "2026-01-02T03:04:05Z"
    newer["status"] = {
        "lastDecision": {"time": moment, "reason": "LaterReason", "message": "m"},
        "conditions": [
            {
                "type": "LaterType",
                "status": "True",
                "reason": "LaterReason",
                "message": "",
                "lastTransitionTime": moment,
            }
        ],
    }
    status = parse_serving(newer).status
    assert status.last_decision is not None
    assert status.last_decision.reason == "LaterReason"
    assert status.conditions[0].type == "LaterType"


OUT = cases.OUT_OF_BOUNDS


@pytest.mark.parametrize("case", OUT, ids=[case.name for case in OUT])
def test_a_value_out_of_bounds_is_told_with_field_value_and_way_out(case: Case) -> None:
    refused = refusal(body(case.spec()))
    assert refused.field == case.field
    assert refused.way_out
    shown = "is missing" if refused.value is None else json.dumps(refused.value)[:20]
    assert str(refused).startswith(f"{case.field} ")
    assert shown in str(refused)
    assert refused.way_out in str(refused)
    assert len(invalid_fields(body(case.spec()))) == 1


def test_two_profiles_of_one_name_are_refused() -> None:
    refused = refusal(body(cases.SAME_NAME.spec()))
    assert (refused.field, refused.value) == ("spec.profiles", "p")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kind": "Deployment"},
            "kind is \"Deployment\": use 'SpeculativeServing'",
        ),
        (
            {"apiVersion": "ridgeline.dev/v2"},
            "apiVersion is \"ridgeline.dev/v2\": use 'ridgeline.dev/v1alpha1'",
        ),
        ({"spec": None}, "spec is missing: set it"),
        ({"spec": []}, "spec is []: use an object"),
        ({"metadata": {}}, "metadata.name is missing: set it"),
        (
            {"status": {"lastDecision": {"time": "soon", "reason": "A", "message": ""}}},
            'status.lastDecision.time is "soon": use a time with its zone, like '
            "2026-01-31T12:00:00Z",
        ),
        (
            {"status": {"lastDecision": {"time": "2026-01-31T12:00:00", "reason": "A"}}},
            'status.lastDecision.time is "2026-01-31T12:00:00": use a time with its zone, like '
            "2026-01-31T12:00:00Z",
        ),
    ],
)
def test_the_message_names_the_field_the_value_and_the_way_out(change: Body, message: str) -> None:
    assert str(refusal({**body(good_spec()), **change})) == message


def test_a_long_value_is_cut_in_the_message() -> None:
    spec = good_spec()
    spec["profiles"] = "x" * 5000
    assert len(str(refusal(body(spec)))) < 250


def test_every_finding_can_be_had() -> None:
    spec = good_spec()
    spec["mode"] = "Auto"
    spec["cooldownSeconds"] = -1
    assert {finding.field for finding in invalid_fields(body(spec))} == {
        "spec.mode",
        "spec.cooldownSeconds",
    }


def test_models_are_frozen() -> None:
    serving = parse_serving(body(good_spec()))
    with pytest.raises(ValidationError, match="frozen"):
        serving.spec.suspend = True  # type: ignore[misc]


def test_a_status_document_survives_the_way_through_json() -> None:
    status = SpeculativeServingStatus(
        observed_generation=3,
        active_profile="none",
        rollout=RolloutStatus(
            from_profile="none",
            to_profile="eagle",
            start_time=datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC),
            target_uid="u-1",
            target_generation=2**40,
            state=RollState.ROLLING,
            serving_generation=1,
            updated_replicas=1,
            available_replicas=4,
            replicas=4,
        ),
    )
    document = status.document()
    assert document["rollout"] == {
        "from": "none",
        "to": "eagle",
        "startTime": "2026-01-02T03:04:05Z",
        "targetUID": "u-1",
        "targetGeneration": 2**40,
        "servingGeneration": 1,
        "state": "Rolling",
        "updatedReplicas": 1,
        "availableReplicas": 4,
        "replicas": 4,
    }
    read = parse_serving({**body(good_spec()), "status": json.loads(json.dumps(document))})
    assert read.status.document() == document


@pytest.mark.parametrize(
    ("up_to", "lower"), [(1, 1), (2, 1), (20, 16), (24, 19), (100_000, 80_000)]
)
def test_the_default_band_is_four_fifths_rounded_down(up_to: int, lower: int) -> None:
    assert defaults.return_below(up_to) == lower


def test_a_range_shows_its_lower_edge_given_or_not() -> None:
    spec = good_spec()
    del spec["cutoff"]["ranges"][1]["returnBelowConcurrency"]
    cutoff = parse_serving(body(spec)).spec.cutoff
    assert cutoff is not None
    assert [row.lower_edge for row in cutoff.ranges or ()] == [16, 32, None]


@pytest.mark.parametrize(
    ("cutoff", "strategy"),
    [
        ({}, Strategy.GOODPUT),
        ({"strategy": "Goodput"}, Strategy.GOODPUT),
        ({"strategy": "Ridge"}, Strategy.RIDGE),
        ({"preset": "h100-bf16"}, Strategy.FIXED),
        ({"ranges": [{"profile": "none"}]}, Strategy.FIXED),
        ({"strategy": "Fixed", "preset": "h100-bf16"}, Strategy.FIXED),
    ],
)
def test_numbers_imply_that_they_are_fixed(cutoff: Body, strategy: Strategy) -> None:
    read = parse_serving(body({**good_spec(), "cutoff": cutoff})).spec.cutoff
    assert read is not None
    assert read.resolved_strategy is strategy
