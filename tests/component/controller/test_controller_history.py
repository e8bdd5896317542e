"""A restart does not start blind: the past of the load is read once, and taken over once."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.history import HistorySource, Past, digest, history_sources
from ridgeline.controller.view import View
from ridgeline.policy.facts import RolloutFacts
from ridgeline.policy.law.memory import FastMemory
from ridgeline.settings.config import OperatorConfig
from ridgeline.telemetry.history import History, Load, LoadPoint
from tests.component.controller.test_controller_goodput import around, goodput, world_with
from tests.component.controller.world import EAGLE_CONFIG, LOW, REPLICAS, START, Process, World
from tests.component.telemetry.past import NAMESPACE, past_prometheus

DAY = 86_400.0
LLAMA = ("default", "llama")
POD = ("default", "llama-7c9f8d6b5-x2z4q")


def week(tokens_per_engine: float = 40.0, *, now: float = START, days: float = 7.0) -> Load:
    """A mean every five minutes, all alike."""
    end = int(now) // 300 * 300
    return tuple(
        LoadPoint(
            at=float(end - 300 * back),
            tokens_per_second=tokens_per_engine * REPLICAS,
            concurrency=2.0 * REPLICAS,
            engines=REPLICAS,
        )
        for back in range(int(days * 288), -1, -1)
    )


def minutes(tokens: float, concurrency: float, *, now: float, engines: int = 1) -> Load:
    """Every 15 s, of one Pod."""
    end = int(now) // 15 * 15
    return tuple(
        LoadPoint(
            at=float(end - 15 * back),
            tokens_per_second=tokens,
            concurrency=concurrency,
            engines=engines,
        )
        for back in range(12, -1, -1)
    )


def source(history: History | Exception, seconds: float = 0.0) -> HistorySource:
    async def read(now: float) -> History:
        await asyncio.sleep(seconds)
        if isinstance(history, Exception):
            raise history
        return history

    return read


async def world() -> World:
    found = world_with(EAGLE_CONFIG, LOW)
    found.cluster.create_serving("llama", goodput())
    found.start(around=around())
    await found.run(300)
    return found


async def restarted(
    found: World, told: Mapping[str, HistorySource], patience: float = 5.0
) -> Process:
    """A new process that has read the past; it has made no pass yet."""
    found.kill(found.process)
    process = found.start(around=around())
    past = Past(told, process.store, around(), lambda: found.cluster.now)
    await past.read(patience)
    process.reconciler.recall_from(past)
    return process


def fast_of(process: Process) -> FastMemory:
    law = process.reconciler._minds[LLAMA].law
    assert law is not None
    return law.fast


def peak_of(found: World) -> dict[str, Any]:
    return dict(found.status()["control"].get("peak") or {})


async def test_a_week_of_history_is_the_weeks_peak_at_once() -> None:
    found = await world()
    assert found.status()["control"]["modes"] == ["Insured"], "no peak is known"
    load = week(now=found.cluster.now)
    await restarted(found, {"default": source(History(read_at=0.0, long={LLAMA: load}))})
    await found.run(30)
    peak = peak_of(found)
    today = int(found.cluster.now // DAY)
    assert peak["firstDay"] == today - 7
    assert [each["day"] for each in peak["days"]] == list(range(today - 7, today + 1))
    assert {value for each in peak["days"] for value in each["highestDemandMilli"]} == {40_000}
    assert found.status()["control"]["modes"] == ["Regret"], "the load never comes near the cut-off"


async def test_a_slot_is_counted_once_however_often_the_past_is_read() -> None:
    found = await world()
    for _ in range(2):
        load = week(now=found.cluster.now)
        await restarted(found, {"default": source(History(read_at=0.0, long={LLAMA: load}))})
        await found.run(30)
    days = peak_of(found)["days"]
    assert all(each["slots"] <= 288 for each in days)
    assert sum(each["slots"] for each in days) <= 7 * 288 + 1


class Sink:
    """Keeps the first view that a pass decided on."""

    def __init__(self) -> None:
        self.views: list[View] = []

    def saw(self, view: View, decided: Any, told: Any) -> None:
        self.views.append(view)


async def test_smoothed_signals_go_on_from_where_they_were_with_no_timer_running() -> None:
    found = await world()
    recent = {POD: minutes(110.0, 14.0, now=found.cluster.now, engines=2)}
    process = await restarted(found, {"default": source(History(read_at=0.0, recent=recent))})
    process.reconciler._sink = sink = Sink()
    await process.work()
    fast = sink.views[0].memory.law.fast
    assert fast.demand == pytest.approx(55.0 * REPLICAS)
    assert fast.served == pytest.approx(55.0 * REPLICAS)
    assert fast.concurrency == pytest.approx(7.0)
    assert max(high for _, high in fast.highs) == pytest.approx(55.0 * REPLICAS)
    assert (fast.busier_since, fast.quieter_since, fast.saturated_since) == (None, None, None)
    assert fast.regret == 0.0


async def recalled(view: View, recent: Load) -> tuple[Past, View]:
    """A view after a past was read for it."""
    store = WatchStore()
    store.put_serving(view.serving)
    told = {"default": source(History(read_at=0.0, recent={POD: recent}))}
    past = Past(told, store, Surroundings(), lambda: view.now)
    await past.read()
    return past, past.recall(view)


async def first_view() -> View:
    """The view of a new process's first pass, with nothing in fast memory."""
    found = await world()
    process = await restarted(found, {})
    process.reconciler._sink = sink = Sink()
    await process.work()
    assert sink.views[0].memory.law.fast == FastMemory()
    return replace(sink.views[0], now=found.cluster.now + 7.0)


