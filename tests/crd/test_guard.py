"""The guard on real Deployments: what the operator's own token can do with them, and what not."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from ridgeline.cluster.marker import CanaryMark
from ridgeline.cluster.target import ProfileWrite, profile_patch
from ridgeline.terms.names import PROFILE_MANAGER
from tests.chart.rendering import Object
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.crd.guard_server import APPLY, Guarded, guarded

SPECULATION = "SPECULATION_CONFIG"


@pytest.fixture(scope="module")
def guard(control_plane: Cluster, helm_binary: File) -> Iterator[Guarded]:
    """The guard, as the chart installs it."""
    with guarded(control_plane, helm_binary) as found:
        yield found


@pytest.fixture
def target(guard: Guarded, request: pytest.FixtureRequest) -> Iterator[str]:
    """The path of a Deployment with two containers, made by somebody else."""
    name = "target-" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    path = _made(guard, _deployment(name))
    yield path
    guard.person.call("DELETE", path)


def test_a_profile_is_written_changed_and_released(guard: Guarded, target: str) -> None:
    before = _read(guard, target)
    for patch in (
        _patch(before, config='{"method":"ngram"}'),
        _patch(before, config="", profile="none"),
        _patch(before, canary=CanaryMark(label=None, config=None)),
        _patch(before, config='{"method":"eagle"}', profile="eagle"),
    ):
        _carry_out(guard, target, patch)
    after = _read(guard, target)
    assert after["spec"]["template"]["spec"]["containers"][0]["env"][-1]["name"] == SPECULATION
    _carry_out(guard, target, _nothing(before))
    released = _read(guard, target)
    assert released["spec"] == before["spec"]
    assert PROFILE_MANAGER not in {m["manager"] for m in released["metadata"]["managedFields"]}


def test_a_canary_is_paused_and_released_in_one_write_each(guard: Guarded, target: str) -> None:
    before = _read(guard, target)
    canary = CanaryMark(label="none", config="")
    _carry_out(guard, target, _patch(before, canary=canary))
    assert _read(guard, target)["spec"]["paused"] is True
    _carry_out(guard, target, _nothing(before))
    assert _read(guard, target)["spec"] == before["spec"]


def test_the_profile_may_move_to_another_container(guard: Guarded, target: str) -> None:
    before = _read(guard, target)
    _carry_out(guard, target, _patch(before))
    _carry_out(guard, target, _patch(before, container="side"))
    first, side = _read(guard, target)["spec"]["template"]["spec"]["containers"]
    assert SPECULATION not in {each["name"] for each in first["env"]}
    assert [each["name"] for each in side["env"]] == [SPECULATION]


def test_two_containers_at_once_are_refused(guard: Guarded, target: str) -> None:
    patch = _patch(_read(guard, target))
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    patch["spec"]["template"]["spec"]["containers"].append({**container, "name": "side"})
    answer = guard.operator.apply(target, patch)
    assert guard.refused(answer, "in one container at a time"), answer.message


def test_a_value_that_is_not_literal_is_refused(guard: Guarded, target: str) -> None:
    patch = _patch(_read(guard, target))
    secret = {"secretKeyRef": {"name": "credentials", "key": "token"}}
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": SPECULATION, "valueFrom": secret}]
    answer = guard.operator.apply(target, patch)
    assert guard.refused(answer, "not a literal value"), answer.message


def test_a_value_that_somebody_else_reads_from_elsewhere_is_not_replaced(guard: Guarded) -> None:
    body = _deployment("reads")
    source = {"configMapKeyRef": {"name": "defaults", "key": "speculation"}}
    env = body["spec"]["template"]["spec"]["containers"][0]["env"]
    env.append({"name": SPECULATION, "valueFrom": source})
    path = _made(guard, body)
    mutant = _read(guard, path)
    mutant["spec"]["template"]["spec"]["containers"][0]["env"].pop()
    answer = guard.operator.replace(path, mutant)
    assert guard.refused(answer, "not a literal value"), answer.message


def test_a_second_item_is_refused(guard: Guarded, target: str) -> None:
    mutant = _read(guard, target)
    item = {"name": SPECULATION, "value": "{}"}
    mutant["spec"]["template"]["spec"]["containers"][0]["env"] += [item, item]
    answer = guard.operator.replace(target, mutant)
    assert guard.refused(answer, "a second item"), answer.message


def test_containers_cannot_be_added_taken_away_or_put_in_another_order(
    guard: Guarded, target: str
) -> None:
    body = _read(guard, target)
    first, side = body["spec"]["template"]["spec"]["containers"]
    for containers in ([first], [side, first], [first, side, {**side, "name": "third"}]):
        mutant = copy.deepcopy(body)
        mutant["spec"]["template"]["spec"]["containers"] = containers
        answer = guard.operator.replace(target, mutant)
        assert guard.refused(answer, "add, remove, rename or reorder"), answer.message


def test_no_other_label_and_no_other_annotation_is_written(guard: Guarded, target: str) -> None:
    for place in (("metadata", "annotations"), ("metadata", "labels")):
        mutant = _read(guard, target)
        mutant[place[0]].setdefault(place[1], {})["team"] = "other"
        answer = guard.operator.replace(target, mutant)
        assert guard.refused(answer, ".".join(place)), answer.message


def test_only_the_operators_own_field_manager_may_write(guard: Guarded, target: str) -> None:
    answer = guard.operator.apply(target, _patch(_read(guard, target)), manager="other")
    assert guard.refused(answer, "as field manager ridgeline-profile"), answer.message


def test_nothing_is_taken_over_by_force(guard: Guarded) -> None:
    body = _deployment("owned")
    env = body["spec"]["template"]["spec"]["containers"][0]["env"]
    env.append({"name": SPECULATION, "value": "theirs"})
    path = _made(guard, body)
    patch = _patch(_read(guard, path))
    assert guard.operator.apply(path, patch).status == 409
    answer = guard.operator.apply(path, patch, force=True)
    assert guard.refused(answer, "what other managers own"), answer.message


def test_ownership_cannot_be_rewritten(guard: Guarded, target: str) -> None:
    body = _read(guard, target)
    (entry,) = (m for m in body["metadata"]["managedFields"] if m["manager"] == "git")
    entry["fieldsV1"]["f:spec"]["f:minReadySeconds"] = {}
    answer = guard.operator.replace(target, body)
    assert guard.refused(answer, "what other managers own"), answer.message


@pytest.mark.parametrize(
    "more",
    [
        {"spec": {"replicas": 0}},
        {"metadata": {"labels": {"team": "git"}}},
        {"spec": {"template": {"spec": {"schedulerName": "default-scheduler"}}}},
        {"spec": {"template": {"metadata": {"labels": {"app": "target"}}}}},
        {
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "vllm", "image": "registry.example/vllm"}]}
                }
            }
        },
        {
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "vllm", "env": [{"name": "A", "value": "1"}]}]}
                }
            }
        },
    ],
    ids=["replicas", "label", "pod", "template label", "image", "env"],
)
def test_nothing_that_stays_as_it_is_can_be_owned_either(
    guard: Guarded, target: str, more: Object
) -> None:
    """Who owns a field keeps it in place when its maker takes it out."""
    metadata = {"name": target.rpartition("/")[2], **more.get("metadata", {})}
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", **more, "metadata": metadata}
    answer = guard.operator.apply(target, patch)
    assert guard.refused(answer, "may not own"), answer.message


@pytest.mark.parametrize("subresource", ["scale", "status"])
def test_subresources_are_refused(guard: Guarded, target: str, subresource: str) -> None:
    path = f"{target}/{subresource}"
    body = guard.person.call("GET", path).body
    body["spec"]["replicas"] = 3
    assert guard.person.replace(path, body).taken
    answer = guard.operator.replace(path, body)
    assert guard.refused(answer, "another subresource"), answer.message
    patch = {key: body[key] for key in ("apiVersion", "kind")}
    patch |= {"metadata": {"name": body["metadata"]["name"]}, "spec": {"replicas": 3}}
    answer = guard.operator.apply(path, patch, force=True)
    assert guard.refused(answer, "another subresource"), answer.message


def test_nothing_is_made_or_deleted(guard: Guarded, target: str) -> None:
    other = _deployment("other")
    for answer in (
        guard.operator.call("POST", f"{guard.deployments}?dryRun=All", other),
        guard.operator.apply(f"{guard.deployments}/other", other),
        guard.operator.call("DELETE", f"{target}?dryRun=All"),
        guard.operator.call("DELETE", f"{guard.deployments}?dryRun=All"),
    ):
        assert guard.refused(answer, "may not create, delete or scale"), answer.message
    assert guard.person.call("GET", target).taken


def test_another_account_is_not_bound(guard: Guarded, target: str) -> None:
    mutant = _read(guard, target)
    mutant["spec"]["template"]["spec"]["hostNetwork"] = True
    assert guard.refused(guard.operator.replace(target, mutant), "spec.template.spec.hostNetwork")
    assert guard.person.replace(target, mutant).taken


def test_it_binds_in_every_namespace(guard: Guarded) -> None:
    """Also where the operator does not look, should a Role be there."""
    where = f"{guard.namespace}-other"
    account = f"system:serviceaccount:{guard.namespace}:ridgeline"
    guard.cluster.kubectl("create", "namespace", where)
    try:
        role = ("rolebinding", "all", "--clusterrole=cluster-admin", f"--user={account}")
        guard.cluster.kubectl("create", *role, "-n", where)
        path = f"/apis/apps/v1/namespaces/{where}/deployments/other"
        answer = guard.operator.apply(path, _deployment("other"))
        assert guard.refused(answer, "may not create"), answer.message
    finally:
        guard.cluster.kubectl("delete", "namespace", where, "--wait=false")


def test_the_api_server_finds_no_fault_with_its_types(guard: Guarded) -> None:
    shown = guard.cluster.kubectl("get", "validatingadmissionpolicy", guard.policy)
    assert shown["status"]["typeChecking"] == {}


def test_the_largest_deployments_are_within_the_budget(guard: Guarded) -> None:
    """Twenty containers with a hundred env items each: CEL's cost is bounded."""
    body = _deployment("large")
    env = [{"name": f"VARIABLE_{n}", "value": "x" * 200} for n in range(100)]
    body["spec"]["template"]["spec"]["containers"] = [
        {"name": name, "image": "registry.example/vllm", "env": env}
        for name in ("vllm", *(f"side-{n}" for n in range(19)))
    ]
    path = _made(guard, body)
    _carry_out(guard, path, _patch(_read(guard, path)))
    mutant = _read(guard, path)
    mutant["spec"]["template"]["spec"]["containers"][19]["env"][99]["value"] = "y"
    answer = guard.operator.replace(path, mutant)
    assert guard.refused(answer, "but for SPECULATION_CONFIG"), answer.message
    guard.person.call("DELETE", path)


