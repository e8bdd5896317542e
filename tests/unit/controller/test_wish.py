"""A wish is settled only for the serving that it was decided for."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.wish import Wish

SERVING = ServingObject(
    namespace="ns",
    name="llama",
    uid="u",
    generation=3,
    resource_version="7",
    created_at=0.0,
    deleting=False,
    spec={},
    status={},
)


@pytest.mark.parametrize(
    ("now", "outdated"),
    [
        (SERVING, False),
        (replace(SERVING, resource_version="8", status={"a": 1}), False),
        (replace(SERVING, generation=4), True),
        (replace(SERVING, uid="v"), True),
        (replace(SERVING, deleting=True), True),
        (None, True),
    ],
)
def test_an_edit_or_a_successor_outdates_it(now: ServingObject | None, outdated: bool) -> None:
    unused: Any = None
    view: Any = SimpleNamespace(serving=SERVING)
    wish = Wish(view=view, mind=unused, decision=unused)
    assert wish.key == ("ns", "llama")
    assert wish.outdated_by(now) is outdated
