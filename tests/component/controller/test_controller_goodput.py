"""The Goodput strategy in the whole controller: predicted cut-offs, first contact, learning."""

from dataclasses import replace
from typing import Any

from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.controller.view import View
from ridgeline.engine.container import Container, EnvItem
from ridgeline.policy.decision import Decision
from ridgeline.policy.engine_report import EngineReport
from ridgeline.terms.names import PROFILE_ENV
from tests.component.controller.world import EAGLE_CONFIG, EAGLE_PROFILE, HIGH, LOW, World, spec

MODEL = "meta-llama/Llama-3.1-8B-Instruct"

SLOW_GPU = SpecObject(
    namespace="",
    name="slow",
    uid="slow",
    resource_version="1",
    generation=1,
    # The simulated replicas take 100 ms a step and slow down from 48 tokens on: a GPU like this.
    spec={"memoryGiB": 80, "memoryBandwidthGBps": 200, "denseBF16TFLOPS": 15},
)


def server(config: str | None, image: str = "vllm/vllm-openai:v0.24.0") -> Container:
    return Container(
        name="vllm",
        image=image,
        args=(f"--model={MODEL}", f"--speculative-config=$({PROFILE_ENV})"),
        env=() if config is None else (EnvItem(name=PROFILE_ENV, value=config),),
        has_env_from=True,
    )


def goodput(stated: bool = True, **fields: Any) -> dict[str, Any]:
    eagle = {**EAGLE_PROFILE, **({"acceptancePercent": [60, 33, 17, 7]} if stated else {})}
    return spec(
        **{
            "accelerator": "slow",
            "cutoff": {"strategy": "Goodput"},
            "profiles": [eagle, {"name": "none", "method": "Disabled"}],
            **fields,
        }
    )


def around() -> Surroundings:
    found = Surroundings()
    found.accelerators.put(SLOW_GPU)
    return found


def world_with(config: str | None, users: float) -> World:
    world = World()
    world.deploy(containers=[server(config)], users=users)
    return world


async def test_a_predicted_table_with_its_band_stands_in_status_and_is_acted_on() -> None:
    world = world_with(EAGLE_CONFIG, LOW)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    await world.run(300)
    status = world.status()
    assert status["cutoff"]["strategy"] == "Goodput"
    assert status["cutoff"]["verdict"] == "Yes", status["cutoff"]
    row = status["cutoffTable"][0]
    assert row["profile"] == "eagle2"
    assert row["bandLow"] <= row["upToConcurrency"] <= row["bandHigh"]
    assert 10 <= row["upToConcurrency"] <= 40
    world.users["llama"] = HIGH
    assert await world.run(1200, until=world.finished("none"))


async def test_what_telemetry_taught_stands_in_status_and_outlives_the_process() -> None:
    world = world_with(EAGLE_CONFIG, LOW)
    world.cluster.create_serving("llama", goodput(stated=False))
    process = world.start(around=around())
    await world.run(300)
    learned = world.status()["learned"]
    assert "v0.24.0" not in learned["basis"]
    assert "0.24.0" in learned["basis"]
    assert "Llama-3.1-8B" in learned["basis"]
    (eagle,) = [each for each in learned["profiles"] if each["profile"] == "eagle2"]
    assert len(eagle["acceptancePercent"]) == 4
    assert learned["contextTokens"] > 0
    world.kill(process)
    world.start(around=around())
    await world.run(60)
    assert world.status()["learned"] == learned
    assert world.status()["cutoff"]["verdict"] == "Yes"


async def test_a_profile_that_never_ran_here_is_recommended_and_not_switched_to() -> None:
    world = world_with("", LOW)
    world.cluster.create_serving("llama", goodput(stated=False))
    world.start(around=around())
    await world.run(3600)
    status = world.status()
    assert status["cutoff"]["verdict"] == "Undecided"
    assert any("first contact" in reason for reason in status["cutoff"]["reasons"])
    assert status["lastDecision"]["reason"] == "CutoffUndecided"
    assert status["recommendedProfile"] == "eagle2"
    assert world.tries() == []


async def test_a_stated_acceptance_is_enough_to_switch_on() -> None:
    world = world_with("", LOW)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    assert await world.run(3600, until=world.finished("eagle2"))


async def test_once_its_status_settled_nothing_more_is_written() -> None:
    world = world_with(EAGLE_CONFIG, LOW)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    await world.run(7200)
    before = world.status()
    await world.run(1800)
    assert world.status() == before


async def test_a_model_that_nobody_knows_holds_and_says_what_to_do() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    await world.run(900)
    assert world.condition("Ready") == ("False", "ModelUnknown")
    assert "spec.model" in world.message("Ready")
    assert world.tries() == []


async def test_a_gpu_with_another_memory_is_reckoned_with_at_once() -> None:
    known, seen, world = around(), Passes(), World()
    plain = server(EAGLE_CONFIG)
    world.deploy(containers=[replace(plain, args=(*plain.args, "--quantization=fp8"))])
    world.cluster.create_serving("llama", goodput())
    world.start(around=known, sink=seen)
    await world.run(60)
    before = seen.engines[-1]
    # Too little for the weights alone.
    less = {**SLOW_GPU.spec, "memoryGiB": 6}
    known.accelerators.put(replace(SLOW_GPU, resource_version="2", generation=2, spec=less))
    await world.run(30)
    after = seen.engines[-1]

    world.kill(world.process)
    world.start(around=known, sink=seen)
    await world.run(30)
    assert after == seen.engines[-1]
    assert after != before


class Passes:
    """Writes down what every pass took the engine to serve."""

    def __init__(self) -> None:
        self.engines: list[EngineReport | None] = []

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        del decided, told
        self.engines.append(view.settings.engine)