def with_law(view: View, **changed: Any) -> View:
    return replace(view, memory=replace(view.memory, law=replace(view.memory.law, **changed)))


async def test_it_is_taken_over_once_and_counts_as_seen_now() -> None:
    view = await first_view()
    empty = LoadPoint(at=view.now, tokens_per_second=0.0, concurrency=0.0, engines=0)
    past, after = await recalled(view, (*minutes(55.0, 7.0, now=view.now), empty))
    assert after.memory.law.fast.seen_at == view.now, "no time counts that nobody watched"
    assert after.memory.law.fast.demand == pytest.approx(55.0 * REPLICAS)
    assert past.recall(view) is view


async def test_what_the_process_saw_itself_is_better() -> None:
    view = await first_view()
    mine = FastMemory(seen_at=view.now - 5.0, demand=1.0)
    _, after = await recalled(with_law(view, fast=mine), minutes(55.0, 7.0, now=view.now))
    assert after.memory.law.fast == mine


async def test_a_change_that_nobody_noticed_yet_is_left_to_be_noticed() -> None:
    view = await first_view()
    other = replace(view.memory.law.slow, running="none")
    _, after = await recalled(with_law(view, slow=other), minutes(55.0, 7.0, now=view.now))
    assert after.memory.law.fast == FastMemory()


async def test_while_anything_is_being_rolled_the_past_is_no_present() -> None:
    view, rollout = await first_view(), RolloutFacts(updated=1, available=4, desired=4)
    target = view.target_facts
    assert target is not None
    facts = replace(view.facts, target=replace(target, rollout=rollout))
    _, after = await recalled(replace(view, facts=facts), minutes(55.0, 7.0, now=view.now))
    assert after.memory.law.fast == FastMemory()


async def test_a_restart_with_a_past_above_the_cut_off_dwells_as_any_other() -> None:
    found = await world()
    recent = {POD: minutes(900.0, 90.0, now=found.cluster.now)}
    await restarted(found, {"default": source(History(read_at=0.0, recent=recent))})
    await found.run(25)
    assert found.tries() == []
    assert found.status()["lastDecision"]["reason"] == "Dwelling"


async def test_the_load_of_another_profile_or_of_a_roll_is_not_taken_over() -> None:
    found = await world()
    found.users["llama"] = 40.0 * REPLICAS
    assert await found.run(1200, until=found.finished("none"))
    recent = {POD: minutes(900.0, 90.0, now=found.cluster.now)}
    process = await restarted(found, {"default": source(History(read_at=0.0, recent=recent))})
    await process.work()
    assert fast_of(process).demand != pytest.approx(900.0 * REPLICAS, rel=0.05)


async def test_a_past_that_is_too_old_is_not_the_present() -> None:
    found = await world()
    recent = {POD: minutes(900.0, 90.0, now=found.cluster.now - 300.0)}
    process = await restarted(found, {"default": source(History(read_at=0.0, recent=recent))})
    await process.work()
    assert (fast_of(process).demand or 0.0) < 500.0


