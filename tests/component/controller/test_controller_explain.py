"""What `explain` tells of a serving: its prediction, what was learned, schedules, and buckets."""

import math
import re
from typing import Any

import pytest
from rich.console import Console

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.page import explanation_page
from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.controller.explain import Explanation, Seen, told, view_of
from ridgeline.engine.container import Container, EnvItem
from ridgeline.terms.names import PROFILE_ENV
from tests.component.controller.world import (
    EAGLE_CONFIG,
    EAGLE_PROFILE,
    LOW,
    NONE_PROFILE,
    World,
    container,
    spec,
)

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
GPU = SpecObject(
    namespace="",
    name="slow",
    uid="slow",
    resource_version="1",
    generation=1,
    spec={"memoryGiB": 80, "memoryBandwidthGBps": 200, "denseBF16TFLOPS": 15},
)


def server(*words: str, image: str = "vllm/vllm-openai:v0.32.0", config: str = "") -> Container:
    return Container(
        name="vllm",
        image=image,
        args=(f"--model={MODEL}", f"--speculative-config=$({PROFILE_ENV})", *words),
        env=(EnvItem(name=PROFILE_ENV, value=config),) if config else (),
        has_env_from=True,
    )


def goodput(**fields: Any) -> dict[str, Any]:
    return spec(**{"accelerator": "slow", "cutoff": {"strategy": "Goodput"}, **fields})


async def explained(
    body: dict[str, Any],
    *,
    runs: Container | None = None,
    seconds: float = 300,
    asked: bool = True,
    users: float = LOW,
) -> Explanation:
    """What a person reads of a serving that an operator looked after for a while."""
    world, around = World(), Surroundings()
    around.accelerators.put(GPU)
    world.deploy(containers=[runs or server()], users=users)
    world.cluster.create_serving("llama", body)
    process = world.start(around=around)
    await world.run(seconds)
    now = world.cluster.now
    snapshot = await world.telemetry.read(now) if asked else None
    serving = world.cluster.serving("llama")
    view = view_of(process.store, serving, around, snapshot, now)
    return told(Seen(serving=serving, events=(), view=view, snapshot=snapshot))


def page_of(explanation: Explanation) -> str:
    console = Console(width=400)
    with console.capture() as caught:
        console.print(explanation_page(explanation))
    return caught.get()


def basis_of(explanation: Explanation) -> dict[str, str]:
    return dict(explanation.basis)


async def test_a_profile_that_ran_is_told_from_one_that_is_only_predicted() -> None:
    found = await explained(goodput(), seconds=600)
    rows = {row[0]: row for row in found.profiles}
    assert list(rows) == ["eagle2", "none"]
    _, speed_up, tokens, tpot, seen, acceptance = rows["eagle2"]
    assert (seen, acceptance) == ("predicted", "usual for its method")
    best, _, band = speed_up.partition(" (")
    low, _, high = band.rstrip(")").partition(" to ")
    assert 0 < float(low) < float(best) < float(high)
    assert float(tokens) > float(rows["none"][2]) > 0
    assert float(tpot.removesuffix(" ms")) < float(rows["none"][3].removesuffix(" ms"))
    assert rows["none"][1] == "1"
    assert rows["none"][4].startswith("seen here, ")
    assert rows["none"][5] == "none needed"
    assert found.concurrency == pytest.approx(LOW / 4, rel=0.2)


async def test_what_the_server_measured_stands_beside_its_profile() -> None:
    found = await explained(goodput(), runs=server(config=EAGLE_CONFIG), seconds=600)
    (eagle,) = [row for row in found.profiles if row[0] == "eagle2"]
    assert eagle[4].startswith("seen here, ")
    assert eagle[5] == "measured here"


async def test_a_stated_acceptance_is_called_so() -> None:
    eagle = {**EAGLE_PROFILE, "acceptancePercent": [60, 33, 17, 7]}
    found = await explained(goodput(profiles=[eagle, NONE_PROFILE], mode="RecommendOnly"))
    assert {row[0]: row[5] for row in found.profiles}["eagle2"] == "stated"


