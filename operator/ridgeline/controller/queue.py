"""The queue of servings that want a roll: who goes first when fewer may roll than want to.

In this order:

1. whoever was overtaken `MOST_OVERTAKEN` times by servings that came later, longest wait first;
2. rolls away from full servers, then those that a person ordered, then voluntary ones; among each,
   the largest gain, then the longest wait.

A serving whose roll was tried and did not begin (the API server did not answer, its target had just
changed) stands behind everybody for `REST_SECONDS`, so that it does not keep the place from the
others.

Nobody is forgotten: whoever waits is begun after at most all those who came no later, and
`MOST_OVERTAKEN` who came later.

Wishes come one serving at a time, in passes. One that was not renewed for two ticks is forgotten:
whatever became of that serving, it must not keep the others waiting.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.cluster.store import Key
from ridgeline.policy.gain import Urgency, Worth
from ridgeline.policy.wording import duration, names, number

MOST_OVERTAKEN: Final = 10
"""So many servings that came later may go first: the gain of a few rolls, and a wait that ends."""

REST_SECONDS: Final = 60.0
"""After a roll that could not begin, others go first for this time: some ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Rolls that may be under way at a time.

    Attributes:
        in_all: Over all servings.
        per_pool: Of these, on one type of GPU.
    """

    in_all: int
    per_pool: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A serving that wants to roll.

    Attributes:
        key: The serving.
        pool: Type of GPU that its roll wants spare ones of; `None` while it is not known.
        worth: What the roll is worth.
        since: Epoch seconds since when it wants to.
        seen_at: Epoch seconds when it was last seen to.
        overtaken: How many servings that came later went first.
        rests_until: Epoch seconds until which others go first.
        has_room: Whether there is a free GPU for it; without one it keeps nobody waiting.
    """

    key: Key
    pool: str | None
    worth: Worth
    since: float
    seen_at: float
    overtaken: int = 0
    rests_until: float = 0.0
    has_room: bool = True


Rank = tuple[bool, bool, float, int, float, float, Key]