def test_arguments_may_change_when_the_chart_says_so(
    control_plane: Cluster, helm_binary: File
) -> None:
    values = {"guard": {"allowArgs": True}}
    with guarded(control_plane, helm_binary, values) as loose:
        path = _made(loose, _deployment("target"))
        mutant = _read(loose, path)
        container = mutant["spec"]["template"]["spec"]["containers"][0]
        container["args"] = ["--speculative-config={}"]
        assert loose.operator.replace(path, mutant).taken
        container["command"] = ["sh"]
        assert loose.refused(loose.operator.replace(path, mutant), "containers[].command")


def test_arguments_may_not_change_otherwise(guard: Guarded, target: str) -> None:
    mutant = _read(guard, target)
    mutant["spec"]["template"]["spec"]["containers"][0]["args"] = ["--speculative-config={}"]
    assert guard.refused(guard.operator.replace(target, mutant), "containers[].args")


def _made(guard: Guarded, body: Object) -> str:
    """Have somebody else make a Deployment; its path, once its controller leaves it alone."""
    path = f"{guard.deployments}/{body['metadata']['name']}"
    query = "fieldManager=git"
    made = guard.person.call("PATCH", f"{path}?{query}", body, APPLY)
    assert made.taken, made.message

    def settled() -> bool:
        conditions = _read(guard, path).get("status", {}).get("conditions", ())
        return "NewReplicaSetAvailable" in {each["reason"] for each in conditions}

    wait_until(settled, "the Deployment's controller", every_s=0.05)
    return path


