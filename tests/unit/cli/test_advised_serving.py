"""The serving that `ridgeline advise -o yaml` prints is what the API server takes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from typer.testing import CliRunner

from ridgeline.api.serving import parse_serving
from ridgeline.cli.main import app
from ridgeline.settings.advise_stanza import label_of
from tests.unit.api.evaluator import broken_rules, with_defaults
from tests.unit.cli.test_advise_command import EAGLE, QWEN, page, run

CRD = Path(__file__).parents[3] / "crds" / "ridgeline.dev_speculativeservings.yaml"
ADVICE: dict[str, tuple[str, ...]] = {
    "one head": (*QWEN, *EAGLE),
    "chosen lookahead": (*QWEN, "--method", "Eagle3", "--method", "NGram"),
    "in-engine schedule": (*QWEN, "--method", "Eagle3", "--in-engine"),
    "rates and schedule": (*QWEN, "--method", "Eagle3:5", "--acceptance", "0.6", "--in-engine"),
    "draft model": (*QWEN, "--method", "DraftModel:4:Qwen/Qwen3-0.6B", "-n", "team"),
    "names": (*QWEN, "--method", "a=Eagle3:3:org/head", "--method", "b=Suffix", "--name", "x"),
    "slice": (
        *("--model", "Qwen/Qwen3-8B", "--accelerator", "h100-sxm-mig-3g.40gb"),
        *("--method", "NGram:3", "--precision", "w4a16"),
    ),
    "experts": ("--model", "Qwen/Qwen3-30B-A3B", "--accelerator", "h100", "--method", "Eagle3"),
}


def serving(*arguments: str) -> dict[str, Any]:
    found = yaml.safe_load(page(*arguments, "-o", "yaml"))
    assert isinstance(found, dict)
    return found


def crd_schema() -> dict[str, Any]:
    (version,) = yaml.safe_load(CRD.read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert isinstance(schema, dict)
    return schema


@pytest.mark.parametrize("name", ADVICE)
def test_it_passes_the_schema_the_rules_and_the_models_of_its_kind(name: str) -> None:
    body, schema = serving(*ADVICE[name]), crd_schema()
    problems = [each.message for each in Draft202012Validator(schema).iter_errors(body)]
    assert problems == []
    spec = schema["properties"]["spec"]
    assert list(broken_rules(spec, with_defaults(spec, body["spec"]), "spec")) == []
    parse_serving(body, strict=True)


def test_the_schema_that_it_is_held_to_refuses_what_is_wrong() -> None:
    body = serving(*ADVICE["one head"])
    body["spec"]["profiles"][0]["numSpeculativeTokens"] = 0
    assert list(Draft202012Validator(crd_schema()).iter_errors(body))


def test_it_says_what_was_advised_and_acts_on_nothing() -> None:
    body = serving(*ADVICE["one head"])
    assert body["spec"]["mode"] == "RecommendOnly"
    assert body["spec"]["targetRef"]["name"] == body["metadata"]["name"] == "qwen3-32b"
    head, none = body["spec"]["profiles"]
    assert head == {
        "name": "eagle3-3",
        "method": "Eagle3",
        "model": "SpecForge/qwen3-32b-eagle3",
        "numSpeculativeTokens": 3,
        "acceptancePercent": [70, 45, 28],
    }
    assert none == {"name": "none", "method": "Disabled"}
    assert body["spec"]["accelerator"] == "h200-sxm"


def test_a_schedule_has_the_rates_of_its_highest_lookahead_alone() -> None:
    head = serving(*ADVICE["rates and schedule"])["spec"]["profiles"][0]
    assert head["schedule"][0]["fromRequests"] == 1
    assert head["numSpeculativeTokens"] == head["schedule"][0]["numSpeculativeTokens"]
    assert len(head["acceptancePercent"]) == head["numSpeculativeTokens"]


def test_a_guess_of_acceptance_is_not_written_down_as_somebodys_measurement() -> None:
    assert all(
        "acceptancePercent" not in each
        for each in serving(*ADVICE["chosen lookahead"])["spec"]["profiles"]
    )


def test_the_verdict_stands_above_it_as_a_comment() -> None:
    text = page(*ADVICE["one head"], "-o", "yaml")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert any("by the numbers alone" in each.casefold() for each in comments)
    assert text.endswith("\n")


def test_a_head_that_nobody_named_is_asked_for_instead_of_made_up() -> None:
    arguments = ("--model", "Qwen/Qwen3-14B", "--accelerator", "h200", "--method", "Eagle3")
    result = run(*arguments, "-o", "yaml")
    assert result.exit_code == 1
    assert "--method Eagle3:" in result.stderr
    assert "ORGANISATION/NAME" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("meta-llama/Llama-3.1-8B", "llama-3-1-8b"),
        ("/models/My_Model.v2/", "my-model-v2"),
        ("ÄÖ", "model"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_models_name_becomes_one_that_kubernetes_takes(name: str, label: str) -> None:
    assert label_of(name) == label


@pytest.mark.parametrize(
    ("option", "value"),
    [("--name", "My Model"), ("--name", "a..b"), ("-n", "Bad NS!"), ("-n", "x" * 64), ("-n", "")],
)
def test_a_name_that_kubernetes_does_not_take_is_refused(option: str, value: str) -> None:
    result = run(*ADVICE["one head"], "-o", "yaml", option, value)
    assert result.exit_code == 2
    assert f"{value!r}: use small letters" in result.stderr
    assert result.stdout == ""


def test_the_release_that_was_told_is_written_down() -> None:
    assert serving(*ADVICE["one head"])["spec"]["engine"] == {"version": "0.24.0"}
    assert "engine" not in serving(*ADVICE["experts"])["spec"]


def commands(text: str) -> dict[str, list[str]]:
    found = [line[1:].split() for line in text.splitlines() if line.startswith("#   ridgeline ")]
    return {words[1]: words[2:] for words in found}


def test_the_commands_above_it_repeat_the_advice(tmp_path: Path) -> None:
    asked = (
        *(*QWEN, *EAGLE, "--tensor-parallel", "2", "--max-num-seqs", "200", "--precision", "FP8"),
        *("--prompt-tokens", "900", "--output-tokens", "300"),
    )
    text = page(*asked, "-o", "yaml")
    told = commands(text)
    file = tmp_path / "serving.yaml"
    file.write_text(text)
    again = [str(file) if word == file.name else word for word in told["cutoff"]]
    result = CliRunner().invoke(app, ["cutoff", *again, "--json"])
    assert result.exit_code == 0, result.output
    assert "is not there" not in result.stderr
    before = json.loads(page(*asked, "-o", "json"))["cutoff"]
    after = json.loads(result.stdout)
    assert after["ranges"] == before["ranges"]
    assert after["prediction"]["profiles"] == before["prediction"]["profiles"]
    for words in (["--tp", "2"], ["--max-num-seqs", "200"], ["--engine-version", "0.24.0"]):
        assert " ".join(words) in " ".join(told["simulate"])


def test_a_limit_that_no_simulation_takes_is_left_out_of_its_command() -> None:
    told = commands(page(*QWEN, *EAGLE, "--max-num-seqs", "1000", "-o", "yaml"))
    assert "--max-num-seqs" in told["cutoff"]
    assert "--max-num-seqs" not in told["simulate"]


def test_a_precision_that_the_serving_does_not_hold_stands_in_the_commands() -> None:
    asked = ("--model", "Qwen/Qwen3-32B-FP8", "--accelerator", "h100-sxm", *EAGLE)
    told = commands(page(*asked, "-o", "yaml"))
    assert " ".join(told["cutoff"]).endswith("--precision FP8")
