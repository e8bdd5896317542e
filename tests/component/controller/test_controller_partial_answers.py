"""A store that answers only in part, under predicted cut-offs: no switch on, and then one."""

from dataclasses import replace

from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.test_controller_goodput import around, goodput, world_with
from tests.component.controller.world import EAGLE_CONFIG, HIGH, LOW


class _InPart:
    """Telemetry of which the store says that something of it is missing."""

    def __init__(self, telemetry: SimulatedTelemetry) -> None:
        self.telemetry = telemetry
        self.partial: tuple[str, ...] = ("store gateway-1 is down",)

    async def read(self, now: float) -> TelemetrySnapshot:
        return replace(await self.telemetry.read(now), partial=self.partial)


async def test_predicted_cut_offs_switch_on_by_a_whole_answer_only() -> None:
    world = world_with("", LOW)
    source = world.sources["default"] = _InPart(world.telemetry)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    await world.run(3600)
    assert world.tries() == []
    source.partial = ()
    assert await world.run(3600, until=world.finished("eagle2"))


async def test_predicted_cut_offs_may_switch_off_by_a_part() -> None:
    world = world_with(EAGLE_CONFIG, HIGH)
    world.sources["default"] = _InPart(world.telemetry)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    assert await world.run(3600, until=world.finished("none"))
