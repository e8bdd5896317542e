"""Writing a profile through the object that made the Deployment, on a real API server."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import (
    AnotherObjectError,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
)
from ridgeline.cluster.marker import CanaryMark, marker
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.parent_target import SILENT_SECONDS, ParentTargetApi
from ridgeline.cluster.target import ProfileWrite
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION
from ridgeline.terms.parents import ParentKind
from tests.cluster.handle import Cluster
from tests.component.cluster.parents import (
    LLM_AS_ONE,
    LLM_SERVICE,
    SERVICE,
    Controller,
    Kind,
    create_parent,
)
from tests.component.cluster.workloads import (
    EAGLE,
    item,
    owners,
    path,
    vllm_container,
    write_of,
)

HF = {"name": "HF_HOME", "value": "/cache"}
BOTH = pytest.mark.parametrize("kind", [SERVICE, LLM_SERVICE], ids=["service", "llm"])
MERGES = pytest.mark.parametrize("merges", [False, True], ids=["replaces", "merges"])


pytestmark = pytest.mark.usefixtures("kserve")


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def targets(api: KubernetesApi, **other: Any) -> ParentTargetApi:
    """The operator's writes, through both kinds."""
    return ParentTargetApi(api, frozenset(ParentKind), **other)


async def written(
    through: ParentTargetApi,
    room: str,
    controller: Controller,
    profile: str | None,
    config: str,
    *,
    dry_run: bool = False,
    **other: Any,
) -> DeploymentObject:
    """Write a profile, read anew while the Deployment's status moves under our hands."""
    for _ in range(20):
        write = await asked(through, room, controller, profile, config, **other)
        try:
            return await through.apply(write, dry_run=dry_run)
        except StaleVersionError:
            continue
    raise AssertionError("the Deployment never stood still")


async def asked(
    through: ParentTargetApi,
    room: str,
    controller: Controller,
    profile: str | None,
    config: str,
    **other: Any,
) -> ProfileWrite:
    """The write of a profile to the Deployment as it is now."""
    live = await through.read(room, controller.deployment)
    write = write_of(live, "", config, container=controller.kind.container, **other)
    return replace(write, profile=profile)


