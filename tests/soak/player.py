"""What happens on a bad day, drawn at random from a seed: traffic, people, faults, their end."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ridgeline.cluster.store import Kind
from tests.component.controller.world import REPLICAS, START
from tests.soak.edits import EDITS
from tests.soak.stage import Stage
from tests.soak.trouble import Harm

DAY: Final = 86_400.0
KINDS: Final = ("", "read", "rehearsal", "profile", "status", "event")
LIES: Final = ("error", "crash", "empty", "silent", "not finite", "hidden")

Act = Callable[["Player"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One kind of thing that happens.

    Attributes:
        name: For the result.
        weight: How often, relative to the others.
        act: What it does.
    """

    name: str
    weight: float
    act: Act


class Player:
    """Draws what happens, and lets it happen.

    Attributes:
        counted: How often each thing happened.
    """

    def __init__(self, stage: Stage, rng: random.Random) -> None:
        self.stage = stage
        self.rng = rng
        self.counted: dict[str, int] = {}

    def happen(self) -> None:
        """Let one thing happen."""
        (one,) = self.rng.choices(HAPPENINGS, [each.weight for each in HAPPENINGS])
        self.counted[one.name] = self.counted.get(one.name, 0) + 1
        one.act(self)

    def traffic(self) -> None:
        """Let the users come and go: a day's wave, with noise."""
        for index, name in enumerate(self.stage.plans):
            hour = (self.stage.cluster.now - START) / 3600.0
            wave = 0.5 - 0.5 * math.cos((hour + 3.0 * index) * math.tau / 24.0)
            level = 2.0 + 40.0 * wave * self.rng.uniform(0.7, 1.3)
            self.stage.users[name] = round(level * REPLICAS)

    def name(self) -> str:
        """Draw a serving."""
        return self.rng.choice(list(self.stage.plans))

    def kind(self) -> Kind:
        """Draw a kind of object."""
        return self.rng.choice(list(Kind))

    def soon(self, act: Callable[[], object], least: float = 30.0, most: float = 600.0) -> None:
        """Let something happen a while later."""
        self.stage.later(self.rng.uniform(least, most), act)


def _burst(player: Player) -> None:
    player.stage.users[player.name()] = round(player.rng.uniform(0.0, 50.0) * REPLICAS)


def _call(player: Player) -> None:
    player.stage.strike(
        player.rng.choice([each for each in Harm if each is not Harm.KILLED]),
        kind=player.rng.choice(KINDS),
        skip=player.rng.randrange(4),
        after=player.rng.random() < 0.5,
        name=player.name(),
    )


def _api_down(player: Player) -> None:
    player.stage.cluster.api_down = True
    player.soon(lambda: setattr(player.stage.cluster, "api_down", False))


def _stream(player: Player) -> None:
    how = player.rng.choice(["stall", "lose", "repeat", "swap"])
    player.stage.stream(how, player.kind(), player.rng.randint(1, 5))
    player.soon(player.stage.heal_streams)


def _lie(player: Player) -> None:
    player.stage.lie(player.rng.choice(LIES), player.name())
    player.soon(player.stage.tell_truth)


def _edit(player: Player) -> None:
    name = player.name()
    player.stage.edit(name, **player.rng.choice(EDITS))
    plan = player.stage.plans[name]
    player.soon(lambda: player.stage.mean_again(plan.name))


def _order(player: Player) -> None:
    name = player.name()
    player.stage.force(name, player.rng.choice(["none", "eagle2", "unknown"]))
    player.soon(lambda: player.stage.force(name, None))


def _serving_gone(player: Player) -> None:
    name = player.name()
    player.stage.delete_serving(name)
    player.soon(lambda: player.stage.create_serving(name), 5.0, 300.0)


def _target_gone(player: Player) -> None:
    name = player.name()
    player.stage.delete_target(name)
    player.soon(lambda: player.stage.create_target(name), 1.0, 300.0)


def _scale(player: Player) -> None:
    name = player.name()
    player.stage.scale(name, player.rng.choice([0, 1, 2, REPLICAS + 2, REPLICAS + 4]))
    player.soon(lambda: player.stage.scale(name, REPLICAS))


def _person(player: Player) -> None:
    name, stage = player.name(), player.stage
    match player.rng.randrange(5):
        case 0:
            stage.undo(name)
        case 1:
            stage.restart(name)
        case 2:
            stage.edit_template(name, player.rng.choice([64, 128, 256]))
        case 3:
            stage.pause(name, True)
            player.soon(lambda: stage.pause(name, False))
        case 4:
            stage.take_item_out(name)


def _bad_profile(player: Player) -> None:
    player.stage.broken.add("eagle")
    player.soon(player.stage.broken.clear, 60.0, 1200.0)


def _clock(player: Player) -> None:
    seconds = player.rng.choice([-1.0, 1.0]) * player.rng.choice([2.0, 40.0, 400.0, 4000.0])
    player.stage.jump(seconds)
    player.soon(lambda: player.stage.jump(-seconds))


def _kill(player: Player) -> None:
    """Kill the first process at one of its next calls; the second lives the whole day."""
    first = player.stage.operators.get("a")
    if first is not None:
        player.stage.strike(
            Harm.KILLED,
            kind=player.rng.choice(KINDS),
            skip=player.rng.randrange(6),
            after=player.rng.random() < 0.5,
            name=player.name(),
            who="a",
        )


HAPPENINGS: Final = (
    Happening(name="crowd comes or goes", weight=6.0, act=_burst),
    Happening(name="call to the API server fails", weight=8.0, act=_call),
    Happening(name="API server down", weight=1.0, act=_api_down),
    Happening(name="watch stalls, loses, repeats or swaps", weight=4.0, act=_stream),
    Happening(name="telemetry down or lying", weight=4.0, act=_lie),
    Happening(name="spec edited", weight=3.0, act=_edit),
    Happening(name="profile ordered", weight=1.5, act=_order),
    Happening(name="serving deleted", weight=0.7, act=_serving_gone),
    Happening(name="target deleted", weight=0.7, act=_target_gone),
    Happening(name="scaled", weight=2.0, act=_scale),
    Happening(name="somebody edits the target", weight=2.0, act=_person),
    Happening(name="server crashes", weight=3.0, act=lambda each: each.stage.crash(each.name())),
    Happening(name="profile is bad", weight=1.0, act=_bad_profile),
    Happening(name="clock jumps", weight=1.0, act=_clock),
    Happening(name="operator killed", weight=1.5, act=_kill),
    Happening(name="Lease lost", weight=1.5, act=lambda each: each.stage.hand_over()),
)
