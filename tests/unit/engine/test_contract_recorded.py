"""A real server's answers to broken configs: what it refused has an error here, and only that.

Recorded with vLLM 0.32.0 on CPU; `answer` is the last line of what it said.
"""

import json
from dataclasses import dataclass

import pytest

from ridgeline.engine.check_all import findings_of
from ridgeline.engine.check_subject import CheckedModel, Subject
from ridgeline.engine.check_text import check_text
from ridgeline.engine.findings import Finding, refuses
from tests.unit.engine.contracts import contract

CONTRACT = contract("0.32.0")
DRAFT = '{"method": "draft_model", "model": "/models/draft", "num_speculative_tokens": 4'


@dataclass(frozen=True)
class Answer:
    """A text, whether the server became ready with it, what it said, and what names it here."""

    text: str
    starts: bool
    answer: str
    check: str = ""
    draft_vocabulary: int = 512


ANSWERS = {
    "disable_by_batch_size": Answer(
        DRAFT + ', "disable_by_batch_size": 16}', False, "Unexpected keyword argument",
        "DisableByBatchSize",
    ),
    "empty-object": Answer("{}", False, "num_speculative_tokens must be provided", "MethodMissing"),
    "json": Answer('{"method":', False, "cannot be converted to <function loads", "ConfigNotJson"),
    "unexpanded": Answer("$(VAR)", False, "cannot be converted to <function", "ConfigNotJson"),
    "k0": Answer(
        DRAFT.replace("4", "0") + "}", False, "Input should be greater than 0", "LookaheadRange"
    ),
    "method": Answer(
        DRAFT.replace("draft_model", "eagel") + "}", False, "literal_error", "MethodUnknown"
    ),
    "no-k": Answer(
        '{"method": "draft_model", "model": "/models/draft"}', False,
        "`num_speculative_tokens` was not provided", "LookaheadMissing",
    ),
    "schedule-from-2": Answer(
        DRAFT + ', "num_speculative_tokens_per_batch_size": [[2, 8, 4]]}', False,
        "Engine core initialization failed", "ScheduleStart",
    ),
    "schedule-overlap": Answer(
        DRAFT + ', "num_speculative_tokens_per_batch_size": [[1, 8, 4], [8, 16, 2]]}', False,
        "Engine core initialization failed", "ScheduleOverlap",
    ),
    "typo-key": Answer(
        DRAFT + ', "num_speculative_token_per_batch_size": [[1, 8, 4]]}', False,
        "Unexpected keyword argument", "KeyUnknown",
    ),
    "vocab": Answer(
        DRAFT + "}", False, "should have the same vocabulary size", "Vocabulary", 640
    ),
    "schedule-k-above": Answer(
        DRAFT + ', "num_speculative_tokens_per_batch_size": [[1, 8, 6], [9, 64, 0]]}', True, ""
    ),
    "empty": Answer("", True, ""),
    "plain": Answer(DRAFT + "}", True, ""),
}  # fmt: skip


def findings(answer: Answer) -> tuple[Finding, ...]:
    broken = tuple(check_text(answer.text, CONTRACT))
    if any(each.check == "ConfigNotJson" for each in broken):
        return broken
    config = json.loads(answer.text) if answer.text else None
    words = "vllm serve /models/target --max-model-len 1024 --max-num-seqs 64 --enforce-eager"
    return broken + findings_of(
        Subject(
            contract=CONTRACT,
            config=config,
            words=tuple(words.split()),
            target=CheckedModel(vocabulary=512),
            draft=CheckedModel(vocabulary=answer.draft_vocabulary),
        )
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_server_refused_is_an_error_before_it_starts(name: str) -> None:
    answer = ANSWERS[name]
    got = findings(answer)
    assert refuses(got) is not answer.starts, [each.sentence() for each in got]
    errors = {each.check for each in got if each.severity.value == "Error"}
    assert answer.check in errors or answer.starts


def test_the_misspelt_key_gets_its_right_name() -> None:
    finding = next(each for each in findings(ANSWERS["typo-key"]) if each.check == "KeyUnknown")
    assert finding.fix == "write 'num_speculative_tokens_per_batch_size'"


def test_the_misspelt_method_gets_its_right_name() -> None:
    finding = next(each for each in findings(ANSWERS["method"]) if each.check == "MethodUnknown")
    assert finding.fix == "write 'eagle'"


def test_a_k_above_the_lookahead_is_cut_and_said() -> None:
    got = {each.check: each for each in findings(ANSWERS["schedule-k-above"])}
    assert (
        "a K of 6 is cut to num_speculative_tokens 4" in got["ScheduleAboveLookahead"].consequence
    )


def test_a_server_without_log_stats_exported_nothing() -> None:
    words = ("vllm", "serve", "/models/target", "--disable-log-stats")
    config = {"method": "draft_model", "model": "/models/draft", "num_speculative_tokens": 4}
    got = findings_of(Subject(contract=CONTRACT, config=config, words=words))
    assert "NoLogStats" in {each.check for each in got}
    assert not refuses(got)
