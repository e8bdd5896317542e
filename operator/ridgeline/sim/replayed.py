"""Pure: what a replay says, in stretches, and where two replays differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.policy.settings import PolicySettings
from ridgeline.sim.replay import Asked, replay, settings_of
from ridgeline.telemetry.record import RecordedDecision, RecordedTick, recorded_decision
from ridgeline.terms.reasons import Reason

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is said at one moment, apart from its words."""

    outcome: Outcome
    profile: str | None
    recommended: str | None
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Moments one after the other at which the same is said.

    Attributes:
        begins: Epoch seconds of the first moment.
        ends: Epoch seconds of the first moment after it; of the last one at the end.
        said: What is said.
        message: The words of its first moment.
        ticks: How many moments.
    """

    begins: float
    ends: float
    said: Said
    message: str
    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One serving's record, decided again in one way.

    Attributes:
        name: How it was decided, such as `as recorded` or a file.
        ticks: The moments.
        said: What is said at each; `None` where nothing was recorded.
        messages: The words at each.
        decisions: The whole decisions; empty for what was recorded.
        settings: What each moment was decided by; empty for what was recorded.
    """

    name: str
    ticks: tuple[RecordedTick, ...]
    said: tuple[Said | None, ...]
    messages: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()
    settings: tuple[PolicySettings, ...] = ()

    @property
    def borders(self) -> tuple[float | None, ...]:
        """The cut-off beside the active profile at each moment, in requests per engine."""
        pairs = zip(self.ticks, self.settings, strict=True)
        return tuple(_border(active_profile(tick), settings) for tick, settings in pairs)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """What is said, in stretches."""
        return tuple(_stretches(self.ticks, self.said, self.messages))

    @property
    def switches(self) -> tuple[Stretch, ...]:
        """Stretches in which a roll would have been begun.

        The world does not follow a replay: a roll that did not happen then is wanted again, moment
        by moment or after its dwell. Wishes for one profile with nothing but waiting between them
        are one.
        """
        found: list[Stretch] = []
        active: str | None = None
        for each in self.stretches:
            if each.said.outcome is Outcome.SWITCH:
                if found and active == each.said.profile:
                    continue
                found.append(each)
                active = each.said.profile
            elif each.said.outcome is Outcome.KEEP:
                active = None
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Moments one after the other at which two replays differ in the same way."""

    begins: float
    ends: float
    one: Said | None
    other: Said | None
    one_message: str
    other_message: str


def replayed(name: str, ticks: Sequence[RecordedTick], settings: Asked | None = None) -> Replay:
    """Decide a serving's ticks again.

    Args:
        name: How they are decided, for a person.
        ticks: The ticks of one serving, in their order.
        settings: What is asked, in place of what the record says.

    Raises:
        ValueError: The record has no settings and none are given.
    """
    asked = tuple(settings_of(each, settings) for each in ticks)
    by_place = iter(asked)
    decisions = replay(ticks, lambda _: next(by_place))
    return Replay(
        name=name,
        ticks=tuple(ticks),
        said=tuple(_said(recorded_decision(each)) for each in decisions),
        messages=tuple(each.message for each in decisions),
        decisions=tuple(decisions),
        settings=asked,
    )


def as_recorded(ticks: Sequence[RecordedTick]) -> Replay:
    """Return what the operator said when it was recorded."""
    return Replay(
        name="as recorded",
        ticks=tuple(ticks),
        said=tuple(None if each.decision is None else _said(each.decision) for each in ticks),
        messages=tuple("" if each.decision is None else each.decision.message for each in ticks),
    )


def differences(one: Replay, other: Replay) -> tuple[Difference, ...]:
    """Return where two replays of the same ticks differ; what was not recorded differs nowhere."""
    pairs = [
        None if a is None or b is None or a == b else (a, b)
        for a, b in zip(one.said, other.said, strict=True)
    ]
    found = []
    for pair, first, last in _runs(pairs):
        if pair is not None:
            found.append(
                Difference(
                    begins=one.ticks[first].at,
                    ends=one.ticks[min(last + 1, len(pairs) - 1)].at,
                    one=pair[0],
                    other=pair[1],
                    one_message=one.messages[first],
                    other_message=other.messages[first],
                )
            )
    return tuple(found)


def active_profile(tick: RecordedTick) -> str | None:
    """Return the profile that really ran."""
    target = tick.facts.target
    return None if isinstance(target, Problem) else target.active_profile


def _border(active: str | None, settings: PolicySettings) -> float | None:
    table = settings.cutoff
    if isinstance(table, Problem) or active is None:
        return None
    row = table.index_of(active)
    if row is None:
        return None
    above = table.rows[row].up_to
    return above if above is not None or row == 0 else table.rows[row - 1].up_to


def runs_of(
    ticks: Sequence[RecordedTick], words: Sequence[str | None]
) -> Iterator[tuple[str | None, float, float]]:
    """Yield each word about ticks with the begin and the end of the stretch that it holds for."""
    for word, first, last in _runs(words):
        yield word, ticks[first].at, ticks[min(last + 1, len(ticks) - 1)].at


def _said(decision: RecordedDecision) -> Said:
    return Said(
        outcome=decision.outcome,
        profile=decision.profile,
        recommended=decision.recommended,
        reason=decision.reason,
    )


def _stretches(
    ticks: Sequence[RecordedTick], said: Sequence[Said | None], messages: Sequence[str]
) -> Iterator[Stretch]:
    for each, first, last in _runs(said):
        if each is not None:
            yield Stretch(
                begins=ticks[first].at,
                ends=ticks[min(last + 1, len(ticks) - 1)].at,
                said=each,
                message=messages[first],
                ticks=last - first + 1,
            )


def _runs(values: Sequence[T]) -> Iterator[tuple[T, int, int]]:
    """Yield equal neighbours as one, with the places of the first and the last."""
    place = 0
    for value, group in groupby(values):
        count = len(list(group))
        yield value, place, place + count - 1
        place += count
