"""The same message about the same thing is logged once a minute; what was left out is counted."""

import logging
import re
from typing import Final

EVERY_SECONDS: Final = 60.0

REMEMBERED: Final = 4096
"""Messages that are remembered; when there are more, those of the last minute are kept, and when
these alone are more, none."""

_NUMBER: Final = re.compile(r"\d+")
_ABOUT: Final = ("namespace", "serving", "endpoint")

Said = tuple[object, ...]


class OncePerMinute(logging.Filter):
    """Lets a message pass once a minute, the serving and endpoint that it is about considered.

    Messages are the same when nothing but numbers differs. The next one that passes says how many
    were left out, as `left_out`. What is logged at debug passes always: who asks for it wants all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[Said, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is to be logged."""
        if record.levelno <= logging.DEBUG:
            return True
        text = _NUMBER.sub("#", record.getMessage())
        said = (record.name, record.levelno, text, *(getattr(record, each, "") for each in _ABOUT))
        at, left_out = self._last.get(said, (None, 0))
        # A clock that was set back starts a new minute.
        if at is not None and 0 <= record.created - at < EVERY_SECONDS:
            self._last[said] = (at, left_out + 1)
            return False
        if left_out:
            record.left_out = left_out
        self._remember(said, record.created)
        return True

    def _remember(self, said: Said, now: float) -> None:
        if len(self._last) >= REMEMBERED:
            fresh = {
                key: value for key, value in self._last.items() if now - value[0] < EVERY_SECONDS
            }
            self._last = fresh if len(fresh) < REMEMBERED else {}
        self._last[said] = (now, 0)
