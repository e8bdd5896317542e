"""What the control law remembers, written to status and read back."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.api.control import ControlStatus
from ridgeline.policy.law.memory import Learned, SlowMemory, Turn
from ridgeline.policy.law.peak import PeakDay, PeakSketch
from ridgeline.policy.law.terms import LawMode
from ridgeline.policy.law_status import RISE, control_document, law_document, law_memory_of

NOW = 1_800_000_000.0
TODAY = int(NOW // 86_400)

KNOWN = SlowMemory(
    peak=PeakSketch(
        days=(
            PeakDay(day=TODAY - 1, slots=288, highest=(1500.0, 1400.0, 900.5)),
            PeakDay(day=TODAY, slots=12, highest=(1234.0, 1100.0)),
        ),
        first_day=TODAY - 9,
    ),
    modes=(LawMode.INSURED, LawMode.REGRET),
    running="eagle2",
    turn=Turn(
        at=NOW - 600.0, from_profile="none", to_profile="eagle2", demand=812.3, concurrency=7.125
    ),
    learned=(
        Learned(quieter="eagle2", busier="none", at=NOW - 9e4, off_demand=1700.0),
        Learned(
            quieter="draft", busier="eagle2", at=NOW - 60.0, on_demand=0.0, on_concurrency=3.25
        ),
    ),
    locked_until=NOW + 3600.0,
    starts=(("eagle2", 214.0), ("none", 180.0)),
    roll_seen=NOW - 1200.0,
)


def document() -> dict[str, Any]:
    made = law_document(KNOWN)
    assert made is not None
    return made


class TestWritingAndReading:
    def test_every_field_comes_back(self) -> None:
        assert law_memory_of({"control": document()}) == KNOWN

    @pytest.mark.parametrize("field", list(SlowMemory.__slots__))
    def test_each_field_alone_comes_back(self, field: str) -> None:
        only = replace(SlowMemory(), **{field: getattr(KNOWN, field)})
        made = law_document(only)
        assert made is not None
        assert law_memory_of({"control": made}) == only

    def test_the_document_is_what_the_api_server_takes(self) -> None:
        ControlStatus.model_validate(document())
        json.dumps(document(), allow_nan=False)

    def test_nothing_remembered_is_nothing_written(self) -> None:
        assert law_document(SlowMemory()) is None
        assert control_document(SlowMemory(), None) is None
        assert control_document(SlowMemory(), document()) is None

    def test_numbers_are_written_with_four_digits(self) -> None:
        turn = Turn(at=NOW, from_profile="a", to_profile="b", demand=1234.5678, concurrency=1 / 3)
        made = law_document(SlowMemory(turn=turn))
        assert made is not None
        assert made["turn"]["demandMilli"] == 1_235_000
        assert made["turn"]["concurrencyMilli"] == 333

    @given(
        st.builds(
            SlowMemory,
            running=st.one_of(st.none(), st.sampled_from(["eagle2", "none"])),
            turn=st.one_of(
                st.none(),
                st.builds(
                    Turn,
                    at=st.floats(0.0, 4e9),
                    from_profile=st.just("a"),
                    to_profile=st.just("b"),
                    demand=st.floats(0.0, 1e13),
                    concurrency=st.floats(0.0, 1e13),
                ),
            ),
            locked_until=st.one_of(st.none(), st.floats(0.0, 4e9)),
            starts=st.lists(
                st.tuples(st.sampled_from(["a", "b"]), st.floats(0.0, 1e6)), max_size=2
            ).map(tuple),
            peak=st.builds(
                PeakSketch,
                days=st.lists(
                    st.builds(
                        PeakDay,
                        day=st.integers(0, 30_000),
                        slots=st.integers(0, 288),
                        highest=st.lists(st.floats(0.0, 1e13), min_size=1, max_size=11).map(
                            lambda each: tuple(sorted(each, reverse=True))
                        ),
                    ),
                    max_size=8,
                ).map(tuple),
            ),
        )
    )
    def test_what_is_read_back_is_written_the_same(self, slow: SlowMemory) -> None:
        made = law_document(slow)
        if made is None:
            return
        json.dumps(made, allow_nan=False)
        read = law_memory_of({"control": made})
        assert law_document(read) == made
        assert control_document(read, made) == made


class TestGarbage:
    @pytest.mark.parametrize("entry", [None, {}, 7, "text", [1], True, [[]]])
    def test_in_its_place_is_nothing_remembered(self, entry: object) -> None:
        assert law_memory_of({"control": entry}) == SlowMemory()

    @pytest.mark.parametrize(
        "change",
        [
            {"modes": ["Bold"]},
            {"modes": 3},
            {"turn": {"time": "x"}},
            {"turn": 7},
            {"turn": {**document()["turn"], "demandMilli": -1}},
            {"turn": {**document()["turn"], "demandMilli": 0.5}},
            {"turn": {**document()["turn"], "demandMilli": 10**16}},
            {"lessons": [{}]},
            {"lessons": 1},
            {"lessons": [{**document()["lessons"][0], "offDemandMilli": "x"}]},
            {"lockedUntil": "soon"},
            {"starts": [{"profile": "a"}]},
            {"starts": [{"profile": "a", "seconds": "x"}]},
            {"starts": [{"profile": "a", "seconds": -1}]},
            {"rollSeen": "x"},
            {"peak": {"days": [{}]}},
            {"peak": {"days": 3}},
            {"peak": 3},
            {"peak": {"days": [{"day": "x", "slots": 1}]}},
            {"peak": {"days": [{"day": 1, "slots": 1, "highestDemandMilli": [True, None]}]}},
        ],
    )
    def test_of_any_kind_reads_as_nothing_remembered(self, change: dict[str, Any]) -> None:
        assert law_memory_of({"control": {**document(), **change}}) == SlowMemory()

    def test_a_profile_that_is_no_name_is_none(self) -> None:
        read = law_memory_of({"control": {**document(), "running": 7}})
        assert read == replace(KNOWN, running=None)

    @given(
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=2),
                st.dictionaries(
                    st.sampled_from([*document(), "days", "day", "slots", "time", "profile"]),
                    inner,
                    max_size=4,
                ),
            ),
            max_leaves=10,
        )
    )
    def test_never_raises(self, garbage: object) -> None:
        read = law_memory_of({"control": garbage})
        json.dumps(law_document(read), allow_nan=False)
        assert law_memory_of({"control": {**document(), "peak": garbage}}) is not None


def with_top(value: float) -> SlowMemory:
    today = replace(KNOWN.peak.days[-1], highest=(value, 1100.0), slots=200)
    return replace(KNOWN, peak=replace(KNOWN.peak, days=(KNOWN.peak.days[0], today)))


class TestWhenItIsWorthWriting:
    def test_a_steady_state_stands_as_it_is(self) -> None:
        standing = document()
        for top in (1234.0, 1234.0 * 0.5, 1234.0 * (RISE - 0.01)):
            assert control_document(with_top(top), standing) == standing

    def test_a_peak_that_rose_by_more_than_a_twentieth_is_written(self) -> None:
        made = control_document(with_top(1234.0 * (RISE + 0.01)), document())
        assert made is not None
        assert made["peak"]["days"][-1]["highestDemandMilli"][0] == 1_308_000

    def test_a_new_day_is_written(self) -> None:
        tomorrow = PeakDay(day=TODAY + 1, slots=1, highest=(1.0,))
        peak = replace(KNOWN.peak, days=(*KNOWN.peak.days, tomorrow))
        made = control_document(replace(KNOWN, peak=peak), document())
        assert made is not None
        assert len(made["peak"]["days"]) == 3

    @pytest.mark.parametrize(
        "change",
        [
            {"running": "none"},
            {"modes": (LawMode.REGRET,)},
            {"turn": None},
            {"learned": ()},
            {"locked_until": None},
            {"starts": ()},
            {"roll_seen": None},
        ],
    )
    def test_whatever_else_changes_is_written(self, change: dict[str, Any]) -> None:
        changed = replace(KNOWN, **change)
        assert control_document(changed, document()) == law_document(changed)

    def test_a_standing_peak_that_cannot_be_read_is_written_anew(self) -> None:
        broken: list[object] = [{"days": [{}]}, {"days": 7}, 7]
        for each in broken:
            assert control_document(KNOWN, {**document(), "peak": each}) == document()
