"""Servers of the simulated cluster that do not do as the model of engines says."""

from collections.abc import Callable

import pytest

from ridgeline.policy.facts import EngineFacts
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import Oddity, SimulatedTelemetry
from ridgeline.sim.pod import SimulatedPod
from tests.unit.sim.simulated import START, made

USERS = 40.0


async def seen(oddity: Callable[[SimulatedPod], Oddity]) -> dict[bool, EngineFacts]:
    """What is seen of an odd replica and of another one, after a while under load."""
    cluster = made()
    telemetry = SimulatedTelemetry(
        cluster, {"llama": ClosedLoop(lambda _: USERS)}, window_seconds=60.0
    )
    telemetry.oddity = lambda pod: oddity(pod) if pod.name.endswith("-1") else Oddity()
    cluster.advance(START + 120)
    engines = (await telemetry.read(cluster.now)).engines
    return {pod.endswith("-1"): engine for (_, pod), (engine,) in engines.items()}


async def test_a_slower_server_takes_longer_for_its_steps_under_the_same_load() -> None:
    engines = await seen(lambda _: Oddity(step_factor=1.25))
    odd, usual = engines[True], engines[False]
    assert odd.decode_concurrency == usual.decode_concurrency == pytest.approx(USERS / 4)
    assert odd.step_seconds == pytest.approx(1.25 * (usual.step_seconds or 0.0))
    assert odd.tpot_seconds == pytest.approx(1.25 * (usual.tpot_seconds or 0.0))
    assert odd.acceptance_length == usual.acceptance_length


async def test_shorter_answers_finish_more_often_and_for_another_reason() -> None:
    engines = await seen(lambda _: Oddity(answer_share=0.25, finish_reason="length"))
    odd, usual = engines[True], engines[False]
    assert odd.mean_output_tokens == 25.0
    assert usual.mean_output_tokens == 100.0
    assert odd.finished_per_second is not None
    assert usual.finished_per_second is not None
    ((reason, often),) = odd.finished_per_second
    ((usually, rarely),) = usual.finished_per_second
    assert (reason, usually) == ("length", "stop")
    assert often == pytest.approx(4.0 * rarely)


@pytest.mark.parametrize("oddity", [Oddity(idle=True), Oddity(silent_seconds=3600.0)])
async def test_what_a_server_without_requests_leaves_goes_to_the_others(oddity: Oddity) -> None:
    engines = await seen(lambda _: oddity)
    odd, usual = engines[True], engines[False]
    assert odd.generated_tokens_per_second == 0.0
    assert usual.decode_concurrency == pytest.approx(USERS / 3)


async def test_a_server_that_was_silent_at_first_works_afterwards() -> None:
    engines = await seen(lambda _: Oddity(silent_seconds=30.0))
    assert engines[True].decode_concurrency == pytest.approx(USERS / 4)
    assert engines[True].generated_tokens_per_second == pytest.approx(
        engines[False].generated_tokens_per_second
    )