async def test_no_milliseconds_are_promised_before_any_step_was_timed() -> None:
    found = await explained(goodput(), seconds=90)
    assert found.profiles
    assert {row[2:4] for row in found.profiles} == {("not known", "not known")}
    assert all(row[1] != "not known" for row in found.profiles)


async def test_a_load_beyond_what_is_admitted_is_told() -> None:
    found = await explained(goodput(), runs=server("--max-num-seqs=2"))
    assert found.profiles
    assert all("full" in row[4] for row in found.profiles)
    within = await explained(goodput())
    assert not any("full" in row[4] for row in within.profiles)


async def test_a_profile_that_cannot_be_predicted_says_why_in_its_row() -> None:
    mtp = {"name": "mtp", "method": "MTP", "numSpeculativeTokens": 1}
    found = await explained(goodput(profiles=[EAGLE_PROFILE, mtp, NONE_PROFILE]))
    rows = {row[0]: row for row in found.profiles}
    assert rows["mtp"][1:4] == ("not known",) * 3
    assert "mtp" in rows["mtp"][4]
    assert rows["eagle2"][1] != "not known"


async def test_nothing_is_predicted_where_a_person_wrote_the_numbers() -> None:
    found = await explained(spec(accelerator="slow"))
    assert found.profiles == ()
    assert found.concurrency
    assert basis_of(found)["strategy"] == "Fixed"


async def test_nothing_is_predicted_without_live_numbers() -> None:
    found = await explained(goodput(), asked=False)
    assert found.profiles == ()
    assert found.concurrency is None
    (only,) = found.decision
    assert "--prometheus" in only


async def test_model_engine_and_what_told_them_are_named() -> None:
    found = basis_of(await explained(goodput()))
    assert found["model"].startswith("meta-llama/Llama-3.1-8B")
    assert "the container's arguments" in found["model"]
    assert found["engine version"] == "vLLM 0.32.0 (from the image's tag)"
    assert found["precision"].startswith("BF16 (neither --quantization")
    told_by_spec = goodput(model={"name": "Qwen/Qwen3-8B"})
    assert (
        basis_of(await explained(told_by_spec))["model"] == "Qwen/Qwen3-8B (from spec.model.name)"
    )


async def test_an_unknown_model_is_a_matter_of_predicted_cut_offs_alone() -> None:
    unknown = container(None)
    found = await explained(goodput(), runs=unknown)
    assert "spec.model" in basis_of(found)["model"]
    assert found.profiles == ()
    assert "model" not in basis_of(await explained(spec(), runs=unknown))


async def test_the_release_and_what_it_makes_of_each_profile_are_told() -> None:
    notes = (await explained(goodput())).notes
    assert any(about == "profile eagle2" and "min_p" in what for about, what in notes)
    stated = goodput(engine={"version": "0.24"})
    unnamed = server(image="registry/team/server:prod")
    found = await explained(stated, runs=unnamed)
    assert basis_of(found)["engine version"] == "vLLM 0.24.0 (from spec.engine.version)"
    found = await explained(goodput(), runs=unnamed)
    assert "not known" in basis_of(found)["engine version"]
    assert "set spec.engine.version" in dict(found.notes)["EngineVersionUnknown"]
    found = await explained(goodput(), runs=server(image="vllm/vllm-openai:v0.99.0"))
    assert "judged as" in basis_of(found)["engine version"]
    assert "update ridgeline" in dict(found.notes)["EngineNotVerified"]


async def test_an_objective_inside_a_bucket_brings_the_argument_that_resolves_it() -> None:
    objective = {"p99TPOTMilliseconds": 40}
    told = dict((await explained(goodput(objective=objective))).notes)["latency buckets"]
    assert "40 ms" in told
    argument = next(word for word in told.split() if word.startswith("--custom-histogram"))
    for found in (
        await explained(goodput(objective=objective), runs=server(argument)),
        await explained(goodput()),
    ):
        assert "latency buckets" not in dict(found.notes)


async def test_an_older_server_is_not_told_to_set_what_it_does_not_have() -> None:
    older = server(image="vllm/vllm-openai:v0.24.0")
    found = await explained(goodput(objective={"p99TPOTMilliseconds": 40}), runs=older)
    assert "0.24.0 cannot change its buckets" in dict(found.notes)["latency buckets"]


