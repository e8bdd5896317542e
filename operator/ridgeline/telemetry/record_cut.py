"""Cuts the few ticks out of a record that a bug report or a regression test needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ridgeline.telemetry.record import RecordedTick, RecordError
from ridgeline.telemetry.record_read import OnDamage, read_header, read_record
from ridgeline.telemetry.record_write import write_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Which ticks are wanted; everything where nothing is said.

    Attributes:
        serving: Namespace and name of the serving.
        since: Epoch seconds of the first tick.
        until: Epoch seconds after the last tick.
    """

    serving: tuple[str, str] | None = None
    since: float | None = None
    until: float | None = None

    def takes(self, tick: RecordedTick) -> bool:
        """Whether a tick is wanted."""
        return (
            (self.serving is None or self.serving == (tick.namespace, tick.serving))
            and (self.since is None or tick.at >= self.since)
            and (self.until is None or tick.at < self.until)
        )


def cut_record(source: Path, out: Path, cut: Cut, *, on_damage: OnDamage | None = None) -> int:
    """Write the wanted ticks of a file or folder into a new file; return how many.

    Raises:
        RecordError: The source cannot be read, nothing is wanted of it, or `out` cannot be written.
    """
    seen: set[tuple[str, str]] = set()

    def wanted() -> Iterator[RecordedTick]:
        found = False
        for tick in read_record(source, on_damage=on_damage):
            seen.add((tick.namespace, tick.serving))
            if cut.takes(tick):
                found = True
                yield tick
        if not found:
            names = ", ".join("/".join(each) for each in sorted(seen)[:10]) or "no serving at all"
            raise RecordError(f"{source} holds no such tick; it tells of {names}")

    return write_record(out, read_header(source), wanted())
