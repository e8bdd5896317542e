"""What the operator tells of itself as metrics: stalled servings, rejected specs, phases."""

from __future__ import annotations

from typing import Any

from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.time_metrics import Phase
from tests.component.controller.world import HIGH, World, settled, spec


def value(world: World, name: str, **labels: str) -> float | None:
    found: float | None = world.process.metrics.registry.get_sample_value(name, labels)
    return found


def series(metrics: OperatorMetrics, name: str) -> list[dict[str, str]]:
    """The labels of every series of a name."""
    return [
        each.labels
        for family in metrics.registry.collect()
        for each in family.samples
        if each.name == name
    ]


async def test_a_serving_is_stalled_by_its_reason_until_it_is_mended() -> None:
    world = await settled()
    where = _namespace(world)
    assert series(world.process.metrics, "ridgeline_serving_stalled") == []
    world.cluster.edit_serving("llama", spec("nowhere"))
    await world.run(30)
    assert series(world.process.metrics, "ridgeline_serving_stalled") == [
        {"namespace": where, "serving": "llama", "reason": "TargetNotFound"}
    ]
    world.cluster.edit_serving("llama", spec())
    await world.run(30)
    assert series(world.process.metrics, "ridgeline_serving_stalled") == []


async def test_a_spec_that_cannot_be_read_is_counted_and_is_a_decision() -> None:
    world = await settled()
    where = _namespace(world)
    world.cluster.edit_serving("llama", {**spec(), "profiles": []})
    await world.run(60)
    labels = {"namespace": where, "serving": "llama"}
    assert (value(world, "ridgeline_specs_rejected_total", **labels) or 0) >= 3
    held = {"outcome": "Hold", "reason": "SpecInvalid"}
    assert value(world, "ridgeline_decisions_total", **held) == value(
        world, "ridgeline_specs_rejected_total", **labels
    )
    assert value(world, "ridgeline_serving_stalled", **labels, reason="SpecInvalid") == 1


async def test_every_series_of_a_serving_ends_with_it() -> None:
    world = await settled()
    world.cluster.edit_serving("llama", {**spec(), "profiles": []})
    await world.run(30)
    world.cluster.delete_serving("llama")
    await world.run(30)
    left = [
        each.name
        for family in world.process.metrics.registry.collect()
        for each in family.samples
        if each.labels.get("serving") == "llama"
    ]
    assert left == []


async def test_who_renames_profiles_without_end_makes_no_series_without_end() -> None:
    world = await settled()
    sizes = []
    for number in range(4):
        names = [{**each, "name": f"{each['name']}-{number}"} for each in spec()["profiles"]]
        ranges = [
            {"profile": names[0]["name"], "upToConcurrency": 20},
            {"profile": names[1]["name"]},
        ]
        cutoff = {"strategy": "Fixed", "ranges": ranges}
        world.cluster.edit_serving("llama", {**spec(), "profiles": names, "cutoff": cutoff})
        await world.run(30)
        families = world.process.metrics.registry.collect()
        told = {
            (each.name, *each.labels.values())
            for family in families
            for each in family.samples
            if each.labels.get("serving") == "llama"
        }
        sizes.append(len(told))
        old = {
            each
            for each in told
            if any(f"-{earlier}" in part for part in each[1:] for earlier in range(number))
        }
        assert old == set()
    assert sizes[1:] == sizes[:-1]


async def test_the_first_roll_to_a_profile_shows_as_an_increase() -> None:
    world = await settled()
    labels = {"namespace": _namespace(world), "serving": "llama", "to_profile": "none"}
    assert value(world, "ridgeline_rolls_total", **labels) == 0
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none"))
    assert value(world, "ridgeline_rolls_total", **labels) == 1


def test_act_at_stands_beside_the_cutoff_and_goes_with_its_row() -> None:
    metrics = OperatorMetrics()
    rows = [{"profile": "eagle", "actAtConcurrency": 16}, {"profile": "none"}]
    metrics.observe_status("a", "s", {"cutoffTable": rows})
    labels = {"namespace": "a", "serving": "s", "profile": "eagle"}
    name = "ridgeline_serving_act_at_concurrency"
    assert metrics.registry.get_sample_value(name, labels) == 16
    metrics.observe_status("a", "s", {"cutoffTable": [{"profile": "eagle"}, {"profile": "none"}]})
    assert series(metrics, name) == []


def test_phases_are_added_up_over_a_tick_and_begin_anew() -> None:
    metrics = OperatorMetrics()
    for _ in range(3):
        with metrics.time.phase(Phase.DECIDE):
            pass
    spent = metrics.time._spent[Phase.DECIDE]
    assert spent > 0
    metrics.time.tick_ended()
    sample = metrics.registry.get_sample_value
    assert sample("ridgeline_tick_seconds_sum", {"phase": "decide"}) == spent
    metrics.time.tick_ended()
    assert sample("ridgeline_tick_seconds_sum", {"phase": "decide"}) == spent
    for phase in Phase:
        assert sample("ridgeline_tick_seconds_count", {"phase": phase.value}) == 2


async def test_each_tick_tells_its_phases_and_an_event_pass_does_not() -> None:
    world = await settled()

    def ticks() -> float:
        return value(world, "ridgeline_tick_seconds_count", phase="join") or 0.0

    def spent(phase: Phase) -> float:
        return value(world, "ridgeline_tick_seconds_sum", phase=phase.value) or 0.0

    assert all(spent(phase) > 0 for phase in Phase if phase is not Phase.ACT)
    before = ticks()
    world.process.next_tick = world.cluster.now + 3600
    world.cluster.edit_serving("llama", spec(suspend=True))
    await world.run(30)
    assert ticks() == before
    world.process.next_tick = world.cluster.now
    await world.run(40)
    assert ticks() > before


def _namespace(world: World) -> str:
    (serving,) = world.process.store.servings.all()
    namespace: Any = serving.namespace
    return str(namespace)
