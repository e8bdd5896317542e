"""A replay on a terminal, and as one JSON object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ridgeline.policy.decision import Outcome
from ridgeline.render.serving import lines_table
from ridgeline.sim.replayed import Difference, Replay, Said, Stretch, differences

VERSION: Final = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""

MOST_ROWS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """One serving's record, decided in one way or two.

    Attributes:
        serving: Namespace and name.
        recorded: What the operator said then.
        one: How it was decided again.
        other: How it was decided in the other way; `None` without one.
        cautions: What a reader must know.
    """

    serving: str
    recorded: Replay
    one: Replay
    other: Replay | None = None
    cautions: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[Replay, Replay]:
        """The two that are held against each other."""
        return (self.recorded, self.one) if self.other is None else (self.one, self.other)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where those two differ."""
        return differences(*self.compared)


def moment(at: float) -> str:
    """Return a time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def words(replays: Replays) -> tuple[str, ...]:
    """Return what a replay comes to, in plain words."""
    ticks = replays.one.ticks
    told = [_switching(each) for each in (replays.one, replays.other) if each is not None]
    one, other = replays.compared
    known = [a for a, b in zip(one.said, other.said, strict=True) if a is not None and b]
    found = replays.differences
    if not known:
        told.append("The record tells of no decisions to hold this against.")
    elif not found:
        told.append(f"{one.name} and {other.name} say the same at every moment.")
    else:
        apart = sum(
            a is not None and b is not None and a != b
            for a, b in zip(one.said, other.said, strict=True)
        )
        told.append(
            f"{one.name} and {other.name} differ at {apart} of {len(known)} moments, first at "
            f"{moment(found[0].begins)}: {_said(found[0].one)} against {_said(found[0].other)}."
        )
    told.append(
        f"Looked at: {len(ticks)} moments of {replays.serving} over "
        f"{_lasting(ticks[-1].at - ticks[0].at)}, from {moment(ticks[0].at)}."
    )
    return tuple(told)


def _lasting(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.3g} minutes"
    return f"{seconds / 3600:.3g} hours" if seconds < 172_800 else f"{seconds / 86_400:.3g} days"


def _switching(replay: Replay) -> str:
    switches = replay.switches
    if not switches:
        return f"{replay.name}: no roll would have been begun."
    first = switches[0]
    times = "one roll" if len(switches) == 1 else f"{len(switches)} rolls"
    return (
        f"{replay.name}: {times} would have been begun, the first to {first.said.profile} at "
        f"{moment(first.begins)} ({first.said.reason.value}): {first.message}."
    )


def replay_page(replays: Replays) -> RenderableType:
    """Return the whole page."""
    parts: list[RenderableType] = [*(Text(each) for each in words(replays)), Text()]
    for each in (replays.one, replays.other):
        if each is not None:
            parts += [_decisions(each), Text()]
    found = replays.differences
    if found:
        one, other = replays.compared
        parts += [
            lines_table(
                f"Where {one.name} and {other.name} differ",
                ("from", "to", one.name, other.name, "in words"),
                list(_limited(difference_rows(found))),
            ),
            Text(),
        ]
    parts += [Text(f"note: {each}", style="dim") for each in replays.cautions]
    return Group(*parts)


def _decisions(replay: Replay) -> RenderableType:
    return lines_table(
        f"What {replay.name} decides",
        ("from", "moments", "does", "profile", "why", "in words"),
        list(_limited(decision_rows(replay))),
    )


def decision_rows(replay: Replay) -> list[tuple[str, ...]]:
    """Return a row for each stretch: from, moments, outcome, profile, reason, words."""
    return [
        (
            moment(each.begins),
            str(each.ticks),
            each.said.outcome.value,
            _profile(each.said),
            each.said.reason.value,
            each.message,
        )
        for each in replay.stretches
    ]


def difference_rows(found: Sequence[Difference]) -> list[tuple[str, ...]]:
    """Return a row for each difference: from, to, one, other, the other's words."""
    return [
        (
            moment(each.begins),
            moment(each.ends),
            _said(each.one),
            _said(each.other),
            each.other_message or each.one_message,
        )
        for each in found
    ]


def _limited(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    yield from rows[:MOST_ROWS]
    if len(rows) > MOST_ROWS:
        blank = ("",) * (len(rows[0]) - 1)
        yield (f"… {len(rows) - MOST_ROWS} more: -o json has all", *blank)


def _profile(said: Said) -> str:
    if said.recommended not in (None, said.profile):
        return f"{said.profile or 'unknown'}, {said.recommended} wanted"
    return said.profile or "unknown"


def _said(said: Said | None) -> str:
    if said is None:
        return "nothing recorded"
    verb = "switch to" if said.outcome is Outcome.SWITCH else said.outcome.value
    return f"{verb} {_profile(said)} ({said.reason.value})"


def replay_document(replays: Replays) -> dict[str, Any]:
    """Return everything that the page shows. `null` stands for what is not known."""
    ticks = replays.one.ticks
    ways = [each for each in (replays.one, replays.other) if each is not None]
    one, other = replays.compared
    return {
        "version": VERSION,
        "serving": replays.serving,
        "moments": len(ticks),
        "from": ticks[0].at,
        "to": ticks[-1].at,
        "ways": [
            {
                "name": each.name,
                "rolls": [_stretch(one) for one in each.switches],
                "decisions": [_stretch(one) for one in each.stretches],
            }
            for each in ways
        ],
        "compared": [one.name, other.name],
        "differences": [
            {
                "from": each.begins,
                "to": each.ends,
                "one": _document(each.one),
                "other": _document(each.other),
                "oneMessage": each.one_message,
                "otherMessage": each.other_message,
            }
            for each in replays.differences
        ],
        "summary": list(words(replays)),
        "cautions": list(replays.cautions),
    }


def _stretch(stretch: Stretch) -> dict[str, Any]:
    return {
        "from": stretch.begins,
        "to": stretch.ends,
        "moments": stretch.ticks,
        **(_document(stretch.said) or {}),
        "message": stretch.message,
    }


def _document(said: Said | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {
        "outcome": said.outcome.value,
        "profile": said.profile,
        "recommended": said.recommended,
        "reason": said.reason.value,
    }
