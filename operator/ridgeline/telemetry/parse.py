"""Strict reading of an instant query's answer; nothing is guessed, nothing is merged.

Numbers come as text and may be `NaN` or infinite: they are told apart here and never compared.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

import msgspec

from ridgeline.telemetry.errors import MalformedError, TooLargeError
from ridgeline.telemetry.finish_reasons import Finished, finished_of
from ridgeline.telemetry.labels import NAMELESS, ONLY_ENGINE, EngineKey, LabelBook, read_labels
from ridgeline.telemetry.partial import partial_remarks

__all__ = [
    "ONLY_ENGINE",
    "Answer",
    "EngineKey",
    "Sample",
    "SignalTable",
    "finished_table",
    "number",
    "parse_answer",
    "parse_document",
    "position_tables",
    "signal_table",
]

_NUMBER_CHARACTERS: Final = "0123456789.eE+-"
_NUMBER_BYTES: Final = _NUMBER_CHARACTERS.encode()
_NOT_FINITE: Final = frozenset({"NaN", "+Inf", "-Inf", "Inf"})

Sample = tuple[Mapping[str, str], float | None]
"""Labels and value of one series; the value is `None` when it is NaN or infinite."""


class _Value(msgspec.Struct, array_like=True, gc=False, forbid_unknown_fields=True):
    """A sample: its time, which is the evaluation time, and its number as a text."""

    time: msgspec.Raw
    text: str


class _Row(msgspec.Struct, gc=False):
    """One series: its labels as they came, and its sample."""

    metric: msgspec.Raw
    value: _Value


class _Data(msgspec.Struct):
    resultType: Literal["vector"]  # noqa: N815 - as the API names it
    result: list[_Row]


class _Document(msgspec.Struct):
    """A good answer, as nearly all are; another is read again to say what is wrong with it."""

    status: Literal["success"]
    data: _Data
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    isPartial: bool = False  # noqa: N815 - as the API names it


_DECODER: Final = msgspec.json.Decoder(_Document)
_FLOATS: Final = msgspec.json.Decoder(list[float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A well-formed answer: its series, and what the endpoint remarked.

    Attributes:
        labels: The labels of each series as they came: JSON that is not looked into yet.
        values: The value of each series; `None` when it is NaN or infinite.
        warnings: All that the endpoint remarked.
        partial: Those remarks that mean that series or samples may be missing.
    """

    labels: Sequence[bytes]
    values: Sequence[float | None]
    warnings: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Every series, its labels read.

        Raises:
            MalformedError: Labels are no texts.
        """
        return tuple(zip(map(read_labels, self.labels), self.values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalTable:
    """One signal of every engine.

    Attributes:
        values: Finite numbers; an engine without a series is absent.
        not_finite: Engines whose number was NaN or infinite.
        ambiguous: Engines that had more than one series; they have no value.
        series: How many series the answer had.
        remarks: What is wrong with the series as a whole, for a person.
    """

    values: Mapping[EngineKey, float]
    not_finite: frozenset[EngineKey] = frozenset()
    ambiguous: frozenset[EngineKey] = frozenset()
    series: int = 0
    remarks: tuple[str, ...] = ()


def parse_answer(body: bytes, *, max_series: int) -> Answer:
    """Read the body of a successful `/api/v1/query` answer, save for the labels of its series.

    Raises:
        MalformedError: It is not a success with an instant vector of float samples.
        TooLargeError: It has more than `max_series` series.
    """
    try:
        document = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return _careful_answer(body, max_series)
    rows = document.data.result
    _refuse_too_many(len(rows), max_series)
    return Answer(
        labels=[bytes(row.metric) for row in rows],
        values=_numbers([row.value.text for row in rows]),
        warnings=document.warnings + document.infos,
        partial=partial_remarks(document.warnings, is_partial=document.isPartial),
    )


def _careful_answer(body: bytes, max_series: int) -> Answer:
    """Read an answer part by part, so that what is wrong with it can be told."""
    document = parse_document(body)
    if document.get("status") != "success":
        raise MalformedError(f"status is {document.get('status')!r:.80}, expected 'success'")
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if kind != "vector" or not isinstance(result, list):
        raise MalformedError(f"result type is {kind!r:.80}, expected a vector with a result list")
    _refuse_too_many(len(result), max_series)
    series = [_series(item) for item in result]
    warnings = _texts(document, "warnings")
    return Answer(
        labels=[labels for labels, _ in series],
        values=[value for _, value in series],
        warnings=warnings + _texts(document, "infos"),
        partial=partial_remarks(warnings, is_partial=document.get("isPartial") is True),
    )


def _refuse_too_many(series: int, max_series: int) -> None:
    if series > max_series:
        raise TooLargeError(f"{series} series, more than max_series {max_series}")


def parse_document(body: bytes) -> dict[str, object]:
    """Read a JSON object, without JavaScript's extra numbers.

    Raises:
        MalformedError: It is none.
    """
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON ({type(error).__name__}), begins {body[:60]!r}") from error
    if not isinstance(document, dict):
        raise MalformedError(f"a JSON {type(document).__name__}, expected an object")
    return document


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _texts(document: Mapping[str, object], name: str) -> tuple[str, ...]:
    remarks = document.get(name) or ()
    if not isinstance(remarks, list | tuple) or not all(isinstance(r, str) for r in remarks):
        raise MalformedError(f"{name} is not a list of texts")
    return tuple(remarks)


def _series(item: object) -> tuple[bytes, float | None]:
    try:
        labels = item["metric"]  # type: ignore[index]
        _, text = item["value"]  # type: ignore[index]
        # The cheapest way to see that every label is a text: it raises TypeError if not.
        "".join(labels.values())
        return json.dumps(labels).encode(), number(text)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # A native histogram has "histogram" in place of "value": nothing here asks for one.
        raise MalformedError(f"a series without labels and value: {item!r:.120}") from error


def _numbers(texts: list[str]) -> Sequence[float | None]:
    """The value of every sample: all at once when all are plain and finite, as nearly always."""
    with suppress(ValueError):
        joined = ",".join(texts).encode()
        # What is left between digits and signs are the commas: JSON would also allow spaces.
        if joined.translate(None, _NUMBER_BYTES) == b"," * (len(texts) - 1):
            values = _FLOATS.decode(b"[%b]" % joined)
            if len(values) == len(texts):
                return values
    return [number(text) for text in texts]


def number(text: str) -> float | None:
    """A sample's value; `None` when it is NaN or infinite.

    Raises:
        MalformedError: The text is no number as Prometheus writes them.
    """
    # float() alone would also take "1_0", " 1" and digits of other scripts.
    if text.strip(_NUMBER_CHARACTERS):
        if text in _NOT_FINITE:
            return None
        raise MalformedError(f"value {text!r:.60} is not a number")
    try:
        value = float(text)
    except ValueError as error:
        raise MalformedError(f"value {text!r:.60} is not a number") from error
    return value if math.isfinite(value) else None


def signal_table(answer: Answer, book: LabelBook) -> SignalTable:
    """Order the samples of an answer by engine.

    A series without namespace or Pod is left out, an engine with two series has no value; both are
    remarked on.

    Raises:
        MalformedError: Labels are no texts.
    """
    return _table(book.engines(answer.labels), answer.values, book)


def position_tables(answer: Answer, book: LabelBook) -> Mapping[int, SignalTable]:
    """Order the samples of an answer by draft position (0 is the first draft), then by engine.

    Raises:
        MalformedError: Labels are no texts, or a position is no whole number.
    """
    grouped: dict[int, tuple[list[EngineKey], list[float | None]]] = {}
    for (position, key), value in zip(book.positions(answer.labels), answer.values, strict=True):
        keys, values = grouped.setdefault(position, ([], []))
        keys.append(key)
        values.append(value)
    return {position: _table(*series, book) for position, series in sorted(grouped.items())}


def finished_table(
    answer: Answer, book: LabelBook
) -> tuple[SignalTable, Mapping[EngineKey, Finished]]:
    """Order the samples of an answer by engine, then by finish reason.

    Returns:
        Requests per second that finished, in all and by reason. An engine of which a reason's
        number is NaN or infinite has neither.

    Raises:
        MalformedError: Labels are no texts.
    """
    rates: dict[EngineKey, list[tuple[str, float | None]]] = {}
    for (reason, key), value in zip(book.reasons(answer.labels), answer.values, strict=True):
        rates.setdefault(key, []).append((reason, value))
    # The fast queries remark on series without a name, as on two servers under one.
    rates.pop(NAMELESS, None)
    by_reason = {key: finished for key in rates if (finished := finished_of(rates[key]))}
    table = SignalTable(
        values={key: sum(rate for _, rate in each) for key, each in by_reason.items()},
        not_finite=frozenset(k for k, each in rates.items() if None in (rate for _, rate in each)),
        series=len(answer.labels),
    )
    return table, by_reason


def _table(
    keys: Sequence[EngineKey], values: Sequence[float | None], book: LabelBook
) -> SignalTable:
    table = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
    if len(table) == len(keys) and NAMELESS not in table:
        return SignalTable(values=table, series=len(keys))
    return _careful_table(keys, values, book)


def _careful_table(
    keys: Sequence[EngineKey], values: Sequence[float | None], book: LabelBook
) -> SignalTable:
    """A table of which some series cannot be used."""
    seen = Counter(keys)
    nameless = seen.pop(NAMELESS, 0)
    ambiguous = frozenset(key for key, series in seen.items() if series > 1)
    usable = [
        (key, value)
        for key, value in zip(keys, values, strict=True)
        if key != NAMELESS and key not in ambiguous
    ]
    return SignalTable(
        values={key: value for key, value in usable if value is not None},
        not_finite=frozenset(key for key, value in usable if value is None),
        ambiguous=ambiguous,
        series=len(keys),
        remarks=_remarks(nameless, ambiguous, book),
    )


def _remarks(nameless: int, ambiguous: Collection[EngineKey], book: LabelBook) -> tuple[str, ...]:
    remarks = []
    if nameless:
        remarks.append(
            f"{nameless} series lack the label {book.namespace_label!r} or {book.pod_label!r} and "
            "were left out; add it by relabelling, or set the endpoint's namespace and Pod label"
        )
    if ambiguous:
        first = min(ambiguous)
        remarks.append(
            f"{len(ambiguous)} engines have more than one series and no number, the first is "
            f"{first.namespace}/{first.pod} engine {first.engine}"
        )
    return tuple(remarks)
