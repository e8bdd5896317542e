"""Every known failure of a start that can be told before it is told, each by its own case.

The cases are those that were collected from issues of vLLM and of its users.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.lint_inputs import (
    LARGE,
    LLAMA,
    Body,
    Lint,
    container,
    draft,
    eagle,
    flag,
    profile,
    serving,
    target,
    workload,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One failure.

    Attributes:
        name: What goes wrong.
        bodies: Manifests in which it does.
        check: The finding that tells it.
        says: What the finding says.
        severity: How bad it is.
        options: Options of the command.
        target: `config.json` of the served model; `None` for none.
        draft: The same of head or draft model.
    """

    name: str
    bodies: tuple[Body, ...]
    check: str
    says: str
    severity: str = "Error"
    options: tuple[str, ...] = ()
    target: Body | None = None
    draft: Body | None = None


def deployed(*args: Any, model: str = LLAMA, version: str = "0.24.0", **fields: Any) -> Body:
    return workload(container(model, *args, image=f"vllm/vllm-openai:v{version}", **fields))


def served(profiles: Body, *args: Any, version: str = "0.24.0", **fields: Any) -> tuple[Body, ...]:
    image = f"vllm/vllm-openai:v{version}"
    return (target(*args, image=image, **fields), serving(profiles))


def scripted(script: str) -> Body:
    return workload(container(script, command=["/bin/sh", "-c"]))


