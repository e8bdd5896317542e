"""Slow memory in status: nothing is lost by writing it, and no document does harm."""

import json
import math

import pytest

from ridgeline.policy.law.document import must_write, slow_document, slow_from
from ridgeline.policy.law.memory import Learned, SlowMemory, Turn
from ridgeline.policy.law.peak import with_slot
from ridgeline.policy.law.terms import LawMode
from tests.unit.policy.law.law_moments import NOW, week_of

FULL = SlowMemory(
    peak=week_of(1234.0),
    modes=(LawMode.REGRET, LawMode.INSURED),
    running="none",
    turn=Turn(at=NOW, from_profile="eagle", to_profile="none", demand=1050.5, concurrency=31.5),
    learned=(Learned(quieter="eagle", busier="none", at=NOW, on_demand=900.0),),
    locked_until=NOW + 60.0,
    starts=(("none", 181.5),),
    roll_seen=NOW - 900.0,
)


def test_memory_survives_status() -> None:
    assert slow_from(json.loads(json.dumps(slow_document(FULL), allow_nan=False))) == FULL
    assert slow_document(SlowMemory()) == {}
    assert slow_from({}) == SlowMemory()


@pytest.mark.parametrize("key", sorted(slow_document(FULL)))
@pytest.mark.parametrize(
    "broken", [None, 7, "text", [], {}, [7], [{}], math.nan, [{"day": 1e400}], True]
)
def test_a_broken_part_is_as_if_it_had_never_been_learned(key: str, broken: object) -> None:
    found = slow_document(slow_from({**slow_document(FULL), key: broken}))
    json.dumps(found, allow_nan=False)
    whole = slow_document(FULL)
    assert {k: v for k, v in found.items() if k != key} == {
        k: v for k, v in whole.items() if k != key
    }


@pytest.mark.parametrize("document", [None, 3, "x", [1], {"peak": {"days": "x"}}])
def test_no_document_is_no_memory(document: object) -> None:
    assert slow_from(document) == SlowMemory()


def test_the_peak_alone_is_written_once_an_hour() -> None:
    last = int(NOW // 300)
    slow = SlowMemory(peak=week_of(500.0))
    later = slow
    for index in range(12):
        assert not must_write(slow, later)
        later = SlowMemory(peak=with_slot(later.peak, last + index, 600.0))
    assert must_write(slow, later)
    assert must_write(slow, SlowMemory(peak=slow.peak, locked_until=NOW))