async def test_open_and_coming_schedules_and_wrong_ones_are_told() -> None:
    # The world begins on a Saturday at 10:00 UTC.
    every_day = {"durationSeconds": 3600, "timeZone": "UTC"}
    found = await explained(
        goodput(
            schedules=[
                {"name": "now", "cron": "0 10 * * *", "switchOn": "Forbidden", **every_day},
                {"name": "soon", "cron": "0 15 * * *", "profile": "none", **every_day},
                {"name": "lost", "cron": "0 15 * * *", "profile": "eagle2", **every_day},
                {"name": "far", "cron": "0 20 * * *", "freeze": True, **every_day}
                | {"timeZone": "Mars/Base"},
            ]
        )
    )
    about = dict(found.notes)
    opened = [what for kind, what in found.notes if kind == "open now"]
    assert opened[0] == "schedule now, no switching on, until 11:00 UTC"
    assert "schedule far, freeze," in opened[1]
    assert about["opens next"] == "schedule soon, none, from 15:00 UTC"
    assert "soon and lost want different profiles" in about["SchedulesOverlap"]
    assert "Mars/Base" in about["ScheduleInvalid"]


async def test_a_profile_that_is_wanted_ahead_of_its_window_is_told() -> None:
    ahead = {
        "name": "ahead",
        "cron": "15 10 * * *",
        "durationSeconds": 3600,
        "timeZone": "UTC",
        "profile": "none",
    }
    found = await explained(goodput(schedules=[ahead]))
    assert ("lead time", "schedule ahead, none, from 10:15 UTC") in found.notes


async def test_a_spec_that_cannot_be_read_is_told_instead() -> None:
    world = World()
    world.cluster.create_serving("llama", spec(mode="Whenever"))
    serving = world.cluster.serving("llama")
    with pytest.raises(InvalidServing) as error:
        view_of(world.start().store, serving, Surroundings(), None, world.cluster.now)
    found = told(Seen(serving=serving, events=(), view=error.value, snapshot=None))
    assert "mode" in str(found.trouble)
    assert "mode" in page_of(found)
    assert found.basis == ()


async def test_the_page_holds_all_of_it() -> None:
    found = await explained(goodput(objective={"p99TPOTMilliseconds": 40}), seconds=600)
    page = page_of(found)
    for title in (
        "Cut-offs (requests in decode per engine)",
        "Learned from telemetry",
        "Each profile at the present",
        "Also to know",
        "What the cut-offs rest on",
        "A decision now",
    ):
        assert page.count(title) == 1, title
    assert all(cell in page for row in found.profiles for cell in row)
    plain = page_of(await explained(spec()))
    assert "Each profile at the present" not in plain
    assert "latency buckets" not in plain


async def test_under_the_law_what_would_change_it_is_where_the_law_acts_and_not_the_cut_off() -> (
    None
):
    eagle = {**EAGLE_PROFILE, "acceptancePercent": [60, 33, 17, 7]}
    body = goodput(profiles=[eagle, NONE_PROFILE])
    found = await explained(body, runs=server(config=EAGLE_CONFIG), seconds=600)
    row = found.serving.status["cutoffTable"][0]
    assert row["actAtConcurrency"] < row["upToConcurrency"]
    assert found.decided is not None
    law, ways = found.decided["law"], found.decided["wouldChange"]
    (way,) = [each for each in ways if each.startswith("To none:")]
    told = re.fullmatch(
        r"To none: demand at (\S+) tokens/s or concurrency per engine at (\S+) or above for 30 s\.",
        way,
    )
    assert told is not None, way
    assert float(told[1]) == pytest.approx(law["offDemand"], rel=0.01)
    assert math.ceil(float(told[2])) == row["actAtConcurrency"]
    fixed = await explained(spec(), runs=container(), seconds=600)
    assert fixed.decided is not None
    (way,) = [each for each in fixed.decided["wouldChange"] if each.startswith("To none:")]
    assert way == "To none: concurrency per engine at 20 or above for 30 s."
