"""The operator's rights: what it uses and nothing else, and Roles alone where only those may be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chart.rendering import NAMESPACE, Chart, Object, config_of, of_kind, one

OBSERVED = {"list", "watch"}
NAMESPACED = {
    "ridgeline.dev/speculativeservings": OBSERVED,
    "ridgeline.dev/speculationpolicies": OBSERVED,
    "ridgeline.dev/speculativeservings/status": {"patch"},
    "apps/deployments": OBSERVED | {"get", "patch"},
    "/pods": OBSERVED,
    "policy/poddisruptionbudgets": OBSERVED,
    "/resourcequotas": OBSERVED,
    "autoscaling/horizontalpodautoscalers": OBSERVED,
    "scheduling.volcano.sh/podgroups": OBSERVED,
    "scheduling.x-k8s.io/podgroups": OBSERVED,
    "events.k8s.io/events": {"create"},
}
CLUSTER = {
    "ridgeline.dev/acceleratorprofiles": OBSERVED,
    "/nodes": OBSERVED,
    "resource.k8s.io/deviceclasses": OBSERVED,
    "resource.k8s.io/resourceclaims": OBSERVED,
    "resource.k8s.io/resourceclaimtemplates": OBSERVED,
    "resource.k8s.io/resourceslices": OBSERVED,
}
LEASE = {"coordination.k8s.io/leases": {"create", "get", "update"}}


def grants(role: Object) -> dict[str, set[str]]:
    """Group and resource → verbs."""
    found: dict[str, set[str]] = {}
    for rule in role["rules"]:
        assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault(f"{group}/{resource}", set()).update(rule["verbs"])
    return found


def bound(objects: list[Object]) -> Iterator[tuple[str, str | None, Object]]:
    """Every role that is bound to the operator: kind, namespace, role."""
    account = one(objects, "ServiceAccount")["metadata"]
    for kind in ("ClusterRole", "Role"):
        for binding in of_kind(objects, f"{kind}Binding"):
            assert binding["roleRef"]["kind"] == kind
            (subject,) = binding["subjects"]
            assert subject == {
                "kind": "ServiceAccount",
                "name": account["name"],
                "namespace": account["namespace"],
            }
            where = binding["metadata"].get("namespace")
            (role,) = (
                each
                for each in of_kind(objects, kind)
                if each["metadata"]["name"] == binding["roleRef"]["name"]
                and each["metadata"].get("namespace") == where
            )
            yield kind, where, role


def test_it_may_look_everywhere_and_write_three_things(defaults: list[Object]) -> None:
    roles = {(kind, where): grants(role) for kind, where, role in bound(defaults)}
    assert roles == {("ClusterRole", None): NAMESPACED | CLUSTER, ("Role", NAMESPACE): LEASE}


def test_it_reads_and_renews_its_own_lease_alone(defaults: list[Object]) -> None:
    for rule in one(defaults, "Role")["rules"]:
        if rule["verbs"] != ["create"]:
            assert rule["resourceNames"] == [one(defaults, "Deployment")["metadata"]["name"]]


def test_with_named_namespaces_it_has_roles_there_and_nothing_of_the_cluster(
    chart: Chart,
) -> None:
    objects = chart.render(file="namespaced")
    assert not of_kind(objects, "ClusterRole")
    assert not of_kind(objects, "ClusterRoleBinding")
    roles = {where: grants(role) for _, where, role in bound(objects)}
    assert roles == {"inference": NAMESPACED, "research": NAMESPACED, NAMESPACE: LEASE}


@pytest.mark.parametrize("namespaces", [[], ["inference"]], ids=["everywhere", "there"])
def test_a_kind_of_parents_is_read_and_patched_where_it_is_named(
    chart: Chart, namespaces: list[str]
) -> None:
    named = {"InferenceService": "inferenceservices"}
    named["LLMInferenceService"] = "llminferenceservices"
    for kind, resource in named.items():
        objects = chart.render({"watchNamespaces": namespaces, "parents": [kind]})
        where = namespaces[0] if namespaces else None
        role = next(role for _, place, role in bound(objects) if place == where)
        added = {f"serving.kserve.io/{resource}": {"get", "patch"}}
        assert grants(role) == NAMESPACED | added | ({} if namespaces else CLUSTER)
        assert config_of(objects)["parents"] == [kind]


def test_without_parents_the_configuration_names_none(defaults: list[Object]) -> None:
    assert "parents" not in config_of(defaults)


def test_it_may_watch_the_namespace_that_it_lives_in(chart: Chart) -> None:
    objects = chart.render({"watchNamespaces": [NAMESPACE]})
    names = [each["metadata"]["name"] for each in of_kind(objects, "Role")]
    assert len(names) == len(set(names)) == 2


def test_people_see_and_edit_servings_by_the_usual_roles(defaults: list[Object]) -> None:
    aggregated = {
        label.rpartition("-")[2]: grants(role)
        for role in of_kind(defaults, "ClusterRole")
        for label, value in role["metadata"]["labels"].items()
        if label.startswith("rbac.authorization.k8s.io/aggregate-to-") and value == "true"
    }
    kinds = ("ridgeline.dev/speculativeservings", "ridgeline.dev/speculationpolicies")
    for kind in kinds:
        assert aggregated["view"][kind] == {"get", "list", "watch"}
        assert aggregated["edit"][kind] >= {"create", "update", "patch", "delete"}
    assert aggregated["admin"] == aggregated["edit"]
    # The status is the operator's to write.
    assert set(aggregated["edit"]) == set(kinds)


@pytest.mark.parametrize("file", [None, "everything", "namespaced"])
def test_no_right_is_given_by_a_pattern(chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    for role in (*of_kind(objects, "Role"), *of_kind(objects, "ClusterRole")):
        for resource, verbs in grants(role).items():
            assert "*" not in resource
            assert "*" not in verbs
            assert "secrets" not in resource


def test_no_role_of_the_chart_reaches_the_operators_port_through_the_api_server(
    defaults: list[Object],
) -> None:
    roles = [*of_kind(defaults, "Role"), *of_kind(defaults, "ClusterRole")]
    assert roles
    assert not [each for role in roles for each in grants(role) if each.endswith("/proxy")]
