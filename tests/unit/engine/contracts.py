"""The contracts of the data file, and subjects to check, for the tests beside."""

from collections.abc import Mapping

from ridgeline.engine.check_all import findings_of
from ridgeline.engine.check_subject import Subject
from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.engine.findings import Finding
from ridgeline.settings.engine_contract import load_engine_contracts

NEWEST = "0.33.0"


def contract(version: str = NEWEST) -> EngineContract:
    return contract_of(load_engine_contracts(), version)


def subject(
    config: Mapping[str, object] | None, version: str = NEWEST, flags: str = "", **known: object
) -> Subject:
    words = ("vllm", "serve", "org/target", *flags.split())
    return Subject(contract=contract(version), config=config, words=words, **known)  # type: ignore[arg-type]


def found(
    config: Mapping[str, object] | None, version: str = NEWEST, flags: str = "", **known: object
) -> dict[str, Finding]:
    """Return the findings by the name of their check."""
    return {each.check: each for each in findings_of(subject(config, version, flags, **known))}


def eagle(**more: object) -> dict[str, object]:
    return {"method": "eagle", "model": "org/head", "num_speculative_tokens": 4, **more}


def draft(**more: object) -> dict[str, object]:
    return {"method": "draft_model", "model": "org/draft", "num_speculative_tokens": 4, **more}


def ngram(**more: object) -> dict[str, object]:
    return {"method": "ngram", "num_speculative_tokens": 4, **more}
