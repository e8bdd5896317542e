"""A Prometheus that is away, slow, or tells what is not so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.faults.day.numbers import TRUTH, Lie, Series
from tests.faults.day.play import Fault
from tests.faults.day.room import Room

LIE_S: Final = 20.0
EACH_S: Final = 4.0

Spoil = Callable[[str, list[Series]], list[Series]]


def lied(*lies: Lie) -> Callable[[Room], list[str]]:
    """Tell one lie after the other, for as long as a decision would need and more."""

    def strike(room: Room) -> list[str]:
        room.numbers.tell(lies[0])
        room.turn()
        try:
            for each in lies:
                room.numbers.tell(each)
                room.rest(LIE_S)
        finally:
            room.numbers.tell(TRUTH)
        reasons = sorted({each.decision for each in room.look().values() if each.decision})
        room.notes.append(f"told: {', '.join(f'`{each}`' for each in reasons)}")
        return []

    return strike


def _all_told(text: str) -> Spoil:
    return lambda name, series: [(labels, text) for labels, _ in series]


def _twice(_: str, series: list[Series]) -> list[Series]:
    """Two series of one engine that contradict each other."""
    return [*series, *((labels, repr(float(text) * 10.0)) for labels, text in series)]


def _every_other_pod(_: str, series: list[Series]) -> list[Series]:
    pods = sorted({labels["pod"] for labels, _ in series})
    kept = set(pods[::2])
    return [each for each in series if each[0]["pod"] in kept]


def _of_others(_: str, series: list[Series]) -> list[Series]:
    """Series of Pods of the same Deployments that are long gone, and none of those that live."""
    return [({**labels, "pod": f"{labels['pod']}-gone"}, text) for labels, text in series]


def _in_turn(room: Room) -> list[str]:
    lies = (
        Lie(spoil=lambda _, series: []),
        Lie(spoil=_all_told("NaN")),
        Lie(spoil=_twice),
        Lie(spoil=_every_other_pod),
        Lie(spoil=_of_others),
        Lie(clock_ahead_s=300.0),
    )
    room.numbers.tell(lies[0])
    room.turn()
    for each in lies:
        room.numbers.tell(each)
        room.rest(EACH_S)
    room.numbers.tell(TRUTH)
    return []


_HOLDS: Final = "nothing is begun on what is not known"

TELEMETRY_FAULTS: Final = (
    Fault(
        name="Prometheus down",
        given="connections end without an answer",
        promise=_HOLDS,
        strike=lied(Lie(down=True)),
        blind=True,
    ),
    Fault(
        name="Prometheus slow",
        given="every answer takes 30 s",
        promise="nothing is begun on what is not known; the Kubernetes side goes on",
        strike=lied(Lie(delay_s=30.0)),
        blind=True,
    ),
    Fault(
        name="Prometheus tells NaN, then infinity",
        given="every number is NaN for 20 s, then +Inf",
        promise=_HOLDS,
        strike=lied(Lie(spoil=_all_told("NaN")), Lie(spoil=_all_told("+Inf"))),
        blind=True,
    ),
    Fault(
        name="Prometheus tells each series twice",
        given="two series for each engine, one ten times the other",
        promise="which of them is true is not guessed",
        strike=lied(Lie(spoil=_twice)),
        blind=True,
    ),
    Fault(
        name="Prometheus tells a part",
        given="the series of every second Pod are missing",
        promise="nothing is switched on from a part",
        strike=lied(Lie(spoil=_every_other_pod)),
        blind=True,
    ),
    Fault(
        name="Prometheus tells of other Pods",
        given="only series of Pods that are gone",
        promise="they count for nothing",
        strike=lied(Lie(spoil=_of_others)),
        blind=True,
    ),
    Fault(
        name="Prometheus shifted in time",
        given="its clock is 5 min ahead, then 5 min behind; then its samples are 5 min old",
        promise=_HOLDS,
        strike=lied(Lie(clock_ahead_s=300.0), Lie(clock_ahead_s=-300.0), Lie(samples_old_s=300.0)),
        blind=True,
    ),
    Fault(
        name="Prometheus lies in every way in turn",
        given=f"nothing, NaN, each series twice, a part, other Pods, another time: {EACH_S:.0f} s "
        "each",
        promise=_HOLDS,
        strike=_in_turn,
        blind=True,
        quick=True,
    ),
)
