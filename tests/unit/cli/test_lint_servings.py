"""A serving with its policy and target: what no rule of the API server can know."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.lint_inputs import (
    LARGE,
    LLAMA,
    READS,
    Body,
    Lint,
    container,
    default,
    policy,
    profile,
    serving,
    target,
    workload,
)

GPU = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L4"}}
HEAD = profile("Eagle3", model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B")


def checks(tmp_path: Path, *bodies: Body, options: tuple[str, ...] = ()) -> dict[str, Body]:
    return Lint(tmp_path).checks(bodies, *options)


def schedule(name: str, cron: str = "0 8 * * *", **more: Any) -> Body:
    return {"name": name, "cron": cron, "durationSeconds": 3600, "timeZone": "UTC", **more}


def test_a_pair_that_is_right_has_nothing_but_remarks(tmp_path: Path) -> None:
    found = checks(tmp_path, target(), default(), serving(HEAD))
    assert {each["severity"] for each in found.values()} <= {"Info"}
    assert not {"TargetNotSeen", "PolicyNotSeen", "HeadNotVerified"} & set(found)


def test_profiles_are_judged_by_the_targets_release_model_and_gpu(tmp_path: Path) -> None:
    image = "vllm/vllm-openai:v0.13.0"
    small = profile("DraftModel", model="Qwen/Qwen2.5-0.5B", numSpeculativeTokens=4)
    found = checks(tmp_path, target(image=image, pod=GPU), serving(small))
    assert {"MethodNotImplemented", "Vocabulary"} <= set(found)
    assert found["MethodNotImplemented"]["profiles"] == ["fast"]
    draft = profile("DraftModel", model="meta-llama/Llama-3.2-1B-Instruct")
    assert "Memory" in checks(tmp_path, target(pod=GPU), serving(draft))
    assert "Memory" not in checks(tmp_path, target(), serving(draft))


IN_ARGS: Body = {"injection": {"mode": "Args"}, "conflictPolicy": "Force"}


def _in_args(*args: str, **fields: Any) -> Body:
    found = target(**fields)
    found["spec"]["template"]["spec"]["containers"][0]["args"] = [LLAMA, *args]
    return found


def test_an_argument_list_that_is_taken_over_is_told_and_needs_no_variable(tmp_path: Path) -> None:
    found = checks(tmp_path, _in_args("--port=8000"), serving(HEAD, **IN_ARGS))
    assert found["ArgsTakenOver"]["severity"] == "Warning"
    assert "guard.allowArgs" in found["ArgsTakenOver"]["consequence"]
    assert not {"InjectionPointMissing", "DefaultMissing", "FieldConflict"} & set(found)
    by_item = checks(tmp_path, _in_args("--port=8000"), serving(HEAD))
    assert "InjectionPointMissing" in by_item
    assert "ArgsTakenOver" not in by_item


@pytest.mark.parametrize(
    "args",
    [
        ("--config", "/etc/vllm.yaml"),
        ("--", "--port=8000"),
        ("--spec-tokens", "3", "-sc", '{"num_speculative_tokens":4}'),
    ],
)
def test_an_argument_list_that_cannot_carry_a_profile_is_an_error(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    found = checks(tmp_path, _in_args(*args), serving(HEAD, **IN_ARGS))
    assert found["ArgsNotEditable"]["severity"] == "Error"


def test_an_argument_list_of_another_controllers_deployment_is_an_error(tmp_path: Path) -> None:
    made = _in_args("--port=8000")
    owner = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}
    made["metadata"]["ownerReferences"] = [{**owner, "name": "x", "uid": "u", "controller": True}]
    found = checks(tmp_path, made, serving(HEAD, **IN_ARGS))
    assert found["ArgsOfParent"]["severity"] == "Error"
    assert "ArgsTakenOver" not in found


def test_the_serving_says_gpu_model_and_precision(tmp_path: Path) -> None:
    said: Body = {"accelerator": "l4", "model": {"name": LARGE, "precision": "FP8"}}
    found = checks(tmp_path, target(model="/models/own"), serving(HEAD, **said))
    assert found["Memory"]["severity"] == "Error"
    assert "HiddenSize" in found


def test_a_persons_word_wins(tmp_path: Path) -> None:
    draft = profile("DraftModel", model="meta-llama/Llama-3.2-1B-Instruct")
    bodies = (target(pod=GPU), serving(draft))
    assert "Memory" not in checks(tmp_path, *bodies, options=("--accelerator", "h200-sxm"))
    assert "Vocabulary" in checks(
        tmp_path, *bodies, options=("--draft-config", Lint(tmp_path).model("d.json", vocab_size=7))
    )


def test_an_accelerator_profile_beside_it_tells_the_gpu(tmp_path: Path) -> None:
    own = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "AcceleratorProfile",
        "metadata": {"name": "acme"},
        "spec": {"memoryGiB": 12, "memoryBandwidthGBps": 500, "denseBF16TFLOPS": 100},
    }
    bodies = (target("--quantization=fp8"), serving(HEAD, accelerator="acme"), own)
    assert "Memory" in checks(tmp_path, *bodies)
    assert "Memory" in checks(tmp_path, *bodies, options=("--accelerator", "acme"))
    assert checks(tmp_path, {**own, "spec": {"memoryGib": 3}})["SpecInvalid"]["fix"] == (
        "write memoryGiB"
    )


def test_what_holds_of_the_container_is_said_of_it_once(tmp_path: Path) -> None:
    image = "vllm/vllm-openai:v0.9.2"
    two = (profile(), profile(name="other", numSpeculativeTokens=2))
    found = Lint(tmp_path).found([target(image=image), serving(*two)])
    old = [each for each in found if each["check"] == "ReleaseTooOld"]
    assert [(each["kind"], each["profiles"]) for each in old] == [("Deployment", [])]


def test_what_profiles_have_in_common_is_said_once(tmp_path: Path) -> None:
    two = (profile(), profile(name="other", model="org/other"))
    found = Lint(tmp_path).found([target(), serving(*two)])
    alike = [each for each in found if each["check"] == "HeadNotVerified"]
    assert [each["profiles"] for each in alike] == [["fast", "other"]]
    assert alike[0]["value"] == '"org/head", "org/other"'


def test_an_empty_value_that_the_release_does_not_take(tmp_path: Path) -> None:
    found = checks(tmp_path, target(image="vllm/vllm-openai:v0.9.2"), serving(HEAD))
    assert found["ConfigEmpty"]["profiles"] == ["none"]


@pytest.mark.parametrize(
    ("deployment", "spec", "check"),
    [
        (workload(container(LLAMA)), {}, "InjectionPointMissing"),
        (workload(container(LLAMA, READS)), {}, "InjectionPointMissing"),
        (target(env=[{"name": "SPECULATION_CONFIG", "value": ""}]), {}, "FieldConflict"),
        (workload(container(LLAMA), container(LLAMA)), {}, "ContainerAmbiguous"),
        (target(), {"targetRef": {"name": "llama", "containerName": "x"}}, "ContainerNotFound"),
    ],
)
def test_a_target_that_takes_no_profile(
    deployment: Body, spec: Body, check: str, tmp_path: Path
) -> None:
    assert checks(tmp_path, deployment, serving(HEAD, **spec))[check]["severity"] == "Error"


def test_a_default_in_a_config_map_is_empty(tmp_path: Path) -> None:
    found = checks(tmp_path, target(), default("{}"), serving(HEAD))
    assert found["DefaultNotEmpty"]["severity"] == "Warning"


def test_what_was_not_given_is_said(tmp_path: Path) -> None:
    found = checks(tmp_path, serving(HEAD, policyRef={"name": "shared"}))
    assert found["TargetNotSeen"]["severity"] == found["PolicyNotSeen"]["severity"] == "Info"
    together = checks(tmp_path, serving(HEAD, policyRef={"name": "shared"}), policy(), target())
    assert not {"TargetNotSeen", "PolicyNotSeen"} & set(together)


def test_memory_is_not_judged_where_no_target_tells_how_many_gpus_there_are(
    tmp_path: Path,
) -> None:
    large: Body = {"accelerator": "l40s", "model": {"name": LARGE, "precision": "BF16"}}
    plain = serving(profile("NGram", model=None), **large)
    alone = checks(tmp_path, plain)
    assert "TargetNotSeen" in alone
    assert "Error" not in {each["severity"] for each in alone.values()}
    assert checks(tmp_path, target(), plain)["Memory"]["severity"] == "Error"


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    draft = profile("DraftModel", model="org/draft")
    alone = checks(tmp_path, serving(draft))
    assert {"ReleaseUnknown", "TargetUnknown", "DraftUnknown"} <= set(alone)
    assert {alone[each]["severity"] for each in ("ReleaseUnknown", "TargetUnknown")} == {"Info"}
    assert not {"ReleaseUnknown", "TargetUnknown"} & set(checks(tmp_path, target(), serving(draft)))
    told = ("--vllm", "0.24.0", "--draft-config", Lint(tmp_path).model("d.json", vocab_size=7))
    assert not {"ReleaseUnknown", "DraftUnknown"} & set(
        checks(tmp_path, serving(draft), options=told)
    )
    assert not {"TargetUnknown", "DraftUnknown"} & set(
        checks(tmp_path, serving(profile("NGram", model=None)))
    )


def test_objects_stand_beside_each_other_by_namespace(tmp_path: Path) -> None:
    def placed(body: Body, namespace: str) -> Body:
        return {**body, "metadata": {**body["metadata"], "namespace": namespace}}

    here, there = placed(serving(HEAD), "a"), placed(target(), "b")
    assert "TargetNotSeen" in checks(tmp_path, here, there)
    assert "TargetNotSeen" not in checks(tmp_path, here, target())
    assert "TargetNotSeen" not in checks(tmp_path, serving(HEAD), there)
    assert "TargetNotSeen" not in checks(tmp_path, here, placed(target(), "a"))


def test_two_servings_of_one_target(tmp_path: Path) -> None:
    found = checks(tmp_path, target(), serving(HEAD), serving(HEAD, name="second"))
    assert found["TargetConflict"]["name"] == "second"
    assert found["TargetConflict"]["severity"] == "Error"


def test_a_policy_whose_ranges_name_a_profile_that_a_serving_lacks(tmp_path: Path) -> None:
    ranges = [{"upToConcurrency": 8, "profile": "absent"}, {"profile": "none"}]
    shared = policy(cutoff={"strategy": "Fixed", "ranges": ranges})
    found = checks(tmp_path, shared, serving(HEAD, policyRef={"name": "shared"}))
    assert "'absent', which this serving does not define" in found["SpecInvalid"]["consequence"]
    assert "SpecInvalid" not in checks(tmp_path, shared, serving(HEAD))


def test_a_policys_schedule_that_names_a_profile_which_a_serving_lacks(tmp_path: Path) -> None:
    shared = policy(schedules=[schedule("a", profile="absent")])
    found = checks(tmp_path, shared, serving(HEAD, policyRef={"name": "shared"}))
    assert found["ScheduleInvalid"]["kind"] == "SpeculativeServing"
    assert found["ScheduleInvalid"]["severity"] == "Error"


OVERLAPPING = [schedule("a", profile="fast"), schedule("b", "30 8 * * *", profile="none")]


def test_schedules_that_overlap(tmp_path: Path) -> None:
    found = checks(tmp_path, serving(HEAD, schedules=OVERLAPPING))["SchedulesOverlap"]
    assert found["severity"] == "Warning"
    apart = [OVERLAPPING[0], schedule("b", "0 9 * * *", profile="none")]
    assert "SchedulesOverlap" not in checks(tmp_path, serving(HEAD, schedules=apart))


def test_schedules_of_a_policy_are_told_of_the_policy_alone(tmp_path: Path) -> None:
    shared = policy(schedules=OVERLAPPING)
    users = [serving(HEAD, policyRef={"name": "shared"}), serving(HEAD, name="alone")]
    found = Lint(tmp_path).found([shared, *users])
    told = [each["kind"] for each in found if each["check"] == "SchedulesOverlap"]
    assert told == ["SpeculationPolicy"]


def test_a_schedule_that_never_comes(tmp_path: Path) -> None:
    never = [schedule("a", "0 0 30 2 *", freeze=True)]
    assert "ScheduleInvalid" in checks(tmp_path, serving(HEAD, schedules=never))
    assert "ScheduleInvalid" in checks(tmp_path, policy(schedules=never))


def test_an_objective_that_the_buckets_cannot_tell(tmp_path: Path) -> None:
    asked = serving(HEAD, objective={"p99TPOTMilliseconds": 60})
    image = "vllm/vllm-openai:v0.33.0"
    found = checks(tmp_path, target(image=image), asked)["LatencyBuckets"]
    assert found["severity"] == "Warning"
    argument = found["fix"].removeprefix("add the argument ").removesuffix(" to the server")
    assert argument.startswith("--custom-histogram-buckets=")
    assert "LatencyBuckets" not in checks(tmp_path, target(argument, image=image), asked)
    assert "newer release" in checks(tmp_path, target(), asked)["LatencyBuckets"]["fix"]


def changed(**spec: Any) -> Body:
    body = target()
    body["spec"] |= spec
    return body


@pytest.mark.parametrize(
    ("deployment", "check"),
    [
        (changed(paused=True), "Paused"),
        (changed(strategy={"type": "Recreate"}), "RollStopsServing"),
        (
            changed(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}),
            "RollCannotMove",
        ),
        (target(pod={"terminationGracePeriodSeconds": 30}), "DrainTooShort"),
        (target(lifecycle=None, args=[LLAMA, READS]), "NoDrain"),
    ],
)
def test_what_a_roll_would_need(deployment: Body, check: str, tmp_path: Path) -> None:
    found = checks(tmp_path, deployment, serving(HEAD))[check]
    assert (found["kind"], found["severity"]) == ("Deployment", "Warning")
    assert check not in checks(tmp_path, target(), serving(HEAD))
    # Nobody rolls what no serving names.
    assert check not in checks(tmp_path, deployment)


@pytest.mark.parametrize(
    ("deployment", "check"),
    [
        (target(lifecycle=None), "NoPreStop"),
        (target(args=[LLAMA, READS]), "NoShutdownTimeout"),
    ],
)
def test_half_a_drain_is_a_remark(deployment: Body, check: str, tmp_path: Path) -> None:
    found = checks(tmp_path, deployment, serving(HEAD))
    assert found[check]["severity"] == "Info"
    assert "NoDrain" not in found


def test_a_drain_that_the_release_has_no_flag_for(tmp_path: Path) -> None:
    image = "vllm/vllm-openai:v0.17.0"
    found = checks(tmp_path, target(image=image), serving(HEAD))
    assert found["FlagUnknown"]["flag"] == "--shutdown-timeout"
    assert found["FlagUnknown"]["severity"] == "Error"


@pytest.mark.parametrize(
    "spec",
    [
        {"strategy": {"rollingUpdate": {"maxSurge": []}}},
        {"strategy": "RollingUpdate"},
        {"progressDeadlineSeconds": "soon"},
    ],
)
def test_a_deployment_that_the_api_server_would_not_take(spec: Body, tmp_path: Path) -> None:
    found = checks(tmp_path, changed(**spec), serving(HEAD))
    assert found["ManifestUnreadable"]["severity"] == "Error"
