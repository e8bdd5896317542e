"""Claimed devices and PodGroups: listed and watched while a target needs them, else not at all."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import NotFoundError, RefusedError, UnavailableError
from ridgeline.cluster.gangs import COSCHEDULING, VOLCANO
from ridgeline.cluster.listing import relist
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.handlers import watch_registry
from ridgeline.policy.placement import PodClaim, PodNeeds
from tests.unit.cluster.device_bodies import (
    claim_body,
    class_body,
    meta,
    slice_body,
    template_body,
)

V1, V1BETA2, V1BETA1 = (f"/apis/resource.k8s.io/{each}/" for each in ("v1", "v1beta2", "v1beta1"))
CLAIMING: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
NEEDS = PodNeeds(claims=(PodClaim(template="gpu"),))
GANG = {"scheduling.x-k8s.io/pod-group": "g"}
VOLCANO_GANG = {"scheduling.volcano.sh/group-name": "g"}

Answers = Mapping[str, list[dict[str, Any]] | Exception]


class ScriptedApi(KubernetesApi):
    """An API server that lists what a test gave it by the end of the path; else nothing."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.listed: list[str] = []

    async def pages(
        self, path: str, *, page_size: int, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[dict[str, Any]]]:
        self.listed.append(path)
        answer = next((found for end, found in self.answers.items() if path.endswith(end)), [])
        if isinstance(answer, Exception):
            raise answer
        yield answer

    def asked_for(self, part: str) -> list[str]:
        return [path for path in self.listed if part in path]


def serving() -> dict[str, Any]:
    return {
        "metadata": {**meta("llama", "ns"), "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"targetRef": {"name": "llama"}},
    }


def deployment(
    name: str = "llama", annotations: dict[str, str] | None = None, **pod: Any
) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {**(annotations or {})}, "annotations": {**(annotations or {})}},
        "spec": {"containers": [{"name": "vllm"}], **pod},
    }
    return {"metadata": meta(name, "ns"), "spec": {"template": template}}


def devices(prefix: str = V1) -> dict[str, list[dict[str, Any]] | Exception]:
    """What a server of one version has; the others are not there."""
    there: dict[str, list[dict[str, Any]] | Exception] = {
        f"{prefix}resourceslices": [slice_body("s")],
        f"{prefix}resourceclaims": [claim_body("c", ("gpu.example.com", "n", "gpu-0"))],
        f"{prefix}deviceclasses": [class_body()],
        f"{prefix}resourceclaimtemplates": [template_body("gpu")],
    }
    for other in (V1, V1BETA2, V1BETA1):
        if other != prefix:
            there |= {
                f"{other}{kind.rsplit('/', 1)[1]}": NotFoundError("no such kind")
                for kind in list(there)
                if kind.startswith(prefix)
            }
    return there


def groups(least: int = 3) -> dict[str, list[dict[str, Any]] | Exception]:
    return {"/podgroups": [{"metadata": meta("g", "ns"), "spec": {"minMember": least}}]}


async def listed(
    answers: Answers, *targets: dict[str, Any], namespaces: tuple[str, ...] = ()
) -> tuple[Surroundings, ScriptedApi, WatchStore]:
    around, store = Surroundings(sees_all_pods=not namespaces), WatchStore()
    api = ScriptedApi({**answers, "/speculativeservings": [serving()], "/deployments": targets})  # type: ignore[dict-item]
    await relist(api, store, namespaces, around)
    return around, api, store


async def test_where_no_target_needs_them_nothing_of_them_is_asked_for() -> None:
    stranger = deployment("another", **CLAIMING, annotations=GANG)
    around, api, _ = await listed({**devices(), **groups()}, deployment(), stranger)
    assert api.asked_for("resource.k8s.io") == []
    assert api.asked_for("podgroups") == []
    assert around.looked_into == frozenset()


@pytest.mark.parametrize("prefix", [V1, V1BETA2, V1BETA1])
async def test_devices_are_listed_by_the_newest_version_that_the_server_has(prefix: str) -> None:
    around, api, store = await listed(devices(prefix), deployment(**CLAIMING))
    assert around.devices.readable
    assert around.devices.count("ns", NEEDS).pods == {"n": 1}
    assert around.looked_into == {f"resource.k8s.io/{prefix.split('/')[-2]}"}
    api.listed.clear()
    await relist(api, store, (), around)
    assert {path.rsplit("/", 1)[0] + "/" for path in api.asked_for("resource.k8s.io")} == {prefix}


