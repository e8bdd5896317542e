"""Numbers out of a `config.json`, with note of what is not there."""

from collections.abc import Mapping
from typing import Final

_MOST: Final = 10_000_000
"""No size of a model is larger; a number beyond it is a slip of the pen."""


class Reader:
    """Reads one configuration and notes the keys that were needed and not usable."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self._config = config
        self.missing: list[str] = []
        self.kind = str(config.get("model_type") or "").casefold()

    def given(self, key: str) -> bool:
        """Whether the key says something: it is there, and neither null, false, 0 nor empty."""
        return bool(self._config.get(key))

    def may(self, *keys: str) -> int | None:
        """Return the first of these keys that is given; `None` when none is.

        A value that is not a whole number up to ten million is noted as missing.
        """
        for key in keys:
            value = self._config.get(key)
            if value is None or value == 0:
                continue
            if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST:
                return value
            self.missing.append(f"{key} (it is {str(value)[:40]!r})")
            return 1
        return None

    def need(self, *keys: str) -> int:
        """Return the first of these keys that is given; 1 and a note when none is."""
        value = self.may(*keys)
        if value is None:
            self.missing.append(keys[0])
            return 1
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a yes or no; the default when it is not given."""
        value = self._config.get(key)
        return value if isinstance(value, bool) else default

    def items(self, key: str) -> list[object] | None:
        """Return a list; `None` when it is not given or not a list."""
        value = self._config.get(key)
        return list(value) if isinstance(value, list | tuple) else None
