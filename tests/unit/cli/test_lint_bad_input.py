"""What people get wrong in a config, a serving or a manifest: one message each, and no more."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.lint_inputs import (
    LLAMA,
    Body,
    Lint,
    container,
    eagle,
    flag,
    profile,
    serving,
    workload,
)

TABLE = "num_speculative_tokens_per_batch_size"


def own(*args: Any, version: str = "0.24.0") -> Body:
    return workload(container(LLAMA, *args, image=f"vllm/vllm-openai:v{version}"))


def ngram(**more: Any) -> Body:
    return {"method": "ngram", "num_speculative_tokens": 3, **more}


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A mistake, and the one error that tells it."""

    name: str
    body: Body
    check: str
    says: str
    severity: str = "Error"


CASES = (
    Wrong(
        name="JSON that ends too early",
        body=own("--speculative-config", '{"method":"ngram"'),
        check="ConfigNotJson",
        says="it is not JSON",
    ),
    Wrong(
        name="a list for the config",
        body=own("--speculative-config", "[1]"),
        check="ConfigNotObject",
        says="JSON, no object",
    ),
    Wrong(
        name="quotes doubled by a template",
        body=own("--speculative-config", '{""method"":""ngram"",""num_speculative_tokens"":3}'),
        check="ConfigNotJson",
        says='its quotes are doubled: write {"method":"ngram","num_speculative_tokens":3}',
    ),
    Wrong(
        name="JSON made of JSON by toJson",
        body=own("--speculative-config", r'"{\"method\":\"ngram\"}"'),
        check="ConfigNotObject",
        says='write {"method":"ngram"}',
    ),
    Wrong(
        name="a text for K",
        body=own(flag(ngram(num_speculative_tokens="3"))),
        check="KeyValue",
        says="expects a whole number here",
    ),
    Wrong(
        name="a number for the method",
        body=own(flag({"method": 3, "num_speculative_tokens": 3, "model": "org/x"})),
        check="KeyValue",
        says="expects a text here",
    ),
    Wrong(
        name="K of 0",
        body=own(flag(ngram(num_speculative_tokens=0))),
        check="LookaheadRange",
        says="expects at least 1",
    ),
    Wrong(
        name="K of 1000",
        body=own(flag(ngram(num_speculative_tokens=1000))),
        check="LookaheadRange",
        says="works with at most",
    ),
    Wrong(
        name="a key misspelt by one letter",
        body=own(flag(ngram(prompt_lookup_maks=4))),
        check="KeyUnknown",
        says="write 'prompt_lookup_max'",
    ),
    Wrong(
        name="a key misspelt by one letter where the release ignores it",
        body=own(flag(ngram(prompt_lookup_maks=4)), version="0.11.0"),
        check="KeyUnknown",
        says="ignores it in silence; write 'prompt_lookup_max'",
    ),
    Wrong(
        name="a method misspelt by one letter",
        body=own(flag(ngram(method="ngramm"))),
        check="MethodUnknown",
        says="write 'ngram'",
    ),
    Wrong(
        name="a method that the release lacks",
        body=own(flag({"method": "suffix"}), version="0.11.0"),
        check="MethodUnknown",
        says="has no such method",
    ),
    Wrong(
        name="a table with a gap",
        body=own(flag(eagle(**{TABLE: [[1, 8, 4], [17, 64, 2]]}))),
        check="ScheduleGap",
        says="9 to 16 requests take the K of 4 before them",
        severity="Warning",
    ),
    Wrong(
        name="a table whose rows overlap",
        body=own(flag(eagle(**{TABLE: [[1, 16, 4], [16, 64, 2]]}))),
        check="ScheduleOverlap",
        says="16 lies in two rows",
    ),
    Wrong(
        name="a table that starts late",
        body=own(flag(eagle(**{TABLE: [[2, 16, 4]]}))),
        check="ScheduleStart",
        says="let the first row start at 1",
    ),
    Wrong(
        name="a table of texts",
        body=own(flag(eagle(**{TABLE: "1-16:4"}))),
        check="ScheduleShape",
        says="rows of three whole numbers",
    ),
    Wrong(
        name="the knob that stops newer releases",
        body=own(flag(ngram(disable_by_batch_size=32))),
        check="DisableByBatchSize",
        says=f"write {TABLE} instead",
    ),
    Wrong(
        name="the same knob where it is ignored",
        body=own(flag(ngram(disable_by_batch_size=32)), version="0.12.0"),
        check="DisableByBatchSize",
        says="takes the key and ignores it",
        severity="Warning",
    ),
    Wrong(
        name="a config that loads code",
        body=own(flag(eagle(code_revision="main"))),
        check="LoadsCode",
        says="makes the server run code that is not its own",
    ),
    Wrong(
        name="two ways of writing that contradict each other",
        body=own(flag(ngram()), "--speculative-config.method", "eagle"),
        check="CommandLine",
        says="",
    ),
    Wrong(
        name="one key by two flags",
        body=own(flag(ngram()), "--spec-tokens", "3"),
        check="CommandLine",
        says="vLLM does not start with both",
    ),
    Wrong(
        name="a flag that says nothing",
        body=own("--speculative-config"),
        check="CommandLine",
        says="says nothing",
    ),
    Wrong(
        name="a flag that the release lacks",
        body=own("-sc", '{"method":"ngram","num_speculative_tokens":3}', version="0.11.0"),
        check="FlagUnknown",
        says="has no such flag",
    ),
    Wrong(
        name="a variable that nothing defines",
        body=own("--speculative-config=$(SPEC)"),
        check="CommandLine",
        says="give the variable a literal one in env",
    ),
    Wrong(
        name="the config as an object of the YAML, without quotes",
        body=own("--speculative-config", ngram()),
        check="ManifestValue",
        says="put it in quotes",
    ),
    Wrong(
        name="arguments as one text",
        body=workload({"name": "vllm", "image": "vllm/vllm-openai:v0.24.0", "args": "serve x"}),
        check="ManifestValue",
        says="write args: with one word a line",
    ),
    Wrong(
        name="a number in env",
        body=workload(container(LLAMA, env=[{"name": "A", "value": 1}])),
        check="ManifestValue",
        says="put it in quotes",
    ),
    Wrong(
        name="K of 1000 in a profile",
        body=serving(profile(numSpeculativeTokens=1000)),
        check="SpecInvalid",
        says="use 32 or less",
    ),
    Wrong(
        name="K of 0 in a profile",
        body=serving(profile(numSpeculativeTokens=0)),
        check="SpecInvalid",
        says="use 1 or more",
    ),
    Wrong(
        name="a text for K in a profile",
        body=serving(profile(numSpeculativeTokens="4")),
        check="SpecInvalid",
        says="use a whole number",
    ),
    Wrong(
        name="a field of a serving misspelt by one letter",
        body=serving(profile(), mod="Automatic"),
        check="SpecInvalid",
        says="write mode",
    ),
    Wrong(
        name="a field of a profile misspelt by one letter",
        body=serving(profile(numSpeculativeToken=4)),
        check="SpecInvalid",
        says="write numSpeculativeTokens",
    ),
    Wrong(
        name="a field that resembles none",
        body=serving(profile(), zzzzzz=1),
        check="SpecInvalid",
        says="remove it, or correct its spelling",
    ),
    Wrong(
        name="a method of a profile that does not exist",
        body=serving(profile("Eagle2")),
        check="SpecInvalid",
        says="use ",
    ),
    Wrong(
        name="a serving without a spec",
        body={**serving(), "spec": None},
        check="SpecInvalid",
        says="",
    ),
    Wrong(
        name="a kind of the group misspelt",
        body={**serving(profile()), "kind": "SpeculativeServng"},
        check="KindUnknown",
        says="write one of SpeculativeServing",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_message_each(case: Wrong, tmp_path: Path) -> None:
    found = [each for each in Lint(tmp_path).found([case.body]) if each["severity"] != "Info"]
    assert [each["check"] for each in found] == [case.check]
    assert case.says in f"{found[0]['consequence']}; {found[0]['fix']}"
    assert found[0]["severity"] == case.severity


def test_a_config_that_is_right_has_no_message(tmp_path: Path) -> None:
    for body in (own(flag(ngram())), serving(profile()), own()):
        found = Lint(tmp_path).found([body])
        assert [each for each in found if each["severity"] != "Info"] == []


def test_a_message_is_one_line(tmp_path: Path) -> None:
    nasty = 'x\n\x1b[31m"\u2028'
    bodies = [own(f"--speculative-config={nasty}"), serving(profile(model=nasty, name=nasty))]
    for each in Lint(tmp_path).found(bodies):
        for part in ("flag", "value", "consequence", "fix", "name"):
            assert each[part].isprintable(), each
