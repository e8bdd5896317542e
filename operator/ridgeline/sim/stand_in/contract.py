"""What each vLLM release accepts and exports, as far as a server in its place must know.

What releases accept lies in ``data/releases.json``, made from the contracts that ridgeline judges
by (``settings/data/engine_contracts.yaml``); how they say what they refuse, and what their series
look like, in ``data/contracts.json``. A release between two that were read is taken for the lower
one.
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
    """One key of a speculative config.

    Attributes:
        type: Its JSON kind: Text, Whole, Number, Switch, Numbers, Table or Object.
        minimum: The lowest number, where it has one.
        maximum: The highest.
        choices: The texts that it may have; empty: any.
        methods: The methods that it goes with; empty: any.
    """

    type: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()


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
        ignores_unknown_keys: Whether a key that it does not know changes nothing; else it refuses.
        validates_types: Whether pydantic checks the values, not only the names, of the keys.
        empty_value_means_none: Whether ``--speculative-config=`` means no speculation.
        dashed_keys: Whether keys may be written with dashes.
        not_implemented: Methods that it names, and ends the start at.
        v0: Whether a draft model falls back to the V0 engine.
        bounds_by_pydantic: Whether numbers out of bounds are refused by the fields themselves; else
            by the config's own code.
        missing_k_own_message: Whether a drafter without K has its own message.
        vocabulary_check: Whether draft and target vocabularies are compared.
        methods: Accepted methods, in the order in which the releases name them.
        keys: Keys of the speculative config.
        flags: Command line flags whose presence depends on the release and that it has.
        flags_of_others: Such flags that it has not.
        metrics: Families of both engines, with hidden ones and those of speculation marked.
        cache_config_labels: Label values of ``vllm:cache_config_info``, as recorded from 0.32.0.
    """

    version: str
    ignores_unknown_keys: bool
    validates_types: bool
    empty_value_means_none: bool
    dashed_keys: bool
    not_implemented: frozenset[str]
    v0: bool
    bounds_by_pydantic: bool
    missing_k_own_message: bool
    vocabulary_check: bool
    methods: tuple[str, ...]
    keys: dict[str, ConfigKey]
    flags: frozenset[str]
    flags_of_others: frozenset[str]
    metrics: tuple[MetricSpec, ...]
    cache_config_labels: dict[str, str]

    @property
    def minor(self) -> int:
        """The middle number of the release."""
        return _parts(self.version)[1]

    def at_least(self, version: str) -> bool:
        """Whether this release is ``version`` or a later one."""
        return _parts(self.version) >= _parts(version)


def versions() -> tuple[str, ...]:
    """The releases that were read, oldest first."""
    return tuple(_data("releases")["versions"])


@cache
def contract_for(version: str) -> EngineContract:
    """The facts of ``version``.

    Raises:
        UnknownVersionError: It is not a release number, or outside the span that was read.
    """
    read = _nearest(version)
    releases, more = _data("releases"), _data("contracts")

    def holds(spans: list[list[str | None]]) -> bool:
        return _within(read, spans)

    def having(facts: dict[str, Any]) -> frozenset[str]:
        return frozenset(name for name, spans in facts.items() if holds(spans))

    order = more["method_order"]
    flags = {**more["flags"], **releases["flags"]}
    exported = having(releases["metrics"])
    return EngineContract(
        version=version,
        ignores_unknown_keys=holds(releases["unknown_keys"]["Ignored"]),
        validates_types=holds(releases["checks_types"]),
        empty_value_means_none=holds(releases["empty_value_means_none"]),
        dashed_keys=holds(releases["dashed_keys"]),
        not_implemented=having(releases["not_implemented"]),
        v0=holds(releases["disable_by_batch_size"]["Works"]),
        bounds_by_pydantic=holds(more["bounds_by_pydantic"]),
        missing_k_own_message=holds(more["missing_k_own_message"]),
        vocabulary_check=holds(more["vocabulary_check"]),
        methods=tuple(
            sorted(
                having(releases["methods"]),
                key=lambda name: (order.index(name) if name in order else len(order), name),
            )
        ),
        keys={row["name"]: _key(row) for row in releases["keys"] if holds(row["versions"])},
        flags=having(flags),
        flags_of_others=frozenset(flags) - having(flags),
        metrics=tuple(
            _metric(row, more)
            for row in more["metrics"]
            if (row["name"] in exported if _is_plain(row) else holds(row["versions"]))
        ),
        cache_config_labels=dict(more["cache_config_labels"]),
    )


def _is_plain(row: dict[str, Any]) -> bool:
    """Tell whether a family is one of those that releases export without being asked."""
    return row["engine"] == "v1" and not row.get("hidden", False)


def _key(row: dict[str, Any]) -> ConfigKey:
    return ConfigKey(
        type=row["type"],
        minimum=row.get("minimum"),
        maximum=row.get("maximum"),
        choices=tuple(row.get("choices", ())),
        methods=tuple(row.get("methods", ())),
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
def _data(name: str) -> dict[str, Any]:
    text = files("ridgeline.sim.stand_in").joinpath(f"data/{name}.json").read_text("utf-8")
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
