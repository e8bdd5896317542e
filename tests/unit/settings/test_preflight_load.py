"""What a release does about load while it serves, as far as it is less than a person may think."""

import json

import pytest

from ridgeline.engine.container import Container
from ridgeline.engine.contract import contract_of
from ridgeline.engine.findings import Finding
from ridgeline.engine.served_model import served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.preflight import Around, findings_by_profile
from ridgeline.settings.preflight_room import Hardware
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.methods import Method

WORDS = ("vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct")
EAGLE = Profile(
    name="eagle",
    method=Method.EAGLE,
    model="yuhuili/EAGLE-LLaMA3.1-Instruct-8B",
    num_speculative_tokens=4,
)
NONE = Profile(name="none", method=Method.DISABLED)


def known() -> Around:
    gpu, model = load_catalogue().named("h100-sxm"), target_model(None, served_model(WORDS))
    assert gpu is not None
    assert isinstance(model, TargetModel)
    return Around(model=model, hardware=Hardware(accelerator=gpu, model=model))


def told(version: str, profile: Profile = EAGLE, around: Around | None = None) -> Finding | None:
    contract = contract_of(load_engine_contracts(), version)
    container = Container(name="vllm", command=WORDS)
    ((_, found),) = findings_by_profile(container, (profile,), contract, around or Around())
    return next((each for each in found if each.check == "LoadNotFollowed"), None)


@pytest.mark.parametrize("version", ["0.11.0", "0.16.0", "0.23.0"])
def test_between_the_switch_and_the_schedule_only_a_roll_follows_the_load(version: str) -> None:
    found = told(version)
    assert found is not None
    assert "the profile is all that can change" in found.consequence
    assert "let ridgeline roll" in found.fix


@pytest.mark.parametrize("version", ["0.8.5", "0.9.2"])
def test_the_old_switch_is_written_out_where_a_cutoff_can_be_reckoned(version: str) -> None:
    found = told(version, around=known())
    assert found is not None
    config = json.loads(found.fix.partition("--speculative-config=")[2].partition("},")[0] + "}")
    assert config["disable_by_batch_size"] >= 2
    assert config["num_speculative_tokens"] == 4
    blind = told(version)
    assert blind is not None
    assert "no cut-off to put in" in blind.consequence


def test_who_has_a_schedule_or_the_switch_or_drafts_nothing_is_told_nothing() -> None:
    switched = Profile(
        name="eagle",
        method=Method.EAGLE,
        model="org/head",
        num_speculative_tokens=4,
        extra=(("disable_by_batch_size", 16),),
    )
    assert told("0.9.2", switched) is None
    assert told("0.24.0") is None
    assert told("0.14.0", NONE) is None
