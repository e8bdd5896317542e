"""A day of simulated time in which everything happens, and what is left of it at the end."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tests.component.controller.world import START
from tests.soak.loop import errors_told_to
from tests.soak.measure import sample
from tests.soak.player import Player
from tests.soak.record import Seen
from tests.soak.rest import come_to_rest
from tests.soak.servings import by_law, whole, with_canary
from tests.soak.stage import Stage

HOUR: Final = 3600.0
MEAN_PAUSE_SECONDS: Final = 120.0
"""Between two things that happen."""

TRAFFIC_SECONDS: Final = 900.0
KEPT_WRITES: Final = 1000
"""The simulation's own log is cut to this length, so that its memory tells of the operator's."""

MAX_ROLLS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What is played.

    Attributes:
        seed: What it is drawn from.
        hours: Simulated hours.
        step: Simulated seconds between two looks of the operators.
        quiet_seconds: At the end everything is left in peace for so long.
        told: Is given the result so far, each hour.
    """

    seed: int
    hours: float = 24.0
    step: float = 5.0
    quiet_seconds: float = HOUR
    told: Callable[[Seen], None] = lambda _: None


async def play(day: Day) -> Seen:
    """Play it and return what was seen."""
    stage = Stage(
        (whole("aya"), with_canary("qwen"), whole("phi"), with_canary("yi"), by_law("llama")),
        max_rolls=MAX_ROLLS,
    )
    rng, began = random.Random(day.seed), time.process_time()
    player = Player(stage, rng)
    stage.start("a")
    stage.start("b")
    seen = Seen(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        seed=day.seed,
        hours=0.0,
        cpu_seconds=0.0,
        servings=len(stage.plans),
        happenings=player.counted,
        rolls={},
        operators_lost=0,
        passes=0,
        writes=stage.judge.writes,
        broken=stage.judge.found,
    )
    with errors_told_to(stage.judge.report):
        while (hour := (stage.cluster.now - START) / HOUR) < day.hours:
            await _until(stage, player, min(START + (int(hour) + 1) * HOUR, _end(day)), day.step)
            _take_stock(seen, stage, began)
            day.told(seen)
        stage.judge.found += await come_to_rest(stage, day.quiet_seconds)
        _take_stock(seen, stage, began)
    return seen


def _end(day: Day) -> float:
    return START + day.hours * HOUR


async def _until(stage: Stage, player: Player, end: float, step: float) -> None:
    """Let things happen until a time."""
    rng, next_traffic = player.rng, stage.cluster.now
    while stage.cluster.now < end:
        if stage.cluster.now >= next_traffic:
            player.traffic()
            next_traffic += TRAFFIC_SECONDS
        player.happen()
        pause = rng.expovariate(1.0 / MEAN_PAUSE_SECONDS)
        await stage.pass_time(min(max(step, pause), max(step, end - stage.cluster.now)), step)
        for who in ("a", "b"):
            stage.start(who)
        del stage.cluster.writes[:-KEPT_WRITES]
        del stage.cluster.events[:-KEPT_WRITES]


def _take_stock(seen: Seen, stage: Stage, began: float) -> None:
    hour = round((stage.cluster.now - START) / HOUR, 2)
    lasting = stage.operators["b"]
    statuses = [each.status for each in stage.cluster._servings.values()]
    seen.samples.append(sample(hour, lasting, statuses))
    seen.hours = hour
    seen.cpu_seconds = round(time.process_time() - began, 1)
    seen.rolls = {"begun": stage.judge.rolls, "put back": stage.judge.undone}
    seen.operators_lost = stage.lost
    seen.passes = int(
        lasting.metrics.registry.get_sample_value("ridgeline_pass_seconds_count") or 0
    )
