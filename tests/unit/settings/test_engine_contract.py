"""The data file of engine contracts, and what its loader refuses."""

from copy import deepcopy
from typing import Any

import pytest

from ridgeline.engine.contract import (
    TPOT_METRIC,
    DraftSlots,
    DraftTensorParallel,
    EngineContract,
    Honoured,
    KeyUse,
    UnknownKeys,
    contract_of,
    parts_of,
)
from ridgeline.settings.engine_contract import load_engine_contracts, parse_engine_contracts
from ridgeline.terms.methods import Method

SPEC_COUNTERS = {
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
}


def of(version: str) -> EngineContract:
    return contract_of(load_engine_contracts(), version)


def test_every_minor_release_from_0_8_to_0_33_was_read() -> None:
    read = {parts_of(each.version)[1] for each in load_engine_contracts()}
    assert read == set(range(8, 34))
    assert all(each.verified for each in load_engine_contracts())


@pytest.mark.parametrize(
    ("version", "unknown", "by_batch_size", "empty_is_off", "schedule"),
    [
        ("0.8.5", UnknownKeys.REFUSED, Honoured.WORKS, False, False),
        ("0.9.0", UnknownKeys.REFUSED, Honoured.WORKS, False, False),
        ("0.9.2", UnknownKeys.IGNORED, Honoured.WORKS, False, False),
        ("0.10.0", UnknownKeys.IGNORED, Honoured.IGNORED, False, False),
        ("0.10.1.1", UnknownKeys.IGNORED, Honoured.IGNORED, True, False),
        ("0.15.0", UnknownKeys.IGNORED, Honoured.IGNORED, True, False),
        ("0.16.0", UnknownKeys.REFUSED, Honoured.IGNORED, True, False),
        ("0.17.0", UnknownKeys.REFUSED, Honoured.REFUSED, True, False),
        ("0.23.0", UnknownKeys.REFUSED, Honoured.REFUSED, True, False),
        ("0.24.0", UnknownKeys.REFUSED, Honoured.REFUSED, True, True),
        ("0.33.0", UnknownKeys.REFUSED, Honoured.REFUSED, True, True),
    ],
)
def test_what_the_releases_do(
    version: str,
    unknown: UnknownKeys,
    by_batch_size: Honoured,
    empty_is_off: bool,
    schedule: bool,
) -> None:
    got = of(version)
    assert got.unknown_keys is unknown
    assert got.disable_by_batch_size is by_batch_size
    assert got.empty_config_is_off is empty_is_off
    assert got.honours_schedule is schedule
    assert ("disable_by_batch_size" in got.keys) is (by_batch_size is not Honoured.REFUSED)


def test_methods_of_the_releases() -> None:
    assert of("0.8.5").methods == {
        *(Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL, Method.NGRAM, Method.DISABLED),
    }
    assert Method.DRAFT_MODEL not in of("0.14.0").methods
    assert "draft_model" in of("0.14.0").method_names & of("0.14.0").not_implemented
    assert Method.SUFFIX not in of("0.11.0").methods
    assert of("0.33.0").methods == set(Method)
    assert not of("0.33.0").not_implemented


def test_series_of_the_releases() -> None:
    for each in load_engine_contracts():
        assert each.metrics >= SPEC_COUNTERS
        assert (TPOT_METRIC in each.metrics) is (parts_of(each.version) >= (0, 11))
        assert ("vllm:kv_cache_usage_perc" in each.metrics) is (parts_of(each.version) >= (0, 9, 2))
    assert "vllm:time_per_output_token_seconds" not in of("0.12.0").metrics


def test_rules_that_change_with_the_release() -> None:
    assert of("0.9.2").draft_tensor_parallel["draft_model"] is DraftTensorParallel.ONE_OR_TARGET
    assert of("0.15.0").draft_tensor_parallel["draft_model"] is DraftTensorParallel.TARGET
    assert of("0.33.0").draft_tensor_parallel["eagle3"] is DraftTensorParallel.IGNORED
    slots = [of(version).draft_slots for version in ("0.16.0", "0.17.0", "0.27.0", "0.28.0")]
    assert slots == [
        *(DraftSlots.NONE, DraftSlots.PER_REQUEST, DraftSlots.PER_REQUEST, DraftSlots.ONCE),
    ]
    assert (of("0.19.0").default_memory_utilization, of("0.20.0").default_memory_utilization) == (
        *(0.9, 0.92),
    )


