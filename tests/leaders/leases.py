"""Who held the Lease when."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tests.leaders.allowed import EVENTS, LEASES
from tests.leaders.audit import Entry
from tests.leaders.rules import Kind, Rules, Violation, broken

_KEPT = 200
_AT_ONCE_S = 1.0
"""What one process sends within this time counts as sent at once."""


@dataclass(frozen=True, kw_only=True)
class _Held:
    """One version of the Lease.

    Attributes:
        since: Epoch seconds at which it was stored, at the latest.
        account: Who holds it; None: nobody.
        until: Epoch seconds at which it runs out.
    """

    since: float
    account: str | None
    until: float


class Holders:
    """Follows the Lease; entries must come in the order of the store.

    An Event decides nothing: it tells what its sender has written before, and is as true when it
    comes late. Such ones are counted. So is a write of a process that was stopped on its way to
    send it: no process can know of that. Its mark is that it had sent nothing since its Lease ran
    out, and it is a broken rule all the same where another had taken the Lease.

    Attributes:
        takeovers: How often another than before came to hold the Lease.
        late_events: Events of one who did not hold the Lease any more.
        late_writes: Other writes by one whose Lease had run out while it was stopped, and whom
            nobody had followed.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._accounts: dict[str, str] = {}
        self._past: deque[_Held] = deque(maxlen=_KEPT)
        self._heard: dict[str, deque[float]] = {}
        self._last_holder: str | None = None
        self.takeovers = 0
        self.late_events = 0
        self.late_writes = 0

    def see(self, entry: Entry) -> Iterator[Violation]:
        """Follow a write of the Lease, or judge another write of the operators."""
        if entry.resource == LEASES:
            if entry.key == self._rules.lease and entry.stored:
                self._follow(entry)
        elif self._rules.ours(entry) and entry.code < 300:
            found = tuple(self._judge(entry))
            if entry.resource != EVENTS:
                yield from found
            else:
                self.late_events += bool(found)
        if self._rules.ours(entry):
            self._heard.setdefault(entry.user, deque(maxlen=_KEPT)).append(entry.at)

    def _follow(self, entry: Entry) -> None:
        spec = entry.answer.get("spec") or {}
        holder = "" if entry.verb == "delete" else str(spec.get("holderIdentity") or "")
        if holder and self._rules.ours(entry):
            self._accounts.setdefault(holder, entry.user)
        if holder and holder != self._last_holder:
            self.takeovers += self._last_holder is not None
            self._last_holder = holder
        lasts = float(spec.get("leaseDurationSeconds") or 0)
        account = self._accounts.get(holder, holder) if holder else None
        # Whoever waits for its end counts from when it saw the renewal, and trusts nobody's clock.
        self._past.append(_Held(since=entry.done, account=account, until=entry.at + lasts))

    def _judge(self, entry: Entry) -> Iterator[Violation]:
        held = self._at(entry)
        if held is None:
            return  # the log begins after the Lease was taken
        if held.account != entry.user:
            yield broken(Kind.NOT_HOLDER, entry, f"{held.account or 'nobody'} held it")
        elif entry.at > held.until and entry.resource != EVENTS and self._was_stopped(entry, held):
            self.late_writes += 1
        elif entry.at > held.until:
            late = entry.at - held.until
            yield broken(Kind.EXPIRED, entry, f"it had run out {late:.3f} s before")

    def _was_stopped(self, entry: Entry, held: _Held) -> bool:
        """Whether its sender had sent nothing from the Lease's end until just before it."""
        heard = self._heard.get(entry.user, ())
        return not any(held.until < each < entry.at - _AT_ONCE_S for each in heard)

    def _at(self, entry: Entry) -> _Held | None:
        """The Lease as it was when a write was stored; when it was asked for, where none was."""
        if entry.version is not None:
            return self._past[-1] if self._past else None
        before = [each for each in self._past if each.since <= entry.at]
        return before[-1] if before else None
