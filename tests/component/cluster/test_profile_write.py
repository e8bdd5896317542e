"""Our one write to a target, on a real API server."""

import dataclasses

import pytest

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import (
    AnotherObjectError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
)
from ridgeline.cluster.marker import marker
from ridgeline.cluster.target import TargetApi, profile_patch
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION
from tests.component.cluster.workloads import (
    EAGLE,
    create,
    deployment,
    give,
    owners,
    path,
    settled,
    until,
    vllm_container,
    write_of,
)

NOBODY = "00000000-0000-0000-0000-000000000000"


async def test_one_write_carries_item_label_and_annotation(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    before = await settled(api, room, name)

    written = await TargetApi(api).apply(
        write_of(await TargetApi(api).read(room, name), "eagle2", EAGLE)
    )

    assert written.generation == before["metadata"]["generation"] + 1
    after = await api.request("GET", path(room, name))
    assert vllm_container(after)["env"] == [{"name": PROFILE_ENV, "value": EAGLE}]
    assert after["spec"]["template"]["metadata"]["labels"][PROFILE_LABEL] == "eagle2"
    assert after["metadata"]["annotations"][SERVING_ANNOTATION] == marker("sps")
    mine = owners(after)[PROFILE_MANAGER]
    assert mine == {
        "f:metadata": {"f:annotations": {f"f:{SERVING_ANNOTATION}": {}}},
        "f:spec": {
            "f:template": {
                "f:metadata": {"f:labels": {f"f:{PROFILE_LABEL}": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"vllm"}': {
                            ".": {},
                            "f:env": {
                                f'k:{{"name":"{PROFILE_ENV}"}}': {
                                    ".": {},
                                    "f:name": {},
                                    "f:value": {},
                                }
                            },
                            "f:name": {},
                        }
                    }
                },
            }
        },
    }


@pytest.mark.parametrize("config", [EAGLE, ""], ids=["a profile", "the empty item"])
async def test_a_repeated_write_changes_nothing(
    api: KubernetesApi, room: str, name: str, config: str
) -> None:
    await create(api, deployment(room, name))
    await give(api, room, name, "p", config)
    before = await settled(api, room, name)

    await TargetApi(api).apply(write_of(await TargetApi(api).read(room, name), "p", config))

    after = await api.request("GET", path(room, name))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def test_a_dry_run_writes_nothing(api: KubernetesApi, room: str, name: str) -> None:
    await create(api, deployment(room, name))
    before = await settled(api, room, name)
    write = write_of(await TargetApi(api).read(room, name), "eagle2", EAGLE)

    rehearsed = await TargetApi(api).apply(write, dry_run=True)

    assert rehearsed.template_profile == "eagle2"
    assert await api.request("GET", path(room, name)) == before


async def test_the_empty_item_is_owned_though_the_server_shows_no_value(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))

    written = await give(api, room, name, "none", "")

    after = await api.request("GET", path(room, name))
    assert vllm_container(after)["env"] == [{"name": PROFILE_ENV}]
    assert written.containers[0].env[0].value is None
    assert not written.containers[0].env[0].from_elsewhere
    ours = owners(after)[PROFILE_MANAGER]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    item = ours['k:{"name":"vllm"}']["f:env"][f'k:{{"name":"{PROFILE_ENV}"}}']
    assert "f:value" in item


