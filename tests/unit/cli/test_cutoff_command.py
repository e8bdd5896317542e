"""`ridgeline cutoff`: cut-offs from files and from flags, and what it says to wrong ones."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.cli.main import app
from ridgeline.settings.accelerators import load_catalogue

FLAGS = {
    "--model": "meta-llama/Llama-3.1-8B-Instruct",
    "--accelerator": "h100-sxm",
    "--profile": "eagle3:3",
    "--acceptance": "0.66,0.4,0.2",
    "--context": "500",
    "--prefill": "0.1",
}

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llama", "namespace": "inference"},
    "spec": {
        "template": {
            "spec": {
                "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
                "containers": [
                    {
                        "name": "vllm",
                        "image": "vllm/vllm-openai:v0.24.0",
                        "command": ["vllm", "serve"],
                        "args": [
                            "meta-llama/Llama-3.1-8B-Instruct",
                            "--max-num-seqs=128",
                            "--speculative-config=$(SPECULATION_CONFIG)",
                        ],
                        "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
                        "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    }
                ],
            }
        }
    },
}
SERVING: dict[str, Any] = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculativeServing",
    "metadata": {"name": "llama", "namespace": "inference"},
    "spec": {
        "targetRef": {"name": "llama"},
        "profiles": [
            {
                "name": "eagle3",
                "method": "Eagle3",
                "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
                "numSpeculativeTokens": 3,
                "acceptancePercent": [66, 40, 20],
            },
            {"name": "none", "method": "Disabled"},
        ],
    },
}
LEARNED = {
    "basis": "meta-llama/Llama-3.1-8B at BF16 on 1 x h100-sxm, vLLM 0.24.0",
    "time": "2026-11-29T12:00:00Z",
    "contextTokens": 480,
    "prefillPercent": 20,
    "profiles": [
        {
            "profile": "eagle3",
            "stepTimePercent": 110,
            "windows": 40,
            "acceptancePercent": [70, 45, 25],
        },
        {"profile": "none", "stepTimePercent": 105, "windows": 60},
    ],
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["cutoff", *arguments])


def with_flags(*more: str, **changed: str | None) -> Result:
    """Run with the usual flags; `accelerator="x"` changes one, `None` leaves it out."""
    flags: dict[str, str | None] = {
        **FLAGS,
        **{f"--{name.replace('_', '-')}": value for name, value in changed.items()},
    }
    return run(
        *(w for key, value in flags.items() if value is not None for w in (key, value)), *more
    )


def document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def profile_of(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in told["prediction"]["profiles"] if each["profile"] == name)


def files(folder: Path, *bodies: dict[str, Any]) -> list[str]:
    """Each object in a file of its own."""
    arguments = []
    for index, body in enumerate(bodies):
        path = folder / f"{index}.yaml"
        path.write_text(yaml.safe_dump(body))
        arguments += ["--file", str(path)]
    return arguments


def serving(**fields: Any) -> dict[str, Any]:
    return {**SERVING, "spec": {**SERVING["spec"], **fields}}


def test_flags_yield_ranges_with_a_band_a_verdict_and_reasons() -> None:
    result = with_flags()
    assert result.exit_code == 0, result.output
    told = document(with_flags("--json"))
    first, last = told["ranges"]
    assert (first["profile"], last["profile"]) == ("eagle3-3", "none")
    assert first["bandLow"] < first["upToConcurrency"] < first["bandHigh"]
    assert last["upToConcurrency"] is None
    assert told["verdict"] == "Yes"
    assert f"{first['upToConcurrency']:.0f}" in result.output
    assert f"{first['bandLow']:.0f} to {first['bandHigh']:.0f}" in result.output
    for reason in told["reasons"]:
        assert reason[:40] in result.output


def test_speed_ups_stand_at_six_concurrencies_with_their_band() -> None:
    told = document(with_flags("--json"))
    points = profile_of(told, "eagle3-3")["speedups"]
    assert [each["concurrency"] for each in points] == [1, 8, 32, 64, 128, 256]
    assert all(each["low"] < each["speedup"] < each["high"] for each in points)
    # The golden shape of this target: nearly twice as fast when quiet, and falling.
    assert 1.6 < points[0]["speedup"] < 2.1
    assert points[0]["speedup"] > points[3]["speedup"] > points[5]["speedup"]
    output = with_flags().output
    assert f"{points[2]['speedup']:.2f} ({points[2]['low']:.2f} to" in output


def test_times_that_were_not_measured_are_not_shown() -> None:
    told = document(with_flags("--json"))
    for each in told["prediction"]["profiles"]:
        assert not each["calibrated"]
        assert all(point["tpotMilliseconds"] is None for point in each["speedups"])
        assert all(point["tokensPerSecond"] is None for point in each["speedups"])
    output = with_flags().output
    assert "predicted, not measured here" in output
    assert " ms" not in output


def test_memory_and_the_best_lookahead_are_told() -> None:
    told = document(with_flags("--json", max_num_seqs="128"))
    profile = profile_of(told, "eagle3-3")
    assert (profile["maxConcurrency"], profile["limitedBy"]) == (128, "MaxNumSeqs")
    assert profile["draftWeightsGiB"] > 0.5
    tiers = profile["bestLookahead"]
    assert tiers[0]["fromRequests"] == 1
    assert tiers[-1]["toRequests"] == 128
    assert tiers[0]["lookahead"] == 3
    assert profile_of(told, "none")["bestLookahead"] == []
    output = with_flags().output
    assert "Best lookahead" in output
    assert "KV memory" in output


def test_without_a_context_the_answer_is_recommended_for_only() -> None:
    told = document(with_flags("--json", context=None, prefill=None))
    assert told["verdict"] == "Undecided"
    assert told["wayOut"]
    assert any("1000 tokens are assumed" in each for each in told["reasons"])


def test_without_an_acceptance_it_is_a_first_contact() -> None:
    told = document(with_flags("--json", acceptance=None))
    assert told["verdict"] == "Undecided"
    assert profile_of(told, "eagle3-3")["acceptanceFrom"] == "Prior"


@pytest.mark.parametrize(
    ("acceptance", "length"),
    [
        ("0.6,0.3,0.1", 2.0),
        ("0.5", 1 + 0.5 + 0.25 + 0.125),
        ("2.4", 2.4),
        ("eagle3-3=2", 2.0),
        ("4", 4.0),
        ("0", 1.0),
        ("0.999", 3.994),
    ],
)
def test_acceptance_is_by_position_per_token_or_a_length(acceptance: str, length: float) -> None:
    told = document(with_flags("--json", acceptance=acceptance))
    profile = profile_of(told, "eagle3-3")
    assert profile["acceptanceLength"] == pytest.approx(length, rel=1e-3)
    assert profile["acceptanceFrom"] == "Stated"


def test_every_kind_of_profile_can_be_named() -> None:
    texts = (
        "eagle:4",
        "mine=eagle3:2:org/head",
        "draft:5:meta-llama/Llama-3.2-1B-Instruct",
        "n-gram:3",
        "mtp:1",
        "suffix",
    )
    more = [word for text in texts for word in ("--profile", text)]
    told = document(with_flags("--json", *more, profile=None, acceptance=None))
    found = [(each["profile"], each["method"]) for each in told["prediction"]["profiles"]]
    assert found == [
        ("eagle-4", "Eagle"),
        ("mine", "Eagle3"),
        ("draft-5", "DraftModel"),
        ("n-gram-3", "NGram"),
        ("mtp-1", "MTP"),
        ("suffix", "Suffix"),
        ("none", "Disabled"),
    ]
    # Llama has no layer for MTP: told, and the others are compared.
    assert "draft" in profile_of(told, "mtp-1")["problem"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"model": None}, ["--model is not given"]),
        ({"accelerator": None}, ["--accelerator is not given"]),
        ({"profile": None}, ["--profile is not given", "eagle3:3"]),
        ({"model": "Llama-3.1-9B"}, ["--model Llama-3.1-9B", "meta-llama/Llama-3.1-8B"]),
        ({"accelerator": "H100"}, ["--accelerator H100 is a family", "of h100-sxm, h100-pcie, "]),
        ({"accelerator": "h1000"}, ["--accelerator h1000:", "look like it: h100", "a100-sxm-80gb"]),
        ({"model": "./config.json"}, ["--model ./config.json", "model describe ./config.json"]),
        ({"model": "."}, ["--model .: only", "model describe .`"]),
        ({"profile": "eagle9:3"}, ["--profile eagle9:3", "'eagle9'", "mtp"]),
        ({"profile": "eagle3:0"}, ["--profile eagle3:0", "1 to 32"]),
        ({"profile": "eagle3:x"}, ["--profile eagle3:x", "'x'"]),
        ({"profile": "eagle3"}, ["--profile eagle3", "METHOD:K"]),
        ({"profile": "draft:3"}, ["--profile draft:3", "draft:3:meta-llama"]),
        ({"profile": "ngram:3:org/head"}, ["--profile ngram:3:org/head", "remove org/head"]),
        ({"acceptance": "x"}, ["--acceptance x", "0.7,0.5,0.3"]),
        ({"acceptance": "nan"}, ["--acceptance nan"]),
        ({"acceptance": "-0.1"}, ["--acceptance -0.1"]),
        ({"acceptance": "0.3,0.5,0.1"}, ["--acceptance 0.3,0.5,0.1", "never rises"]),
        ({"acceptance": "1.2,0.5,0.1"}, ["--acceptance 1.2,0.5,0.1", "at most 1"]),
        ({"acceptance": "1"}, ["--acceptance 1:", "eagle3-3 write 4 for every", "0 for none"]),
        ({"acceptance": "eagle3-3=1.0"}, ["--acceptance eagle3-3=1.0", "look alike"]),
        ({"profile": "suffix", "acceptance": "1"}, ["write 1,1 for every", "0 for none"]),
        ({"acceptance": "0.5,0.3"}, ["--acceptance 0.5,0.3", "eagle3-3 drafts 3 ", "2 rates"]),
        ({"acceptance": "0.5,0.3,0.2,0.1"}, ["eagle3-3 drafts 3 tokens", "4 rates"]),
        ({"acceptance": "Eagle=0.5"}, ["--acceptance Eagle=0.5", "'Eagle' is no name"]),
        ({"profile": "My_Head=eagle3:3"}, ["--profile My_Head=eagle3:3", "'My_Head' is no name"]),
        ({"profile": "none"}, ["--profile none", "added by itself"]),
        ({"profile": "off=Disabled"}, ["--profile off=Disabled", "added by itself"]),
        ({"engine_version": "v"}, ["--engine-version v:", "0.24.0"]),
        ({"acceptance": "4.5"}, ["--acceptance 4.5", "at most 4"]),
        ({"profile": "suffix", "acceptance": "2.4"}, ["--acceptance 2.4", "not known"]),
        ({"acceptance": "other=0.5"}, ["--acceptance other=0.5", "eagle3-3"]),
        ({"context": "inf"}, ["--context inf"]),
        ({"context": "-1"}, ["--context -1"]),
        ({"context": None}, ["--prefill 0.1", "--context"]),
        ({"engine_version": "latest"}, ["--engine-version latest", "0.24.0"]),
        ({"serving": "llama"}, ["--serving llama", "--file"]),
        ({"plot": "x.pdf"}, ["--plot x.pdf", ".svg"]),
    ],
)
def test_a_wrong_option_is_told_in_one_line_with_the_way_out(
    changed: dict[str, str | None], told: list[str]
) -> None:
    result = with_flags(**changed)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    for each in told:
        assert each in result.stderr


@pytest.mark.parametrize(("most", "told"), [("1", "the 1 request that"), ("2", "the 2 requests")])
def test_reasons_count_one_request_as_one(most: str, told: str) -> None:
    reasons = document(with_flags("--json", "--max-num-seqs", most))["reasons"]
    assert any(f"up to {told}" in each for each in reasons)


def test_suffix_without_a_lookahead_takes_any_number_of_rates() -> None:
    told = document(with_flags("--json", profile="suffix", acceptance="0.6,0.4"))
    assert profile_of(told, "suffix")["acceptanceFrom"] == "Stated"


def test_the_options_are_spelled_as_other_commands_spell_them() -> None:
    usual = document(with_flags("--json", engine_version="0.24.0"))
    assert document(with_flags("-o", "json", vllm="0.24.0")) == usual
    assert "0.24.0" in usual["facts"]["engine"]


def test_a_version_may_be_written_as_its_tag() -> None:
    tagged = document(with_flags("--json", engine_version="v0.24.0"))
    assert tagged == document(with_flags("--json", engine_version="0.24.0"))
    assert tagged["facts"]["engine"] == "vLLM 0.24.0"


def test_every_gpu_of_the_catalogue_is_named_to_who_asks_for_another() -> None:
    result = with_flags(accelerator="nothing-like-it")
    assert all(name in result.stderr for name in load_catalogue().names)
    assert "look like" not in result.stderr


def test_too_many_or_equal_profiles_are_refused() -> None:
    result = with_flags("--profile", "eagle3:3")
    assert result.exit_code == 2
    assert "'eagle3-3'" in result.stderr
    many = [word for k in range(1, 9) for word in ("--profile", f"ngram:{k}")]
    result = with_flags(*many, profile=None, acceptance=None)
    assert result.exit_code == 2
    assert "at most 7" in result.stderr


def test_a_model_that_does_not_fit_is_an_answer() -> None:
    told = document(with_flags("--json", model="meta-llama/Llama-3.1-70B", accelerator="l4"))
    assert told["verdict"] is None
    assert "no room" in told["problem"]
    assert told["ranges"] == []
    result = with_flags(model="meta-llama/Llama-3.1-70B", accelerator="l4")
    assert "No cut-offs" in result.output


def test_a_slice_is_a_gpu_and_two_of_them_are_not() -> None:
    told = document(with_flags("--json", accelerator="h100-sxm-mig-3g.40gb"))
    assert told["prediction"]["accelerator"] == "h100-sxm-mig-3g.40gb"
    told = document(with_flags("--json", accelerator="h100-sxm-mig-3g.40gb", tp="2"))
    assert "slices reach no other slice" in told["problem"]
    assert told["prediction"] is None
    assert told["predictionProblem"] == told["problem"]


def test_files_tell_everything_and_the_selector_the_gpu(tmp_path: Path) -> None:
    told = document(run(*files(tmp_path, DEPLOYMENT, SERVING), "--json", "--context", "500"))
    assert told["subject"] == "llama"
    assert told["strategy"] == "Goodput"
    assert told["facts"]["engine"] == "vLLM 0.24.0"
    assert "nvidia.com/gpu.product" in told["facts"]["accelerator"]
    assert told["ranges"][0]["profile"] == "eagle3"
    assert profile_of(told, "none")["maxConcurrency"] == 128


def test_files_and_flags_of_one_target_agree(tmp_path: Path) -> None:
    options = ("--json", "--context", "500", "--max-num-seqs", "256")
    by_files = document(run(*files(tmp_path, DEPLOYMENT, SERVING), *options))
    flags = with_flags("--json", profile="eagle3=eagle3:3", prefill=None, max_num_seqs="256")
    assert len(by_files["ranges"]) == 2
    assert document(flags)["ranges"] == by_files["ranges"]
    assert document(flags)["verdict"] == by_files["verdict"] == "Yes"


def test_one_file_may_hold_everything(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([SERVING, DEPLOYMENT, None, "text"]))
    listed = tmp_path / "list.yaml"
    listed.write_text(yaml.safe_dump({"kind": "List", "items": [SERVING, DEPLOYMENT]}))
    told = document(run("-f", str(path), "--json"))
    assert told["ranges"]
    assert document(run("-f", str(listed), "--json")) == told


@pytest.mark.parametrize("created", [None, "2026-11-29T08:00:00Z", 3])
def test_what_the_api_server_adds_does_not_matter(tmp_path: Path, created: object) -> None:
    metadata = {"name": "llama", "creationTimestamp": created, "uid": None, "managedFields": []}
    bodies = ({**DEPLOYMENT, "metadata": metadata}, {**SERVING, "metadata": metadata})
    assert document(run(*files(tmp_path, *bodies), "--json"))["ranges"]


def test_what_the_status_has_learned_is_used_as_the_controller_does(tmp_path: Path) -> None:
    body = {**SERVING, "status": {"learned": LEARNED}}
    told = document(run(*files(tmp_path, DEPLOYMENT, body), "--json"))
    profile = profile_of(told, "eagle3")
    assert told["prediction"]["contextTokens"] == 480
    assert profile["acceptanceFrom"] == "Measured"
    assert profile["calibrated"]
    assert all(each["tpotMilliseconds"] > 0 for each in profile["speedups"])
    output = run(*files(tmp_path, DEPLOYMENT, body)).output
    assert " ms" in output
    assert "predicted, not measured here" not in output


def test_what_was_learned_on_another_engine_is_not_used(tmp_path: Path) -> None:
    body = {**SERVING, "status": {"learned": LEARNED}}
    told = document(
        run(
            *files(tmp_path, DEPLOYMENT, body),
            "--json",
            "--engine-version",
            "0.25.0",
            "--context",
            "700",
        )
    )
    assert profile_of(told, "eagle3")["acceptanceFrom"] == "Stated"
    assert not profile_of(told, "eagle3")["calibrated"]
    assert told["prediction"]["contextTokens"] == 700


def test_options_replace_what_files_and_status_say(tmp_path: Path) -> None:
    body = {**SERVING, "status": {"learned": LEARNED}}
    told = document(
        run(
            *files(tmp_path, DEPLOYMENT, body),
            *("--json", "--context", "900", "--acceptance", "eagle3=0.5", "--max-num-seqs", "64"),
        )
    )
    profile = profile_of(told, "eagle3")
    assert told["prediction"]["contextTokens"] == 900
    assert profile["acceptanceFrom"] == "Stated"
    assert profile["acceptanceLength"] == pytest.approx(1.875)
    assert profile["calibrated"]
    assert profile["maxConcurrency"] == 64
    told = document(
        run(
            *files(tmp_path, DEPLOYMENT, body),
            *("--json", "--accelerator", "a100-sxm-80gb", "--precision", "w8a16", "--tp", "2"),
            *("--model", "Qwen/Qwen3-8B"),
        )
    )
    prediction = told["prediction"]
    assert prediction["accelerator"] == "a100-sxm-80gb"
    assert prediction["precision"] == "W8A16"
    assert prediction["tensorParallel"] == 2
    assert prediction["model"] == "Qwen/Qwen3-8B"


def test_a_serving_of_another_strategy_shows_its_own_table(tmp_path: Path) -> None:
    ranges = [{"profile": "eagle3", "upToConcurrency": 20}, {"profile": "none"}]
    body = serving(cutoff={"strategy": "Fixed", "ranges": ranges})
    told = document(run(*files(tmp_path, DEPLOYMENT, body), "--json"))
    assert told["strategy"] == "Fixed"
    assert [each["upToConcurrency"] for each in told["ranges"]] == [20, None]
    assert told["ranges"][0]["returnBelowConcurrency"] == 16
    assert profile_of(told, "eagle3")["speedups"]
    told = document(
        run(*files(tmp_path, DEPLOYMENT, serving(cutoff={"strategy": "Ridge"})), "--json")
    )
    assert told["ranges"][0]["upToConcurrency"] == 30


def test_options_reach_the_table_of_another_strategy(tmp_path: Path) -> None:
    body = serving(cutoff={"strategy": "Ridge"})
    options = ("--json", "--accelerator", "l4", "--tp", "4")
    told = document(run(*files(tmp_path, DEPLOYMENT, body), *options))
    assert told["verdict"] == "Undecided"
    assert any("tensor parallelism 4" in each for each in told["reasons"])


def test_an_option_replaces_its_own_field_alone(tmp_path: Path) -> None:
    body = serving(model={"precision": "FP8"})
    told = document(run(*files(tmp_path, DEPLOYMENT, body), "--json", "--model", "Qwen/Qwen3-8B"))
    assert told["prediction"]["model"] == "Qwen/Qwen3-8B"
    assert told["prediction"]["precision"] == "FP8"


def test_policy_and_accelerator_profile_are_taken_from_files(tmp_path: Path) -> None:
    policy = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculationPolicy",
        "metadata": {"name": "shared"},
        "spec": {"cutoff": {"strategy": "Ridge"}},
    }
    gpu = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "AcceleratorProfile",
        "metadata": {"name": "acme-x1"},
        "spec": {"memoryGiB": 80, "memoryBandwidthGBps": 2000, "denseBF16TFLOPS": 400},
    }
    body = serving(policyRef={"name": "shared"}, accelerator="acme-x1")
    told = document(run(*files(tmp_path, DEPLOYMENT, body, policy, gpu), "--json"))
    assert told["strategy"] == "Ridge"
    assert told["prediction"]["accelerator"] == "acme-x1"


def test_without_the_deployment_the_model_must_be_told(tmp_path: Path) -> None:
    result = run(*files(tmp_path, SERVING), "--accelerator", "h100-sxm")
    assert result.exit_code == 1
    assert "no Deployment 'llama'" in result.stderr
    assert "another --file" in result.stderr
    told = document(
        run(
            *files(tmp_path, SERVING),
            *("--accelerator", "h100-sxm", "--model", "Qwen/Qwen3-8B", "--json"),
        )
    )
    assert told["prediction"]["model"] == "Qwen/Qwen3-8B"
    assert "vLLM's default of --max-num-seqs" in told["facts"]["target"]


def test_a_target_that_takes_no_profile_yet_is_told_of_and_predicted(tmp_path: Path) -> None:
    pod = DEPLOYMENT["spec"]["template"]["spec"]
    container = {**pod["containers"][0], "args": ["meta-llama/Llama-3.1-8B-Instruct"]}
    template = {"spec": {**pod, "containers": [container]}}
    body = {**DEPLOYMENT, "spec": {"template": template}}
    told = document(run(*files(tmp_path, body, SERVING), "--json"))
    assert "SPECULATION_CONFIG" in told["facts"]["target"]
    assert told["prediction"]["model"] == "meta-llama/Llama-3.1-8B"
    assert told["ranges"]


def test_a_gpu_that_nothing_tells_is_asked_for(tmp_path: Path) -> None:
    pod = {**DEPLOYMENT["spec"]["template"]["spec"], "nodeSelector": {}}
    body = {**DEPLOYMENT, "spec": {"template": {"spec": pod}}}
    told = document(run(*files(tmp_path, body, SERVING), "--json"))
    assert "spec.accelerator" in told["problem"]
    assert document(run(*files(tmp_path, body, SERVING), "--json", "--accelerator", "l40s"))[
        "ranges"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no SpeculativeServing"),
        ("a: [", "is not YAML"),
        (yaml.safe_dump({**SERVING, "metadata": {}}), "metadata.name"),
        (yaml.safe_dump(serving(profiles=[])), "spec.profiles"),
        (yaml.safe_dump_all([SERVING, {**DEPLOYMENT, "spec": {}}]), "Deployment llama cannot"),
        (yaml.safe_dump_all([SERVING, {**DEPLOYMENT, "spec": "x"}]), "Deployment llama cannot"),
        (yaml.safe_dump({**SERVING, "spec": ["x"]}), "SpeculativeServing llama cannot"),
        (yaml.safe_dump({**SERVING, "spec": None}), "spec.targetRef"),
        (yaml.safe_dump({**SERVING, "metadata": "x"}), "metadata.name"),
        (
            yaml.safe_dump_all(
                [
                    SERVING,
                    {"kind": "AcceleratorProfile", "metadata": {"name": "x"}, "spec": 3},
                ]
            ),
            "AcceleratorProfile x cannot",
        ),
        (
            yaml.safe_dump_all([SERVING, {**SERVING, "metadata": {"name": "other"}}]),
            "--serving",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    result = run("--file", str(path))
    assert result.exit_code == (2 if "is not YAML" in told else 1), result.output
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    result = run("--file", str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in run("--file", str(path)).stderr


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "."])
def test_a_file_that_is_no_regular_one_is_not_read(path: str) -> None:
    result = run("--file", path)
    assert result.exit_code == 2
    assert f"--file {path} is no regular file" in result.stderr


def test_a_file_far_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("@" * (4 << 20))
    assert "is not YAML" in run("--file", str(path)).stderr
    path.write_text("@" * ((4 << 20) + 1))
    result = run("--file", str(path))
    assert result.exit_code == 2
    assert "is larger than 4 MiB" in result.stderr


def test_one_of_several_servings_is_named(tmp_path: Path) -> None:
    other = {**serving(accelerator="l4"), "metadata": {"name": "other"}}
    given = files(tmp_path, DEPLOYMENT, SERVING, other)
    assert document(run(*given, "--json", "--serving", "other"))["subject"] == "other"
    result = run(*given, "--serving", "third")
    assert result.exit_code == 1
    assert "--serving third" in result.stderr
    assert "llama, other" in result.stderr


def test_profiles_come_from_the_files_alone(tmp_path: Path) -> None:
    result = run(*files(tmp_path, DEPLOYMENT, SERVING), "--profile", "eagle3:3")
    assert result.exit_code == 2
    assert "--profile eagle3:3" in result.stderr


def test_an_unknown_gpu_of_a_file_is_told_with_names(tmp_path: Path) -> None:
    result = run(*files(tmp_path, DEPLOYMENT, SERVING), "--accelerator", "h1000")
    assert result.exit_code == 2
    assert "--accelerator h1000" in result.stderr
    told = document(run(*files(tmp_path, DEPLOYMENT, serving(accelerator="h1000")), "--json"))
    assert told["problem"].startswith("spec.accelerator: the catalogue has no 'h1000'")


@pytest.mark.parametrize("form", ["png", "svg", "html"])
def test_a_plot_is_drawn_beside_what_is_printed(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"plot.{form}"
    result = with_flags("--json", "--plot", str(file))
    assert document(result)["ranges"]
    start = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}[form]
    assert file.read_bytes().startswith(start)


def test_without_matplotlib_one_line_tells_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = with_flags("--plot", str(tmp_path / "plot.png"))
    assert result.exit_code == 1
    assert "pip install '.[plot]'" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert with_flags().exit_code == 0


@pytest.mark.parametrize(
    ("changed", "file", "told"),
    [
        ({}, "no/such/folder.png", "cannot be written"),
        ({"model": "meta-llama/Llama-3.1-70B", "accelerator": "l4"}, "x.png", "no room"),
        ({"accelerator": "h100-sxm-mig-3g.40gb", "tp": "2"}, "x.png", "slices"),
    ],
)
def test_a_plot_that_cannot_be_made_is_told(
    tmp_path: Path, changed: dict[str, str | None], file: str, told: str
) -> None:
    result = with_flags("--plot", str(tmp_path / file), **changed)
    assert result.exit_code == 2
    assert "--plot" in result.stderr
    assert told in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_taken_for_a_deployment_that_is_not_there_is_said_aloud(tmp_path: Path) -> None:
    alone = files(tmp_path, serving(model={"name": "meta-llama/Llama-3.1-8B"}))
    result = run(*alone, "--accelerator", "h100-sxm", "--json")
    assert result.exit_code == 0, result.output
    (line,) = result.stderr.splitlines()
    assert "Deployment 'llama' is not there" in line
    assert "tensor-parallel size 1, vLLM's default of --max-num-seqs, no version of vLLM" in line
    assert line.endswith("or say --tp, --max-num-seqs, --engine-version")
    less = run(*alone, "--accelerator", "h100-sxm", "--tp", "2", "--engine-version", "0.24.0")
    assert less.stderr.endswith("or say --max-num-seqs\n")
    told = ("--tp", "2", "--engine-version", "0.24.0", "--max-num-seqs", "64")
    assert run(*alone, "--accelerator", "h100-sxm", *told).stderr == ""
