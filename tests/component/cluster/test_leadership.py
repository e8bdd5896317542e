"""Leader election on a real API server: who may write, and what happens when somebody fails."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from kubernetes.aio.leaderelection.leaderelection import LeaderElection

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.lease import Leadership
from ridgeline.terms.times import epoch_seconds
from tests.cluster.handle import Cluster
from tests.component.cluster.wire import Wire, wired
from tests.component.cluster.workloads import until

DURATION = 3
"""Seconds; the client renews every second and gives up after two."""


class Killed(Leadership):
    """A holder whose process dies: it gives nothing back."""

    async def _release(self) -> None:
        pass


@contextlib.asynccontextmanager
async def taking_part(leadership: Leadership) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(leadership.run())
    try:
        yield task
    finally:
        await stopped(task)


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def candidate(
    api: KubernetesApi, room: str, name: str, identity: str, kind: type[Leadership] = Leadership
) -> Leadership:
    return kind(api, namespace=room, name=name, identity=identity, duration_seconds=DURATION)


async def won(leadership: Leadership, within_seconds: float = 15.0) -> None:
    async def held() -> bool:
        return leadership.held

    await until(held, "the Lease is won", within_seconds=within_seconds, every_seconds=0.02)


async def lease(api: KubernetesApi, room: str, name: str) -> dict[str, object]:
    answer = await api.request("GET", path_of("coordination.k8s.io/v1", "leases", room, name))
    spec: dict[str, object] = answer["spec"]
    return spec


async def test_one_holds_the_lease_and_a_stop_hands_it_over(
    api: KubernetesApi, room: str, name: str
) -> None:
    one, other, third = (candidate(api, room, name, each) for each in ("one", "other", "third"))
    async with taking_part(one) as holding:
        await won(one)
        assert (await lease(api, room, name))["holderIdentity"] == "one"
        async with taking_part(other):
            async with taking_part(third):
                await asyncio.sleep(DURATION + 0.5)
                assert holders(one, other, third) == [one]
            # A standby that stops takes nothing from the holder.
            assert (await lease(api, room, name))["holderIdentity"] == "one"
            assert holders(one, other, third) == [one]

            await stopped(holding)
            assert holders(one, other, third) == []
            assert "holderIdentity" not in await lease(api, room, name)
            await won(other)
            assert (await lease(api, room, name))["holderIdentity"] == "other"


async def test_a_killed_holder_is_replaced_after_the_duration_and_not_before(
    api: KubernetesApi, room: str, name: str
) -> None:
    one = candidate(api, room, name, "one", Killed)
    other = candidate(api, room, name, "other")
    async with taking_part(other):
        await won(other)
    async with taking_part(one) as holding:
        await won(one)
        async with taking_part(other):
            await asyncio.sleep(1.2)
            await stopped(holding)
            renewed = (await lease(api, room, name))["renewTime"]
            await won(other)
            taken = (await lease(api, room, name))["acquireTime"]
    waited = datetime.fromisoformat(str(taken)) - datetime.fromisoformat(str(renewed))
    assert waited >= timedelta(seconds=DURATION)


async def test_a_successor_writes_nothing_before_it_has_caught_up(
    api: KubernetesApi, room: str, name: str
) -> None:
    tries = 0
    told = asyncio.Event()

    async def catch_up() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise UnavailableError("no answer")
        await told.wait()

    successor = Leadership(
        api,
        namespace=room,
        name=name,
        identity="successor",
        duration_seconds=DURATION,
        catch_up=catch_up,
    )

    async def tried_again() -> bool:
        return tries == 2

    async with taking_part(successor):
        await until(tried_again, "a second try to catch up", within_seconds=30.0)
        assert (await lease(api, room, name))["holderIdentity"] == "successor"
        assert not successor.held
        told.set()
        await won(successor)


async def test_times_are_utc_whatever_the_time_zone_of_the_process(
    api: KubernetesApi, room: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        one = candidate(api, room, name, "one")
        async with taking_part(one):
            await won(one)
            acquired = (await lease(api, room, name))["acquireTime"]
            await asyncio.sleep(1.5)
            spec = await lease(api, room, name)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert spec["acquireTime"] == acquired  # a renewal keeps it
    for moment in (spec["acquireTime"], spec["renewTime"]):
        assert str(moment).endswith("Z")
        assert abs(epoch_seconds(str(moment)) - time.time()) < 60


async def test_a_short_failure_of_the_network_does_not_end_the_term(
    control_plane: Cluster, room: str, name: str, tmp_path: Path
) -> None:
    async with wired(control_plane.kubeconfig, tmp_path) as (wire, kubeconfig):
        api = await KubernetesApi.connect(kubeconfig, user_agent="test")
        one = candidate(api, room, name, "one")
        async with taking_part(one):
            await won(one)
            before = await lease(api, room, name)
            wire.cut()
            for _ in range(12):
                await asyncio.sleep(0.1)
                assert one.held
            wire.mend()

            async def renewed() -> bool:
                assert one.held
                return (await lease(api, room, name))["renewTime"] != before["renewTime"]

            await until(renewed, "the Lease is renewed")
            assert (await lease(api, room, name))["acquireTime"] == before["acquireTime"]
        await api.close()


async def test_two_never_hold_the_lease_while_the_network_fails(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, tmp_path: Path
) -> None:
    """Both faults at once, each with its own Lease: a wait is as long for two as for one."""

    async def through(fault: Callable[[Wire], None], lease_name: str) -> None:
        async with wired(control_plane.kubeconfig, tmp_path) as (wire, kubeconfig):
            cut_off = await KubernetesApi.connect(kubeconfig, user_agent="test", timeout_seconds=1)
            one = candidate(cut_off, room, lease_name, "one")
            other = candidate(api, room, lease_name, "other")
            async with taking_part(one):
                await won(one)
                async with taking_part(other):
                    await asyncio.sleep(1.2)
                    fault(wire)
                    await _handed_over(one, other)
                    wire.mend()
                    for _ in range(15):
                        await asyncio.sleep(0.1)
                        assert holders(one, other) == [other]
            await cut_off.close()

    await asyncio.gather(through(Wire.cut, f"{name}-cut"), through(Wire.clog, f"{name}-clog"))


@pytest.mark.parametrize("step", [3600.0, -3600.0])
async def test_a_step_of_the_clock_neither_ends_nor_prolongs_the_wait_for_a_silent_holder(
    api: KubernetesApi, room: str, name: str, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    one = candidate(api, room, name, "one", Killed)
    other = candidate(api, room, name, "other")
    async with taking_part(one) as holding:
        await won(one)
        async with taking_part(other):
            await asyncio.sleep(1.5)
            await stopped(holding)
            silent_since = time.monotonic()
            await asyncio.sleep(1.1)  # the other one sees the last renewal
            right = time.time
            monkeypatch.setattr(time, "time", lambda: right() + step)
            # Its last renewal may have been a second before.
            while time.monotonic() < silent_since + DURATION - 1.2:
                assert not other.held
                await asyncio.sleep(0.02)
            await won(other)
            assert (await lease(api, room, name))["holderIdentity"] == "other"


async def test_who_lost_the_lease_has_watched_its_next_holder_and_need_not_wait_anew(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, tmp_path: Path
) -> None:
    elections: list[object] = []

    class Watched(Leadership):
        async def _one_term(self, election: LeaderElection) -> None:
            elections.append(election)
            await super()._one_term(election)

    async with wired(control_plane.kubeconfig, tmp_path) as (wire, kubeconfig):
        cut_off = await KubernetesApi.connect(kubeconfig, user_agent="test", timeout_seconds=1)
        one = candidate(cut_off, room, name, "one", Watched)
        async with taking_part(one):
            await won(one)
            async with taking_part(candidate(api, room, name, "other", Killed)):
                wire.cut()

                async def second_term() -> bool:
                    return len(elections) > 1

                await until(second_term, "the end of the first term", within_seconds=30.0)
                wire.mend()
            await won(one)
        await cut_off.close()
    assert len(set(map(id, elections))) == 1


async def _handed_over(one: Leadership, other: Leadership) -> None:
    async def taken_over() -> bool:
        assert len(holders(one, other)) < 2
        return other.held

    await until(taken_over, "the other takes over", every_seconds=0.01)


def holders(*candidates: Leadership) -> list[Leadership]:
    return [each for each in candidates if each.held]
