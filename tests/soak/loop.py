"""An event loop whose time jumps: who sleeps is woken as soon as nobody has anything else to do."""

import asyncio
import logging
import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _JumpingSelector(selectors.SelectSelector):
    """Waits for nobody; the time that it would have waited is over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0.0)
        if not ready and timeout:
            self.now += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual time."""
        return self._jumping.now


class _Errors(logging.Handler):
    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        # That a reader fails is played; what the log says of it is right.
        if not record.getMessage().startswith("reading a telemetry endpoint failed"):
            told = self.format(record)
            self._report(f"the operator logs an error of its own: {told[-1500:]}")


@contextmanager
def errors_told_to(report: Callable[[str], None]) -> Iterator[None]:
    """Tell of every error that the operator logs, in place of writing it."""
    log, handler = logging.getLogger("ridgeline"), _Errors(report)
    before = log.propagate, log.level
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before[0]
