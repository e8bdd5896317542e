"""What the controller does to a target, through the parent of a real Deployment."""

from typing import Any

import pytest

from ridgeline.api.serving import parse_serving
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.parent_target import ParentTargetApi
from ridgeline.cluster.store import WatchStore
from ridgeline.controller.leaving import PATIENCE_SECONDS, Leaving
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.ports import AlwaysLeader
from ridgeline.controller.resolve import ResolvedTarget, resolve_target
from ridgeline.controller.roll_writes import put_back, rewrite
from ridgeline.controller.rolling import Order, Refusal, TargetMovedError, begin, rehearse
from ridgeline.policy.roll import Roll
from ridgeline.settings.resolve import profiles_of
from ridgeline.terms.names import PROFILE_MANAGER
from ridgeline.terms.parents import ParentKind
from ridgeline.terms.rolls import OnDelete, RollState
from tests.component.cluster.parents import SERVICE, Controller, create_parent
from tests.component.cluster.workloads import owners, path, serving

pytestmark = pytest.mark.usefixtures("kserve")


def targets(api: KubernetesApi) -> ParentTargetApi:
    """The operator's writes."""
    return ParentTargetApi(api, frozenset(ParentKind))


def order_for(room: str, live: DeploymentObject, on_delete: OnDelete = OnDelete.KEEP) -> Order:
    """An order to roll a Deployment to the profile eagle2."""
    body: dict[str, Any] = serving(room, "sps")
    body["spec"]["targetRef"] = {"name": live.name, "containerName": SERVICE.container}
    body["spec"]["onDelete"] = on_delete.value
    spec = parse_serving(body).spec
    profiles = profiles_of(spec)
    return Order(
        namespace=room,
        serving="sps",
        spec=spec,
        profiles=profiles,
        profile=next(each for each in profiles if each.name == "eagle2"),
        uid=live.uid,
        generation=live.generation,
    )


async def rolled(
    api: KubernetesApi, room: str, controller: Controller, on_delete: OnDelete = OnDelete.KEEP
) -> tuple[Order, DeploymentObject]:
    """Begin a roll as soon as the Deployment stands still; return the order and what came of it."""
    for _ in range(20):
        order = order_for(room, await targets(api).read(room, controller.deployment), on_delete)
        try:
            assert await rehearse(targets(api), order) is None
            outcome = await begin(targets(api), order)
        except TargetMovedError:
            continue
        assert not isinstance(outcome, Refusal), outcome.problem
        return order, outcome
    raise AssertionError("the Deployment never stood still")


async def test_a_roll_that_has_begun_is_not_begun_again(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    async with controller.at_work():
        order, outcome = await rolled(api, room, controller)
        before = await api.request("GET", SERVICE.where(room, name))
        again = await begin(targets(api), order)
        after = await api.request("GET", SERVICE.where(room, name))

    assert outcome.template_profile == "eagle2"
    assert not isinstance(again, Refusal)
    assert again.template_profile == "eagle2"
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_first_roll_is_undone_to_the_template_from_before(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    async with controller.at_work():
        old = await api.request("GET", path(room, controller.deployment))
        order, _ = await rolled(api, room, controller)
        await undone(api, order)
        new = await api.request("GET", path(room, controller.deployment))
        parent = await api.request("GET", SERVICE.where(room, name))

    assert new["spec"]["template"] == old["spec"]["template"]
    assert PROFILE_MANAGER not in owners(parent)


async def undone(api: KubernetesApi, order: Order) -> None:
    """Put back what was there before a first roll: nothing of ours."""
    roll = Roll(
        from_profile="none",
        to_profile="eagle2",
        started_at=0.0,
        state=RollState.UNDOING,
        target_uid=order.uid,
        target_generation=order.generation,
        serving_generation=1,
    )
    for _ in range(20):
        live = await targets(api).read(order.namespace, order.spec.target_ref.name)
        target = resolve_target(order.spec, order.profiles, live, None)
        assert isinstance(target, ResolvedTarget)
        try:
            outcome = await rewrite(targets(api), put_back(target, roll, "sps", OnDelete.KEEP))
        except TargetMovedError:
            continue
        assert not isinstance(outcome, Refusal), outcome.problem
        return
    raise AssertionError("the Deployment never stood still")


@pytest.mark.parametrize("on_delete", list(OnDelete))
async def test_a_target_whose_serving_is_gone_is_seen_off_through_its_parent(
    api: KubernetesApi, room: str, name: str, on_delete: OnDelete
) -> None:
    await create_parent(api, SERVICE, room, name)
    controller = Controller(api, SERVICE, room, name)
    store, metrics = WatchStore(), OperatorMetrics()
    leaving = Leaving(store=store, targets=targets(api), leader=AlwaysLeader(), metrics=metrics)
    async with controller.at_work():
        await rolled(api, room, controller, on_delete)
        now = 0.0
        for _ in range(5):  # it is put off while the Deployment's status moves under its hands
            live = await targets(api).read(room, controller.deployment)
            store.put_deployment(live)
            await leaving.see_off(now)
            now += PATIENCE_SECONDS
        parent = await api.request("GET", SERVICE.where(room, name))
        deployment = await targets(api).read(room, controller.deployment)

    restored = on_delete is OnDelete.RESTORE
    assert (PROFILE_MANAGER not in owners(parent)) == restored
    assert (deployment.template_profile is None) == restored