async def test_going_back_uses_the_replica_set_that_was_there(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    await settled(api, room, name)
    profiles = (("eagle2", EAGLE), ("none", ""), ("eagle2", EAGLE), ("none", ""))
    for profile, config in profiles:
        await give(api, room, name, profile, config)
        await settled(api, room, name)

    sets = await api.request(
        "GET",
        path_of("apps/v1", "replicasets", room),
        query={"labelSelector": f"app={name}"},
    )

    labels = [each["spec"]["template"]["metadata"]["labels"] for each in sets["items"]]
    assert sorted(each.get(PROFILE_LABEL, "as created") for each in labels) == [
        "as created",
        "eagle2",
        "none",
    ]
    assert len({each["pod-template-hash"] for each in labels}) == 3


async def test_an_apply_without_our_fields_releases_them(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    before = await settled(api, room, name)
    await give(api, room, name, "eagle2", EAGLE)

    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": room, "uid": before["metadata"]["uid"]},
    }
    after = await api.apply(path(room, name), body, manager=PROFILE_MANAGER, force=False)

    assert after["spec"]["template"] == before["spec"]["template"]
    assert SERVING_ANNOTATION not in after["metadata"]["annotations"]
    assert PROFILE_MANAGER not in owners(after)


async def test_an_old_version_is_told_as_such(api: KubernetesApi, room: str, name: str) -> None:
    await create(api, deployment(room, name))
    await settled(api, room, name)
    read = await TargetApi(api).read(room, name)
    await give(api, room, name, "eagle2", EAGLE)

    with pytest.raises(StaleVersionError):
        await TargetApi(api).apply(write_of(read, "none", ""))

    assert (await TargetApi(api).read(room, name)).template_profile == "eagle2"


async def test_a_deleted_deployment_is_not_created_anew(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    read = await TargetApi(api).read(room, name)
    await _delete(api, room, name)
    write = write_of(read, "eagle2", EAGLE)

    with pytest.raises(AnotherObjectError, match="uid mismatch"):
        await TargetApi(api).apply(write)


async def test_without_a_uid_a_deleted_deployment_would_answer_otherwise(
    api: KubernetesApi, room: str, name: str
) -> None:
    """Why every write names the uid: else this is one of many refusals, and not told apart."""
    await create(api, deployment(room, name))
    read = await TargetApi(api).read(room, name)
    await _delete(api, room, name)
    body = dict(profile_patch(write_of(read, "eagle2", EAGLE)))
    body["metadata"] = {"name": name, "namespace": room}

    with pytest.raises(RefusedError, match=r"spec\.selector: Required value"):
        await api.apply(path(room, name), body, manager=PROFILE_MANAGER, force=False)


async def test_a_deployment_of_the_same_name_is_another_object(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    old = await TargetApi(api).read(room, name)
    await _delete(api, room, name)
    await create(api, deployment(room, name))
    await settled(api, room, name)
    new = await TargetApi(api).read(room, name)

    with pytest.raises(StaleVersionError):
        await TargetApi(api).apply(write_of(old, "eagle2", EAGLE))
    crossed = dataclasses.replace(write_of(old, "eagle2", EAGLE), resource_version="")
    body = {**profile_patch(crossed)}
    body["metadata"] = {**body["metadata"], "resourceVersion": new.resource_version}
    with pytest.raises(AnotherObjectError, match=r"metadata\.uid"):
        await api.apply(path(room, name), body, manager=PROFILE_MANAGER, force=False)

    assert (await TargetApi(api).read(room, name)).template_profile is None


async def test_a_container_that_is_not_there_is_refused(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    await settled(api, room, name)
    read = await TargetApi(api).read(room, name)

    with pytest.raises(RefusedError, match="image: Required value"):
        await TargetApi(api).apply(write_of(read, "eagle2", EAGLE, container="engine"))


async def test_namespaced_names_are_escaped(api: KubernetesApi, room: str) -> None:
    with pytest.raises(NotFoundError):
        await api.request("GET", path_of("apps/v1", "deployments", f"{room}/../default"))
    await api.request("GET", path_of("apps/v1", "deployments", room))


async def _delete(api: KubernetesApi, namespace: str, name: str) -> None:
    await api.request("DELETE", path(namespace, name))

    async def gone() -> bool:
        answer = await api.request(
            "GET",
            path_of("apps/v1", "deployments", namespace),
            query={"fieldSelector": f"metadata.name={name}"},
        )
        return not answer["items"]

    await until(gone, f"Deployment {name} is gone")