def held(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """What holds the env list in a parent."""
    found: dict[str, Any] = (
        body["spec"]["predictor"]["model"]
        if kind.plural == SERVICE.plural
        else body["spec"]["template"]["containers"][0]
    )
    return found


@BOTH
@MERGES
async def test_the_item_goes_into_the_parent_and_comes_out_in_the_deployment(
    api: KubernetesApi, room: str, name: str, kind: Kind, merges: bool
) -> None:
    before = await create_parent(api, kind, room, name, env=[HF])
    controller = Controller(api, kind, room, name, merges=merges)
    async with controller.at_work():
        seen = await targets(api).read(room, controller.deployment)
        outcome = await written(targets(api), room, controller, "eagle2", EAGLE)

        parent = await api.request("GET", kind.where(room, name))
        deployment = await api.request("GET", path(room, controller.deployment))

    assert held(kind, parent) == {**held(kind, before), "env": [HF, item(EAGLE)]}
    assert outcome.generation > seen.generation
    assert outcome.template_profile == "eagle2"
    assert outcome.marker == marker("sps")
    assert outcome.template == seen.template
    assert vllm_container(deployment)["env"] == [HF, item(EAGLE)]
    assert PROFILE_MANAGER not in owners(deployment)


async def test_of_a_parent_we_own_an_item_a_label_and_an_annotation(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name)
    async with controller.at_work():
        await written(targets(api), room, controller, "eagle2", EAGLE)
        parent = await api.request("GET", SERVICE.where(room, name))

    assert owners(parent)[PROFILE_MANAGER] == {
        "f:spec": {
            "f:predictor": {
                "f:labels": {f"f:{PROFILE_LABEL}": {}},
                "f:annotations": {f"f:{SERVING_ANNOTATION}": {}},
                "f:model": {
                    "f:env": {
                        f'k:{{"name":"{PROFILE_ENV}"}}': {".": {}, "f:name": {}, "f:value": {}}
                    }
                },
            }
        }
    }


@BOTH
async def test_a_dry_run_changes_neither(
    api: KubernetesApi, room: str, name: str, kind: Kind
) -> None:
    before = await create_parent(api, kind, room, name, env=[HF])
    controller = Controller(api, kind, room, name)
    await controller.once()
    live = await api.request("GET", path(room, controller.deployment))

    await written(targets(api), room, controller, "eagle2", EAGLE, dry_run=True)

    assert await api.request("GET", kind.where(room, name)) == before
    after = await api.request("GET", path(room, controller.deployment))
    assert after["metadata"]["generation"] == live["metadata"]["generation"]


@BOTH
async def test_giving_up_brings_the_old_template_back(
    api: KubernetesApi, room: str, name: str, kind: Kind
) -> None:
    before = await create_parent(api, kind, room, name, env=[HF])
    controller = Controller(api, kind, room, name)
    async with controller.at_work():
        old = await api.request("GET", path(room, controller.deployment))
        live = await written(targets(api), room, controller, "eagle2", EAGLE)
        await targets(api).release(live)
        new = await api.request("GET", path(room, controller.deployment))
        parent = await api.request("GET", kind.where(room, name))

    assert new["spec"]["template"] == old["spec"]["template"]
    assert held(kind, parent) == held(kind, before)
    assert PROFILE_MANAGER not in owners(parent)


async def test_putting_back_what_was_nothing_of_ours_gives_up(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name)
    async with controller.at_work():
        await written(targets(api), room, controller, "eagle2", EAGLE)
        outcome = await written(targets(api), room, controller, None, "")
        parent = await api.request("GET", SERVICE.where(room, name))

    assert outcome.template_profile is None
    assert PROFILE_MANAGER not in owners(parent)


async def test_what_a_merging_controller_keeps_is_left_without_effect(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name, merges=True)
    through = targets(api)
    async with controller.at_work():
        live = await written(through, room, controller, "eagle2", EAGLE)
        outcome = await through.release(live)
        deployment = await api.request("GET", path(room, controller.deployment))

    assert vllm_container(deployment)["env"] == [HF, {"name": PROFILE_ENV}]
    assert not outcome.template_profile
    assert not outcome.marker


async def test_a_release_that_was_cut_off_is_ended_by_the_next(
    api: KubernetesApi, room: str, name: str
) -> None:
    """Killed between the two writes to a parent whose controller takes nothing out."""
    await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name, merges=True)
    through = targets(api)
    async with controller.at_work():
        live = await written(through, room, controller, "eagle2", EAGLE)
        where = SERVICE.where(room, name)
        nothing = {
            "apiVersion": "serving.kserve.io/v1beta1",
            "kind": "InferenceService",
            "metadata": {"name": name, "namespace": room},
        }
        await api.apply(where, nothing, manager=PROFILE_MANAGER, force=False)
        outcome = await through.release(live)
        deployment = await api.request("GET", path(room, controller.deployment))

    assert vllm_container(deployment)["env"] == [HF, {"name": PROFILE_ENV}]
    assert not outcome.template_profile


async def test_a_parent_whose_controller_does_not_follow_is_as_it_was(
    api: KubernetesApi, room: str, name: str
) -> None:
    before = await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name)
    await controller.once()
    clock = Clock()
    through = targets(api, clock=clock, sleep=clock.sleep)

    with pytest.raises(RefusedError, match=rf"InferenceService/{name} was given the profile"):
        await written(through, room, controller, "eagle2", EAGLE)

    parent = await api.request("GET", SERVICE.where(room, name))
    assert parent["spec"] == before["spec"]

    with pytest.raises(RefusedError, match="tried again every 5 min"):
        await written(through, room, controller, "eagle2", EAGLE, dry_run=True)
    again = await api.request("GET", SERVICE.where(room, name))
    assert again["metadata"]["resourceVersion"] == parent["metadata"]["resourceVersion"]

    clock.now += SILENT_SECONDS
    await written(through, room, controller, "eagle2", EAGLE, dry_run=True)


async def test_what_was_ours_is_put_back_when_its_controller_does_not_follow(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name, env=[HF])
    controller = Controller(api, SERVICE, room, name)
    async with controller.at_work():
        await written(targets(api), room, controller, "eagle2", EAGLE)
    clock = Clock()

    with pytest.raises(RefusedError):
        await written(targets(api, clock=clock, sleep=clock.sleep), room, controller, "none", "")

    parent = await api.request("GET", SERVICE.where(room, name))
    assert held(SERVICE, parent)["env"] == [HF, item(EAGLE)]
    assert parent["spec"]["predictor"]["labels"] == {PROFILE_LABEL: "eagle2"}