ADAPTIVE = {
    "method": "dspark",
    "model": "org/drafter",
    "num_speculative_tokens": 7,
    "enable_adaptive_verification": True,
}
EAGLE3 = profile("Eagle3", model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B")
SMALL_QWEN = profile("DraftModel", model="Qwen/Qwen2.5-0.5B-Instruct")

CASES = (
    Case(
        name="F1 a head of a smaller model fails in its first forward pass",
        bodies=served(EAGLE3, model=LARGE),
        check="HiddenSize",
        says="hidden states of 4096 and the target has 8192",
    ),
    Case(
        name="F1 a head of another model of the same widths",
        bodies=served(EAGLE3, model="meta-llama/Meta-Llama-3-8B-Instruct"),
        check="HeadForOther",
        says="made for meta-llama/Llama-3.1-8B",
        severity="Warning",
    ),
    Case(
        name="F1 a pair of head and target that nobody verified",
        bodies=served(profile("Eagle3", model="org/unheard-of"), model=LARGE),
        check="HeadNotVerified",
        says="does not know that the head was made for meta-llama/Llama-3.3-70B-Instruct",
        severity="Info",
    ),
    Case(
        name="F1 a head with a tensor-parallel size of its own",
        bodies=(
            deployed(
                flag(eagle(method="eagle3", draft_tensor_parallel_size=8)),
                "--tensor-parallel-size=4",
            ),
        ),
        check="DraftTensorParallel",
        says="only 1 or the target's 4 is allowed",
    ),
    Case(
        name="F2 a head of the speculators library under tensor parallelism",
        bodies=served(EAGLE3, "--tensor-parallel-size=4", version="0.11.2"),
        check="SpeculatorsHead",
        says="seen to fail while loading with --tensor-parallel-size 4",
        severity="Warning",
        draft={"speculators_model_type": "eagle3"},
    ),
    Case(
        name="F3 an output matrix of another vocabulary",
        bodies=(deployed(flag(eagle()), model="org/target"),),
        check="Vocabulary",
        says="its vocabulary has 32000 tokens and the target's 128256",
        target={"vocab_size": 128256, "hidden_size": 4096},
        draft={"vocab_size": 32000, "hidden_size": 4096},
    ),
    Case(
        name="F3 a head of another hidden size",
        bodies=(deployed(flag(eagle()), model="org/target"),),
        check="HiddenSize",
        says="hidden states of 2560 and the target has 5120",
        target={"vocab_size": 151936, "hidden_size": 5120},
        draft={"vocab_size": 151936, "hidden_size": 2560},
    ),
    Case(
        name="F4 a vocabulary padded differently within one family",
        bodies=served(SMALL_QWEN, model="Qwen/Qwen2.5-14B-Instruct"),
        check="Vocabulary",
        says="perhaps one tokenizer, padded differently",
    ),
    Case(
        name="F5 a draft model of another family, which some engines take in silence",
        bodies=served(profile("DraftModel", model="org/tiny_starcoder"), model="org/gemma-9b"),
        check="Vocabulary",
        says="its vocabulary has 49152 tokens and the target's 256000",
        target={"vocab_size": 256000},
        draft={"vocab_size": 49152},
    ),
    Case(
        name="F6 too little room for the caches beside a draft",
        bodies=served(
            profile("DraftModel", model="meta-llama/Llama-3.2-1B-Instruct"),
            "--quantization=fp8",
            model=LARGE,
        ),
        check="Memory",
        says="weights of the draft take 2.3 GiB",
        severity="Warning",
        options=("--accelerator", "h100-sxm"),
    ),
    Case(
        name="F6 weights that leave no room at all",
        bodies=served(EAGLE3, "--quantization=fp8", model=LARGE),
        check="Memory",
        says="leave no room for one request",
        options=("--accelerator", "l4"),
    ),
    Case(
        name="F6 a share of memory that leaves nothing for the drafter's graphs",
        bodies=served(EAGLE3, "--gpu-memory-utilization=0.99"),
        check="MemoryShareHigh",
        says="may run out of memory",
        severity="Warning",
    ),
    Case(
        name="F7 draft models in a release that only documents them",
        bodies=served(profile("DraftModel", model="org/draft"), version="0.13.0"),
        check="MethodNotImplemented",
        says="NotImplementedError",
    ),
    Case(
        name="F8 a method that the second model runner lacks",
        bodies=served(
            profile("DraftModel", model="org/draft"),
            env=[{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "1"}],
        ),
        check="SecondRunnerHeadsOnly",
        says="Model Runner V2 does not yet support this method",
    ),
    Case(
        name="F8 n-grams on the second model runner",
        bodies=served(
            profile("NGram", model=None),
            env=[{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "1"}],
        ),
        check="SecondRunnerHeadsOnly",
        says="Model Runner V2 does not yet support this method",
    ),
    Case(
        name="F9 a head's tensor-parallel size of 1, which is ignored",
        bodies=(
            deployed(
                flag(eagle(method="eagle3", draft_tensor_parallel_size=1)),
                "--tensor-parallel-size=4",
            ),
        ),
        check="DraftTensorParallel",
        says="runs at the target's 4 all the same",
        severity="Warning",
    ),
    Case(
        name="F10 a draft's tensor-parallel size that the V0 engine refuses",
        bodies=(deployed(flag(draft(draft_tensor_parallel_size=4)), "-tp", "8", version="0.9.2"),),
        check="DraftTensorParallel",
        says="only 1 or the target's 8 is allowed",
    ),
    Case(
        name="F11 quotes escaped for a shell that is not there",
        bodies=(deployed("--speculative-config", r"\{\"method\":\"mtp\"\}"),),
        check="ConfigNotJson",
        says='write {"method":"mtp"}',
    ),
    Case(
        name="F11 quotes that a shell took off",
        bodies=(deployed("--speculative-config", "{method: mtp, num_speculative_tokens: 1}"),),
        check="ConfigNotJson",
        says='write {"method":"mtp","num_speculative_tokens":1}',
    ),
    Case(
        name="F11 single quotes inside the value",
        bodies=(deployed("""--speculative-config='{"method":"mtp"}'"""),),
        check="ConfigNotJson",
        says='write {"method":"mtp"}',
    ),
    Case(
        name="F12 a variable in single quotes of a script",
        bodies=(
            scripted(
                "vllm serve org/m --speculative-config "
                """'{"method":"eagle","model":"$HEAD","num_speculative_tokens":3}'"""
            ),
        ),
        check="VariableNotExpanded",
        says="single quotes keep a shell from expanding it",
        severity="Warning",
    ),
    Case(
        name="F12 a command line inside a script",
        bodies=(scripted("vllm serve org/m --spec-method ngram --spec-tokens 3"),),
        check="ShellScript",
        says="never edits",
        severity="Warning",
    ),
    Case(
        name="F14 the config handed to another flag",
        bodies=(deployed("--additional-config", '{"speculative_config": {"method": "mtp"}}'),),
        check="ConfigElsewhere",
        says="drafts nothing",
    ),
    Case(
        name="F14 the config handed to another flag by its key",
        bodies=(deployed('--additional-config={"num_speculative_tokens": 3}'),),
        check="ConfigElsewhere",
        says="drafts nothing",
    ),
    Case(
        name="F14 braces doubled by a template",
        bodies=(deployed("--speculative-config", '{{"method":"mtp"}}'),),
        check="ConfigNotJson",
        says='write {"method":"mtp"}',
    ),
    Case(
        name="F14 a key misspelt by one letter, with the underscore in the flag",
        bodies=(deployed("--speculative_config", '{"method":"ngram","num_speculative_tokrns":3}'),),
        check="KeyUnknown",
        says="write 'num_speculative_tokens'",
    ),
    Case(
        name="F14 the dotted spelling, judged like any other",
        bodies=(
            deployed(
                *("--speculative-config.method", "ngram"),
                *("--speculative-config.num_speculative_tokrns", "3"),
            ),
        ),
        check="KeyUnknown",
        says="write 'num_speculative_tokens'",
    ),
    Case(
        name="F15 slots for drafts that leave no token to schedule",
        bodies=(
            deployed(
                flag({"method": "dflash", "model": "org/f", "num_speculative_tokens": 16}),
                *("--max-num-batched-tokens=2048", "--max-num-seqs=256"),
                version="0.23.0",
            ),
        ),
        check="DraftSlots",
        says="-1792 tokens are left",
    ),
    Case(
        name="F15 slots for drafts that leave few tokens to schedule",
        bodies=served(
            profile("DraftModel", model="org/draft"),
            *("--max-num-batched-tokens=2048", "--max-num-seqs=128"),
        ),
        check="DraftSlots",
        says="1920 tokens a step are left to schedule",
        severity="Info",
    ),
    Case(
        name="F16 a release that is older than all that were read",
        bodies=served(EAGLE3, version="0.4.3"),
        check="ReleaseTooOld",
        says="use vLLM 0.11 or newer",
        severity="Warning",
    ),
    Case(
        name="F17 EAGLE-3 for a model that an older release lacks, by the catalogue",
        bodies=served(profile("Eagle3"), model="Qwen/Qwen3-8B", version="0.9.2"),
        check="Eagle3Target",
        says="supports EAGLE-3 for llama and stops the start for qwen3",
    ),
    Case(
        name="F17 EAGLE-3 for a model that an older release lacks, by its file",
        bodies=served(profile("Eagle3"), model="org/own", version="0.9.2"),
        check="Eagle3Target",
        says="supports EAGLE-3 for llama and stops the start for qwen3",
        target={"model_type": "qwen3"},
    ),
    Case(
        name="F18 adaptive verification in eager mode",
        bodies=(deployed(flag(ADAPTIVE), "--enforce-eager", version="0.33.0"),),
        check="AdaptiveVerificationEager",
        says="needs full CUDA graphs",
    ),
    Case(
        name="F18 adaptive verification with LoRA",
        bodies=(deployed(flag(ADAPTIVE), "--enable-lora", version="0.33.0"),),
        check="AdaptiveVerificationLora",
        says="not compatible with LoRA",
    ),
    Case(
        name="F18 adaptive verification with a pipeline",
        bodies=(deployed(flag(ADAPTIVE), "-pp", "2", version="0.33.0"),),
        check="AdaptiveVerificationPipeline",
        says="not compatible with pipeline parallelism",
    ),
    Case(
        name="F18 adaptive verification on another GPU",
        bodies=(deployed(flag(ADAPTIVE), version="0.33.0"),),
        check="AdaptiveVerificationGpu",
        says="this is h100-sxm",
        severity="Warning",
        options=("--accelerator", "h100-sxm"),
    ),
    Case(
        name="F18 adaptive verification with another KV cache",
        bodies=(deployed(flag(ADAPTIVE), version="0.33.0"),),
        check="AdaptiveVerificationCache",
        says="needs --kv-cache-dtype fp8, which is not given",
        severity="Warning",
    ),
    Case(
        name="F18 adaptive verification with the usual share of memory",
        bodies=(deployed(flag(ADAPTIVE), version="0.33.0"),),
        check="AdaptiveVerificationMemory",
        says="leaves too little",
        severity="Warning",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_told_before_the_start(case: Case, tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    options = list(case.options)
    if case.target is not None:
        options += ["--model-config", lint.model("target.json", **case.target)]
    if case.draft is not None:
        options += ["--draft-config", lint.model("draft.json", **case.draft)]
    found = lint.checks(case.bodies, *options)
    assert case.check in found, sorted(found)
    finding = found[case.check]
    assert case.says in f"{finding['consequence']}; {finding['fix']}"
    assert finding["severity"] == case.severity
