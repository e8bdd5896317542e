"""The engine contracts: the data file of vLLM releases, as the values that `engine` works with.

The file holds the first release whole and, for each later one, what changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ridgeline.engine.contract import (
    Circumstance,
    CustomClass,
    DraftSlots,
    DraftTensorParallel,
    EngineContract,
    Honoured,
    KeyContract,
    KeyType,
    KeyUse,
    Trap,
    UnknownKeys,
    parts_of,
)
from ridgeline.engine.findings import Severity
from ridgeline.terms.methods import Method

DATA_FILE: Final = "data/engine_contracts.yaml"

_Version = Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(\.[0-9]+)?$")]
_Words = tuple[Annotated[str, Field(min_length=1)], ...]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )


class _KeyRow(_Model):
    name: str
    type: KeyType
    use: KeyUse
    about: Annotated[str, Field(min_length=1)]
    minimum: float | None = None
    maximum: float | None = None
    choices: _Words = ()
    methods: _Words = ()


class _KeyChange(_Model):
    name: str
    type: KeyType | None = None
    use: KeyUse | None = None
    about: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: _Words | None = None


class _Facts(_Model):
    """What a release says anew; what it leaves out stays as it was."""

    unknown_keys: UnknownKeys | None = None
    empty_config_is_off: bool | None = None
    checks_types: bool | None = None
    dashed_keys: bool | None = None
    not_implemented: _Words | None = None
    schedule_methods: _Words | None = None
    schedule_with_data_parallel: bool | None = None
    schedule_dropped_with_data_parallel: bool | None = None
    disable_by_batch_size: Honoured | None = None
    draft_tensor_parallel: Mapping[str, DraftTensorParallel] | None = None
    draft_slots: DraftSlots | None = None
    speculators_checkpoint: bool | None = None
    custom_class: CustomClass | None = None
    eagle3_targets: _Words | None = None
    max_lookahead: Annotated[int, Field(ge=1)] | None = None
    default_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None


class _Release(_Facts):
    version: _Version
    source: str
    as_of: date
    add_keys: _Words = ()
    remove_keys: _Words = ()
    change_keys: tuple[_KeyChange, ...] = ()
    add_methods: _Words = ()
    remove_methods: _Words = ()
    add_flags: _Words = ()
    remove_flags: _Words = ()
    add_metrics: _Words = ()
    remove_metrics: _Words = ()


class _TrapRow(_Model):
    name: str
    since: _Version
    until: _Version | None = None
    methods: _Words = ()
    keys: _Words = ()
    when: tuple[Circumstance, ...] = ()
    severity: Severity
    consequence: str
    fix: str
    source: str

    def about(self, version: str) -> bool:
        """Whether a release has it: both ends are included."""
        number = parts_of(version)
        before_end = self.until is None or number <= parts_of(self.until)
        return parts_of(self.since) <= number and before_end


class _File(_Model):
    sources: dict[str, str]
    methods: dict[Method, str]
    keys: tuple[_KeyRow, ...]
    releases: Annotated[tuple[_Release, ...], Field(min_length=1)]
    traps: tuple[_TrapRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What holds up to one release."""

    keys: dict[str, KeyContract] = field(default_factory=dict)
    methods: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    metrics: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)


@cache
def load_engine_contracts() -> tuple[EngineContract, ...]:
    """Return the contracts of the data file that comes with the package, oldest first."""
    text = files("ridgeline.settings").joinpath(DATA_FILE).read_text(encoding="utf-8")
    return parse_engine_contracts(yaml.safe_load(text))


def parse_engine_contracts(content: object) -> tuple[EngineContract, ...]:
    """Return the contracts that a data file holds, oldest first.

    Raises:
        ValueError: A row is not as it must be, releases are out of order, or a change names
            something that is not there.
    """
    data = _File.model_validate(content)
    _check_order([each.version for each in data.releases])
    known = {row.name: KeyContract(**row.model_dump()) for row in data.keys}
    if len(known) != len(data.keys):
        raise ValueError("two rows of `keys` have one name: rename one")
    _check_traps(data, known)
    contracts, state = [], _State()
    for release in data.releases:
        _check_source(release.version, release.source, data.sources)
        state = _after(state, release, known)
        contracts.append(_contract(release.version, state, data))
    return tuple(contracts)


