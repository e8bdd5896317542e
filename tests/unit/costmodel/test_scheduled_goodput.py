"""A profile whose lookahead the engine changes with the load: its goodput, row by row."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.arm import Arm, Tier
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.lookahead import lookahead_schedule
from ridgeline.costmodel.table import CutoffTable
from ridgeline.terms.methods import Method
from tests.unit.costmodel.targets import CHAT, EAGLE_8B, NONE, accepted, arm, on

HEAD = arm(2.4, 5, EAGLE_8B, Method.EAGLE, acceptance=accepted((0.76, 0.54, 0.39, 0.28, 0.21)))
ROWS = (
    Tier(first=1, last=16, lookahead=5),
    Tier(first=17, last=64, lookahead=2),
    Tier(first=65, last=1024, lookahead=0),
)
SCHEDULED = replace(HEAD, name="scheduled", schedule=ROWS)


def model_of(profile: Arm) -> ArmModel:
    (found,) = arm_models(on(), (profile,), CHAT)
    assert isinstance(found, ArmModel)
    return found


@pytest.mark.parametrize(("requests", "lookahead"), [(1, 5), (16, 5), (17, 2), (64, 2), (65, 0)])
def test_each_row_delivers_what_its_own_lookahead_does(requests: int, lookahead: int) -> None:
    own = model_of(replace(HEAD, lookahead=lookahead))
    assert model_of(SCHEDULED).goodput(requests) == pytest.approx(own.goodput(requests))


def test_points_of_several_rows_are_the_same_together_and_alone() -> None:
    scheduled = model_of(SCHEDULED)
    points = [0.5, 1.0, 15.0, 16.4, 16.6, 40.0, 64.0, 70.0, 5000.0]
    assert scheduled.goodputs(points) == [pytest.approx(scheduled.goodput(one)) for one in points]


def test_drafting_nothing_still_pays_for_the_drafter() -> None:
    scheduled, none = model_of(SCHEDULED), model_of(NONE)
    assert 0.75 < scheduled.goodput(150) / none.goodput(150) < 0.95


def test_behind_the_last_row_its_lookahead_goes_on() -> None:
    short = model_of(replace(SCHEDULED, schedule=ROWS[:2]))
    always = model_of(replace(HEAD, lookahead=2))
    assert short.goodput(120) == pytest.approx(always.goodput(120))


@pytest.mark.parametrize(
    "rows",
    [
        (Tier(first=2, last=9, lookahead=1),),
        (Tier(first=1, last=9, lookahead=4), Tier(first=11, last=20, lookahead=0)),
        (Tier(first=1, last=0, lookahead=4),),
        (Tier(first=1, last=9, lookahead=-1),),
    ],
)
def test_rows_with_gaps_or_without_sense_are_refused(rows: tuple[Tier, ...]) -> None:
    with pytest.raises(ValueError, match="row"):
        replace(HEAD, schedule=rows)


def table_of(*profiles: Arm) -> CutoffTable:
    found = goodput_table(on(), profiles, CHAT)
    assert isinstance(found, CutoffTable)
    return found


def test_a_schedule_that_drafts_less_gives_way_to_none_later_than_a_fixed_lookahead() -> None:
    rows = lookahead_schedule(on(), HEAD, CHAT)
    assert not isinstance(rows, CannotSay)
    best = replace(HEAD, name="scheduled", schedule=rows)
    fixed, scheduled = table_of(HEAD, NONE), table_of(best, NONE)
    assert [row.profile for row in fixed.rows] == [HEAD.name, NONE.name]
    assert [row.profile for row in scheduled.rows] == ["scheduled"]


def test_the_price_of_the_idle_drafter_decides_for_a_roll_to_none_when_servers_are_full() -> None:
    table = table_of(SCHEDULED, NONE)
    assert table.rows[-1].profile == NONE.name
    assert any("idle" in reason or "drafter" in reason for reason in table.reasons)
