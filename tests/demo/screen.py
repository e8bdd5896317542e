"""Shows frames: a live table on a terminal, one line at every change elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tests.demo.frame import Frame, Replica
from tests.demo.scenario import Outcome

_LINE_EVERY_S = 5.0


class Screen:
    """Shows what happens until its block ends."""

    def __init__(self, stream: TextIO | None = None, *, plain: bool = False) -> None:
        self._console = Console(file=stream or sys.stdout, highlight=False)
        self._live = None if plain or not self._console.is_terminal else Live(console=self._console)
        self._last: tuple[object, ...] = ()
        self._last_at = -_LINE_EVERY_S

    def __enter__(self) -> Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, frame: Frame) -> None:
        """Show one look."""
        if self._live is not None:
            self._live.update(_page(frame))
            return
        key = (frame.phase, frame.users, frame.active, frame.rollout, frame.reason)
        if key == self._last and frame.elapsed_s - self._last_at < _LINE_EVERY_S:
            return
        self._last, self._last_at = key, frame.elapsed_s
        self._console.print(_line(frame), markup=False, soft_wrap=True)


def summary(outcome: Outcome, look_further: tuple[str, ...], console: Console) -> None:
    """Print how it ended."""
    console.print()
    if outcome.failure:
        console.print(f"[red]The demo failed:[/red] {outcome.failure}")
    rolls = " → ".join(("none", *outcome.rolls))
    console.print(f"Rolls: {rolls}")
    for gain in outcome.gains:
        console.print(
            f"  {gain.users:>3} users: {gain.before:6.0f} tokens/s with {gain.from_profile}, "
            f"{gain.after:6.0f} with {gain.to_profile} ({gain.percent:+.0f} %)"
        )
    for line in look_further:
        console.print(line, markup=False, soft_wrap=True)


def _page(frame: Frame) -> RenderableType:
    head = Table.grid(padding=(0, 3))
    head.add_row(
        _pair("phase", frame.phase),
        _pair("users", str(frame.users)),
        _pair("cut-off", frame.cutoff),
    )
    head.add_row(
        _pair("profile", f"{frame.active or '?'} (wants {frame.desired or '?'})"),
        _pair("TPOT", _number(frame.tpot_ms, " ms")),
        _pair("tokens/s", _number(frame.tokens_per_s)),
    )
    head.add_row(
        _pair("decision", frame.reason),
        _pair("concurrency per replica", _number(frame.concurrency, digits=1)),
        _pair("rollout", frame.rollout or "none"),
    )
    pods = Table(box=None, pad_edge=False)
    for column in ("Pod", "profile", "ready", "concurrency", "TPOT"):
        pods.add_column(column)
    for each in frame.replicas:
        pods.add_row(*_replica(each))
    title = f"ridgeline demo, {frame.elapsed_s:.0f} s"
    return Panel(Group(head, Text(frame.message, style="italic"), pods), title=title)


def _replica(replica: Replica) -> tuple[str | Text, ...]:
    busy = int(min(replica.concurrency or 0.0, 60.0) / 2)
    return (
        replica.name,
        replica.profile or "-",
        Text("yes", style="green") if replica.ready else Text("no", style="yellow"),
        f"{_number(replica.concurrency, digits=1):>5} {'█' * busy}",
        _number(replica.tpot_ms, " ms"),
    )


def _line(frame: Frame) -> str:
    each = " ".join(_number(replica.concurrency, digits=0) for replica in frame.replicas)
    return (
        f"{frame.elapsed_s:5.0f} s  {frame.users:>3} users  profile {frame.active or '?':<6}"
        f" concurrency/replica {_number(frame.concurrency, digits=1):>5} [{each}]"
        f"  TPOT {_number(frame.tpot_ms):>4} ms  {_number(frame.tokens_per_s):>5} tok/s"
        f"  cut-off {frame.cutoff}  {frame.reason}"
        + (f"  roll: {frame.rollout}" if frame.rollout else "")
    )


def _pair(label: str, value: str) -> Text:
    return Text.assemble((f"{label}: ", "bold"), value)


def _number(value: float | None, unit: str = "", *, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}{unit}"
