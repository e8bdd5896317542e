"""A config as a profile of one release: what is refused, and with which message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.engine.contract import KeyContract, KeyType, KeyUse
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    LoadsCodeError,
    Profile,
    config_of,
    parse,
    refuse_code,
    render,
)
from ridgeline.engine.spelling_profile import profile_from, render_for
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method
from tests.unit.engine.contracts import contract, draft, eagle, ngram

TABLE = "num_speculative_tokens_per_batch_size"


def told(config: Mapping[str, object], version: str = "0.33.0") -> str:
    with pytest.raises(InvalidSpeculativeConfigError) as refused:
        profile_from(config, contract(version), name="p")
    message = str(refused.value)
    assert message.isprintable()
    return message


BAD: tuple[tuple[dict[str, object], str, str], ...] = (
    (ngram(num_speculative_tokens=0), "num_speculative_tokens 0", "leave the whole config empty"),
    (ngram(num_speculative_tokens=1000), "num_speculative_tokens 1000", "write 128 or less"),
    (ngram(num_speculative_tokens="4"), 'num_speculative_tokens "4"', "a whole number"),
    (ngram(num_speculative_tokens=True), "num_speculative_tokens true", "a whole number"),
    (ngram(num_speculative_tokens=4.5), "num_speculative_tokens 4.5", "a whole number"),
    ({"method": "ngram"}, "num_speculative_tokens", "such as 3"),
    ({"method": "ngram", "num_speculative_tokrns": 3}, "num_speculative_tokrns", "num_speculative"),
    (eagle(modle="x"), "modle", "write 'model'"),
    (eagle(method="eagel"), 'method "eagel"', "write 'eagle'"),
    (eagle(method=3), "method 3", "a text"),
    ({"model": "o/h", "num_speculative_tokens": 3}, "method", "name one of eagle, eagle3,"),
    (eagle(model=None), "model", "name the head"),
    (eagle(model=["a"]), "model", "a text"),
    (ngram(model="o/h"), "model", "remove it"),
    (ngram(colour="blue"), "colour", "remove it"),
    (ngram(enforce_eager="yes"), 'enforce_eager "yes"', "true or false"),
    (ngram(prompt_lookup_min=5, prompt_lookup_max=4), "prompt_lookup_min 5", "4 or less"),
    (ngram(prompt_lookup_max=0), "prompt_lookup_max 0", "at least 1"),
    (eagle(**{TABLE: [[1, 8, 4], [16, 32, 2]]}), TABLE, "close the gap"),
    (eagle(**{TABLE: [[1, 8, 4], [8, 32, 2]]}), TABLE, "start at 9"),
    (eagle(**{TABLE: [[2, 8, 4]]}), TABLE, "start at 1"),
    (eagle(**{TABLE: [[1, 8]]}), TABLE, "write it as"),
    (eagle(**{TABLE: {"1": 4}}), TABLE, "write it as"),
    (eagle(**{TABLE: [[1, 8, -1]]}), TABLE, "K >= 0"),
    (eagle(method="dflash"), 'method "dflash"', "choose one of eagle, eagle3,"),
    (eagle(tensor_parallel_size=2), "tensor_parallel_size 2", "draft_tensor_parallel_size"),
    (eagle(target_model_config={}), "target_model_config", "remove it"),
    (eagle(synthetic_acceptance_length=2.0), "synthetic_acceptance_length", "measurements alone"),
    (eagle(rejection_sample_method="synthetic"), "rejection_sample_method", "measurements alone"),
)


@pytest.mark.parametrize(("config", "where", "way_out"), BAD, ids=[each[1] for each in BAD])
def test_one_message_names_key_value_and_way_out(
    config: dict[str, object], where: str, way_out: str
) -> None:
    message = told(config)

    assert message.startswith(f"--speculative-config {where}")
    assert way_out in message


@pytest.mark.parametrize(
    ("config", "version", "way_out"),
    [
        (draft(), "0.12.0", "choose one of eagle, eagle3, ngram, mtp, suffix"),
        ({"method": "mtp", "num_speculative_tokens": 1}, "0.9.0", "choose one of"),
        ({"method": "suffix"}, "0.10.2", "choose one of"),
        (eagle(**{TABLE: [[1, 8, 4]]}), "0.20.2", "remove it"),
        (eagle(**{TABLE: [[1, 8, 4]]}), "0.12.0", "does not know the key"),
        (ngram(colour=1), "0.12.0", "does not know the key; remove it"),
        (draft(disable_by_batch_size=16), "0.33.0", TABLE),
        (ngram(disable_by_batch_size=16), "0.12.0", "nothing reads it; remove it"),
        (ngram(num_speculative_tokens=33), "0.8.5", "write 32 or less"),
    ],
    ids=str,
)
def test_what_a_release_lacks_is_told(
    config: dict[str, object], version: str, way_out: str
) -> None:
    message = told(config, version)

    assert version in message or "this release" in message
    assert way_out in message


CODE: tuple[dict[str, Any], ...] = (
    {"method": "custom_class", "model": "my.Drafter", "num_speculative_tokens": 3},
    {"model": "my.module.Drafter", "num_speculative_tokens": 3},
    eagle(code_revision="main"),
    {"code-revision": "main", **eagle()},
    eagle(draft_load_config={"load_format": "auto"}),
)


@pytest.mark.parametrize("config", CODE, ids=str)
def test_what_loads_code_is_refused_wherever_it_is_read(config: dict[str, Any]) -> None:
    with pytest.raises(LoadsCodeError):
        parse(json.dumps(config))
    for release in load_engine_contracts():
        with pytest.raises(LoadsCodeError):
            profile_from(config, release, name="p")


def test_a_dotted_model_is_a_class_only_where_a_release_takes_it_for_one() -> None:
    config = eagle(model="my.head")

    with pytest.raises(LoadsCodeError, match="imports the class"):
        profile_from(config, contract("0.24.0"), name="p")
    assert profile_from(config, contract("0.33.0"), name="p").model == "my.head"
    assert parse(json.dumps(config)) == config


def test_code_is_told_before_anything_else() -> None:
    with pytest.raises(LoadsCodeError, match="imports the class"):
        profile_from(eagle(model="my.head", modle="x"), contract("0.24.0"), name="p")


def test_a_key_that_a_later_profile_renders_is_no_extra_key() -> None:
    key = KeyContract(name="later", type=KeyType.WHOLE, use=KeyUse.PROFILE, about="Later")
    release = replace(contract(), keys={**contract().keys, "later": key})

    with pytest.raises(InvalidSpeculativeConfigError, match="later 1: no profile has a field"):
        profile_from(ngram(later=1), release, name="p")


def test_every_key_that_loads_code_is_refused_without_knowing_the_release() -> None:
    keys = {
        key
        for release in load_engine_contracts()
        for key, each in release.keys.items()
        if each.use is KeyUse.LOADS_CODE
    }
    assert keys
    for key in keys:
        with pytest.raises(LoadsCodeError, match=key):
            refuse_code(ngram(**{key: "x"}))


def test_a_family_of_mtp_is_mtp() -> None:
    config = {"method": "deepseek_mtp", "num_speculative_tokens": 1}

    assert profile_from(config, contract("0.24.0"), name="p").method is Method.MTP


def test_rows_of_a_table_are_read_in_their_order() -> None:
    read = profile_from(eagle(**{TABLE: [[17, 64, 2], [1, 16, 4]]}), contract(), name="p")

    assert read.schedule == ((1, 16, 4), (17, 64, 2))


def test_null_is_a_key_that_is_not_there() -> None:
    config = ngram(prompt_lookup_max=None, draft_load_config=None)

    assert profile_from(config, contract(), name="p") == Profile(
        name="p", method=Method.NGRAM, num_speculative_tokens=4
    )


def test_a_profile_that_a_release_lacks_is_not_rendered() -> None:
    profile = Profile(name="p", method=Method.SUFFIX)

    assert render_for(profile, contract("0.12.0")) == '{"method":"suffix"}'
    with pytest.raises(InvalidSpeculativeConfigError, match="choose one of eagle, eagle3, ngram"):
        render_for(profile, contract("0.10.2"))
    assert render_for(Profile(name="p", method=Method.DISABLED), contract("0.10.2")) == ""


def test_table_and_extra_keys_come_last_and_in_order() -> None:
    profile = Profile(
        name="p",
        method=Method.EAGLE,
        model="o/h",
        num_speculative_tokens=4,
        schedule=((17, 64, 2), (1, 16, 4)),
        extra=(("revision", "v1"), ("draft_tensor_parallel_size", 1)),
    )

    assert render(profile) == (
        '{"method":"eagle","model":"o/h","num_speculative_tokens":4,'
        '"num_speculative_tokens_per_batch_size":[[1,16,4],[17,64,2]],'
        '"draft_tensor_parallel_size":1,"revision":"v1"}'
    )


@pytest.mark.parametrize(("value", "text"), [(2.0, "2"), (0.5, "0.5"), (True, "true"), (1, "1")])
def test_a_number_has_one_way_to_be_written(value: float, text: str) -> None:
    profile = Profile(name="p", method=Method.SUFFIX, extra=(("x", value),))

    assert render(profile) == f'{{"method":"suffix","x":{text}}}'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_that_is_not_finite_is_written(value: float) -> None:
    profile = Profile(name="p", method=Method.SUFFIX, extra=(("x", value),))

    with pytest.raises(InvalidSpeculativeConfigError, match="key x"):
        config_of(profile)
