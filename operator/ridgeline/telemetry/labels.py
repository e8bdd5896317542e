"""Which engine a series is about, from the text of its labels.

Prometheus writes the labels of a series in the same way each time, and fleets hardly change from
tick to tick. So the text as it came is looked up, and its labels are read only when it is new: the
check costs the first answer and not the later ones.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from ridgeline.telemetry.errors import MalformedError
from ridgeline.telemetry.finish_reasons import reason_of
from ridgeline.telemetry.named_query import ENGINE_LABEL, POSITION_LABEL, REASON_LABEL

ONLY_ENGINE: Final = "0"
"""Name of the engine of servers that do not label their series with one (vLLM's V0 engine)."""


class EngineKey(NamedTuple):
    """What names one engine in an endpoint."""

    namespace: str
    pod: str
    engine: str


NAMELESS: Final = EngineKey("", "", "")
"""Stands for a series that lacks the label of the namespace or of the Pod."""

_LABELS: Final = msgspec.json.Decoder(dict[str, str])
_Name = TypeVar("_Name")


def read_labels(text: bytes) -> dict[str, str]:
    """The labels of a series.

    Raises:
        MalformedError: They are no JSON object of texts.
    """
    try:
        return _LABELS.decode(text)
    except (ValueError, RecursionError) as error:
        # The text itself is not repeated: an endpoint can echo a secret in it.
        raise MalformedError("a series without labels and value: labels are no texts") from error


class _Known(dict[bytes, _Name]):
    """Names by text; a text that is not known is read, and then known."""

    def __init__(self, read: Callable[[bytes], _Name]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: bytes) -> _Name:
        name = self[text] = self._read(text)
        return name


class _Names(Generic[_Name]):
    """Names of the texts that the present or the last generation asked for."""

    def __init__(self, read: Callable[[bytes], _Name]) -> None:
        self._read = read
        self._old: dict[bytes, _Name] = {}
        self._known = _Known(self._again)

    def _again(self, text: bytes) -> _Name:
        name = self._old.get(text)
        return self._read(text) if name is None else name

    def __len__(self) -> int:
        return len(self._known.keys() | self._old.keys())

    def of(self, texts: Iterable[bytes]) -> list[_Name]:
        return list(map(self._known.__getitem__, texts))

    def turn(self) -> None:
        self._old, self._known = self._known, _Known(self._again)


class LabelBook:
    """Remembers the engines that texts of labels name, for one endpoint's labels.

    It holds what was asked for since the turn before the last: call `turn` now and then, so that
    texts of Pods that are gone are forgotten.
    """

    def __init__(self, *, namespace_label: str, pod_label: str) -> None:
        self.namespace_label: Final = namespace_label
        self.pod_label: Final = pod_label
        self._engines = _Names(self._read_engine)
        self._positions = _Names(self._read_position)
        self._reasons = _Names(self._read_reason)
        self._keys: dict[EngineKey, EngineKey] = {}
        self._words: dict[str, str] = {}

    def engines(self, texts: Iterable[bytes]) -> list[EngineKey]:
        """The engine of each series, `NAMELESS` where none is named.

        Raises:
            MalformedError: Labels are no texts.
        """
        return self._engines.of(texts)

    def positions(self, texts: Iterable[bytes]) -> list[tuple[int, EngineKey]]:
        """The draft position (0 is the first draft) and the engine of each series.

        Raises:
            MalformedError: Labels are no texts, or a position is no whole number.
        """
        return self._positions.of(texts)

    def reasons(self, texts: Iterable[bytes]) -> list[tuple[str, EngineKey]]:
        """The finish reason, as `reason_of` names it, and the engine of each series.

        Raises:
            MalformedError: Labels are no texts.
        """
        return self._reasons.of(texts)

    def turn(self) -> None:
        """Begin a new generation, and forget what the last one did not ask for."""
        self._engines.turn()
        self._positions.turn()
        self._reasons.turn()
        self._keys.clear()
        self._words.clear()

    @property
    def texts_known(self) -> int:
        """How many texts it remembers."""
        return len(self._engines) + len(self._positions) + len(self._reasons)

    def _read_engine(self, text: bytes) -> EngineKey:
        return self._key(read_labels(text))

    def _read_position(self, text: bytes) -> tuple[int, EngineKey]:
        labels = read_labels(text)
        position = labels.get(POSITION_LABEL, "")
        if not (position.isascii() and position.isdigit() and len(position) <= 4):
            raise MalformedError(f"label position is {position!r:.60}, expected a whole number")
        return int(position), self._key(labels)

    def _read_reason(self, text: bytes) -> tuple[str, EngineKey]:
        labels = read_labels(text)
        reason = reason_of(labels.get(REASON_LABEL))
        # The same few words for all engines: once in memory.
        return self._words.setdefault(reason, reason), self._key(labels)

    def _key(self, labels: dict[str, str]) -> EngineKey:
        """One and the same object for the same engine: such keys are found fastest."""
        namespace, pod = labels.get(self.namespace_label), labels.get(self.pod_label)
        if not namespace or not pod:
            return NAMELESS
        key = EngineKey(namespace, pod, labels.get(ENGINE_LABEL) or ONLY_ENGINE)
        return self._keys.setdefault(key, key)
