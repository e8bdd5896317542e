"""What others' writes do to our fields, and ours to theirs, on a real API server."""

from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import FieldConflictError, RefusedError
from ridgeline.cluster.target import TargetApi
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import (
    EAGLE,
    apply_as,
    create,
    deployment,
    give,
    item,
    owners,
    path,
    settled,
    vllm_container,
    write_of,
)

ITEM = f'.spec.template.spec.containers[name="vllm"].env[name="{PROFILE_ENV}"]'
ITEM_VALUE = f"{ITEM}.value"


@pytest.mark.parametrize("how", ["a plain create", "server-side apply"])
async def test_an_item_of_another_manager_is_a_conflict(
    api: KubernetesApi, room: str, name: str, how: str
) -> None:
    body = deployment(room, name, env=[item('{"method":"ngram"}')])
    await (create if how == "a plain create" else _apply_as_chart)(api, body)

    with pytest.raises(FieldConflictError) as told:
        await give(api, room, name, "eagle2", EAGLE)

    assert [(each.manager, each.field) for each in told.value.conflicts] == [("chart", ITEM_VALUE)]
    assert (await TargetApi(api).read(room, name)).template_profile is None


@pytest.mark.parametrize("how", ["a plain create", "server-side apply"])
@pytest.mark.parametrize("value", ["", EAGLE], ids=["empty", "equal"])
async def test_a_rehearsal_refuses_every_item_of_another_manager(
    api: KubernetesApi, room: str, name: str, how: str, value: str
) -> None:
    body = deployment(room, name, env=[item(value)])
    await (create if how == "a plain create" else _apply_as_chart)(api, body)
    before = await settled(api, room, name)
    write = write_of(await TargetApi(api).read(room, name), "eagle2", EAGLE)

    with pytest.raises(FieldConflictError) as told:
        await TargetApi(api).apply(write, dry_run=True)

    assert [each.manager for each in told.value.conflicts] == ["chart"]
    assert told.value.conflicts[0].field.startswith(ITEM)
    assert await api.request("GET", path(room, name)) == before


async def test_an_empty_item_of_a_plain_create_is_no_conflict_to_the_server(
    api: KubernetesApi, room: str, name: str
) -> None:
    """Why a rehearsal looks at the owners: this write would go through, and be undone later."""
    await create(api, deployment(room, name, env=[item("")]))

    written = await give(api, room, name, "eagle2", EAGLE)

    assert written.template_profile == "eagle2"


async def test_a_rehearsal_lets_our_own_item_be_changed(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    await give(api, room, name, "eagle2", EAGLE)
    await settled(api, room, name)
    write = write_of(await TargetApi(api).read(room, name), "none", "")

    assert (await TargetApi(api).apply(write, dry_run=True)).template_profile == "none"


async def test_an_equal_empty_item_of_an_applier_is_a_conflict_too(
    api: KubernetesApi, room: str, name: str
) -> None:
    """The server stores no empty value, so ours differs from what it has."""
    await _apply_as_chart(api, deployment(room, name, env=[item("")]))

    with pytest.raises(FieldConflictError) as told:
        await give(api, room, name, "none", "")

    assert [each.field for each in told.value.conflicts] == [ITEM_VALUE]


async def test_an_equal_item_is_shared_and_the_next_other_value_is_the_conflict(
    api: KubernetesApi, room: str, name: str
) -> None:
    await _apply_as_chart(api, deployment(room, name, env=[item(EAGLE)]))

    await give(api, room, name, "eagle2", EAGLE)

    managers = owners(await api.request("GET", path(room, name)))
    for manager in ("chart", PROFILE_MANAGER):
        containers = managers[manager]["f:spec"]["f:template"]["f:spec"]["f:containers"]
        items = containers['k:{"name":"vllm"}']["f:env"]
        assert "f:value" in items[f'k:{{"name":"{PROFILE_ENV}"}}']
    with pytest.raises(FieldConflictError) as told:
        await give(api, room, name, "none", "")
    assert [each.manager for each in told.value.conflicts] == ["chart"]


async def test_a_label_of_another_manager_is_a_conflict(
    api: KubernetesApi, room: str, name: str
) -> None:
    await _apply_as_chart(api, deployment(room, name, labels={PROFILE_LABEL: "mine"}))

    with pytest.raises(FieldConflictError) as told:
        await give(api, room, name, "eagle2", EAGLE)

    assert [(each.manager, each.field) for each in told.value.conflicts] == [
        ("chart", f".spec.template.metadata.labels.{PROFILE_LABEL}")
    ]


async def test_every_conflicting_manager_is_named(api: KubernetesApi, room: str, name: str) -> None:
    await _apply_as_chart(api, deployment(room, name, env=[item("")]))
    labelled = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": room},
        "spec": {"template": {"metadata": {"labels": {PROFILE_LABEL: "mine"}}}},
    }
    await api.apply(path(room, name), labelled, manager="a person's tool", force=False)

    with pytest.raises(FieldConflictError) as told:
        await give(api, room, name, "eagle2", EAGLE)

    assert {each.manager for each in told.value.conflicts} == {"chart", "a person's tool"}


