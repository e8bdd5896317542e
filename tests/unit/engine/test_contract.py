"""Which contract a version gets, and what runs code by its name."""

from dataclasses import replace

import pytest

from ridgeline.engine.contract import (
    CustomClass,
    NoContractError,
    contract_of,
    parts_of,
    runs_named_class,
)
from tests.unit.engine.contracts import contract

KNOWN = [replace(contract(), version=v, known_as=v) for v in ("0.9.0", "0.9.2", "0.10.0", "0.24.0")]


@pytest.mark.parametrize(
    ("version", "known_as", "verified"),
    [
        ("0.24.0", "0.24.0", True),
        ("v0.24.0", "0.24.0", True),
        ("0.9.2", "0.9.2", True),
        ("0.24.1", "0.24.0", True),  # a patch after the last one read
        ("0.10.1.1", "0.10.0", True),
        ("0.9.1", "0.9.0", False),  # something changed by the next patch that was read
        ("0.9.7", "0.9.2", True),
        ("0.11.0", "0.10.0", False),  # between two that were read
        ("0.25.0", "0.24.0", False),  # newer than the newest
        ("1.0.0", "0.24.0", False),
        ("0.8.5", "0.9.0", False),  # older than the oldest
        ("0.24.0rc1", "0.24.0", True),
    ],
)
def test_the_nearest_known_release_answers(version: str, known_as: str, verified: bool) -> None:
    got = contract_of(list(reversed(KNOWN)), version)
    assert (got.known_as, got.verified) == (known_as, verified)
    assert parts_of(got.version) == parts_of(version)


def test_versions_are_compared_as_numbers() -> None:
    assert contract_of(KNOWN, "0.10.0").known_as == "0.10.0"
    assert parts_of("0.9.2") < parts_of("0.10.0") < parts_of("0.10.1.1")


def test_an_unknown_version_counts_as_the_newest_not_read() -> None:
    got = contract_of(KNOWN, None)
    assert (got.known_as, got.verified) == ("0.24.0", False)


def test_what_is_not_verified_itself_verifies_no_patch() -> None:
    doubtful = [replace(KNOWN[-1], verified=False)]
    assert not contract_of(doubtful, "0.24.3").verified


@pytest.mark.parametrize("version", ["", "latest", "nightly-0.24", "24", "0.x"])
def test_what_is_no_version_is_said(version: str) -> None:
    with pytest.raises(NoContractError, match=r"write it as major\.minor\.patch"):
        contract_of(KNOWN, version)


def test_no_contracts_at_all_is_said() -> None:
    with pytest.raises(NoContractError, match="no engine contract"):
        contract_of([], "0.24.0")


@pytest.mark.parametrize(
    ("version", "method", "model", "runs"),
    [
        ("0.33.0", "custom_class", "org/model", True),
        ("0.33.0", None, "pkg.module.Proposer", True),
        ("0.33.0", "eagle", "pkg.module.Proposer", False),
        ("0.33.0", None, "Llama-3.2-1B", False),  # no dotted path of identifiers
        ("0.33.0", None, "org/Llama-3.2-1B", False),
        ("0.33.0", None, None, False),
        ("0.25.0", "eagle", "pkg.module.Proposer", True),  # whatever the method
        ("0.25.0", "draft_model", "Llama-3.2-1B", True),
        ("0.25.0", "draft_model", "/models/Llama-3.2-1B", False),
        ("0.21.0", None, "pkg.module.Proposer", False),
    ],
)
def test_a_model_that_names_a_class_is_run(
    version: str, method: str | None, model: str | None, runs: bool
) -> None:
    assert runs_named_class(contract(version), method=method, model=model) is runs


def test_the_rule_for_class_names_is_the_releases_own() -> None:
    assert contract("0.21.0").custom_class is CustomClass.NEVER
    assert contract("0.22.0").custom_class is CustomClass.ALWAYS
    assert contract("0.26.0").custom_class is CustomClass.WITHOUT_METHOD