class RollQueue:
    """Remembers who wanted to roll within the last two ticks."""

    def __init__(self, limits: Limits, tick_seconds: float) -> None:
        self._limits = limits
        self._remember_seconds = 2.0 * tick_seconds
        self._claims: dict[Key, Claim] = {}

    def want(
        self, key: Key, pool: str | None, worth: Worth, now: float, *, has_room: bool = True
    ) -> None:
        """Take note of a wish, or renew it."""
        self._forget_old(now)
        before = self._claims.get(key)
        fresh = Claim(key=key, pool=pool, worth=worth, since=now, seen_at=now, has_room=has_room)
        if before is not None:
            fresh = replace(
                fresh,
                # After a clock that ran ahead nobody waits from the future.
                since=min(before.since, now),
                overtaken=before.overtaken,
                rests_until=min(before.rests_until, now + REST_SECONDS),
            )
        self._claims[key] = fresh

    def drop(self, key: Key) -> None:
        """Forget a serving that wants no roll."""
        self._claims.pop(key, None)

    def began(self, key: Key) -> None:
        """Take note that a serving's roll has begun: it left behind those who waited longer."""
        claim = self._claims.pop(key, None)
        if claim is None:
            return
        for other, each in self._claims.items():
            if each.since < claim.since:
                self._claims[other] = replace(each, overtaken=each.overtaken + 1)

    def stumbled(self, key: Key, now: float) -> None:
        """Take note that a serving's roll was tried and did not begin."""
        claim = self._claims.get(key)
        if claim is not None:
            self._claims[key] = replace(claim, rests_until=now + REST_SECONDS)

    def in_line(self, now: float) -> tuple[Claim, ...]:
        """Return who wants to roll, the first in line first."""
        self._forget_old(now)
        return tuple(sorted(self._claims.values(), key=lambda each: _rank(each, now)))

    def refusal(
        self, key: Key, pool: str | None, rolling: Mapping[Key, str | None], now: float
    ) -> str | None:
        """Return why a serving's roll must wait for others, `None` when it may begin.

        Args:
            key: The serving.
            pool: Type of GPU that its roll wants spare ones of.
            rolling: The servings that roll already, with their types of GPU.
            now: Epoch seconds.
        """
        others = {other: each for other, each in rolling.items() if other != key}
        places = _Places(self._limits, list(others.values()))
        full = places.full_for(pool)
        if full is not None:
            who = names(tuple(self._why(each, now) for each in sorted(others)))
            behind = self._next_of(key, pool, others, now)
            return f"as many rolls are under way as {full}: {who}{behind}"
        ahead: Claim | None = None
        for claim in self.in_line(now):
            if claim.key == key:
                break
            may = claim.has_room and claim.key not in rolling
            if may and places.full_for(claim.pool) is None:
                places.take(claim.pool)
                ahead = claim
        full = places.full_for(pool)
        if full is None or ahead is None:
            return None
        return f"no more rolls may begin than {full}; first goes {_told(ahead, now)}"

    def _why(self, key: Key, now: float) -> str:
        """Return who rolls, and what put it first where that is still known."""
        claim = self._claims.get(key)
        return "/".join(key) if claim is None else _told(claim, now)

    def _next_of(
        self, key: Key, pool: str | None, rolling: Mapping[Key, str | None], now: float
    ) -> str:
        """Return who goes next, as the end of a sentence; nothing when it is this one."""
        line = [
            each
            for each in self.in_line(now)
            if each.key not in rolling and (pool is None or each.pool in (None, pool))
        ]
        place = next((index for index, each in enumerate(line) if each.key == key), len(line))
        if place == 0:
            return ""
        return f"; next goes {_told(line[0], now)}, and {place} in all before this one"

    def _forget_old(self, now: float) -> None:
        self._claims = {
            key: each
            for key, each in self._claims.items()
            if abs(now - each.seen_at) <= self._remember_seconds
        }


class _Places:
    """Places for rolls, and who takes them."""

    def __init__(self, limits: Limits, taken: list[str | None]) -> None:
        self._limits = limits
        self._taken = taken

    def take(self, pool: str | None) -> None:
        self._taken.append(pool)

    def full_for(self, pool: str | None) -> str | None:
        """Return which limit leaves no place, `None` while there is one."""
        if len(self._taken) >= self._limits.in_all:
            return f"maxConcurrentRolls allows ({self._limits.in_all})"
        limit = self._limits.per_pool
        if pool is not None and self._taken.count(pool) >= limit:
            return f"maxConcurrentRollsPerPool allows ({limit}) on {pool}"
        return None


def _rank(claim: Claim, now: float) -> Rank:
    overdue = claim.overtaken >= MOST_OVERTAKEN
    return (
        now < claim.rests_until,
        not overdue,
        claim.since if overdue else 0.0,
        claim.worth.urgency,
        -claim.worth.gain,
        claim.since,
        claim.key,
    )


def _told(claim: Claim, now: float) -> str:
    """Return who it is and what puts it first."""
    name, worth = "/".join(claim.key), claim.worth
    if claim.overtaken >= MOST_OVERTAKEN:
        waited = duration(max(0.0, now - claim.since))
        return f"{name} (it was passed over {claim.overtaken} times in {waited})"
    if worth.urgency is Urgency.FULL:
        return f"{name} (its servers are full)"
    if worth.urgency is Urgency.ORDERED:
        return f"{name} (it was ordered)"
    if worth.gain > 0.0:
        return f"{name} (it gains {number(worth.gain)} request-seconds per second)"
    if worth.gain < 0.0:
        return f"{name} (it goes ahead of its load by the least)"
    return f"{name} (it has waited {duration(max(0.0, now - claim.since))})"
