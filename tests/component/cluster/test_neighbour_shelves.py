"""Quotas and autoscalers as a listing and the watch streams bring them, with and without rights."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import NotFoundError, RefusedError, UnavailableError
from ridgeline.cluster.listing import relist
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.handlers import watch_registry
from ridgeline.terms.names import ACCELERATOR_PLURAL
from tests.unit.cluster.bodies import pod_body
from tests.unit.cluster.test_neighbours import quota_body, scaler_body

QUOTAS, SCALERS = "resourcequotas", "horizontalpodautoscalers"


class ScriptedApi(KubernetesApi):
    """An API server that lists what a test gave it, or raises what a test wants."""

    def __init__(self, answers: Mapping[str, list[dict[str, Any]] | Exception]) -> None:
        self.answers = answers
        self.listed: list[str] = []

    async def pages(
        self, path: str, *, page_size: int, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[dict[str, Any]]]:
        self.listed.append(path)
        answer = self.answers.get(path.rsplit("/", 1)[-1], [])
        if isinstance(answer, Exception):
            raise answer
        namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else ""
        yield [each for each in answer if each["metadata"]["namespace"] in (namespace or "ns")]


def served() -> dict[str, list[dict[str, Any]] | Exception]:
    return {
        QUOTAS: [quota_body("team", hard={"pods": "4"}, used={"pods": "4"})],
        SCALERS: [scaler_body("hpa")],
    }


async def listed(
    answers: Mapping[str, list[dict[str, Any]] | Exception], *namespaces: str
) -> tuple[Surroundings, ScriptedApi]:
    around, api = Surroundings(), ScriptedApi(answers)
    await relist(api, WatchStore(), namespaces, around)
    return around, api


async def test_a_listing_brings_quotas_and_autoscalers() -> None:
    around, api = await listed(served())
    quotas = around.quotas_in("ns")
    assert quotas is not None
    assert [each.name for each in quotas] == ["team"]
    scaler = around.autoscaler_of("ns", "llama")
    assert scaler is not None
    assert scaler.name == "hpa"
    assert path_of("v1", QUOTAS) in api.listed
    assert path_of("autoscaling/v2", SCALERS) in api.listed


async def test_with_named_namespaces_only_those_are_listed() -> None:
    around, api = await listed(served(), "ns", "other")
    assert len(around.quotas_in("ns") or ()) == 1
    for kind in (QUOTAS, SCALERS):
        paths = [path for path in api.listed if path.endswith(kind)]
        assert [path.split("/namespaces/")[1].split("/")[0] for path in paths] == ["ns", "other"]


@pytest.mark.parametrize("error", [RefusedError("forbidden"), NotFoundError("no such kind")])
@pytest.mark.parametrize("missing", [QUOTAS, SCALERS])
async def test_without_the_right_one_kind_is_unknown_and_the_rest_goes_on(
    missing: str, error: Exception
) -> None:
    around, _ = await listed({**served(), missing: error})
    assert around.quotas.primed is (missing != QUOTAS)
    assert around.autoscalers.primed is (missing != SCALERS)
    assert (around.quotas_in("ns") is None) is (missing == QUOTAS)
    assert (around.autoscaler_of("ns", "llama") is None) is (missing == SCALERS)
    assert around.budgets.primed


async def test_a_right_that_is_taken_away_makes_it_unknown_again() -> None:
    around, api = await listed(served())
    api.answers = {**served(), QUOTAS: RefusedError("forbidden")}
    await relist(api, WatchStore(), (), around)
    assert around.quotas_in("ns") is None
    api.answers = served()
    await relist(api, WatchStore(), (), around)
    assert len(around.quotas_in("ns") or ()) == 1


async def test_an_api_server_that_is_down_is_another_matter() -> None:
    with pytest.raises(UnavailableError):
        await listed({**served(), QUOTAS: UnavailableError("gone for a moment")})


@pytest.mark.parametrize("error", [RefusedError("forbidden"), NotFoundError("no such kind")])
async def test_figures_of_a_gpu_stay_known_while_they_cannot_be_read(error: Exception) -> None:
    profile = {
        "metadata": {"namespace": "", "name": "gpu", "uid": "u", "resourceVersion": "1"},
        "spec": {"ridgeTokens": 100},
    }
    around, api = await listed({**served(), ACCELERATOR_PLURAL: [profile]})
    api.answers = {**served(), ACCELERATOR_PLURAL: error}
    await relist(api, WatchStore(), (), around)
    assert [each.name for each in around.accelerators.all()] == ["gpu"]
    assert not around.accelerators.primed

    api.answers = {**served(), ACCELERATOR_PLURAL: []}
    await relist(api, WatchStore(), (), around)
    assert around.accelerators.all() == ()


def followed(around: Surroundings) -> dict[str, Any]:
    registry = watch_registry(WatchStore(), None, around)
    return {str(each.id): each for each in registry._watching.get_all_handlers()}


async def tell(handler: Any, kind: str, body: dict[str, Any], version: int) -> None:
    body["metadata"]["resourceVersion"] = str(version)
    await handler.fn(event={"type": kind, "object": body})


@pytest.mark.parametrize("readable", [True, False])
async def test_only_what_could_be_listed_is_watched(readable: bool) -> None:
    denied = RefusedError("forbidden")
    around, _ = await listed(served() if readable else {QUOTAS: denied, SCALERS: denied})
    handlers = followed(around)
    assert (f"{QUOTAS}_changed" in handlers) is readable
    assert (f"{SCALERS}_changed" in handlers) is readable


async def test_the_streams_bring_what_changes_and_take_what_goes() -> None:
    around, _ = await listed(served())
    handlers = followed(around)
    watched = handlers[f"{SCALERS}_changed"]
    moving = scaler_body("hpa", status={"currentReplicas": 4, "desiredReplicas": 6})
    await tell(watched, "MODIFIED", moving, 2)
    scaler = around.autoscaler_of("ns", "llama")
    assert scaler is not None
    assert scaler.scaling
    await tell(watched, "DELETED", moving, 3)
    assert around.autoscaler_of("ns", "llama") is None

    watched = handlers[f"{QUOTAS}_changed"]
    raised = quota_body("team", hard={"pods": "9"}, used={"pods": "4"})
    await tell(watched, "MODIFIED", raised, 2)
    assert [each.hard["pods"] for each in around.quotas_in("ns") or ()] == [9]
    await tell(watched, "DELETED", raised, 3)
    assert around.quotas_in("ns") == ()


async def test_a_pod_that_a_person_takes_out_of_its_deployment_counts_no_more() -> None:
    store = WatchStore()
    registry = watch_registry(store, None)
    watched = {str(each.id): each for each in registry._watching.get_all_handlers()}["pods_changed"]
    body = pod_body("p1")
    await tell(watched, "ADDED", body, 1)
    assert [each.name for each in store.pods_of("ns", "llama")] == ["p1"]

    owners = body["metadata"].pop("ownerReferences")
    await tell(watched, "MODIFIED", body, 2)
    assert store.pods_of("ns", "llama") == ()

    body["metadata"]["ownerReferences"] = owners
    await tell(watched, "MODIFIED", body, 3)
    assert [each.name for each in store.pods_of("ns", "llama")] == ["p1"]
