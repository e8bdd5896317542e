"""Profiles that fare otherwise than the others: by their method, their drafter, or without one."""

import json
from typing import Any

import pytest

from ridgeline.sim.stand_in.command import Start, prepare
from ridgeline.sim.stand_in.failures import StartError
from ridgeline.sim.stand_in.settings import NEVER

EAGLE = {"method": "eagle", "model": "org/head", "num_speculative_tokens": 4}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
NONE = None


def start(config: dict[str, Any] | None, version: str = "0.32.0", **settings: str) -> Start:
    flags = [] if config is None else [f"--speculative-config={json.dumps(config)}"]
    named = {f"STAND_IN_{name}": value for name, value in settings.items() if name != "HOSTNAME"}
    host = {"HOSTNAME": settings["HOSTNAME"]} if "HOSTNAME" in settings else {}
    return prepare(
        ["serve", "org/target", *flags], {"STAND_IN_ENGINE_VERSION": version} | named | host
    )


@pytest.mark.parametrize("name", ["eagle", "org/head", "head", "other,eagle"])
def test_a_refused_profile_ends_at_once_with_a_validation_error_as_its_last_words(
    name: str,
) -> None:
    with pytest.raises(StartError) as caught:
        start(EAGLE, REFUSES=name)
    assert caught.value.exit_code == 1
    assert not caught.value.after_load
    error, cause, help_line = caught.value.stderr.splitlines()[-3:]
    assert error.endswith("ValidationError: 1 validation error for SpeculativeConfig")
    assert cause.startswith("  Value error, eagle is only supported for ['llama', ")
    assert "[type=value_error" in cause
    assert "errors.pydantic.dev" in help_line


def test_a_release_without_pydantic_refuses_it_as_a_plain_error() -> None:
    with pytest.raises(StartError, match="ValueError: eagle is only supported for"):
        start(EAGLE, "0.9.0", REFUSES="eagle")


@pytest.mark.parametrize("config", [NGRAM, NONE])
def test_other_profiles_of_the_same_deployment_start(config: dict[str, Any] | None) -> None:
    begun = start(config, REFUSES="eagle", MISFITS="head", NEVER_READY="org/head")
    assert begun.failure_after_load is None
    assert begun.settings.startup_s == 5.0


def test_a_head_that_does_not_fit_shows_once_its_weights_are_loaded() -> None:
    failure = start(EAGLE, MISFITS="head").failure_after_load
    assert failure is not None
    assert "size mismatch for lm_head.weight" in failure.stdout
    assert failure.stderr.splitlines()[-1].startswith(
        "RuntimeError: Engine core initialization failed."
    )


def test_a_server_killed_for_memory_dies_after_the_load_without_a_word() -> None:
    failure = start(NONE, KILLED_FOR_MEMORY="none").failure_after_load
    assert failure is not None
    assert (failure.exit_code, failure.stderr, failure.stdout) == (137, "", "")
    assert start(EAGLE, KILLED_FOR_MEMORY="none").failure_after_load is None


def test_a_drafter_adds_seconds_to_the_start_also_to_one_that_fails() -> None:
    settings = {"STARTUP_SECONDS": "3", "STARTUP_BY_PROFILE": "head=2,eagle=7,none=1"}
    assert start(EAGLE, **settings).settings.startup_s == 5.0
    assert start(EAGLE, MISFITS="eagle", **settings).settings.startup_s == 5.0
    assert start(NONE, **settings).settings.startup_s == 4.0
    assert start(NGRAM, **settings).settings.startup_s == 3.0


def test_a_profile_can_be_one_that_never_becomes_ready() -> None:
    assert start(EAGLE, NEVER_READY="eagle").settings.startup_s == NEVER
    assert start(NONE, NEVER_READY="eagle").settings.startup_s == 5.0


def test_a_profile_can_be_slower_than_the_step_model_promises() -> None:
    settings = {"TIME_SCALE": "0.5", "STEP_FACTOR": "eagle=1.4"}
    assert start(EAGLE, **settings).settings.step_time.scale == pytest.approx(0.7)
    assert start(NGRAM, **settings).settings.step_time.scale == 0.5


def scale(name: str, **settings: str) -> float:
    return start(EAGLE, HOSTNAME=name, **settings).settings.step_time.scale


def test_each_pod_draws_its_own_speed_and_draws_it_again_after_a_restart() -> None:
    pods = [f"llama-6d4c-{number}" for number in range(40)]
    drawn = [scale(pod, BOOT_SPREAD="0.1") for pod in pods]
    assert drawn == [scale(pod, BOOT_SPREAD="0.1") for pod in pods]
    assert drawn != [scale(pod, BOOT_SPREAD="0.1", SEED="1") for pod in pods]
    assert len(set(drawn)) == 40
    assert all(0.9 <= each <= 1.1 for each in drawn)
    assert min(drawn) < 0.95
    assert max(drawn) > 1.05
    assert {scale(pod) for pod in pods} == {1.0}


def test_timed_faults_can_be_kept_to_one_profile() -> None:
    settings = {"DIE_AFTER_SECONDS": "9", "FAULTS_UNDER": "eagle"}
    assert start(EAGLE, **settings).settings.faults.die_after_s == 9.0
    assert start(NONE, **settings).settings.faults.die_after_s == NEVER
    assert start(NONE, DIE_AFTER_SECONDS="9").settings.faults.die_after_s == 9.0


def test_the_share_of_answers_is_the_served_profiles_own() -> None:
    assert start(EAGLE, ANSWER_SHARE="eagle=0.33").settings.answer_share == 0.33
    assert start(NONE, ANSWER_SHARE="eagle=0.33").settings.answer_share == 1.0