@pytest.mark.parametrize("env", [[HF], None], ids=["with env", "without env"])
async def test_a_schema_that_keeps_the_list_as_one_value_is_refused(
    api: KubernetesApi, room: str, name: str, env: list[dict[str, str]] | None
) -> None:
    before = await create_parent(api, LLM_AS_ONE, room, name, env=env)
    controller = Controller(api, LLM_AS_ONE, room, name)
    await controller.once()

    with pytest.raises(RefusedError, match="as one value"):
        await written(targets(api), room, controller, "eagle2", EAGLE)

    after = await api.request("GET", LLM_AS_ONE.where(room, name))
    assert after["spec"] == before["spec"]


@pytest.mark.parametrize("value", ["", EAGLE, '{"method":"ngram"}'])
async def test_an_item_in_the_parents_manifest_is_a_conflict(
    api: KubernetesApi, room: str, name: str, value: str
) -> None:
    await create_parent(api, SERVICE, room, name, env=[item(value)])
    controller = Controller(api, SERVICE, room, name)
    await controller.once()

    with pytest.raises(FieldConflictError) as caught:
        await written(targets(api), room, controller, "eagle2", EAGLE)

    assert {each.manager for each in caught.value.conflicts} == {"chart"}
    assert PROFILE_ENV in caught.value.conflicts[0].field


async def test_what_changed_since_it_was_read_is_not_written(
    api: KubernetesApi, room: str, name: str
) -> None:
    before = await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    await controller.once()
    stale = await asked(targets(api), room, controller, "eagle2", EAGLE, resource_version="1")

    with pytest.raises(StaleVersionError):
        await targets(api).apply(stale)

    assert await api.request("GET", SERVICE.where(room, name)) == before


async def test_a_parent_that_was_created_again_is_another(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    await controller.once()
    write = await asked(targets(api), room, controller, "eagle2", EAGLE)
    await api.request("DELETE", SERVICE.where(room, name))
    another = await create_parent(api, SERVICE, room, name)

    # The garbage collector may have taken the Deployment by now, or have begun to.
    with pytest.raises((AnotherObjectError, StaleVersionError, NotFoundError)):
        await targets(api).apply(write)

    assert await api.request("GET", SERVICE.where(room, name)) == another


async def test_no_container_is_made_in_a_parent_that_names_none(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, LLM_SERVICE, room, name)
    controller = Controller(api, LLM_SERVICE, room, name)
    await controller.once()
    body = {"spec": {"template": None}}
    merge = "application/merge-patch+json"
    where = LLM_SERVICE.where(room, name)
    await api.request("PATCH", where, body=body, content_type=merge)

    with pytest.raises(RefusedError, match=r'has no .spec.template.containers\[name="main"\]'):
        await written(targets(api), room, controller, "eagle2", EAGLE)


async def test_there_is_no_canary_through_a_parent(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    await controller.once()
    mark = CanaryMark(label=None, config=None)

    with pytest.raises(RefusedError, match="cannot hold a rollout back"):
        await written(targets(api), room, controller, "eagle2", EAGLE, canary=mark)


async def test_an_owner_without_env_in_its_manifest_keeps_our_item(
    api: KubernetesApi, control_plane: Cluster, room: str, name: str
) -> None:
    """As kubectl apply and Argo CD do without server-side apply; with an env list it is lost."""
    lists = {"with": [HF], "without": None}
    kept = {}
    for which, env in lists.items():
        named = f"{name}-{which}"
        manifest = {
            "apiVersion": "serving.kserve.io/v1beta1",
            "kind": "InferenceService",
            "metadata": {"name": named, "namespace": room},
            "spec": SERVICE.spec(env),
        }
        control_plane.kubectl("apply", "-f", "-", input_object=manifest)
        controller = Controller(api, SERVICE, room, named)
        async with controller.at_work():
            await written(targets(api), room, controller, "eagle2", EAGLE)
        control_plane.kubectl("apply", "-f", "-", input_object=manifest)
        parent = await api.request("GET", SERVICE.where(room, named))
        kept[which] = any(
            each["name"] == PROFILE_ENV for each in held(SERVICE, parent).get("env", ())
        )

    assert kept == {"with": False, "without": True}, json.dumps(kept)
