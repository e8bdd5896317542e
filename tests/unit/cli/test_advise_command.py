"""`ridgeline advise`: what it prints in each form, and what it says to wrong options."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ridgeline.cli.main import app

LLAMA_70B = (
    *("--model", "meta-llama/Llama-3.3-70B-Instruct", "--accelerator", "H100"),
    *("--tensor-parallel", "4", "--precision", "FP8", "--vllm", "0.24.0"),
    *("--method", "Eagle3", "--method", "NGram"),
)
QWEN = ("--model", "Qwen/Qwen3-32B", "--accelerator", "h200-sxm", "--vllm", "0.24.0")
EAGLE = ("--method", "Eagle3:3", "--acceptance", "0.7,0.45,0.28")
REQUESTS = ("--prompt-tokens", "900", "--output-tokens", "300")
PRICED = (*QWEN, *EAGLE, *REQUESTS, "--load", "40req/s", "--gpu-price", "3.5")

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "fp8"},
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["advise", *arguments])


def page(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def document(*arguments: str) -> dict[str, Any]:
    found = json.loads(page(*arguments, "-o", "json"))
    assert isinstance(found, dict)
    return found


def profile(told: dict[str, Any], name: str) -> dict[str, Any]:
    found = next(each for each in told["profiles"] if each["profile"] == name)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def priced() -> dict[str, Any]:
    return document(*PRICED)


def test_the_page_answers_every_question_that_people_ask() -> None:
    told = page(*LLAMA_70B)
    for title in (
        "Cut-offs, in requests in decode per engine",
        "Speed-up over none by concurrency B and context",
        "Best lookahead K",
        "In-engine schedule",
        "Memory, at the mean context",
        "Time to first token",
        "Start-up",
        "Capacity of one engine",
        "Checks, at 8 requests in decode per engine",
    ):
        assert title in told
    assert "H100 is taken for h100-sxm" in told
    assert "num_speculative_tokens_per_batch_size" in told


def test_the_command_of_a_schedule_can_be_copied_in_one_piece() -> None:
    told = page(*LLAMA_70B)
    configs = re.findall(r"--speculative-config '(.*)'", told)
    assert len(configs) == 2
    for each in configs:
        rows = json.loads(each)["num_speculative_tokens_per_batch_size"]
        assert rows[0][0] == 1
        assert all(before[1] + 1 == after[0] for before, after in pairwise(rows))


def test_a_schedule_for_a_head_that_nobody_named_says_where_to_put_it() -> None:
    told = document("--model", "Qwen/Qwen3-14B", "--accelerator", "h100", "--method", "Eagle3:4")
    (found,) = told["inEngine"]
    assert '"model":"ORGANISATION/HEAD"' in found["config"]
    assert "put your head in place of ORGANISATION/HEAD" in found["why"]
    named = document(*LLAMA_70B)["inEngine"]
    assert all("ORGANISATION" not in str(each) for each in named)


def test_nothing_that_was_guessed_is_told_as_certain() -> None:
    told = document(*LLAMA_70B)
    assert told["answer"] == "Undecided"
    assert told["headline"].startswith("Cannot say for certain")
    assert any("first contact" in each for each in told["missing"])
    assert any("--prompt-tokens" in each for each in told["missing"])


def test_stated_acceptance_and_requests_make_a_verdict() -> None:
    told = document(
        *("--model", "meta-llama/Llama-3.1-8B-Instruct", "--accelerator", "h100-sxm"),
        *("--method", "Eagle3:3", "--acceptance", "0.66,0.38,0.18", "--max-num-seqs", "256"),
        *("--prompt-tokens", "100", "--output-tokens", "800", "--context", "2000"),
    )
    assert (told["answer"], told["missing"]) == ("Yes", [])
    first, last = told["cutoff"]["ranges"]
    assert (first["profile"], last["profile"]) == ("eagle3-3", "none")
    assert f"up to {first['upToConcurrency']:.0f} requests per engine" in told["headline"]


def test_a_draft_model_over_pcie_is_a_no() -> None:
    told = document(
        *("--model", "Qwen/Qwen3-14B", "--accelerator", "l4", "--tp", "4", "--precision", "fp8"),
        *("--method", "DraftModel:5:Qwen/Qwen3-4B", "--acceptance", "0.7"),
        *("--prompt-tokens", "500", "--output-tokens", "500"),
    )
    assert told["answer"] == "No"
    checks = {each["check"]: each for each in profile(told, "draftmodel-5")["checks"]}
    assert checks["tensor parallelism crosses PCIe"]["answer"] == "Yes"
    assert checks["the draft competes for the same GPU"]["answer"] == "Yes"


def test_the_lookahead_is_chosen_at_the_concurrency_where_none_is_told() -> None:
    def chosen(at: str) -> int:
        told = document(*QWEN, "--method", "Eagle3", "--concurrency", at)
        found = told["cutoff"]["prediction"]["profiles"][0]["lookahead"]
        assert isinstance(found, int)
        return found

    assert chosen("1") > chosen("40") >= 1


def test_as_many_rates_as_are_told_are_the_lookahead() -> None:
    told = document(*QWEN, "--method", "Eagle3", "--acceptance", "0.7,0.4")
    assert told["cutoff"]["prediction"]["profiles"][0]["lookahead"] == 2


def test_the_task_changes_what_is_assumed_of_acceptance() -> None:
    lengths = [
        document(*QWEN, "--method", "NGram:3", "--task", task)["cutoff"]["prediction"]["profiles"][
            0
        ]["acceptanceLength"]
        for task in ("chat", "Code")
    ]
    assert lengths[0] < lengths[1]


def test_the_speed_up_is_told_at_further_contexts(priced: dict[str, Any]) -> None:
    contexts = [each["contextTokens"] for each in priced["contexts"]]
    assert contexts == [2000.0, 8000.0, 32000.0]
    assert priced["cutoff"]["prediction"]["contextTokens"] == 1050.0
    own = document(*QWEN, *EAGLE, "--context", "700", "--context", "700")
    assert [each["contextTokens"] for each in own["contexts"]] == [700.0]


def test_a_load_in_requests_is_that_many_answers(priced: dict[str, Any]) -> None:
    assert priced["load"]["tokensPerSecond"] == 12_000.0
    tokens = document(*QWEN, *EAGLE, *REQUESTS, "--load", "12000 tok/s", "--gpu-price", "3.5")
    assert tokens["profiles"] == priced["profiles"]


def test_the_cost_of_a_load_is_that_of_its_replicas(priced: dict[str, Any]) -> None:
    for name in ("eagle3-3", "none"):
        found = profile(priced, name)["carriesLoad"]["likely"]
        assert found["costPerHour"] == pytest.approx(found["replicas"] * 3.5)
        assert found["costPerMillionTokens"] == pytest.approx(
            found["costPerHour"] / 3600 / 12_000 * 1e6, rel=1e-3
        )
        assert found["capacityUsed"] <= 0.8
    told = page(*PRICED)
    assert "Carrying 12000 output tokens per second on replicas of 1 GPU" in told
    assert "predicted, not measured here" in told


def test_one_measured_time_narrows_what_a_load_may_cost(priced: dict[str, Any]) -> None:
    measured = document(*PRICED, "--measured-tpot", "19.5@8")
    for name in ("eagle3-3", "none"):
        assert profile(priced, name)["timesOffBy"] == 1.91
        assert profile(measured, name)["timesOffBy"] < 1.15
    assert "from the TPOT that you measured" in page(*PRICED, "--measured-tpot", "19.5@8")
    # What was measured is what is then predicted there.
    own = document(
        *QWEN, *EAGLE, *REQUESTS, "--measured-tpot", "19.5@8", "--load", "1tok/s", "--replicas", "1"
    )
    alone = profile(own, "none")["carriesLoad"]["likely"]["tpotMilliseconds"]
    assert 15.0 < alone < 19.5


def test_a_limit_on_latency_lowers_the_capacity(priced: dict[str, Any]) -> None:
    limited = document(*PRICED, "--max-tpot", "30")
    free, kept = profile(priced, "none")["capacity"], profile(limited, "none")["capacity"]
    assert kept["tokensPerSecond"] < free["tokensPerSecond"]
    assert kept["setBy"] == "Latency"
    assert kept["tpotMilliseconds"] == pytest.approx(30.0, rel=1e-3)


def test_a_start_is_not_guessed_and_is_priced_when_told(priced: dict[str, Any]) -> None:
    assert priced["roll"] is None
    assert "measure one Pod" in priced["rollProblem"]
    told = document(*PRICED, "--startup-seconds", "360", "--replicas", "20")
    assert told["roll"] == {"gpuHours": 2.0, "price": 7.0}


def test_a_profile_that_its_release_does_not_serve_is_left_out_with_the_reason() -> None:
    told = document(
        *("--model", "Qwen/Qwen3-32B", "--accelerator", "h200-sxm", "--vllm", "0.8.5"),
        *("--method", "Eagle3:3", "--method", "Suffix"),
    )
    assert [each["profile"] for each in told["profiles"]] == ["eagle3-3", "none"]
    assert any("suffix is left out" in each for each in told["notes"])


def test_what_cannot_be_predicted_is_said_and_not_called_a_loss() -> None:
    told = document(*QWEN, "--method", "MTP")
    assert told["headline"] == "Cannot say: no profile that speculates can be predicted"
    assert any("without a layer for multi-token prediction" in each for each in told["notes"])


def test_wide_has_every_concurrency_and_every_reason() -> None:
    narrow, wide = page(*QWEN, *EAGLE), page(*QWEN, *EAGLE, "-o", "wide")
    assert "B = 64" not in narrow
    assert "B = 64" in wide
    assert "because predicted for" not in narrow
    assert "because predicted for" in wide


def test_piped_output_has_no_colour() -> None:
    assert "\x1b" not in page(*QWEN, *EAGLE)


def test_a_config_json_stands_for_a_model_and_tells_its_precision(tmp_path: Path) -> None:
    (tmp_path / "my-llama").mkdir()
    file = tmp_path / "my-llama" / "config.json"
    file.write_text(json.dumps(CONFIG))
    told = document("--model", str(file), "--accelerator", "l4", "--method", "Eagle3:3")
    assert told["subject"] == "my-llama on 1 × l4"
    assert told["cutoff"]["prediction"]["precision"] == "FP8"
    assert any("Meta-Llama-3-8B" in each for each in told["notes"])
    folder = document("--model", str(file.parent), "--accelerator", "l4", "--method", "Eagle3:3")
    assert folder["subject"] == told["subject"]


def test_an_accelerator_of_ones_own_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "apiVersion: ridgeline.dev/v1alpha1\nkind: AcceleratorProfile\nmetadata: {name: mine}\n"
        "spec: {memoryGiB: 96, memoryBandwidthGBps: 2000, denseBF16TFLOPS: 500}\n"
    )
    arguments = ("--model", "Qwen/Qwen3-8B", "--accelerator", "mine", "--method", "NGram")
    told = document(*arguments, "--accelerator-file", str(file))
    assert told["subject"] == "Qwen/Qwen3-8B on 1 × mine"
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("form", ["png", "svg", "html"])
def test_a_plot_is_drawn_in_each_form(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"advice.{form}"
    page(*PRICED, "--plot", str(file))
    content = file.read_bytes()
    start = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}[form]
    assert content.startswith(start)


def test_the_html_file_needs_nothing_else_and_holds_charts_and_tables(tmp_path: Path) -> None:
    file = tmp_path / "advice.html"
    page(*PRICED, "--plot", str(file))
    text = file.read_text()
    assert text.count("<svg") == 3
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    for title in ("Cost of a million output tokens", "by length of context", "Checks, at"):
        assert title in text


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--model", "Qwen/Qwen3-33B"), 2, "nearest are Qwen/Qwen3-32B"),
        (("--model", "nowhere/config.json"), 2, "cannot be read"),
        (("--accelerator", "rtx4090"), 2, "nearest are rtx-4090"),
        (("--accelerator-file", "nowhere.yaml"), 2, "cannot be read"),
        (("--method", "Eagle9"), 2, "use one of Eagle, Eagle3"),
        (("--method", "Eagle3:0"), 2, "from 1 to 32"),
        (("--method", "Eagle3:3"), 2, "two are called 'eagle3-3'"),
        (("--method", "NGram:3:org/model"), 2, "remove org/model"),
        (("--method", "DraftModel"), 1, "DraftModel:5:Qwen/Qwen3-0.6B"),
        (("--acceptance", "more=0.5"), 2, "no profile 'more' speculates"),
        (("--vllm", "new"), 2, "--vllm new: write it as 0.24.0"),
        (("--load", "40"), 2, "such as 12req/s or 3000tok/s"),
        (("--load", "nan tok/s"), 2, "such as 12req/s"),
        (("--gpu-price", "3"), 2, "say for which load"),
        (("--load", "1tok/s", "--gpu-price", "nan"), 2, "--gpu-price nan: give 0 to 1e+06"),
        (("--headroom", "1"), 2, "--headroom 1"),
        (("--prompt-tokens", "0"), 2, "--prompt-tokens 0"),
        (("--context", "inf"), 2, "--context inf"),
        (("--measured-tpot", "12"), 2, "such as 11.5@16"),
        (("--measured-tpot", "90000@1"), 1, "check its unit"),
        (("--measured-tpot", "20@5000"), 1, "the engine admits"),
        (("--plot", "advice.pdf"), 2, "end it in .png, .svg or .html"),
        (
            ("--tp", "4", "--precision", "BF16", "--accelerator", "t4"),
            1,
            "it fits from --tensor-parallel 8 on",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line_with_the_way_out(
    arguments: tuple[str, ...], status: int, said: str
) -> None:
    result = run(*QWEN, "--method", "Eagle3:3", *arguments)
    assert result.exit_code == status, result.output
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_an_acceptance_length_needs_its_lookahead() -> None:
    result = run(*QWEN, "--method", "Eagle3", "--acceptance", "2.4")
    assert result.exit_code == 2
    assert "--method eagle3=Eagle3:K" in result.stderr


def test_help_shows_examples_and_exit_status() -> None:
    told = " ".join(CliRunner().invoke(app, ["advise", "--help"]).stdout.split())
    assert "Examples:" in told
    assert "Exit status: 0 when there is advice" in told
