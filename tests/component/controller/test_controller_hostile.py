"""A Pod that exports lies: it harms its own serving within bounds, and nobody else's.

The real reader, over real HTTP, under the real controller. What the endpoint tells of one serving's
Pods is replaced by what a hostile Pod would have it tell.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from prometheus_client import generate_latest

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from tests.component.controller.simulated_prometheus import (
    Misbehaviour,
    SimulatedPrometheus,
    simulated_prometheus,
)
from tests.component.controller.world import LOW, WINDOW, World, spec

Series = dict[str, Any]
LONG = "x" * 5_000
WORDS = 'a"} or vector(1e9) #\n\x1b[31m' + LONG
MOST_STATUS_BYTES = 32_768


def _value(text: str) -> Callable[[Series], list[Series]]:
    return lambda one: [{**one, "value": [one["value"][0], text]}]


def _many_engines(one: Series) -> list[Series]:
    return [
        {**one, "metric": {**one["metric"], "engine": f"{WORDS}{number}"}} for number in range(40)
    ]


def _words_in_labels(one: Series) -> list[Series]:
    return [{**one, "metric": {**one["metric"], "engine": WORDS, "finished_reason": WORDS}}]


LIES = {
    "huge": _value("1.7976931348623157e308"),
    "large": _value("1e18"),
    "negative": _value("-5"),
    "tiny": _value("5e-324"),
    "infinite": _value("+Inf"),
    "nan": _value("NaN"),
    "many engines": _many_engines,
    "words in labels": _words_in_labels,
    "twice": lambda one: [one, one],
}


def lying(lie: Callable[[Series], list[Series]]) -> Misbehaviour:
    """Every answer, with what it tells of llama's Pods replaced."""

    def spoil(body: bytes) -> bytes:
        document = json.loads(body)
        told: list[Series] = []
        for one in document["data"]["result"]:
            told += lie(one) if one["metric"]["pod"].startswith("llama") else [one]
        document["data"]["result"] = told
        return json.dumps(document).encode()

    return Misbehaviour(spoil=spoil)


@pytest.fixture
async def scene() -> AsyncIterator[tuple[World, SimulatedPrometheus]]:
    """Two servings, both on the profile that fits their load."""
    world = World()
    for name in ("llama", "qwen"):
        world.deploy(name, users=LOW)
        world.cluster.create_serving(name, spec(name))
    async with simulated_prometheus(world.telemetry, WINDOW) as prometheus:
        reader = TelemetryReader(
            Endpoint(name="default", url=prometheus.url), window_seconds=WINDOW
        )
        world.sources["default"] = reader
        world.start()
        await world.run(300)
        yield world, prometheus
        await reader.close()


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_stays_with_its_serving_and_leaves_no_trace(
    scene: tuple[World, SimulatedPrometheus], lie: str
) -> None:
    world, prometheus = scene
    before = world.profiles_written("qwen")
    prometheus.misbehaviour = lying(LIES[lie])
    await world.run(240)

    assert world.condition("TelemetryAvailable", name="qwen") == ("True", "Fresh")
    assert world.status("qwen")["activeProfile"] == "eagle2"
    assert world.profiles_written("qwen") == before
    assert _failures(world) == 0
    status = json.dumps(dict(world.status("llama")))
    metrics = generate_latest(world.process.metrics.registry).decode()
    assert len(status) < MOST_STATUS_BYTES
    for text in (status, metrics, str(world.cluster.events)):
        assert LONG[:100] not in text
        assert "\x1b" not in text
        assert "e+308" not in text


async def test_lies_that_swing_roll_within_the_budget_of_a_day(
    scene: tuple[World, SimulatedPrometheus],
) -> None:
    """Idle, then crowded, and back as soon as the operator has believed it."""
    world, prometheus = scene
    world.cluster.edit_serving("llama", spec(maxSwitchesPerDay=3))
    for number in range(16):
        prometheus.misbehaviour = Misbehaviour(value=("400", "2")[number % 2])
        await world.run(420)
    assert len(world.profiles_written()) == 3
    assert "DailyBudgetSpent" in world.events()


def _failures(world: World) -> float:
    return sum(
        sample.value
        for family in world.process.metrics.registry.collect()
        for sample in family.samples
        if sample.name == "ridgeline_pass_failures_total"
    )