async def test_a_store_that_is_slow_delays_the_first_pass_for_a_while_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = await world()
    load = week(now=found.cluster.now)
    slow = source(History(read_at=0.0, long={LLAMA: load}), seconds=0.3)
    await restarted(found, {"default": slow}, patience=0.01)
    assert "history of default is not read after" in caplog.text
    await found.run(30)
    assert peak_of(found).get("firstDay") != int(found.cluster.now // DAY) - 7
    await asyncio.sleep(0.6)
    await found.run(30)
    assert peak_of(found)["firstDay"] == int(found.cluster.now // DAY) - 7


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (
            History(read_at=0.0, error="endpoint 'default': no answer"),
            "endpoint 'default': no answer",
        ),
        (ZeroDivisionError("ours"), "reading the past failed"),
    ],
)
async def test_a_past_that_cannot_be_read_is_one_line_and_the_operator_goes_on(
    caplog: pytest.LogCaptureFixture, told: History | Exception, line: str
) -> None:
    caplog.set_level(logging.WARNING)
    found = await world()
    caplog.clear()
    await restarted(found, {"default": source(told)})
    assert [line in each.getMessage() for each in caplog.records] == [True]
    found.users["llama"] = 40.0 * REPLICAS
    assert await found.run(1200, until=found.finished("none"))


async def test_another_endpoints_past_is_not_the_servings() -> None:
    found = await world()
    load = week(now=found.cluster.now)
    await restarted(found, {"other": source(History(read_at=0.0, long={LLAMA: load}))})
    await found.run(30)
    assert peak_of(found).get("firstDay") != int(found.cluster.now // DAY) - 7


def test_a_target_is_found_by_its_own_name_and_by_its_pods() -> None:
    load = week(days=0.1)
    others = {("default", "llama-70b"): load, ("elsewhere", "llama"): load}
    long_name, like_a_pod = "a" * 60, "gpt-4b-bcdfg"
    found = digest(
        History(
            read_at=0.0,
            long={
                LLAMA: load,
                ("default", f"{'a' * 58}bcdfg"): load,
                ("default", like_a_pod): load,
                **others,
            },
            recent={POD: load, ("default", "llama-7c9f8d6b5-bbbbb"): load},
        ),
        [LLAMA, *(("default", name) for name in ("mistral", long_name, like_a_pod))],
    )
    assert found.keys() == {LLAMA, ("default", long_name), ("default", like_a_pod)}
    assert found[LLAMA].recent[0].engines == 2 * REPLICAS
    (day,) = found[LLAMA].peak.days
    assert day.highest[0] == 40.0
    assert day.slots == len(load)


def test_a_mean_belongs_to_the_five_minutes_before_it() -> None:
    midnight = START // DAY * DAY
    point = LoadPoint(at=midnight, tokens_per_second=8.0, concurrency=1.0, engines=2)
    found = digest(History(read_at=0.0, long={LLAMA: (point,)}), [LLAMA])
    (day,) = found[LLAMA].peak.days
    assert (day.day, day.slots, day.highest) == (midnight // DAY - 1, 1, (4.0,))


async def test_a_real_prometheus_tells_the_past_of_a_target(
    prometheus_binary: Path, tmp_path: Path
) -> None:
    with past_prometheus(tmp_path, prometheus_binary) as running:
        config = OperatorConfig.model_validate(
            {"telemetry": [{"name": "default", "url": running.url}]}
        )
        told = await history_sources(config)["default"](float(running.end))
    assert told.error is None
    found = digest(told, [(NAMESPACE, "llama"), (NAMESPACE, "llama-70b")])
    busiest = max(day.highest[0] for day in found[NAMESPACE, "llama"].peak.days)
    # 30 and 24 requests, 0.02 s a token each, and one first token for every hundred.
    assert busiest == pytest.approx(27.0 / 0.02, rel=0.05)
    recent = found[NAMESPACE, "llama"].recent
    assert recent[-1].engines == 2
    assert recent[-1].concurrency == pytest.approx(54.0, rel=0.02)
    assert recent[-1].at - recent[0].at >= 300.0, "three rate windows"


def test_endpoints_that_are_the_pods_themselves_have_no_past() -> None:
    config = OperatorConfig.model_validate({"telemetry": [{"name": "default", "source": "Pods"}]})
    assert history_sources(config) == {}
