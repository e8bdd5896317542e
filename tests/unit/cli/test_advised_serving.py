"""The serving that `ridgeline advise -o yaml` prints is what the API server takes."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ridgeline.api.serving import parse_serving
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


def test_a_name_that_kubernetes_does_not_take_is_refused() -> None:
    result = run(*ADVICE["one head"], "-o", "yaml", "--name", "My Model")
    assert result.exit_code == 1
    assert "My Model" in result.stderr
