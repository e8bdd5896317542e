"""One container with each profile of its serving, before it starts."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import Room
from ridgeline.engine.check_subject import CheckedModel, Subject
from ridgeline.engine.container import Container, EnvItem
from ridgeline.engine.contract import contract_of
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.served_model import served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.models import load_models
from ridgeline.settings.preflight import (
    Around,
    findings_by_profile,
    subjects_of,
    words_without_profile,
)
from ridgeline.settings.preflight_config import OWN, findings_of_config
from ridgeline.settings.preflight_room import Hardware, is_tight
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LARGE = "meta-llama/Llama-3.3-70B-Instruct"
READS = "--speculative-config=$(SPECULATION_CONFIG)"
NONE = Profile(name="none", method=Method.DISABLED)
EAGLE3 = Profile(
    name="eagle3",
    method=Method.EAGLE3,
    model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
    num_speculative_tokens=3,
)
DRAFT = Profile(
    name="draft",
    method=Method.DRAFT_MODEL,
    model="meta-llama/Llama-3.2-1B-Instruct",
    num_speculative_tokens=5,
)


def container(*flags: str, model: str = LLAMA, **fields: Any) -> Container:
    given: dict[str, Any] = {"args": (READS, *flags), **fields}
    return Container(name="vllm", command=("vllm", "serve", model), has_env_from=True, **given)


def known_model(name: str = LLAMA) -> TargetModel:
    found = target_model(None, served_model(("vllm", "serve", name)))
    assert isinstance(found, TargetModel)
    return found


def on(gpu: str, model: str = LLAMA, precision: Precision | None = None) -> Around:
    accelerator = load_catalogue().named(gpu)
    assert accelerator is not None
    target = known_model(model)
    hardware = Hardware(accelerator=accelerator, model=target, precision=precision)
    return Around(model=target, hardware=hardware)


def subjects(
    around: Around, *flags: str, profiles: tuple[Profile, ...] = (EAGLE3, NONE), **fields: Any
) -> dict[str, Subject]:
    contract = contract_of(load_engine_contracts(), "0.24.0")
    return dict(subjects_of(container(*flags, **fields), profiles, contract, around))


def checks(
    profile: Profile, around: Around, *flags: str, version: str = "0.24.0", **fields: Any
) -> dict[str, Finding]:
    contract = contract_of(load_engine_contracts(), version)
    found = findings_by_profile(container(*flags, **fields), (profile, NONE), contract, around)
    return {each.check: each for each in dict(found)[profile.name]}


def test_a_subject_for_each_profile_in_their_order() -> None:
    found = subjects(Around(), profiles=(NONE, EAGLE3))
    assert list(found) == ["none", "eagle3"]
    assert found["none"].config is None
    assert found["eagle3"].config == {
        "method": "eagle3",
        "model": EAGLE3.model,
        "num_speculative_tokens": 3,
    }


def test_variables_are_expanded_but_for_the_profiles_own() -> None:
    env = (
        EnvItem(name="TP", value="4"),
        EnvItem(name="SPECULATION_CONFIG", value='{"method": "x y"}'),
    )
    found = subjects(Around(), "--tensor-parallel-size=$(TP)", env=env)["eagle3"]
    assert found.served.tensor_parallel == 4
    assert READS in found.words
    assert READS in words_without_profile(container(env=env))


def test_the_environment_is_told() -> None:
    env = (EnvItem(name="VLLM_USE_V2_MODEL_RUNNER", value="1"),)
    assert "SecondRunnerHeadsOnly" in checks(DRAFT, Around(), env=env)
    assert "SecondRunnerHeadsOnly" not in checks(DRAFT, Around())


def test_the_catalogue_tells_target_and_draft_where_nobody_has_their_files() -> None:
    found = subjects(Around(model=known_model()), profiles=(DRAFT, EAGLE3, NONE))
    assert found["draft"].target is not None
    assert found["draft"].target.vocabulary == 128256
    assert found["draft"].draft == CheckedModel(
        name=DRAFT.model or "", vocabulary=128256, hidden=2048
    )
    head = found["eagle3"].draft
    # Its draft vocabulary is a part of the target's by design, and no misfit.
    assert head is not None
    assert (head.vocabulary, head.hidden) == (None, 4096)
    assert found["none"].draft is None


def test_files_win_over_the_catalogue() -> None:
    told = CheckedModel(name="target", vocabulary=32000, hidden=5120)
    head = CheckedModel(name="head", hidden=2560)
    around = Around(model=known_model(), target=told, drafts={"eagle3": head})
    found = subjects(around)["eagle3"]
    assert (found.target, found.draft) == (told, head)


def test_no_head_of_the_catalogue_is_a_misfit_for_its_own_target() -> None:
    models = load_models()
    for head in models.heads:
        profile = Profile(name="p", method=head.method, model=head.name, num_speculative_tokens=1)
        for target in head.targets:
            found = checks(profile, Around(model=known_model(target)), model=target)
            assert not {"Vocabulary", "HiddenSize", "HeadForOther", "HeadNotVerified"} & set(found)


def test_a_head_of_another_target() -> None:
    found = checks(EAGLE3, Around(model=known_model("meta-llama/Meta-Llama-3-8B")))
    assert found["HeadForOther"].severity is Severity.WARNING
    assert "made for meta-llama/Llama-3.1-8B" in found["HeadForOther"].consequence
    right = "use yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"
    wrong = Profile(
        name="p", method=Method.EAGLE3, model="SpecForge/qwen3-4b-eagle3", num_speculative_tokens=1
    )
    assert checks(wrong, Around(model=known_model()))["HeadForOther"].fix == right


def test_a_head_that_nobody_verified() -> None:
    own = Profile(name="p", method=Method.EAGLE, model="org/head", num_speculative_tokens=1)
    found = checks(own, Around(model=known_model()))
    assert found["HeadNotVerified"].severity is Severity.INFO
    assert "HeadNotVerified" not in checks(own, Around())
    assert "HeadNotVerified" not in checks(DRAFT, Around(model=known_model()))


def test_memory_is_told_where_a_draft_costs_requests() -> None:
    found = subjects(on("l4"), profiles=(DRAFT, NONE))["draft"].room
    assert isinstance(found, Room)
    assert found.by_memory
    assert found.draft_bytes > 0
    assert "Memory" in checks(DRAFT, on("l4"))


def test_a_draft_that_costs_hardly_a_request_is_not_worth_a_word() -> None:
    assert subjects(on("h100-sxm"))["eagle3"].room is None
    assert "Memory" not in checks(EAGLE3, on("h100-sxm"))


def test_a_draft_that_leaves_half_or_less_is_worth_a_word_however_many_fit() -> None:
    without = Room(
        max_concurrency=400.0, by_memory=True, draft_bytes=0.0, kv_bytes=1.0, draft_kv_bytes=0.0
    )
    most = without.max_concurrency
    assert is_tight(replace(without, max_concurrency=200.0), most)
    assert not is_tight(replace(without, max_concurrency=201.0), most)
    assert is_tight(replace(without, max_concurrency=27.0), 30.0)
    assert not is_tight(replace(without, max_concurrency=28.0), 30.0)
    assert not is_tight(replace(without, max_concurrency=32.0), None)
    assert is_tight(replace(without, max_concurrency=31.0), None)


def test_no_room_at_all_is_an_error_where_the_precision_is_told() -> None:
    told = on("l4", LARGE, precision=Precision.BF16)
    found = checks(DRAFT, told, model=LARGE)["Memory"]
    assert found.severity is Severity.ERROR
    assert isinstance(subjects(told, model=LARGE)["none"].room, CannotSay)


def test_a_checkpoint_of_unknown_precision_may_be_smaller() -> None:
    assert subjects(on("l4", LARGE), model=LARGE)["none"].room is None
    fp8 = subjects(on("l4", LARGE), "--quantization=fp8", model=LARGE)
    assert isinstance(fp8["none"].room, CannotSay)


def test_the_releases_own_share_of_memory_holds_where_none_is_told() -> None:
    small, large = (
        subjects(on("l4"), flag, profiles=(DRAFT, NONE))["draft"].room
        for flag in ("--gpu-memory-utilization=0.9", "--seed=1")
    )
    assert isinstance(small, Room)
    assert isinstance(large, Room)
    assert small.max_concurrency < large.max_concurrency  # 0.92 from 0.20 on


@pytest.mark.parametrize(("share", "high"), [("0.99", True), ("0.95", False), ("0.9", False)])
def test_a_share_of_memory_that_leaves_nothing(share: str, high: bool) -> None:
    flag = f"--gpu-memory-utilization={share}"
    assert ("MemoryShareHigh" in checks(EAGLE3, Around(), flag)) is high
    assert "MemoryShareHigh" not in checks(NONE, Around(), flag)


@pytest.mark.parametrize(("version", "refused"), [("0.10.0", True), ("0.10.1", False)])
def test_an_empty_item_is_no_speculation_only_in_newer_releases(
    version: str, refused: bool
) -> None:
    assert ("ConfigEmpty" in checks(NONE, Around(), version=version)) is refused


def test_a_launcher_leaves_the_flag_out() -> None:
    script = 'exec vllm serve m ${SPECULATION_CONFIG:+--speculative-config "$SPECULATION_CONFIG"}'
    found = checks(NONE, Around(), version="0.9.2", args=("sh", "-c", script))
    assert "ConfigEmpty" not in found


def test_the_worst_comes_first() -> None:
    many = Profile(
        name="p", method=Method.DRAFT_MODEL, model="org/draft", num_speculative_tokens=500
    )
    contract = contract_of(load_engine_contracts(), "0.24.0")
    flags = ("--gpu-memory-utilization=0.99",)
    found = dict(findings_by_profile(container(*flags), (many, NONE), contract))["p"]
    order = list(Severity)
    ranks = [order.index(each.severity) for each in found]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1


def own(config: dict[str, Any] | None, around: Around, *flags: str) -> dict[str, Finding]:
    contract = contract_of(load_engine_contracts(), "0.33.0")
    found = findings_of_config(container(*flags), config, contract, around)
    return {each.check: each for each in found}


def test_a_config_of_a_command_line_is_judged_like_a_profile() -> None:
    config = {"method": "draft_model", "model": DRAFT.model, "num_speculative_tokens": 5}
    assert "Memory" in own(config, on("l4"))
    assert "Memory" not in own(config, on("h200-sxm"))
    qwen = {**config, "model": "Qwen/Qwen2.5-0.5B"}
    assert "Vocabulary" in own(qwen, Around(model=known_model()))
    told = Around(model=known_model(), drafts={OWN: CheckedModel(vocabulary=128256)})
    assert "Vocabulary" not in own(qwen, told)
    head = {**config, "method": "eagle3", "model": "SpecForge/qwen3-4b-eagle3"}
    assert "HeadForOther" in own(head, Around(model=known_model()))
    assert "MemoryShareHigh" in own(config, Around(), "--gpu-memory-utilization=0.99")


@pytest.mark.parametrize("config", [None, {}, {"method": 3}, {"model": []}, {"method": "medusa"}])
def test_any_config_of_a_command_line_is_judged(config: dict[str, Any] | None) -> None:
    assert all(each.consequence for each in own(config, on("l4")).values())


ADAPTIVE = {
    "method": "dspark",
    "model": "org/d",
    "num_speculative_tokens": 7,
    "enable_adaptive_verification": True,
}
NEEDS = {"AdaptiveVerificationGpu", "AdaptiveVerificationCache", "AdaptiveVerificationMemory"}
FITTING = ("--kv-cache-dtype=fp8", "--gpu-memory-utilization=0.8")


def test_what_adaptive_verification_needs() -> None:
    assert set(own(ADAPTIVE, on("h100-sxm"))) >= NEEDS
    assert not NEEDS & set(own(ADAPTIVE, on("b200-sxm"), *FITTING))
    assert not NEEDS & set(own({**ADAPTIVE, "enable_adaptive_verification": False}, on("l4")))
    accelerator = load_catalogue().named("l4")
    assert "AdaptiveVerificationGpu" in own(ADAPTIVE, Around(accelerator=accelerator))
    assert "AdaptiveVerificationGpu" not in own(ADAPTIVE, Around())


def test_the_catalogue_tells_the_family_of_a_target() -> None:
    families = {
        "Qwen/Qwen3-8B": "qwen3",
        LLAMA: "llama",
        "openai/gpt-oss-20b": "gpt_oss",
        "deepseek-ai/DeepSeek-V3": "",
    }
    for name, family in families.items():
        found = subjects(Around(model=known_model(name)), model=name)["none"].target
        assert found is not None
        assert found.model_type == family
