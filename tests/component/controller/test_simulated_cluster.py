"""The simulated cluster keeps the API server's and the Deployment controller's promises."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.errors import (
    AnotherObjectError,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
    UnavailableError,
)
from ridgeline.cluster.store import Kind, WatchStore
from ridgeline.cluster.target import ProfileWrite
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.fleet_load import ClosedLoop, EngineModel, OpenLoop
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.sim.workload import Pace
from tests.component.controller.world import EAGLE_CONFIG, START, container, spec


def _cluster(**fields: Any) -> SimulatedCluster:
    cluster = SimulatedCluster(now=START)
    cluster.create_deployment("llama", **{"containers": (container(),), "replicas": 4, **fields})
    return cluster


def _write(cluster: SimulatedCluster, **fields: Any) -> ProfileWrite:
    told = cluster.deployment("llama")
    write = ProfileWrite(
        namespace="default",
        deployment="llama",
        uid=told.uid,
        resource_version=told.resource_version,
        container="vllm",
        serving="llama",
        profile="none",
        config="",
    )
    return replace(write, **fields)


def _apply(cluster: SimulatedCluster, *, dry_run: bool = False, **fields: Any) -> None:
    cluster.apply_profile(_write(cluster, **fields), "test", dry_run=dry_run)


@pytest.mark.parametrize(("surge", "unavailable"), [(1, 0), (0, 1), (2, 1), (4, 0)])
def test_a_rolling_update_keeps_within_its_limits(surge: int, unavailable: int) -> None:
    cluster = _cluster(pace=Pace(max_surge=surge, max_unavailable=unavailable))
    _apply(cluster)
    seen = set()
    for second in range(300):
        cluster.advance(START + second)
        pods = [pod for pod in cluster.pods_of("llama") if not pod.deleting]
        serving = sum(1 for pod in pods if pod.serves)
        assert len(pods) <= 4 + surge
        assert serving >= 4 - unavailable
        seen.add(sum(1 for pod in pods if pod.serves and pod.template.profile == "none"))
    told = cluster.deployment("llama")
    assert told.observed_generation == told.generation == 2
    counts = told.updated_replicas, told.current_replicas, told.available_replicas
    assert counts == (4, 4, 4)
    assert {pod.template.speculative_config for pod in cluster.pods_of("llama")} == {""}
    assert len(seen) > 2  # one after the other


def test_a_template_that_comes_back_keeps_the_pods_it_still_has() -> None:
    cluster = _cluster()
    before = {pod.name for pod in cluster.pods_of("llama")}
    cluster.set_config("llama", "", manager="helm")
    cluster.advance(START + 10)
    cluster.set_config("llama", EAGLE_CONFIG, manager="helm")
    cluster.advance(START + 120)
    assert {pod.name for pod in cluster.pods_of("llama")} == before


def test_a_rollout_that_makes_no_progress_passes_its_deadline() -> None:
    cluster = _cluster(pace=Pace(deadline_seconds=60.0, starts=lambda each: each.profile is None))
    _apply(cluster)
    cluster.advance(START + 50)
    assert not cluster.deployment("llama").progress_deadline_exceeded
    cluster.advance(START + 70)
    assert cluster.deployment("llama").progress_deadline_exceeded


def test_scaling_makes_and_takes_pods_of_the_newest_template() -> None:
    cluster = _cluster()
    cluster.scale("llama", 6)
    cluster.advance(START + 60)
    assert cluster.deployment("llama").available_replicas == 6
    cluster.scale("llama", 2)
    cluster.advance(START + 120)
    assert cluster.deployment("llama").current_replicas == 2
    assert len(cluster.pods_of("llama")) == 2


def test_versions_and_generations_grow_with_changes_only() -> None:
    cluster = _cluster()
    _apply(cluster)
    first = cluster.deployment("llama")
    assert first.generation == 2
    _apply(cluster)
    assert cluster.deployment("llama") == first
    _apply(cluster, dry_run=True, profile="eagle2", config=EAGLE_CONFIG)
    assert cluster.deployment("llama") == first
    cluster.note("llama")
    assert cluster.deployment("llama").generation == 2
    assert cluster.deployment("llama").resource_version != first.resource_version


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_apply_is_refused_as_the_api_server_refuses_it(dry_run: bool) -> None:
    cluster = _cluster()
    with pytest.raises(StaleVersionError, match="has been modified"):
        _apply(cluster, dry_run=dry_run, resource_version="1000000")
    with pytest.raises(AnotherObjectError, match="UID in precondition: old"):
        _apply(cluster, dry_run=dry_run, uid="old")
    with pytest.raises(RefusedError, match="image: Required value"):
        _apply(cluster, dry_run=dry_run, container="renamed")
    cluster.set_config("llama", EAGLE_CONFIG, manager="flux")
    with pytest.raises(FieldConflictError, match="flux") as caught:
        _apply(cluster, dry_run=dry_run)
    assert [each.manager for each in caught.value.conflicts] == ["flux"]
    _apply(cluster, dry_run=dry_run, profile="eagle2", config=EAGLE_CONFIG)
    write = _write(cluster)
    cluster.delete_deployment("llama")
    with pytest.raises(AnotherObjectError):
        cluster.apply_profile(write, "test", dry_run=dry_run)
    with pytest.raises(NotFoundError):
        cluster.read("default", "llama")
    cluster.api_down = True
    with pytest.raises(UnavailableError):
        cluster.read("default", "llama")


def test_a_status_belongs_to_one_serving_and_holds_finite_numbers() -> None:
    cluster = _cluster()
    cluster.create_serving("llama", spec())
    old = cluster.serving("llama")
    once = cluster.apply_status(old, {"activeProfile": "none"}, "test")
    again = cluster.apply_status(old, {"activeProfile": "none"}, "test")
    assert once == again
    assert once.generation == old.generation
    with pytest.raises(RefusedError):
        cluster.apply_status(old, {"load": float("nan")}, "test")
    cluster.delete_serving("llama")
    with pytest.raises(NotFoundError):
        cluster.apply_status(old, {}, "test")
    cluster.create_serving("llama", spec())
    with pytest.raises(AnotherObjectError):
        cluster.apply_status(old, {}, "test")
    assert [each.changed for each in cluster.writes] == [True, False, False, False, False]


def test_a_stream_delivers_late_in_order_and_stops_when_stalled() -> None:
    cluster = _cluster()
    store = WatchStore()
    _, stream = cluster.connect("test", store)
    cluster.list_into(store)
    stream.delay_seconds[Kind.DEPLOYMENT] = 30.0
    cluster.scale("llama", 5)
    cluster.advance(START + 29)
    seen = store.deployments.get(("default", "llama"))
    assert seen is not None
    assert seen.replicas == 4
    assert len(store.pods_of("default", "llama")) == 5
    cluster.advance(START + 31)
    seen = store.deployments.get(("default", "llama"))
    assert seen is not None
    assert seen.replicas == 5
    stream.stalled = {Kind.POD}
    cluster.delete_deployment("llama")
    cluster.advance(START + 90)
    assert len(store.pods_of("default", "llama")) == 5
    assert store.deployments.get(("default", "llama")) is None
    stream.stalled = set()
    cluster.advance(START + 91)
    assert store.pods_of("default", "llama") == ()


async def test_rates_are_means_over_the_window() -> None:
    cluster = _cluster()
    users = ClosedLoop(lambda now: 40.0 if now < START + 120 else 80.0)
    telemetry = SimulatedTelemetry(cluster, {"llama": users}, window_seconds=60.0)
    cluster.advance(START + 110)
    assert await _concurrency(telemetry, cluster) == pytest.approx(10.0)
    cluster.advance(START + 150)
    assert 12.0 < await _concurrency(telemetry, cluster) < 18.0
    cluster.advance(START + 200)
    assert await _concurrency(telemetry, cluster) == pytest.approx(20.0)


async def _concurrency(telemetry: SimulatedTelemetry, cluster: SimulatedCluster) -> float:
    snapshot = await telemetry.read(cluster.now)
    values = [each.decode_concurrency for pod in snapshot.engines.values() for each in pod]
    assert len(set(values)) == 1
    return values[0] or 0.0


async def test_a_gone_pod_is_visible_until_the_window_has_passed() -> None:
    cluster = _cluster()
    telemetry = SimulatedTelemetry(
        cluster, {"llama": ClosedLoop(lambda _: 40.0)}, window_seconds=60.0
    )
    cluster.advance(START + 60)
    cluster.scale("llama", 3)
    cluster.advance(START + 90)
    assert len((await telemetry.read(cluster.now)).engines) == 4
    cluster.advance(START + 150)
    assert len((await telemetry.read(cluster.now)).engines) == 3


def test_an_open_loop_asks_for_tokens_whatever_the_profile_is() -> None:
    model = EngineModel()
    demand = OpenLoop(lambda _: 400.0)
    for config in ("", EAGLE_CONFIG):

        def requests_at(tokens: float, config: str = config) -> float:
            return model.requests_at(config, tokens)

        requests = demand.requests_per_engine(START, 4, requests_at)
        assert model.rates(config, requests).generated == pytest.approx(100.0)
    assert model.requests_at("", 1e9) == 256.0


def test_speculation_pays_below_the_cut_off_and_not_above_it() -> None:
    model = EngineModel()
    for requests, better in ((5.0, EAGLE_CONFIG), (40.0, "")):
        made = {each: model.rates(each, requests).generated for each in ("", EAGLE_CONFIG)}
        assert max(made, key=lambda each: made[each]) == better
