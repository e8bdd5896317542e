"""The real engine's own parser and configuration beside what the contract says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ridgeline.engine.speculative_config import VLLM_METHOD
from ridgeline.terms.methods import Method
from tests.engine.cases import (
    KNOWN_LATER,
    STRICTER,
    Case,
    by_key,
    cases_of,
    contract_for,
    profiles,
    rendered,
    said_before,
    written_by_hand,
)
from tests.engine.environment import OTHER_VERSIONS, VERSION

pytestmark = pytest.mark.engine

AnswersOf = Callable[[str], dict[str, dict[str, Any]]]
VERSIONS = (VERSION, *OTHER_VERSIONS)


def named(pairs: list[tuple[str, Case]]) -> pytest.MarkDecorator:
    ids = [f"{version} {case.name}" for version, case in pairs]
    return pytest.mark.parametrize(("version", "case"), pairs, ids=ids)


@named([(version, case) for version in VERSIONS for case in rendered(contract_for(version))])
def test_every_rendered_profile_is_accepted_as_what_it_is(
    version: str, case: Case, answers_of: AnswersOf
) -> None:
    told = answers_of(version)[case.name]
    assert told["accepted"], told["message"]
    name = case.name.split()[0]
    profile = next(each for each, _ in profiles() if each.name == name)
    if profile.method is Method.DISABLED:
        assert told["speculation"] is None
        return
    speculation = told["speculation"]
    assert speculation["method"] == VLLM_METHOD[profile.method]
    assert speculation["lookahead"] == profile.num_speculative_tokens
    if profile.schedule is not None:
        by_batch = [k for first, last, k in profile.schedule for _ in range(first, last + 1)]
        assert speculation["lookahead_by_batch"] == by_batch


@named(
    [
        (version, case)
        for version in VERSIONS
        for case in (*written_by_hand(), *by_key(contract_for(version)))
    ]
)
def test_what_the_contract_refuses_is_refused_and_nothing_else(
    version: str, case: Case, answers_of: AnswersOf
) -> None:
    said, told = said_before(case, contract_for(version)), answers_of(version)[case.name]
    if case.name in STRICTER:
        assert said is not None
        assert told["accepted"], f"the engine refuses it as well: {told['message']}"
    elif case.name in KNOWN_LATER:
        assert said is None
        assert not told["accepted"]
    elif told["accepted"]:
        assert said is None, f"the engine takes it as {told['speculation']}; ridgeline says {said}"
    else:
        assert said is not None, f"the engine says {told['message']}; ridgeline lets it start"


def test_every_release_is_asked_the_same_questions_about_each_of_its_keys() -> None:
    for version in VERSIONS:
        names = [case.name for case in cases_of(version)]
        assert len(names) == len(set(names)) > 100
