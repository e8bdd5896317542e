"""What each vLLM release accepts and exports, as far as a server in its place must know.

The facts lie in ``data/contracts.json``, read from the released wheels. A release between two that
were read is taken for the lower one.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

DEFAULT_VERSION = "0.32.0"
"""The release whose pages were recorded from a real server."""


class UnknownVersionError(ValueError):
    """A release outside the span that was read."""


@dataclass(frozen=True, kw_only=True)
class ConfigKey:
    """One key of a speculative config: its JSON kind and its lower bound, where it has one."""

    kind: str
    at_least: int | None = None


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """One metric family as exported: its full name, type, label names and buckets in base units."""

    name: str
    kind: str
    labels: tuple[str, ...]
    engine: str
    buckets: tuple[float, ...] | None = None
    bucket_family: str | None = None
    hidden: bool = False
    speculation_only: bool = False


@dataclass(frozen=True, kw_only=True)
class EngineContract:
    """The facts of one release.

    Attributes:
        version: The release asked for.
        unknown_keys: "type_error" (a plain dataclass refuses), "ignored" or "forbidden" (pydantic).
        validates_types: Whether pydantic checks the values, not only the names, of the keys.
        empty_value_means_none: Whether ``--speculative-config=`` means no speculation.
        draft_model: "works", "v0" (falls back to the V0 engine) or "not_implemented".
        positive_k_by_pydantic: Whether K = 0 is refused by the field's own bound.
        missing_k_own_message: Whether a drafter without K has its own message.
        vocabulary_check: Whether draft and target vocabularies are compared.
        methods: Accepted methods, in the order in which the release names them.
        keys: Keys of the speculative config.
        flags: Command line flags whose presence depends on the release and that it has.
        flags_of_others: Such flags that it has not.
        metrics: Families of both engines, with hidden ones and those of speculation marked.
        cache_config_labels: Label values of ``vllm:cache_config_info``, as recorded from 0.32.0.
    """

    version: str
    unknown_keys: str
    empty_value_means_none: bool
    draft_model: str
    positive_k_by_pydantic: bool
    missing_k_own_message: bool
    vocabulary_check: bool
    methods: tuple[str, ...]
    keys: dict[str, ConfigKey]
    flags: frozenset[str]
    flags_of_others: frozenset[str]
    metrics: tuple[MetricSpec, ...]
    cache_config_labels: dict[str, str]

    @property
    def validates_types(self) -> bool:
        """Whether values are checked by pydantic (from 0.9.2 on)."""
        return self.unknown_keys != "type_error"

    @property
    def minor(self) -> int:
        """The middle number of the release."""
        return _parts(self.version)[1]

    def at_least(self, version: str) -> bool:
        """Whether this release is ``version`` or a later one."""
        return _parts(self.version) >= _parts(version)


def versions() -> tuple[str, ...]:
    """The releases that were read, oldest first."""
    return tuple(_data()["versions"])


@cache
def contract_for(version: str) -> EngineContract:
    """The facts of ``version``.

    Raises:
        UnknownVersionError: It is not a release number, or outside the span that was read.
    """
    read = _nearest(version)
    data = _data()

    def holds(spans: list[list[str | None]]) -> bool:
        return _within(read, spans)

    def first(name: str, otherwise: str) -> str:
        return next((k for k, spans in data[name].items() if holds(spans)), otherwise)

    return EngineContract(
        version=version,
        unknown_keys=first("unknown_keys", "forbidden"),
        empty_value_means_none=holds(data["empty_value_means_none"]),
        draft_model=first("draft_model", "works"),
        positive_k_by_pydantic=holds(data["positive_k_by_pydantic"]),
        missing_k_own_message=holds(data["missing_k_own_message"]),
        vocabulary_check=holds(data["vocabulary_check"]),
        methods=tuple(m for m, spans in data["methods"].items() if holds(spans)),
        keys={
            name: ConfigKey(
                kind=key["kind"],
                at_least=key["at_least"] if holds(key.get("bounded", [])) else None,
            )
            for name, key in data["fields"].items()
            if holds(key["versions"])
        },
        flags=frozenset(f for f, spans in data["flags"].items() if holds(spans)),
        flags_of_others=frozenset(f for f, spans in data["flags"].items() if not holds(spans)),
        metrics=tuple(_metric(m, data) for m in data["metrics"] if holds(m["versions"])),
        cache_config_labels=dict(data["cache_config_labels"]),
    )


def _metric(entry: dict[str, Any], data: dict[str, Any]) -> MetricSpec:
    family = entry.get("buckets")
    buckets = data["bucket_families"].get(family)
    return MetricSpec(
        name=entry["name"],
        kind=entry["type"],
        labels=tuple(label for label in entry["labels"] if not label.startswith("<")),
        engine=entry["engine"],
        buckets=tuple(float(b) for b in buckets) if buckets else None,
        bucket_family=family,
        hidden=entry.get("hidden", False),
        speculation_only=entry.get("speculation_only", False),
    )


@cache
def _data() -> dict[str, Any]:
    text = files("ridgeline.sim.stand_in").joinpath("data/contracts.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _parts(version: str) -> tuple[int, ...]:
    try:
        parts = tuple(int(p) for p in version.split("+")[0].split("."))
    except ValueError:
        parts = ()
    if len(parts) < 2:
        raise UnknownVersionError(
            f"engine version {version!r} is not a release number; write it like {DEFAULT_VERSION}"
        )
    return parts


def _nearest(version: str) -> str:
    wanted, read = _parts(version), versions()
    if not _parts(read[0]) <= wanted or wanted[:2] > _parts(read[-1])[:2]:
        raise UnknownVersionError(
            f"engine version {version!r} is outside {read[0]} … {read[-1]}; choose one of these"
        )
    return max((v for v in read if _parts(v) <= wanted), key=_parts)


def _within(version: str, spans: list[list[str | None]]) -> bool:
    at = _parts(version)
    return any(
        first is not None and _parts(first) <= at and (last is None or at <= _parts(last))
        for first, last in spans
    )
