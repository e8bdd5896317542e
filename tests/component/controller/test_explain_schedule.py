"""What explain tells of in-engine schedules: the rows to write, and which way is best where."""

from itertools import pairwise
from typing import Any

import pytest
import yaml

from ridgeline.api.serving import parse_serving
from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain_schedule import ROLL, SCHEDULE, stretches
from ridgeline.costmodel.arm import Arm, Tier
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.settings.goodput import Question
from ridgeline.terms.methods import Method
from tests.component.controller.test_controller_explain import explained, goodput, server
from tests.component.controller.world import EAGLE_PROFILE, NONE_PROFILE
from tests.unit.costmodel.targets import CHAT, EAGLE_8B, NONE, arm, on

STATED: dict[str, Any] = {**EAGLE_PROFILE, "acceptancePercent": [60, 33, 17, 7]}


def body() -> dict[str, Any]:
    return goodput(profiles=[STATED, NONE_PROFILE], mode="RecommendOnly")


def note(found: Explanation, about: str) -> str:
    return dict(found.notes)[about]


async def test_the_rows_can_be_put_into_the_profile_as_they_are() -> None:
    told = note(await explained(body()), "in-engine schedule for eagle2")
    first, *lines = told.splitlines()
    assert first == "put into profiles[name=eagle2]:"
    stanza = lines[: [each.startswith("best:") for each in lines].index(True)]
    fields = yaml.safe_load("\n".join(stanza))
    stated = STATED["acceptancePercent"][: fields["numSpeculativeTokens"]]
    profile = {**STATED, **fields, "acceptancePercent": stated}
    spec = {**body(), "profiles": [profile, NONE_PROFILE]}
    serving = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculativeServing",
        "metadata": {"name": "llama"},
        "spec": spec,
    }
    parsed = parse_serving(serving, strict=True)
    assert parsed.spec.profiles[0].schedule
    assert "at the present" in told
    assert ROLL in told


@pytest.mark.parametrize("release", ["v0.12.0", "v0.16.0", "v0.23.0"])
async def test_a_release_without_such_a_table_leaves_the_outer_loop_alone(release: str) -> None:
    found = await explained(body(), runs=server(image=f"vllm/vllm-openai:{release}"))
    told = note(found, "in-engine schedule for eagle2")
    assert told.startswith("none: ")
    assert told.endswith("only the outer loop, a roll, can help")
    assert "numSpeculativeTokens" not in told


async def test_draft_positions_that_do_not_pay_are_named() -> None:
    told = note(await explained(body()), "draft positions of eagle2")
    assert "nowhere" in told


async def test_nothing_is_told_of_an_unknown_release() -> None:
    found = await explained(body(), runs=server(image="registry/team/server:prod"))
    assert not any(about.startswith("in-engine") for about, _ in found.notes)


def question(*arms: Arm) -> Question:
    return Question(
        basis="test", deployment=on("l40s", max_num_seqs=1024), arms=arms, workload=CHAT
    )


EAGLE = arm(2.3, 4, EAGLE_8B, Method.EAGLE, "eagle2")
ROWS = (
    Tier(first=1, last=8, lookahead=4),
    Tier(first=9, last=24, lookahead=2),
    Tier(first=25, last=1024, lookahead=0),
)


def test_where_the_schedule_drafts_nothing_a_roll_is_better_by_the_price_of_the_drafter() -> None:
    found = stretches(question(EAGLE, NONE), EAGLE, ROWS)
    assert not isinstance(found, CannotSay)
    assert found[0].way == "a static K of 4"
    assert found[-1].way == ROLL
    assert found[-1].ahead > 0.01
    assert SCHEDULE in [each.way for each in found]
    for before, behind in pairwise(found):
        assert before.last < behind.first


def test_without_a_profile_to_roll_to_nothing_is_compared() -> None:
    assert isinstance(stretches(question(EAGLE), EAGLE, ROWS), CannotSay)
