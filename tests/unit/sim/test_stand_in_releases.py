"""A stand-in of each release accepts exactly what that release accepts, by its contract."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ridgeline.engine.contract import (
    EngineContract,
    KeyContract,
    KeyType,
    UnknownKeys,
    contract_of,
)
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.sim.stand_in.command import prepare
from ridgeline.sim.stand_in.contract import versions
from ridgeline.sim.stand_in.failures import StartError
from tests.tools import stand_in_releases

RELEASES = load_engine_contracts()
EVERY_KEY = {name: key for each in RELEASES for name, key in each.keys.items()}
EVERY_METHOD = sorted({name for each in RELEASES for name in each.method_names})
ESSENTIAL = {"method", "model", "num_speculative_tokens"}
NGRAM = {"method": "ngram", "num_speculative_tokens": 4}
TABLE = "num_speculative_tokens_per_batch_size"

of_each_release = pytest.mark.parametrize("version", [each.version for each in RELEASES])


def contract(version: str) -> EngineContract:
    return contract_of(RELEASES, version)


def starts(version: str, config: dict[str, Any] | None = None, *words: str) -> bool:
    """Whether a stand-in of a release gets as far as loading weights, and past them."""
    flags = [] if config is None else [f"--speculative-config={json.dumps(config)}"]
    try:
        start = prepare(
            ["serve", "org/target", *flags, *words], {"STAND_IN_ENGINE_VERSION": version}
        )
    except StartError:
        return False
    return start.failure_after_load is None


def right(key: KeyContract) -> Any:
    """A value that the key may have."""
    number = 1 if key.minimum is None else key.minimum
    values = {
        KeyType.TEXT: key.choices[0] if key.choices else "x",
        KeyType.WHOLE: int(max(number, 2) if key.name == "disable_by_batch_size" else number),
        KeyType.NUMBER: float(number),
        KeyType.SWITCH: False,
        KeyType.NUMBERS: [1.0],
        KeyType.TABLE: [[1, 8, 4]],
        KeyType.OBJECT: {},
    }
    return values[key.type]


def config_for(key: KeyContract) -> dict[str, Any]:
    """A config whose method the key goes with."""
    if "mtp" in key.methods:
        return {"method": "mtp", "num_speculative_tokens": 1}
    if key.methods:
        return {"method": key.methods[0], "model": "org/draft", "num_speculative_tokens": 4}
    return NGRAM


def test_the_stand_in_knows_every_release() -> None:
    assert versions() == tuple(each.version for each in RELEASES)
    assert len(versions()) == 34


def test_its_facts_are_those_of_the_contracts() -> None:
    """When this fails: python -m tests.tools.stand_in_releases."""
    assert stand_in_releases.FILE.read_text(encoding="utf-8") == stand_in_releases.text()


@of_each_release
def test_it_takes_the_keys_of_its_release_and_no_other(version: str) -> None:
    ours = contract(version)
    ignored = ours.unknown_keys is UnknownKeys.IGNORED
    for name, newest in EVERY_KEY.items():
        if name in ESSENTIAL or name == "tensor_parallel_size":
            continue
        key = ours.keys.get(name, newest)
        config = (config_for(key) if name in ours.keys else NGRAM) | {name: right(key)}
        assert starts(version, config) is (name in ours.keys or ignored), config
    assert starts(version, NGRAM | {"num_speculative_tokrns": 4}) is ignored


@of_each_release
def test_it_refuses_the_key_that_is_there_to_be_refused(version: str) -> None:
    taken = starts(version, NGRAM | {"tensor_parallel_size": 1})
    known = "tensor_parallel_size" in contract(version).keys
    assert taken is (not known and contract(version).unknown_keys is UnknownKeys.IGNORED)


def wrong_values(key: KeyContract) -> Iterator[Any]:
    if key.choices:
        yield "no such choice"
    if key.type in (KeyType.WHOLE, KeyType.NUMBER):
        if key.minimum is not None:
            yield key.minimum - 1 if key.type is KeyType.NUMBER else int(key.minimum) - 1
        if key.maximum is not None:
            yield key.maximum + 1


@of_each_release
def test_it_refuses_values_out_of_bounds(version: str) -> None:
    ours = contract(version)
    for name, key in ours.keys.items():
        if name in ESSENTIAL or (key.choices and not ours.checks_types):
            continue
        for value in wrong_values(key):
            assert not starts(version, config_for(key) | {name: value}), (name, value)


@of_each_release
def test_it_checks_types_where_its_release_does(version: str) -> None:
    ours = contract(version)
    mistaken = {KeyType.TEXT: 7, KeyType.SWITCH: "x", KeyType.NUMBERS: "x", KeyType.TABLE: 7}
    for name, key in ours.keys.items():
        if name in ESSENTIAL or key.type is KeyType.OBJECT:
            continue
        config = config_for(key) | {name: mistaken.get(key.type, "many")}
        if ours.checks_types:
            assert not starts(version, config), config


@of_each_release
def test_it_takes_the_methods_of_its_release_and_no_other(version: str) -> None:
    ours = contract(version)
    for method in EVERY_METHOD:
        config = {"method": method, "model": "org/draft", "num_speculative_tokens": 4}
        if method in ours.method_names:
            expected = method not in ours.not_implemented
        else:
            # A release that checks no types takes an unknown word for "find out by the model".
            expected = not ours.checks_types
        assert starts(version, config) is expected, method


@of_each_release
def test_it_reads_the_spellings_of_its_release_and_no_other(version: str) -> None:
    ours = contract(version)
    text = '{"method":"ngram","num_speculative_tokens":4}'
    assert starts(version, None, "-sc", text) is ("-sc" in ours.flags)
    aliases = ("--spec-method", "ngram", "--spec-tokens", "4")
    assert starts(version, None, *aliases) is ("--spec-method" in ours.flags)
    assert starts(version, None, "--speculative-config=") is ours.empty_config_is_off
    dashed = {"method": "ngram", "num-speculative-tokens": 4}
    assert starts(version, dashed) is ours.dashed_keys


@of_each_release
def test_it_has_a_table_where_its_release_has_one(version: str) -> None:
    ours = contract(version)
    ignored = ours.unknown_keys is UnknownKeys.IGNORED
    broken = NGRAM | {TABLE: [[2, 8, 4]]}
    assert starts(version, broken) is (ignored and not ours.honours_schedule)
    assert starts(version, NGRAM | {"num_speculative_tokens": 0}) is False
