"""An independent observer: it reads what the API server wrote down, and nothing of the operators.

Nothing in here, nor what it imports, is code of the operator. It knows the operators by their
accounts, the Lease by its name, rolls by what became of the Deployments, and how many may be under
way from the one who set that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.leaders.allowed import DEPLOYMENTS, EVENTS, LEASES, SERVING_STATUS, beyond, unfenced
from tests.leaders.audit import Entry, version_of
from tests.leaders.blindness import Blindness
from tests.leaders.leases import Holders
from tests.leaders.order import StoreOrder
from tests.leaders.rolls import Rolls
from tests.leaders.rules import Kind, Report, Rules, Violation, broken

_CONFLICT = 409
_FOLLOWED = frozenset(
    {DEPLOYMENTS, f"{DEPLOYMENTS}/status", SERVING_STATUS, SERVING_STATUS.removesuffix("/status")}
)


class Observer:
    """Judges the entries of an audit log, while it is written.

    Attributes:
        report: What was seen so far.
        blindness: When nothing could be seen; told from outside, before the entries of that time.
    """

    def __init__(self, rules: Rules, blindness: Blindness | None = None) -> None:
        self.report = Report()
        self.blindness = blindness or Blindness()
        self._rules = rules
        self._order = StoreOrder()
        self._holders = Holders(rules)
        self._rolls = Rolls(rules, self.blindness)
        self._newest: dict[tuple[str, str, str], int] = {}

    def see(self, entries: Iterable[Entry]) -> list[Violation]:
        """Take entries in; return what they turn out to break."""
        return self._judged(self._order.add(entries))

    def finish(self) -> list[Violation]:
        """Judge what waited for others to come before it."""
        return self._judged(self._order.rest())

    def _judged(self, entries: Iterable[Entry]) -> list[Violation]:
        found = [violation for entry in entries for violation in self._look(entry)]
        self.report.violations += found
        self.report.rolls, self.report.takeovers = self._rolls.begun, self._holders.takeovers
        self.report.late_events = self._holders.late_events
        self.report.late_writes = self._holders.late_writes
        return found

    def _look(self, entry: Entry) -> Iterator[Violation]:
        self.report.entries += 1
        if self._rules.ours(entry):
            self._count(entry)
            yield from (broken(Kind.FOREIGN, entry, told) for told in beyond(entry, self._rules))
            yield from (broken(Kind.UNFENCED, entry, told) for told in unfenced(entry))
        yield from self._holders.see(entry)
        if entry.resource in _FOLLOWED and entry.stored:
            yield from self._versions(entry)
        yield from self._rolls.see(entry)

    def _versions(self, entry: Entry) -> Iterator[Violation]:
        """Judge whether a write landed on the version that its writer had read."""
        key = (entry.resource.removesuffix("/status"), *entry.key)
        newest, version = self._newest.get(key), entry.version
        if version is None:
            return
        self._newest[key] = max(version, newest or 0)
        read = version_of(entry.body)
        if not self._rules.ours(entry) or newest is None or read is None:
            return
        if version <= newest and entry.resource == DEPLOYMENTS:
            yield broken(Kind.TWICE, entry, "it changed nothing")
        elif read < newest < version:
            yield broken(Kind.STALE, entry, f"read at {read}, stored over {newest}")

    def _count(self, entry: Entry) -> None:
        if entry.resource == LEASES:
            return
        if entry.stored:
            counts = self.report.writes
            name = {DEPLOYMENTS: "profile", SERVING_STATUS: "status", EVENTS: "event"}.get(
                entry.resource, entry.resource
            )
            counts[name] = counts.get(name, 0) + 1
        elif entry.code == _CONFLICT:
            self.report.refused += 1
