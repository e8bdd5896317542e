"""The contracts beside a second reading of the same packages, made apart from the first."""

import json
from pathlib import Path
from typing import Any

import pytest

from ridgeline.engine.contract import EngineContract, KeyType, UnknownKeys, contract_of, parts_of
from ridgeline.settings.engine_contract import load_engine_contracts

SECOND: dict[str, Any] = json.loads(Path(__file__).with_name("second_reading.json").read_text())
KINDS = {
    "int": KeyType.WHOLE,
    "float": KeyType.NUMBER,
    "bool": KeyType.SWITCH,
    "str": KeyType.TEXT,
}
releases = pytest.mark.parametrize("version", SECOND["versions"])


def within(version: str, spans: list[list[str | None]]) -> bool:
    at = parts_of(version)
    return any(
        parts_of(str(first)) <= at and (last is None or at <= parts_of(last))
        for first, last in spans
    )


def contract(version: str) -> EngineContract:
    return contract_of(load_engine_contracts(), version)


@releases
def test_both_readings_know_the_same_keys_and_types(version: str) -> None:
    ours = contract(version).keys
    theirs = {
        name: row for name, row in SECOND["fields"].items() if within(version, row["versions"])
    }
    assert set(ours) == set(theirs)
    for name, row in theirs.items():
        assert row["kind"] == "any" or ours[name].type is KINDS[row["kind"]], name
        if within(version, row.get("bounded", [])):
            assert ours[name].minimum == row["at_least"], name


@releases
def test_both_readings_know_the_same_methods(version: str) -> None:
    ours = contract(version)
    theirs = {name for name, spans in SECOND["methods"].items() if within(version, spans)}
    # Up to 0.9.0 the method is any text, and the code knows one more than the type names.
    assert ours.method_names - theirs <= {"eagle3"}
    assert theirs <= ours.method_names
    refused = within(version, SECOND["draft_model"]["not_implemented"])
    assert ("draft_model" in ours.not_implemented) is refused


@releases
def test_both_readings_agree_on_unknown_keys_and_the_empty_value(version: str) -> None:
    ours = contract(version)
    ignored = within(version, SECOND["unknown_keys"]["ignored"])
    assert (ours.unknown_keys is UnknownKeys.IGNORED) is ignored
    assert ours.checks_types is not within(version, SECOND["unknown_keys"]["type_error"])
    assert ours.empty_config_is_off is within(version, SECOND["empty_value_means_none"])


@releases
def test_both_readings_know_the_same_flags(version: str) -> None:
    ours = contract(version).flags
    known = {flag for each in load_engine_contracts() for flag in each.flags}
    for flag, spans in SECOND["flags"].items():
        assert flag not in known or (flag in ours) is within(version, spans), flag
