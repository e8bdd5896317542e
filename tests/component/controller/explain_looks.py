"""What a person sees of a state: with and without the operator's own answer, and what is odd."""

import json
from collections.abc import Callable
from dataclasses import replace

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.explain import Explanation, Seen, told, view_of
from ridgeline.controller.explain_live import Live, live_of
from ridgeline.controller.explain_state import LeaseSeen, Traces
from ridgeline.controller.view import View
from tests.component.controller.world import World

Change = Callable[[Seen, World], Seen]


async def looked(world: World, around: Surroundings, change: Change, *, asks: bool) -> Explanation:
    """What a person reads now."""
    now = world.cluster.now
    serving = world.cluster.serving("llama")
    snapshot = await world.sources["default"].read(now)
    view: View | InvalidServing
    try:
        view = view_of(world.process.store, serving, around, snapshot, now)
    except InvalidServing as error:
        view = error
    seen = Seen(serving=serving, events=(), view=view, snapshot=snapshot, looked_at=now)
    seen = change(seen, world)
    return told(replace(seen, live=answer_of(world)) if asks else seen)


def answer_of(world: World) -> Live:
    """What the operator itself answers."""
    status, body = world.process.passes.answer("/explain/default/llama")
    assert status == 200, body
    return live_of(json.loads(body), world.cluster.serving("llama"))


def edited(seen: Seen, world: World) -> Seen:
    """The edit was five minutes ago."""
    traces = Traces(edited_at=world.cluster.now - 300, edited_by="kubectl-edit")
    return replace(seen, traces=traces)


def held(seen: Seen, world: World) -> Seen:
    """The serving is being deleted, and the finalizer of an operator that is gone holds it."""
    left = Traces(deleting_since=world.cluster.now - 3600, finalizers=("kopf.dev/finalizer",))
    return replace(seen, serving=replace(seen.serving, deleting=True), traces=left)


def uninstalled(seen: Seen, world: World) -> Seen:
    """Nobody renews the Lease any more."""
    lease = LeaseSeen(
        where="ridgeline-system/ridgeline",
        holder="ridgeline-0",
        renewed_seconds_ago=1800.0,
        duration_seconds=15.0,
    )
    return replace(seen, lease=lease, traces=Traces(told_at=world.cluster.now - 7200))


def pruned(seen: Seen, _: World) -> Seen:
    """The API server has cut off what its schema does not know."""
    kept = {key: seen.serving.status[key] for key in ("observedGeneration", "activeProfile")}
    return replace(seen, serving=replace(seen.serving, status=kept))