def test_a_key_changes_its_use_and_choices() -> None:
    assert of("0.9.2").keys["disable_by_batch_size"].use is KeyUse.EXTRA
    assert of("0.10.0").keys["disable_by_batch_size"].use is KeyUse.NO_EFFECT
    assert of("0.18.0").keys["rejection_sample_method"].choices == ("strict", "probabilistic")
    assert "fly" in of("0.33.0").keys["rejection_sample_method"].choices


def test_no_release_lets_a_profile_field_be_an_extra_key() -> None:
    for each in load_engine_contracts():
        assert not each.extra_keys & {"method", "model", "num_speculative_tokens"}


def release(version: str, **more: Any) -> dict[str, Any]:
    return {"version": version, "source": "wheel", "asOf": "2026-11-30", **more}


def data() -> dict[str, Any]:
    return {
        "sources": {"wheel": "the wheel"},
        "methods": {"NGram": "ngram"},
        "keys": [
            {"name": "method", "type": "Text", "use": "Profile", "about": "How"},
            {"name": "depth", "type": "Whole", "use": "Extra", "about": "How deep"},
        ],
        "releases": [
            release(
                "0.9.0",
                addKeys=["method", "depth"],
                addMethods=["ngram"],
                addMetrics=["vllm:x"],
                addFlags=["--x"],
                unknownKeys="Refused",
                emptyConfigIsOff=False,
                disableByBatchSize="Works",
                maxLookahead=32,
                defaultMemoryUtilization=0.9,
            ),
            release("0.10.0", unknownKeys="Ignored"),
        ],
        "traps": [
            {
                "name": "T",
                "since": "0.9.0",
                "until": "0.9.0",
                "severity": "Info",
                "consequence": "c",
                "fix": "f",
                "source": "wheel",
            }
        ],
    }


def test_what_a_release_does_not_tell_stays() -> None:
    older, newer = parse_engine_contracts(data())
    assert (older.unknown_keys, newer.unknown_keys) == (UnknownKeys.REFUSED, UnknownKeys.IGNORED)
    assert newer.max_lookahead == 32
    assert (newer.keys, newer.metrics, newer.flags) == (older.keys, older.metrics, older.flags)
    assert [len(each.traps) for each in (older, newer)] == [1, 0]
    assert older.traps[0].source == "the wheel"


def changed(path: str, value: Any) -> dict[str, Any]:
    content = deepcopy(data())
    at: Any = content
    *parents, last = path.split(".")
    for part in parents:
        at = at[int(part)] if part.isdecimal() else at[part]
    at[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("releases.1.version", "0.8.0", "does not follow the one before"),
        ("releases.1.version", "0.9.0", "does not follow the one before"),
        ("releases.1.version", "latest", "version"),
        ("releases.1.source", "hearsay", "'hearsay' is not described"),
        ("releases.1.addKeys", ["depth"], "'depth' is what it adds, although it was there"),
        ("releases.1.addKeys", ["colour"], "`keys` does not describe 'colour'"),
        ("releases.1.removeKeys", ["colour"], "removes, although it was not there"),
        ("releases.1.removeMetrics", ["vllm:y"], "removes, although it was not there"),
        ("releases.1.changeKeys", [{"name": "colour"}], "changeKeys names 'colour'"),
        ("releases.1.maxLookahead", 0, "maxLookahead"),
        ("releases.1.defaultMemoryUtilization", float("nan"), "defaultMemoryUtilization"),
        ("releases.1.colour", "blue", "colour"),
        ("releases.0.unknownKeys", None, "unknownKeys is not told"),
        ("releases", [], "releases"),
        ("keys.1.name", "method", "two rows of `keys` have one name"),
        ("keys.1.use", "Whatever", "use"),
        ("traps.0.keys", ["colour"], "no release has 'colour'"),
        ("traps.0.methods", ["medusa"], "no release has 'medusa'"),
        ("traps.0.source", "hearsay", "T: source 'hearsay'"),
        ("traps.0.when", ["Rain"], "when"),
        ("methods", {"Magic": "magic"}, "methods"),
    ],
)
def test_what_the_loader_refuses(path: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_engine_contracts(changed(path, value))