@pytest.mark.parametrize("how", ["client-side", "server-side", "forced"])
async def test_a_chart_applied_again_leaves_our_fields(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, how: str
) -> None:
    flags = {
        "client-side": (),
        "server-side": ("--server-side", "--field-manager=flux"),
        "forced": ("--server-side", "--field-manager=helm", "--force-conflicts"),
    }[how]

    def chart(image: str) -> None:
        body = deployment(room, name, image=image)
        control_plane.kubectl("apply", *flags, "-f", "-", input_object=body)

    chart("vllm/vllm-openai:v0.11.0")
    await give(api, room, name, "eagle2", EAGLE)
    before = await settled(api, room, name)

    chart("vllm/vllm-openai:v0.11.0")
    same = await api.request("GET", path(room, name))
    assert same["metadata"]["generation"] == before["metadata"]["generation"]
    chart("vllm/vllm-openai:v0.12.0")

    after = await api.request("GET", path(room, name))
    assert vllm_container(after)["image"] == "vllm/vllm-openai:v0.12.0"
    assert vllm_container(after)["env"] == [item(EAGLE)]
    assert vllm_container(after)["envFrom"] == vllm_container(before)["envFrom"]
    assert after["spec"]["template"]["metadata"]["labels"][PROFILE_LABEL] == "eagle2"
    assert SERVING_ANNOTATION in after["metadata"]["annotations"]
    assert PROFILE_MANAGER in owners(after)


@pytest.mark.parametrize("force", [False, True])
async def test_an_applier_cannot_rename_the_container_while_we_own_the_item(
    api: KubernetesApi, room: str, name: str, force: bool
) -> None:
    await _apply_as_chart(api, deployment(room, name))
    await give(api, room, name, "eagle2", EAGLE)
    renamed = deployment(room, name, container="engine")

    with pytest.raises(RefusedError, match="image: Required value"):
        await apply_as(api, "chart", renamed, force=force)

    released = await TargetApi(api).release(await TargetApi(api).read(room, name))
    assert (released.template_profile, released.marker) == (None, None)
    assert PROFILE_MANAGER not in owners(await api.request("GET", path(room, name)))
    after = await apply_as(api, "chart", renamed, force=force)
    assert [each["name"] for each in after["spec"]["template"]["spec"]["containers"]] == ["engine"]


async def test_two_items_of_the_name_are_a_conflict(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name, env=[item("a"), item("b")]))

    with pytest.raises(FieldConflictError):
        await give(api, room, name, "eagle2", EAGLE)


async def test_the_last_writer_is_named_and_never_ourselves(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name))
    await settled(api, room, name)
    written = await give(api, room, name, "eagle2", EAGLE)
    assert written.last_writer == "chart"
    await settled(api, room, name)
    # The Deployment controller has written the annotation of a new revision by now.
    assert (await TargetApi(api).read(room, name)).last_writer == "chart"
    control_plane.kubectl(
        "set", "env", f"deployment/{name}", f"{PROFILE_ENV}=x", "-n", room, "--field-manager=joe"
    )

    assert (await TargetApi(api).read(room, name)).last_writer == "joe"


async def test_a_conflict_is_told_apart_from_an_old_version(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, deployment(room, name, env=[item("x")]))
    await settled(api, room, name)
    read = await TargetApi(api).read(room, name)

    with pytest.raises(FieldConflictError):
        await TargetApi(api).apply(write_of(read, "eagle2", EAGLE))


async def _apply_as_chart(api: KubernetesApi, body: dict[str, Any]) -> None:
    await apply_as(api, "chart", body)
