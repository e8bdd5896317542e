"""Writes down every pass, beside the loop: it never waits, and never fails because of it.

    pass ─▶ bounded queue ─▶ one thread: encode, compress, write

A pass hands over values that nobody changes any more, so it costs one append. When the thread falls
behind, ticks are dropped and counted; when the disk fails, recording ends with one log line and
`ridgeline_recording` goes to 0. The operator goes on in both cases.
"""

import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from ridgeline import __version__
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision
from ridgeline.policy.facts import Problem
from ridgeline.settings.config import OperatorConfig
from ridgeline.telemetry.record import (
    OPERATOR,
    RecordedTick,
    RecordHeader,
    recorded_decision,
    recorded_endpoints,
)
from ridgeline.telemetry.record_scrub import scrubbed
from ridgeline.telemetry.record_write import RecordFolder

log = logging.getLogger(__name__)

MIB: Final = 1024 * 1024

QUEUE_TICKS: Final = 4096
"""Ticks that wait for the thread: four ticks of a thousand servings."""


class PassSink(Protocol):
    """Is told of every pass that came to a decision."""

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        """Take note of a pass; never waits, never raises.

        Args:
            view: What was known; its settings are those that `decide` was given.
            decided: What `decide` answered.
            told: What the operator made of it.
        """


class Recorder:
    """Records passes into a folder, from `start` until `stop`."""

    def __init__(
        self,
        directory: Path,
        header: RecordHeader,
        metrics: OperatorMetrics,
        *,
        max_bytes: int,
        queue_ticks: int = QUEUE_TICKS,
    ) -> None:
        self.header: Final = header
        self._directory = directory
        self._folder = RecordFolder(directory, header, max_bytes=max_bytes)
        self._metrics = metrics
        self._waiting: queue.Queue[RecordedTick | None] = queue.Queue(queue_ticks)
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._on = False

    def start(self) -> None:
        """Begin to record."""
        self._on = True
        self._metrics.recording.set(1)
        log.info("recording", extra={"directory": str(self._directory)})
        self._thread.start()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Write what waits, as far as the time allows."""
        if self._on:
            self._on = False
            try:
                self._waiting.put(None, timeout=timeout_seconds)
            except queue.Full:
                log.warning("the last ticks are not recorded: the disk is too slow")
        self._thread.join(timeout_seconds)

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        """Take note of a pass."""
        if not self._on:
            return
        overruled = None if told is decided else Problem(reason=told.reason, message=told.message)
        tick = RecordedTick(
            at=view.now,
            namespace=view.serving.namespace,
            serving=view.serving.name,
            facts=view.facts,
            settings=view.settings,
            memory=view.memory,
            decision=recorded_decision(decided),
            overruled=overruled,
        )
        try:
            self._waiting.put_nowait(tick)
        except queue.Full:
            self._metrics.record_dropped.inc()

    def _work(self) -> None:
        while (tick := self._waiting.get()) is not None:
            if not self._tried(partial(self._add, tick)):
                return
        self._tried(self._folder.close)

    def _add(self, tick: RecordedTick) -> None:
        self._folder.add(scrubbed(tick))

    def _tried(self, write: Callable[[], None]) -> bool:
        """Write; return whether recording goes on."""
        try:
            write()
        except OSError as error:
            self._give_up(error)
            return False
        except (ValueError, TypeError) as error:
            # A text that is no UTF-8, a field that nobody foresaw: this tick is lost, no other.
            self._metrics.record_dropped.inc()
            log.debug("a tick cannot be recorded: %s", error)
        return True

    def _give_up(self, error: OSError) -> None:
        self._on = False
        self._metrics.recording.set(0)
        self._folder.abandon()
        log.error(
            "recording ended: %s; free space in record.directory or lower record.maxMiB, then "
            "restart the operator",
            error.strerror or error,
            extra={"directory": str(self._directory)},
        )


def recorder_of(config: OperatorConfig, metrics: OperatorMetrics) -> Recorder | None:
    """Return the recorder that the configuration asks for, `None` when it asks for none."""
    directory = config.record.directory
    if directory is None:
        return None
    header = RecordHeader(
        ridgeline=__version__,
        source=OPERATOR,
        window_seconds=config.rate_window_seconds,
        endpoints=recorded_endpoints({each.name: each.endpoint() for each in config.telemetry}),
    )
    return Recorder(directory, header, metrics, max_bytes=config.record.max_mib * MIB)