def _carry_out(guard: Guarded, path: str, patch: Object) -> None:
    query = f"fieldManager={PROFILE_MANAGER}"
    answer = guard.operator.call("PATCH", f"{path}?{query}", patch, APPLY)
    assert answer.taken, answer.message


def _read(guard: Guarded, path: str) -> Object:
    """The Deployment as it is, without the version that a write would insist on."""
    body = guard.person.call("GET", path).body
    del body["metadata"]["resourceVersion"]
    return body


def _patch(body: Object, **changed: Any) -> Object:
    """What the operator itself sends."""
    metadata = body["metadata"]
    fields: dict[str, Any] = {
        "namespace": metadata["namespace"],
        "deployment": metadata["name"],
        "uid": metadata["uid"],
        "resource_version": "",
        "container": "vllm",
        "serving": "serving",
        "profile": "eagle",
        "config": '{"method":"eagle"}',
    }
    patch: Object = copy.deepcopy(dict(profile_patch(ProfileWrite(**fields | changed))))
    del patch["metadata"]["resourceVersion"]
    return patch


def _nothing(body: Object) -> Object:
    """The apply that gives everything up."""
    names = {key: body["metadata"][key] for key in ("name", "namespace", "uid")}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": names}


def _deployment(name: str) -> Object:
    labels = {"app": "target"}
    container = {
        "name": "vllm",
        "image": "registry.example/vllm",
        "env": [{"name": "A", "value": "1"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"team": "git"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container, {"name": "side", "image": "registry.example/side"}]
                },
            },
        },
    }
