"""Which new Pods will not start, and in whose words that is told."""

import pytest

from ridgeline.policy.canary.starts import (
    IMAGE_RETRY_SECONDS,
    UNSCHEDULABLE_SECONDS,
    cannot_pull,
    start_failure,
)
from ridgeline.policy.pod_start import Exit, PodStart
from ridgeline.terms.reasons import Reason

BUDGET = 600.0
PYDANTIC = (
    "    s.__pydantic_validator__.validate_python(ArgsKwargs(args, kwargs), self_instance=s)\n"
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
    "num_speculative_tokens\n"
    "  Input should be greater than 0 [type=greater_than, input_value=0, input_type=int]\n"
    "    For further information visit https://errors.pydantic.dev/2.14/v/greater_than\n"
)
ARGPARSE = (
    "usage: vllm serve [model_tag] [options]\n"
    'vllm serve: error: argument --speculative-config/-sc: Value {"method": cannot be converted\n'
)
UNKNOWN_FLAG = "vllm: error: unrecognized arguments: --speculative-config={}\n"
SCHEDULE = (
    "(EngineCore pid=7) ERROR ValueError: The first batch-size range must start at 1 so every "
    "runtime batch size has a defined schedule\n"
    "RuntimeError: Engine core initialization failed. See root cause above.\n"
)
ENGINE_CORE = "RuntimeError: Engine core initialization failed. Failed core proc(s): {}\n"


def pod(
    *,
    age: float = 100.0,
    restarts: int = 0,
    waiting: str | None = None,
    told: str = "",
    unschedulable: str | None = None,
    last: Exit | None = None,
    name: str = "llama-new",
    profile: str = "eagle2",
) -> PodStart:
    return PodStart(
        name=name,
        profile=profile,
        age_seconds=age,
        bound=unschedulable is None,
        unschedulable=unschedulable,
        waiting_reason=waiting,
        waiting_message=told,
        restarts=restarts,
        last_exit=last,
    )


def crash(
    message: str = "", *, code: int = 1, reason: str = "Error", ran: float | None = 20.0
) -> Exit:
    return Exit(code=code, reason=reason, message=message, ran_seconds=ran)


def reason_of(
    start: PodStart, budget: float | None = BUDGET, pulling: float = IMAGE_RETRY_SECONDS
) -> Reason | None:
    found = start_failure([start], "eagle2", budget, pulling)
    return None if found is None else found.reason


def message_of(start: PodStart) -> str:
    found = start_failure([start], "eagle2", BUDGET, IMAGE_RETRY_SECONDS)
    assert found is not None
    return found.message


@pytest.mark.parametrize(
    "words",
    [PYDANTIC, ARGPARSE, UNKNOWN_FLAG, SCHEDULE, "NotImplementedError: draft models\n"],
    ids=["pydantic", "argparse", "unknown flag", "schedule", "not implemented"],
)
def test_one_crash_is_enough_when_the_engine_says_that_it_refuses_its_config(words: str) -> None:
    assert reason_of(pod(last=crash(words))) is Reason.ENGINE_REFUSES_CONFIG


def test_the_engine_is_quoted_with_what_it_did_not_like() -> None:
    told = message_of(pod(last=crash(PYDANTIC)))
    assert "num_speculative_tokens Input should be greater than 0" in told
    assert told.startswith("the engine in Pod llama-new refuses its configuration: ")


@pytest.mark.parametrize("words", ["", ENGINE_CORE, "Segmentation fault\n"])
def test_any_other_crash_must_happen_twice(words: str) -> None:
    assert reason_of(pod(last=crash(words), restarts=1)) is None
    assert reason_of(pod(last=crash(words), restarts=2)) is Reason.PODS_CRASH
    looping = pod(last=crash(words), restarts=1, waiting="CrashLoopBackOff")
    assert reason_of(looping) is Reason.PODS_CRASH
    # The kubelet counts a crash once it has started the container again.
    assert "crashed 2 times" in message_of(looping)


def test_a_crash_is_told_in_its_last_line_or_with_how_to_see_it() -> None:
    assert "its last words: RuntimeError: Engine core" in message_of(
        pod(last=crash(f"noise\n{ENGINE_CORE}\n  \n"), restarts=2)
    )
    silent = message_of(pod(last=crash(), restarts=2))
    assert "exit 1" in silent
    assert "terminationMessagePolicy: FallbackToLogsOnError" in silent


def test_a_kill_for_memory_is_named() -> None:
    killed = crash(code=137, reason="OOMKilled", ran=BUDGET)
    assert "killed for memory" in message_of(pod(last=killed, restarts=2))
    assert reason_of(pod(last=killed, restarts=1)) is None