def _check_order(versions: list[str]) -> None:
    numbers = [parts_of(each) for each in versions]
    for before, after, version in zip(numbers, numbers[1:], versions[1:], strict=False):
        if after <= before:
            raise ValueError(f"release {version} does not follow the one before it: order them")


def _check_source(name: str, source: str, sources: Mapping[str, str]) -> None:
    if source not in sources:
        raise ValueError(f"{name}: source {source!r} is not described under `sources`")


def _check_traps(data: _File, known: Mapping[str, KeyContract]) -> None:
    methods = {name for release in data.releases for name in release.add_methods}
    for trap in data.traps:
        _check_source(trap.name, trap.source, data.sources)
        strange = [*(set(trap.keys) - set(known)), *(set(trap.methods) - methods)]
        if strange:
            raise ValueError(f"trap {trap.name}: no release has {min(strange)!r}: correct it")


def _after(state: _State, release: _Release, known: Mapping[str, KeyContract]) -> _State:
    """Return what holds with a release's changes made."""
    told = release.model_dump(include=set(_Facts.model_fields), exclude_none=True)
    return _State(
        keys=_keys_after(state.keys, release, known),
        methods=_changed(
            state.methods, release.add_methods, release.remove_methods, release.version
        ),
        flags=_changed(state.flags, release.add_flags, release.remove_flags, release.version),
        metrics=_changed(
            state.metrics, release.add_metrics, release.remove_metrics, release.version
        ),
        facts={**state.facts, **told},
    )


def _keys_after(
    before: Mapping[str, KeyContract], release: _Release, known: Mapping[str, KeyContract]
) -> dict[str, KeyContract]:
    names = _changed(frozenset(before), release.add_keys, release.remove_keys, release.version)
    strange = sorted(names - set(known))
    if strange:
        raise ValueError(f"release {release.version}: `keys` does not describe {strange[0]!r}")
    keys = {name: before.get(name) or known[name] for name in sorted(names)}
    for change in release.change_keys:
        if change.name not in keys:
            raise ValueError(
                f"release {release.version}: changeKeys names {change.name!r}, which it has not"
            )
        told = change.model_dump(exclude_none=True)
        keys[change.name] = replace(keys[change.name], **told)
    return keys


def _changed(
    before: frozenset[str], added: _Words, removed: _Words, version: str
) -> frozenset[str]:
    twice, absent = before & set(added), set(removed) - before
    if twice or absent:
        name = min(twice or absent)
        what = "adds, although it was there" if twice else "removes, although it was not there"
        raise ValueError(f"release {version}: {name!r} is what it {what}: correct the list")
    return (before | set(added)) - set(removed)


def _contract(version: str, state: _State, data: _File) -> EngineContract:
    facts = dict(state.facts)
    missing = sorted(_NEEDED - set(facts))
    if missing:
        raise ValueError(f"release {version}: {to_camel(missing[0])} is not told by it or before")
    refused = frozenset(facts.pop("not_implemented", ()))
    served = state.methods - refused
    return EngineContract(
        version=version,
        known_as=version,
        verified=True,
        keys=state.keys,
        methods=frozenset(
            {Method.DISABLED} | {method for method, name in data.methods.items() if name in served}
        ),
        method_names=state.methods,
        not_implemented=refused,
        flags=state.flags,
        metrics=state.metrics,
        honours_schedule="num_speculative_tokens_per_batch_size" in state.keys,
        schedule_methods=frozenset(facts.pop("schedule_methods", ())),
        eagle3_targets=frozenset(facts.pop("eagle3_targets", ())),
        traps=tuple(_trap(row, data.sources) for row in data.traps if row.about(version)),
        **facts,
    )


_NEEDED: Final = frozenset(
    {
        "unknown_keys",
        "empty_config_is_off",
        "disable_by_batch_size",
        "max_lookahead",
        "default_memory_utilization",
    }
)


def _trap(row: _TrapRow, sources: Mapping[str, str]) -> Trap:
    return Trap(
        name=row.name,
        consequence=row.consequence,
        fix=row.fix,
        severity=row.severity,
        methods=frozenset(row.methods),
        keys=frozenset(row.keys),
        when=frozenset(row.when),
        source=sources[row.source],
    )
