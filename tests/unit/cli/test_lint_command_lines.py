"""A container's own command line, in every way in which a config is written there."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ridgeline.engine.contract import contract_of
from ridgeline.engine.speculative_config import Profile
from ridgeline.engine.spelling import Spelling, file_of, words_of
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method
from tests.unit.cli.lint_inputs import (
    LLAMA,
    READS,
    Body,
    Lint,
    config_map,
    container,
    default,
    eagle,
    flag,
    workload,
)

MANY = Profile(name="p", method=Method.NGRAM, num_speculative_tokens=900)
"""A profile that is wrong in its K alone, however it is written."""

CONTRACT_WITH_ROOM = replace(contract_of(load_engine_contracts(), "0.24.0"), max_lookahead=1000)
"""Writes what the release itself would not serve."""


def checks(tmp_path: Path, *bodies: Body, options: tuple[str, ...] = ()) -> dict[str, Body]:
    return Lint(tmp_path).checks(bodies, *options)


@pytest.mark.parametrize("spelling", Spelling)
def test_every_spelling_is_read(spelling: Spelling, tmp_path: Path) -> None:
    body = workload(container(LLAMA, *words_of(MANY, spelling, CONTRACT_WITH_ROOM)))
    finding = checks(tmp_path, body)["LookaheadRange"]
    assert finding["value"] == "900"
    assert (finding["kind"], finding["name"], finding["container"]) == (
        "Deployment",
        "llama",
        "vllm",
    )


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "Rollout"])
def test_whatever_has_pods_is_looked_at(kind: str, tmp_path: Path) -> None:
    body = workload(container(LLAMA, flag(eagle(num_speculative_tokens=0))), kind=kind)
    assert checks(tmp_path, body)["LookaheadRange"]["kind"] == kind


def test_pods_lie_where_each_kind_keeps_them(tmp_path: Path) -> None:
    spec = {"containers": [container(LLAMA, flag(eagle(num_speculative_tokens=0)))]}
    bodies: list[Body] = [
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": spec},
        {
            "kind": "CronJob",
            "metadata": {"name": "b"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}},
        },
        {
            "kind": "LeaderWorkerSet",
            "metadata": {"name": "c"},
            "spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": spec}}},
        },
        {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "d"}, "spec": spec}]},
    ]
    found = Lint(tmp_path).found(bodies)
    assert [each["name"] for each in found if each["check"] == "LookaheadRange"] == list("abcd")


def test_other_containers_are_left_alone(tmp_path: Path) -> None:
    proxy = {"name": "proxy", "image": "envoy:v0.1.0", "args": ["--concurrency", 4]}
    vllm = container(LLAMA, flag(eagle()))
    found = Lint(tmp_path).found([workload(proxy, vllm)])
    assert {each["container"] for each in found} <= {"vllm"}


def test_a_server_without_speculation_has_nothing_to_be_told(tmp_path: Path) -> None:
    old = workload(container(LLAMA, image="vllm/vllm-openai:v0.9.0"))
    unknown = workload(container(LLAMA, image="acme/vllm:stable"))
    assert Lint(tmp_path).found([old, unknown]) == []


def mounted(*args: str, items: Any = None, mount: Body | None = None) -> Body:
    source: Body = {"name": "flags"} | ({"items": items} if items else {})
    return workload(
        container(
            LLAMA,
            *args,
            volumeMounts=[{"name": "v", "mountPath": "/etc/vllm", **(mount or {})}],
        ),
        pod={"volumes": [{"name": "v", "configMap": source}]},
    )


def file_text(profile: Profile) -> str:
    return file_of(profile, CONTRACT_WITH_ROOM)


@pytest.mark.parametrize("args", [("--config", "/etc/vllm/a.yaml"), ("--config=/etc/vllm/a.yaml",)])
def test_the_file_of_a_config_map_is_read(args: tuple[str, ...], tmp_path: Path) -> None:
    flags = config_map("flags", {"a.yaml": file_text(MANY)})
    assert checks(tmp_path, mounted(*args), flags)["LookaheadRange"]["value"] == "900"


def test_the_file_lies_where_the_volume_puts_it(tmp_path: Path) -> None:
    flags = config_map("flags", {"key": file_text(MANY)})
    by_item = mounted("--config=/etc/vllm/a.yaml", items=[{"key": "key", "path": "a.yaml"}])
    by_sub_path = mounted(
        "--config=/etc/x.yaml", mount={"mountPath": "/etc/x.yaml", "subPath": "key"}
    )
    projected = mounted("--config=/etc/vllm/key")
    projected["spec"]["template"]["spec"]["volumes"] = [
        {"name": "v", "projected": {"sources": [{"configMap": {"name": "flags"}}]}}
    ]
    for body in (by_item, by_sub_path, projected):
        assert "LookaheadRange" in checks(tmp_path, body, flags)


def test_flags_of_the_file_count_too(tmp_path: Path) -> None:
    text = "tensor-parallel-size: 4\n"
    body = mounted("--config=/etc/vllm/a.yaml", flag(eagle(draft_tensor_parallel_size=2)))
    finding = checks(tmp_path, body, config_map("flags", {"a.yaml": text}))["DraftTensorParallel"]
    assert "the target's 4" in finding["consequence"]


def test_a_file_that_was_not_given_is_said(tmp_path: Path) -> None:
    for body in (mounted("--config=/etc/vllm/a.yaml"), mounted("--config=/elsewhere.yaml")):
        finding = checks(tmp_path, body)["ConfigFileNotSeen"]
        assert finding["severity"] == "Info"


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "speculative-config: true\n", "1: 2\n- x"])
def test_a_file_that_is_none(text: str, tmp_path: Path) -> None:
    flags = config_map("flags", {"a.yaml": text})
    finding = checks(tmp_path, mounted("--config=/etc/vllm/a.yaml"), flags)["ConfigFile"]
    assert finding["severity"] == "Error"


def test_variables_are_those_of_env_and_of_given_config_maps(tmp_path: Path) -> None:
    config = json.dumps(eagle(num_speculative_tokens=0))
    reads = "--speculative-config=$(SPEC)"
    named = {"name": "SPEC", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}
    ways: list[Body] = [
        {"env": [{"name": "SPEC", "value": config}]},
        {"envFrom": [{"configMapRef": {"name": "e"}}]},
        {"env": [named]},
        {"envFrom": [{"prefix": "SP", "configMapRef": {"name": "p"}}]},
    ]
    given = [
        config_map("e", {"SPEC": config}),
        config_map("m", {"k": config}),
        config_map("p", {"EC": config}),
    ]
    for way in ways:
        body = workload(container(LLAMA, reads, **way))
        assert "LookaheadRange" in checks(tmp_path, body, *given), way


def test_the_value_of_a_config_map_is_taken_as_it_stands(tmp_path: Path) -> None:
    # The kubelet expands variables in env, and none in what envFrom takes.
    source = [{"configMapRef": {"name": "e"}}]
    body = workload(container(LLAMA, "--speculative-config=$(SPEC)", envFrom=source))
    given = config_map("e", {"A": "eagle", "SPEC": json.dumps(eagle(method="$(A)"))})
    assert checks(tmp_path, body, given)["MethodUnknown"]["value"] == '"$(A)"'


def script(text: str) -> Body:
    return workload(container(text, command=["sh", "-c"]))


def test_a_script_is_read_as_far_as_words_go_and_reported(tmp_path: Path) -> None:
    config = json.dumps(eagle(num_speculative_tokens=0))
    found = checks(tmp_path, script(f"exec vllm serve m --speculative-config '{config}'"))
    assert {"ShellScript", "LookaheadRange"} <= set(found)
    assert found["ShellScript"]["severity"] == "Warning"


def test_a_variable_of_a_script_is_the_shells_to_expand(tmp_path: Path) -> None:
    whole = script('exec vllm serve m --speculative-config "$CONFIG"')
    part = script(
        r'exec vllm serve m --speculative-config "{\"method\":\"eagle\",\"model\":\"$HEAD\",'
        r'\"num_speculative_tokens\":3}"'
    )
    for body in (whole, part):
        found = checks(tmp_path, body)
        assert "ShellScript" in found
        assert not {"ConfigNotJson", "VariableNotExpanded"} & set(found)


def test_a_launcher_that_takes_the_profile_is_as_it_should_be(tmp_path: Path) -> None:
    body = script(
        'exec vllm serve m ${SPECULATION_CONFIG:+--speculative-config "$SPECULATION_CONFIG"}'
    )
    assert checks(tmp_path, body) == {}


def reads(**fields: Any) -> Body:
    return workload(
        container(LLAMA, READS, envFrom=[{"configMapRef": {"name": "no-speculation"}}], **fields)
    )


def test_the_profiles_variable_is_no_config_of_its_own(tmp_path: Path) -> None:
    assert checks(tmp_path, reads(), default()) == {}
    assert checks(tmp_path, reads()) == {}


@pytest.mark.parametrize(
    ("body", "check", "says"),
    [
        (workload(container(LLAMA, READS)), "InjectionPointMissing", "nothing gives it a default"),
        (
            workload(container(LLAMA, "--speculative-config=$SPECULATION_CONFIG")),
            "InjectionPointMissing",
            "where no shell expands it",
        ),
        (
            reads(env=[{"name": "SPECULATION_CONFIG", "value": ""}]),
            "FieldConflict",
            "stands in Git itself",
        ),
        (
            workload(
                container(LLAMA, READS, flag(eagle()), envFrom=[{"secretRef": {"name": "s"}}])
            ),
            "InjectionPointMissing",
            "the last of the two wins",
        ),
    ],
)
def test_how_the_variable_is_read(body: Body, check: str, says: str, tmp_path: Path) -> None:
    finding = checks(tmp_path, body)[check]
    assert finding["severity"] == "Error"
    assert says in finding["consequence"]


def test_an_item_that_the_operator_owns_is_no_conflict(tmp_path: Path) -> None:
    body = reads(env=[{"name": "SPECULATION_CONFIG", "value": json.dumps(eagle())}])
    item: Body = {"f:env": {'k:{"name":"SPECULATION_CONFIG"}': {".": {}}}}
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"vllm"}': item}}}}}
    body["metadata"]["managedFields"] = [{"manager": "ridgeline-profile", "fieldsV1": fields}]
    assert "FieldConflict" not in checks(tmp_path, body)
    body["metadata"]["managedFields"] = [{"manager": "helm", "fieldsV1": fields}]
    assert "FieldConflict" in checks(tmp_path, body)


def test_kubectl_shows_no_managed_fields_but_the_annotation(tmp_path: Path) -> None:
    body = reads(env=[{"name": "SPECULATION_CONFIG", "value": json.dumps(eagle())}])
    assert "FieldConflict" in checks(tmp_path, body)
    body["metadata"]["annotations"] = {"ridgeline.dev/serving": "llama"}
    assert "FieldConflict" not in checks(tmp_path, body)


def test_the_default_is_empty(tmp_path: Path) -> None:
    finding = checks(tmp_path, reads(), default('{"method":"ngram"}'))["DefaultNotEmpty"]
    assert finding["severity"] == "Warning"
    missing = checks(tmp_path, reads(), config_map("no-speculation", {"OTHER": ""}))
    assert missing["DefaultMissing"]["severity"] == "Error"


def test_a_release_that_nothing_tells_is_said_and_judged_as_the_newest(tmp_path: Path) -> None:
    body = workload(container(LLAMA, flag(eagle(disable_by_batch_size=4)), image="acme/llm:stable"))
    found = checks(tmp_path, body)
    assert found["ReleaseUnknown"]["severity"] == "Warning"
    assert found["DisableByBatchSize"]["severity"] == "Error"
    told = checks(tmp_path, body, options=("--vllm", "0.12.0"))
    assert "ReleaseUnknown" not in told
    assert told["DisableByBatchSize"]["severity"] == "Warning"


def test_a_release_that_was_not_read_is_said(tmp_path: Path) -> None:
    body = workload(container(LLAMA, flag(eagle()), image="vllm/vllm-openai:v9.0.0"))
    assert "ReleaseNotRead" in checks(tmp_path, body)
