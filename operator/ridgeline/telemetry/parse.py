"""Strict reading of an instant query's answer; nothing is guessed, nothing is merged.

Numbers come as text and may be `NaN` or infinite: they are told apart here and never compared.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

from ridgeline.telemetry.errors import MalformedError, TooLargeError
from ridgeline.telemetry.partial import partial_remarks
from ridgeline.telemetry.queries import ENGINE_LABEL, POSITION_LABEL

_NUMBER_CHARACTERS: Final = "0123456789.eE+-"
_NOT_FINITE: Final = frozenset({"NaN", "+Inf", "-Inf", "Inf"})

ONLY_ENGINE: Final = "0"
"""Name of the engine of servers that do not label their series with one (vLLM's V0 engine)."""


class EngineKey(NamedTuple):
    """What names one engine in an endpoint."""

    namespace: str
    pod: str
    engine: str


Sample = tuple[Mapping[str, str], float | None]
"""Labels and value of one series; the value is `None` when it is NaN or infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A well-formed answer: its samples, and what the endpoint remarked.

    Attributes:
        samples: Its series.
        warnings: All that the endpoint remarked.
        partial: Those remarks that mean that series or samples may be missing.
    """

    samples: tuple[Sample, ...]
    warnings: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


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
    """Read the body of a successful `/api/v1/query` answer.

    Raises:
        MalformedError: It is not a success with an instant vector of float samples.
        TooLargeError: It has more than `max_series` series.
    """
    document = parse_document(body)
    if document.get("status") != "success":
        raise MalformedError(f"status is {document.get('status')!r:.80}, expected 'success'")
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if kind != "vector" or not isinstance(result, list):
        raise MalformedError(f"result type is {kind!r:.80}, expected a vector with a result list")
    if len(result) > max_series:
        raise TooLargeError(f"{len(result)} series, more than max_series {max_series}")
    partial = partial_remarks(
        _texts(document, "warnings"), is_partial=document.get("isPartial") is True
    )
    return Answer(
        samples=_samples(result),
        warnings=_texts(document, "warnings") + _texts(document, "infos"),
        partial=partial,
    )


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


def _samples(result: list[object]) -> tuple[Sample, ...]:
    samples: list[Sample] = []
    for item in result:
        try:
            labels = item["metric"]  # type: ignore[index]
            _, text = item["value"]  # type: ignore[index]
            # The cheapest way to see that every label is a text: it raises TypeError if not.
            "".join(labels.values())
            samples.append((labels, number(text)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # A native histogram has "histogram" in place of "value": nothing here asks for one.
            raise MalformedError(f"a series without labels and value: {item!r:.120}") from error
    return tuple(samples)


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


def signal_table(answer: Answer, *, namespace_label: str, pod_label: str) -> SignalTable:
    """Order the samples of an answer by engine.

    A series without namespace or Pod is left out, an engine with two series has no value; both are
    remarked on.
    """
    return _table(answer.samples, namespace_label, pod_label)


def position_tables(
    answer: Answer, *, namespace_label: str, pod_label: str
) -> Mapping[int, SignalTable]:
    """Order the samples of an answer by draft position (0 is the first draft), then by engine.

    Raises:
        MalformedError: A series has a position that is no whole number.
    """
    grouped: dict[int, list[Sample]] = {}
    for sample in answer.samples:
        position = sample[0].get(POSITION_LABEL, "")
        if not (position.isascii() and position.isdigit() and len(position) <= 4):
            raise MalformedError(f"label position is {position!r:.60}, expected a whole number")
        grouped.setdefault(int(position), []).append(sample)
    return {
        position: _table(samples, namespace_label, pod_label)
        for position, samples in sorted(grouped.items())
    }


def _table(samples: Sequence[Sample], namespace_label: str, pod_label: str) -> SignalTable:
    values: dict[EngineKey, float] = {}
    not_finite: set[EngineKey] = set()
    seen: set[EngineKey] = set()
    ambiguous: set[EngineKey] = set()
    nameless = 0
    for labels, value in samples:
        namespace, pod = labels.get(namespace_label), labels.get(pod_label)
        if not namespace or not pod:
            nameless += 1
            continue
        key = EngineKey(namespace, pod, labels.get(ENGINE_LABEL) or ONLY_ENGINE)
        if key in seen:
            ambiguous.add(key)
        seen.add(key)
        if value is None:
            not_finite.add(key)
        else:
            values[key] = value
    for key in ambiguous:
        values.pop(key, None)
    return SignalTable(
        values=values,
        not_finite=frozenset(not_finite - ambiguous),
        ambiguous=frozenset(ambiguous),
        series=len(samples),
        remarks=_remarks(nameless, ambiguous, namespace_label, pod_label),
    )


def _remarks(
    nameless: int, ambiguous: Collection[EngineKey], namespace_label: str, pod_label: str
) -> tuple[str, ...]:
    remarks = []
    if nameless:
        remarks.append(
            f"{nameless} series lack the label {namespace_label!r} or {pod_label!r} and were left "
            "out; add it by relabelling, or set the endpoint's namespace and Pod label"
        )
    if ambiguous:
        first = min(ambiguous)
        remarks.append(
            f"{len(ambiguous)} engines have more than one series and no number, the first is "
            f"{first.namespace}/{first.pod} engine {first.engine}"
        )
    return tuple(remarks)
