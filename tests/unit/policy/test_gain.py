"""What a roll is worth: request-seconds per second from the curves, and what goes before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decide import decide
from ridgeline.policy.facts import EngineFacts, ReplicaFacts
from ridgeline.policy.gain import HORIZON_SECONDS, Urgency, Worth, worth_of
from ridgeline.policy.settings import PolicySettings, Prediction
from ridgeline.policy.situation import observe
from tests.unit.policy.moments import NOW, TWO_ROWS, engine, facts, memory, replica, settings

EAGLE = Curve(profile="eagle2", concurrency=(10.0, 20.0, 40.0), tokens_per_second=(500, 800, 900))
NONE = Curve(profile="none", concurrency=(10.0, 20.0, 40.0), tokens_per_second=(400, 800, 1600))
CURVES = replace(TWO_ROWS, curves=(EAGLE, NONE))

PREDICTED = settings(cutoff=CURVES, prediction=Prediction(basis="b"))


def worth(
    tokens: float,
    to: str = "none",
    *,
    active: str = "eagle2",
    asked: PolicySettings = PREDICTED,
    count: int = 2,
    **other: Any,
) -> Worth:
    """What a roll of replicas that each deliver some tokens per second is worth."""
    told = {"generated_tokens_per_second": tokens, "mean_output_tokens": 100.0, **other}
    found = facts(active=active, replicas=_replicas(count, engine(20.0, **told)))
    situation = observe(found, asked, memory(), NOW)
    decision = decide(found, asked, memory(), NOW)
    return worth_of(situation, replace(decision, profile=to))


def _replicas(count: int, each: EngineFacts) -> Sequence[ReplicaFacts]:
    return [replica(f"pod-{number}", each) for number in range(count)]


def test_the_gain_is_what_fewer_requests_are_in_the_fleet_at_the_present_demand() -> None:
    # Two engines: eagle2 needs 30 requests each for 850 tokens/s, none 21.25.
    assert worth(850.0).gain == pytest.approx(2 * (30.0 - 21.25))


def test_a_roll_that_goes_ahead_of_the_load_gains_less_than_nothing_now() -> None:
    assert worth(500.0).gain == pytest.approx(2 * (10.0 - 12.5))
    assert worth(500.0, "eagle2", active="none").gain == pytest.approx(2 * (12.5 - 10.0))


def test_beyond_capacity_the_queue_that_grows_counts() -> None:
    full, queue = 2 * 40.0, 0.5 * HORIZON_SECONDS * (2000.0 - 1800.0) / 100.0
    assert worth(1000.0).gain == pytest.approx(full + queue - 2 * 25.0)


def test_twice_the_fleet_gains_twice_as_much() -> None:
    assert worth(850.0, count=4).gain == pytest.approx(2 * worth(850.0).gain)


def test_without_curves_demand_or_replicas_nothing_is_known_of_the_gain() -> None:
    assert worth(850.0, asked=settings()).gain == 0.0
    assert worth(850.0, "draft-1b").gain == 0.0
    assert worth(850.0, generated_tokens_per_second=None).gain == 0.0
    assert worth(850.0, count=0).gain == 0.0


def test_a_mean_answer_that_is_not_known_is_taken_for_the_laws() -> None:
    known = worth(1000.0, mean_output_tokens=256.0).gain
    assert worth(1000.0, mean_output_tokens=None).gain == pytest.approx(known)


@pytest.mark.parametrize("asked", [PREDICTED, settings()], ids=["curves", "given"])
@pytest.mark.parametrize(
    ("waiting", "to", "active", "urgency"),
    [
        (5.0, "none", "eagle2", Urgency.FULL),
        (0.0, "none", "eagle2", Urgency.VOLUNTARY),
        (5.0, "eagle2", "none", Urgency.VOLUNTARY),
    ],
)
def test_only_a_roll_away_from_full_servers_is_urgent(
    asked: PolicySettings, waiting: float, to: str, active: str, urgency: Urgency
) -> None:
    found = worth(850.0, to, active=active, asked=asked, waiting_for_capacity=waiting)
    assert found.urgency is urgency


def test_what_a_person_ordered_stands_between() -> None:
    asked = replace(PREDICTED, forced="none")
    assert worth(500.0, asked=asked).urgency is Urgency.ORDERED
    assert worth(500.0, asked=asked, waiting_for_capacity=9.0).urgency is Urgency.FULL
    assert worth(500.0, "eagle2", active="none", asked=asked).urgency is Urgency.ORDERED


def test_a_profile_without_a_row_is_no_busier_one() -> None:
    table = CutoffTable((CutoffRow(profile="none"),))
    found = worth(500.0, asked=settings(cutoff=table), waiting_for_capacity=9.0)
    assert found.urgency is Urgency.VOLUNTARY
