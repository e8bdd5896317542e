"""`explain -o wide`: where each setting came from, all ages, all arms, every replica."""

from dataclasses import replace

from rich.console import Console

from ridgeline.cli.explain_document import explanation_document
from ridgeline.cli.page import explanation_page
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.explain import Explanation
from tests.component.controller.explain_looks import looked
from tests.component.controller.test_controller_explain import explained, goodput
from tests.component.controller.world import LOW, World, settled, spec


def page(found: Explanation, *, wide: bool) -> str:
    console = Console(width=400)
    with console.capture() as caught:
        console.print(explanation_page(found, wide=wide))
    return caught.get()


async def test_it_has_every_setting_with_its_source_and_the_usual_page_those_that_are_tuned() -> (
    None
):
    canary = {"when": "Always", "maxReplicas": 2}
    found = await explained(goodput(rollout={"canary": canary, "trial": "Never"}))
    wide, usual = page(found, wide=True), page(found, wide=False)
    lines = [" ".join(line.split()) for line in wide.splitlines()]
    assert "rollout.canary.when Always serving" in lines
    assert "rollout.canary.maxReplicas 2 serving" in lines
    assert any(each.startswith("rollout.deadlineSeconds ") for each in lines)
    assert all(each in wide for each in ("rollout.requalify", "rollout.canary.onNoTraffic"))
    assert "rollout.requalify" not in usual
    assert "rollout.canary.when" not in usual
    assert "cooldownSeconds" in usual
    fields = {each["field"] for each in explanation_document(found)["settings"]}
    assert {"rollout.trial", "cooldownSeconds"} <= fields


async def test_it_compares_all_profiles_at_every_load() -> None:
    found = await explained(goodput(), seconds=600)
    title, eagle, none = found.ladder
    assert title == ("profile", "1", "2", "4", "8", "16", "32", "64", "128", "256")
    assert (eagle[0], none[0]) == ("eagle2", "none")
    assert float(eagle[1]) > 1 > float(eagle[-1])
    assert set(none[1:]) == {"1"}
    about = "Speed-up by requests in decode per engine"
    assert about in page(found, wide=True)
    assert about not in page(found, wide=False)
    assert (await explained(spec())).ladder == ()


async def test_it_tells_how_old_each_condition_is() -> None:
    found = await explained(goodput(), seconds=600)
    rows = page(found, wide=True).partition("Conditions, and how old they are")[2].splitlines()
    ages = {words[0]: words[1:] for row in rows[1:12] if (words := row.split())}
    status, reason, age, unit = ages["Ready"]
    assert (status, reason, unit) == ("True", "Operating", "s")
    assert 590 <= float(age) <= 600


async def test_it_tells_each_of_many_replicas_and_the_usual_page_counts_them() -> None:
    world = World()
    world.deploy(users=LOW * 10, replicas=40)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    found = await looked(world, Surroundings(), lambda seen, _: seen, asks=True)
    assert page(found, wide=True).count("replica llama-") == 40
    usual = page(found, wide=False)
    assert usual.count("replica llama-") == 20
    assert "20 replicas: -o wide tells each" in usual


async def test_it_tells_what_the_operator_remembers_or_that_nobody_knows() -> None:
    world = await settled()
    asked = await looked(world, Surroundings(), lambda seen, _: seen, asks=True)
    alone = await looked(world, Surroundings(), lambda seen, _: seen, asks=False)
    assert "0 of 6 in the last 24 hours" in page(asked, wide=True)
    assert "0 of 6 in the last 24 hours" not in page(asked, wide=False)
    told = "What the operator remembers: not known without its own answer"
    assert told in page(alone, wide=True)


async def test_it_shows_what_a_prometheus_was_asked() -> None:
    found = replace(await explained(spec()), asked=(("decode", "sum by (pod) (\n  rate(x[2m]))"),))
    assert "sum by (pod) ( rate(x[2m]))" in page(found, wide=True)
    assert "rate(x" not in page(found, wide=False)
    assert explanation_document(found)["queries"][0]["name"] == "decode"
