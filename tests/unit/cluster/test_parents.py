"""Which parents have an adapter, and what it says of an object."""

from typing import Any

import pytest

from ridgeline.cluster.errors import Conflict, FieldConflictError, RefusedError
from ridgeline.cluster.objects import trim_deployment
from ridgeline.cluster.parent_fields import OurFields, fields_of, translated
from ridgeline.cluster.parents import ADAPTERS, ParentAdapter, adapter_of, why_not
from ridgeline.cluster.shape import Parent, trim_shape
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, SERVING_ANNOTATION
from ridgeline.terms.parents import ParentKind

SERVICE, LLM = ADAPTERS
FIELDS = OurFields(config="c", label="eagle2", annotation="a")
TOLD = {"labels": {PROFILE_LABEL: "eagle2"}, "annotations": {SERVING_ANNOTATION: "a"}}
ITEM = {"name": PROFILE_ENV, "value": "c"}


def parent(**fields: str) -> Parent:
    given = {
        "group": "serving.kserve.io",
        "version": "v1beta1",
        "kind": "InferenceService",
        "name": "llama",
        "uid": "u",
    }
    return Parent(**{**given, **fields})


def test_every_kind_that_can_be_switched_on_has_one_adapter() -> None:
    assert sorted(each.kind for each in ADAPTERS) == sorted(ParentKind)


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (SERVICE, {"spec": {"predictor": {**TOLD, "model": {"env": [ITEM]}}}}),
        (
            LLM,
            {"spec": {**TOLD, "template": {"containers": [{"name": "main", "env": [ITEM]}]}}},
        ),
    ],
    ids=["service", "llm"],
)
def test_an_apply_names_item_label_and_annotation_and_nothing_else(
    adapter: ParentAdapter, body: dict[str, Any]
) -> None:
    assert FIELDS.body(adapter) == body


def test_no_item_is_named_where_none_is_ours() -> None:
    without = OurFields(config=None, label="", annotation="")
    body = without.body(SERVICE)
    assert body == {
        "spec": {
            "predictor": {"labels": {PROFILE_LABEL: ""}, "annotations": {SERVING_ANNOTATION: ""}}
        }
    }


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"predictor": {}},
        {"predictor": {"containers": [{"name": "kserve-container"}]}},
        {"predictor": {"model": None}},
    ],
)
def test_a_predictor_without_a_model_has_no_place_for_it(spec: dict[str, Any]) -> None:
    assert SERVICE.holder({"spec": spec}) is None


@pytest.mark.parametrize("containers", [None, [], [{"name": "proxy"}], "main"])
def test_a_template_without_the_container_has_no_place_for_it(containers: Any) -> None:
    assert LLM.holder({"spec": {"template": {"containers": containers}}}) is None


def test_nothing_is_ours_without_an_entry_of_ours() -> None:
    metadata = {"managedFields": [{"manager": "kubectl", "fieldsV1": {}}]}
    assert fields_of({"metadata": metadata, "spec": {}}, SERVICE) is None


@pytest.mark.parametrize(
    "field", [".spec", ".spec.predictor.model.env", ".spec.template.containers"]
)
def test_a_conflict_about_more_than_our_fields_is_told_as_the_schemas(field: str) -> None:
    theirs = Conflict(manager="kubectl", field=field)
    ours = Conflict(manager="helm", field=f'.x.env[name="{PROFILE_ENV}"].value')
    with (
        pytest.raises(RefusedError, match="as one value"),
        translated(SERVICE, "InferenceService/llama"),
    ):
        raise FieldConflictError("conflict", (ours, theirs))


@pytest.mark.parametrize(
    "field",
    [
        f'.spec.predictor.model.env[name="{PROFILE_ENV}"].value',
        f".spec.predictor.labels.{PROFILE_LABEL}",
        f".spec.predictor.annotations.{SERVING_ANNOTATION}",
    ],
)
def test_a_conflict_about_our_fields_stays_one(field: str) -> None:
    conflict = FieldConflictError("conflict", (Conflict(manager="helm", field=field),))
    with (
        pytest.raises(FieldConflictError),
        translated(SERVICE, "InferenceService/llama"),
    ):
        raise conflict


@pytest.mark.parametrize(
    ("fields", "deployment"),
    [
        ({"kind": "Other"}, "llama-predictor"),
        ({"group": "example.org"}, "llama-predictor"),
        ({"version": "v1"}, "llama-predictor"),
        ({}, "llama-transformer"),
        ({}, "llama"),
        ({"kind": "LLMInferenceService", "version": "v1alpha2"}, "llama-kserve-prefill"),
    ],
)
def test_another_kind_group_version_or_deployment_has_no_adapter(
    fields: dict[str, str], deployment: str
) -> None:
    assert adapter_of(parent(**fields), deployment, frozenset(ParentKind)) is None


def test_without_a_parent_there_is_nothing_to_say() -> None:
    assert adapter_of(None, "llama", frozenset(ParentKind)) is None
    assert why_not(None, "llama", frozenset()) == ""


def test_the_controller_among_the_owners_is_the_parent() -> None:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"},
        {
            "apiVersion": "serving.kserve.io/v1beta1",
            "kind": "InferenceService",
            "name": "llama",
            "uid": "u",
            "controller": True,
        },
    ]
    spec = {"template": {"spec": {"containers": [{"name": "c"}]}}}
    assert trim_shape(spec, {"ownerReferences": references}).parent == parent()


def deployment(own: dict[str, str], passed_on: dict[str, str]) -> dict[str, Any]:
    """A Deployment with annotations of its own, and of its Pod template."""
    return {
        "metadata": {
            "namespace": "n",
            "name": "llama-predictor",
            "uid": "u",
            "resourceVersion": "1",
            "annotations": own,
        },
        "spec": {
            "template": {
                "metadata": {"annotations": passed_on},
                "spec": {"containers": [{"name": "kserve-container"}]},
            }
        },
    }


@pytest.mark.parametrize(
    ("own", "passed_on", "read"),
    [
        ({}, {}, None),
        ({}, {SERVING_ANNOTATION: "b"}, "b"),
        ({SERVING_ANNOTATION: "a"}, {}, "a"),
        ({SERVING_ANNOTATION: "a"}, {SERVING_ANNOTATION: "b"}, "a"),
    ],
)
def test_our_annotation_is_found_where_a_parent_has_passed_it_on_to(
    own: dict[str, str], passed_on: dict[str, str], read: str | None
) -> None:
    assert trim_deployment(deployment(own, passed_on)).marker == read


def test_an_annotation_of_ours_makes_no_other_template_and_anybody_elses_does() -> None:
    plain = trim_deployment(deployment({}, {})).template
    ours = trim_deployment(deployment({}, {SERVING_ANNOTATION: "b"})).template
    theirs = trim_deployment(deployment({}, {"theirs": "b"})).template
    assert ours == plain
    assert theirs != plain
