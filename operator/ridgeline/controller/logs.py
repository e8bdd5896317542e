"""Log records as one JSON object a line, with the serving that they are about."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

from ridgeline.controller.log_limit import OncePerMinute

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON: time, level, logger, message, and whatever came as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC)
        entry: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str, ensure_ascii=False)


class PlainFormatter(logging.Formatter):
    """Formats a record as a line of text, with whatever came as `extra` at its end."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line (and a traceback, where there is one)."""
        extra = " ".join(
            f"{key}={value}" for key, value in vars(record).items() if key not in _STANDARD
        )
        first, *rest = super().format(record).split("\n", 1)
        return "\n".join([f"{first}  {extra}".rstrip(), *rest])


def configure_logging(level: str, *, as_json: bool = True, stream: TextIO | None = None) -> None:
    """Send every record to the stream (standard error by default), as JSON or as plain text."""
    handler = logging.StreamHandler(stream or sys.stderr)
    plain = PlainFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if as_json else plain)
    handler.addFilter(OncePerMinute())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Kopf tells every event at debug, and its connections at info.
    logging.getLogger("kopf").setLevel(max(logging.WARNING, root.level))
