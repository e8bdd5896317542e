"""What was noted of servings and targets that are gone does not pile up."""

from types import SimpleNamespace
from typing import Any, cast

from ridgeline.cluster.objects import trim_deployment
from ridgeline.cluster.store import WatchStore
from ridgeline.controller.leaving import Leaving
from ridgeline.terms.rolls import OnDelete
from tests.unit.cluster.bodies import deployment_body
from tests.unit.cluster.test_watch_store import SERVING


async def test_only_what_can_still_be_asked_for_is_remembered() -> None:
    store = WatchStore()
    store.put_serving(SERVING)
    target = trim_deployment(deployment_body())
    assert target is not None
    store.put_deployment(target)
    nobody: Any = SimpleNamespace(held=False)
    leaving = Leaving(store=store, targets=nobody, leader=nobody, metrics=nobody)
    stays, marked, gone = (SERVING.namespace, SERVING.name), ("ns", "s"), ("ns", "gone")
    for each in (stays, marked, gone):
        leaving.remember(each, OnDelete.KEEP)
        leaving.attend(each, attended=False)
    leaving.attend((target.namespace, target.name), attended=False)

    await leaving.see_off(0.0)

    noted = cast("Any", leaving)
    assert noted._last_word.keys() == {stays, marked}
    assert noted._unattended == {(target.namespace, target.name)}
