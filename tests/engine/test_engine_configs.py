"""The real engine's own parser and configuration beside what the contract says of them."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.engine.speculative_config import VLLM_METHOD
from ridgeline.terms.methods import Method
from tests.engine.cases import (
    KNOWN_LATER,
    STRICTER,
    Case,
    by_key,
    profiles,
    rendered,
    said_before,
    written_by_hand,
)
from tests.engine.environment import VERSION

pytestmark = pytest.mark.engine

Answers = dict[str, dict[str, Any]]


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@named(list(rendered()))
def test_every_rendered_profile_is_accepted_as_what_it_is(case: Case, answers: Answers) -> None:
    told = answers[case.name]
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


@named([*written_by_hand(), *by_key()])
def test_what_the_contract_refuses_is_refused_and_nothing_else(
    case: Case, answers: Answers
) -> None:
    said, told = said_before(case), answers[case.name]
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


def test_the_engine_is_the_release_that_is_pinned(answers: Answers) -> None:
    from tests.engine import outcome

    assert answers
    assert outcome.read()["judged"]["version"] == VERSION
