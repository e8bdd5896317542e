"""When everything is listed anew, and how soon after a listing that failed."""

import asyncio
from typing import Any

import pytest

from ridgeline.cluster.errors import UnavailableError
from ridgeline.controller import run
from ridgeline.controller.run import FIRST_RELIST_SECONDS, RELIST_RETRY_SECONDS, Operator
from ridgeline.settings.config import parse_config


async def pauses(
    monkeypatch: pytest.MonkeyPatch, outcomes: list[bool], every: float
) -> list[float]:
    """Return the pauses before listings that succeed or fail as told, and before the next."""
    waited, left = list[float](), list(outcomes)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        if not left:
            raise asyncio.CancelledError

    async def relist(*_: Any) -> None:
        if not left.pop(0):
            raise UnavailableError("gone for a moment")

    monkeypatch.setattr("ridgeline.controller.run.asyncio.sleep", sleep)
    monkeypatch.setattr(run, "relist", relist)
    config = parse_config({"relistSeconds": every, "telemetry": [{"url": "http://127.0.0.1:9"}]})
    api: Any = None
    with pytest.raises(asyncio.CancelledError):
        await Operator(config, None)._relist_for_ever(api)
    return waited


async def test_a_listing_that_failed_is_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses(monkeypatch, [False, False, True, True], 600) == [
        FIRST_RELIST_SECONDS,
        RELIST_RETRY_SECONDS,
        RELIST_RETRY_SECONDS,
        600,
        600,
    ]


async def test_it_is_never_tried_more_often_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses(monkeypatch, [False], 600) == [FIRST_RELIST_SECONDS, RELIST_RETRY_SECONDS]
    assert await pauses(monkeypatch, [False], 12) == [FIRST_RELIST_SECONDS, 12]