# vLLM that is asked to end while it loads ends in peace: exit code 0.
@pytest.mark.parametrize("code", [137, 143, 0])
def test_two_kills_about_when_the_start_may_take_no_longer_are_the_probe_s(code: int) -> None:
    late = pod(last=crash(code=code, ran=BUDGET), restarts=2)
    assert reason_of(late) is Reason.KILLED_BY_PROBE
    assert "it may take 10 min to start" in message_of(late)
    assert reason_of(pod(last=crash(code=code, ran=BUDGET), restarts=1)) is None


@pytest.mark.parametrize(
    ("last", "budget"),
    [
        (crash(code=0, reason="Completed", ran=0.79 * BUDGET), BUDGET),
        (crash(code=0, reason="Completed", ran=1.51 * BUDGET), BUDGET),
        (crash(code=137, ran=0.79 * BUDGET), BUDGET),
        (crash(code=1, ran=BUDGET), BUDGET),
        (crash(code=137, ran=None), BUDGET),
        (crash(code=137, ran=BUDGET), None),
    ],
    ids=[
        "ended by itself early",
        "ended by itself late",
        "too early",
        "an error of its own",
        "no time told",
        "no probe",
    ],
)
def test_other_ends_are_crashes(last: Exit, budget: float | None) -> None:
    assert reason_of(pod(last=last, restarts=2), budget) is Reason.PODS_CRASH


def test_a_pod_without_a_node_is_waited_for_as_long_as_a_node_takes() -> None:
    told = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    assert reason_of(pod(age=UNSCHEDULABLE_SECONDS - 1.0, unschedulable=told)) is None
    late = pod(age=UNSCHEDULABLE_SECONDS, unschedulable=told)
    assert reason_of(late) is Reason.PODS_UNSCHEDULABLE
    assert "Insufficient nvidia.com/gpu" in message_of(late)


@pytest.mark.parametrize(
    ("waiting", "restarts", "expected"),
    [
        ("ImagePullBackOff", 0, Reason.IMAGE_PULL_FAILED),
        ("InvalidImageName", 0, Reason.IMAGE_PULL_FAILED),
        ("ErrImagePull", 0, Reason.IMAGE_PULL_FAILED),
        ("CreateContainerConfigError", 0, Reason.CONTAINER_CANNOT_START),
        ("CreateContainerError", 0, Reason.CONTAINER_CANNOT_START),
        ("RunContainerError", 0, Reason.CONTAINER_CANNOT_START),
        ("SomethingNew", 0, None),
        (None, 0, None),
    ],
)
def test_what_the_kubelet_waits_for(
    waiting: str | None, restarts: int, expected: Reason | None
) -> None:
    start = pod(waiting=waiting, restarts=restarts, told='secret "hf-token" not found')
    assert reason_of(start) is expected
    if expected is not None:
        assert 'secret "hf-token" not found' in message_of(start)


@pytest.mark.parametrize("waiting", ["ErrImagePull", "ImagePullBackOff"])
def test_a_registry_that_stumbles_is_tried_again(waiting: str) -> None:
    start = pod(waiting=waiting, told="503")
    assert cannot_pull([start], "eagle2")
    assert reason_of(start, pulling=IMAGE_RETRY_SECONDS - 1.0) is None
    assert reason_of(start) is Reason.IMAGE_PULL_FAILED


def test_a_name_that_is_none_is_not_tried_again() -> None:
    start = pod(waiting="InvalidImageName")
    assert not cannot_pull([start], "eagle2")
    assert reason_of(start, pulling=0.0) is Reason.IMAGE_PULL_FAILED


def test_only_the_images_of_the_new_profile_are_looked_at() -> None:
    assert not cannot_pull([pod(waiting="ErrImagePull", profile="none")], "eagle2")
    assert not cannot_pull([pod(waiting="CrashLoopBackOff"), pod()], "eagle2")


def test_only_pods_of_the_new_profile_speak_against_it() -> None:
    assert reason_of(pod(last=crash(PYDANTIC), profile="none")) is None


def test_the_first_pod_by_name_is_the_one_that_is_told_in_any_order() -> None:
    pods = [pod(name=name, last=crash(PYDANTIC)) for name in ("b", "a", "c")]
    found = {start_failure(order, "eagle2", BUDGET) for order in (tuple(pods), tuple(pods[::-1]))}
    (told,) = found
    assert told is not None
    assert "Pod a " in told.message


def test_a_stranger_s_words_stay_one_line_of_bounded_length() -> None:
    hostile = f"ValueError: \x1b[31mred\x1b[0m\u202e{'x' * 5000}\n"
    for start in (
        pod(last=crash(hostile)),
        pod(last=crash(hostile.replace("ValueError", "Oops")), restarts=2),
        pod(waiting="ImagePullBackOff", told=hostile),
        pod(age=999.0, unschedulable=hostile),
    ):
        told = message_of(start)
        assert told.isprintable()
        assert len(told) < 500