@pytest.mark.parametrize("kind", ["resourceslices", "resourceclaims", "deviceclasses"])
async def test_without_the_right_to_one_of_them_devices_are_unknown(kind: str) -> None:
    answers = {**devices(), f"{V1}{kind}": RefusedError("forbidden")}
    around, api, store = await listed(answers, deployment(**CLAIMING))
    assert around.devices.count("ns", NEEDS).pods is None
    assert around.nodes.primed
    api.answers = {**api.answers, **devices()}
    await relist(api, store, (), around)
    assert around.devices.count("ns", NEEDS).pods == {"n": 1}


async def test_a_server_that_is_down_is_another_matter() -> None:
    answers = {**devices(), f"{V1}resourceclaims": UnavailableError("gone for a moment")}
    with pytest.raises(UnavailableError):
        await listed(answers, deployment(**CLAIMING))


async def test_in_namespaced_mode_nothing_is_read_of_devices() -> None:
    around, api, _ = await listed(devices(), deployment(**CLAIMING), namespaces=("ns",))
    assert api.asked_for("resource.k8s.io") == []
    assert around.devices.count("ns", NEEDS).pods is None


async def test_what_no_target_needs_any_more_is_forgotten() -> None:
    target = deployment(**CLAIMING, annotations=GANG)
    around, api, store = await listed({**devices(), **groups()}, target)
    assert len(around.looked_into) == 2
    api.answers = {**api.answers, "/deployments": [deployment()]}
    await relist(api, store, (), around)
    assert around.looked_into == frozenset()
    assert around.devices.slices.all() == ()


@pytest.mark.parametrize(
    ("marks", "group", "other"),
    [(GANG, COSCHEDULING, VOLCANO), (VOLCANO_GANG, VOLCANO, COSCHEDULING)],
)
async def test_the_pod_groups_of_the_scheduler_that_is_meant_tell_the_number(
    marks: dict[str, str], group: str, other: str
) -> None:
    around, api, store = await listed(groups(5), deployment(annotations=marks))
    assert len(api.asked_for(f"/apis/{group}/")) == 1
    assert api.asked_for(f"/apis/{other}/") == []
    found = store.deployments.get(("ns", "llama"))
    assert found is not None
    gang = around.gang_told("ns", found.shape.gang)
    assert gang is not None
    assert gang.least == 5


async def test_in_named_namespaces_pod_groups_are_listed_there() -> None:
    around, api, _ = await listed(
        groups(), deployment(annotations=GANG), namespaces=("ns", "other")
    )
    paths = api.asked_for("podgroups")
    assert [path.split("/namespaces/")[1].split("/")[0] for path in paths] == ["ns", "other"]
    assert around.pod_groups[COSCHEDULING].primed


@pytest.mark.parametrize("error", [RefusedError("forbidden"), NotFoundError("no such kind")])
async def test_without_the_kind_or_the_right_the_number_stays_unknown(error: Exception) -> None:
    around, _, store = await listed({"/podgroups": error}, deployment(annotations=GANG))
    found = store.deployments.get(("ns", "llama"))
    assert found is not None
    assert around.gang_told("ns", found.shape.gang) == found.shape.gang


async def test_what_is_read_is_watched_and_followed() -> None:
    target = deployment(**CLAIMING, annotations=GANG)
    around, _, _ = await listed({**devices(), **groups()}, target)
    registry = watch_registry(WatchStore(), None, around)
    handlers: dict[str, Any] = {
        str(each.id): each for each in registry._watching.get_all_handlers()
    }
    assert {
        "resourceslices_changed",
        "resourceclaims_changed",
        "deviceclasses_changed",
        "resourceclaimtemplates_changed",
        "podgroups_changed",
    } <= set(handlers)
    gone = {**claim_body("c"), "status": {}}
    gone["metadata"]["resourceVersion"] = "2"
    await handlers["resourceclaims_changed"].fn(event={"type": "MODIFIED", "object": gone})
    assert around.devices.count("ns", NEEDS).pods == {"n": 2}
    await handlers["resourceslices_changed"].fn(
        event={"type": "DELETED", "object": slice_body("s")}
    )
    assert around.devices.count("ns", NEEDS).pods == {}


async def test_what_is_not_read_is_not_watched() -> None:
    around, _, _ = await listed({}, deployment())
    registry = watch_registry(WatchStore(), None, around)
    names = {str(each.id) for each in registry._watching.get_all_handlers()}
    assert not {each for each in names if "resource" in each and "quotas" not in each}
    assert "podgroups_changed" not in names
