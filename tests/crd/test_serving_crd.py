"""What a real API server makes of SpeculativeServing."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import TARGET_CHANGES_WHILE_SUSPENDED
from tests.crd.kube import Kubectl
from tests.unit.api import cases
from tests.unit.api.bodies import Case, body, good_spec

ROOT = Path(__file__).parents[2]
CRD_NAME = "speculativeservings.ridgeline.dev"
MOMENT = "2026-01-02T03:04:05Z"
BROKEN = (*cases.BROKEN_RULES, *cases.CUTOFFS_FALL, cases.TWO_DISABLED, cases.LAST_OF_EIGHT_FALLS)
STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "activeProfile": "eagle",
    "desiredProfile": "none",
    "recommendedProfile": "none",
    "cutoffTable": [
        {"profile": "eagle", "upToConcurrency": 20, "actAtConcurrency": 17},
        {"profile": "none"},
    ],
    "told": [{"reason": "AcceptanceDrifted", "profile": "eagle", "time": MOMENT}],
    "cutoff": {
        "strategy": "Ridge",
        "verdict": "Yes",
        "reasons": ["eagle: 120 tokens ÷ (K=5 + 1) = 20 requests"],
    },
    "accelerator": {
        "name": "h100-sxm",
        "source": "nvidia.com/gpu.product",
        "labels": ["nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3"],
    },
    "policy": {"name": "shared", "generation": 3},
    "lastDecision": {"time": MOMENT, "reason": "AboveCutoff", "message": "22 is above 20"},
    "switchHistory": [
        {
            "startTime": MOMENT,
            "from": "eagle",
            "to": "none",
            "reason": "AboveCutoff",
            "concurrency": 0,
        }
    ],
    "rollout": {
        "from": "eagle",
        "to": "none",
        "startTime": MOMENT,
        "targetUID": "0b0c8a5e-0000-4000-8000-000000000000",
        "targetGeneration": 2,
        "servingGeneration": 1,
        "state": "Rolling",
        "updatedReplicas": 1,
        "availableReplicas": 3,
        "replicas": 4,
    },
    "nextSchedule": {
        "name": "office-hours",
        "startTime": MOMENT,
        "profile": "none",
        "message": "none at 08:00 Europe/Berlin",
    },
    "target": {"uid": "0b0c8a5e-0000-4000-8000-000000000000", "container": "vllm"},
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "observedGeneration": 1,
            "lastTransitionTime": MOMENT,
            "reason": "Operating",
            "message": "",
        }
    ],
}


def report(kubectl: Kubectl, status: dict[str, Any], **more: Any) -> str:
    """Apply a status through the subresource and return what kubectl said."""
    document = {key: value for key, value in body({}).items() if key != "spec"}
    answer = kubectl.apply(
        {**document, **more, "status": status},
        "--subresource=status",
        "--field-manager=ridgeline-status",
        "--force-conflicts",
    )
    return answer.err if answer.code else ""


def test_the_crd_is_served_and_nothing_of_its_schema_was_dropped(server: Kubectl) -> None:
    held = server.get("crd", CRD_NAME)
    conditions = {c["type"]: c["status"] for c in held["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    file = ROOT / "crds" / "ridgeline.dev_speculativeservings.yaml"
    ours = yaml.safe_load(file.read_text())["spec"]["versions"][0]
    assert held["spec"]["versions"][0]["schema"] == ours["schema"]


def test_it_answers_to_its_short_name_and_category(kubectl: Kubectl) -> None:
    assert kubectl.apply(body(good_spec())).code == 0
    assert "llama" in kubectl.ok("get", "sps")
    assert "llama" in kubectl.ok("get", "speculation")


@pytest.mark.parametrize("case", cases.KEPT_RULES, ids=lambda case: case.name)
def test_a_good_serving_is_accepted(server: Kubectl, case: Case) -> None:
    answer = server.apply(body(case.spec()), "--dry-run=server")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_rule_is_refused_with_its_field_and_message(server: Kubectl, case: Case) -> None:
    answer = server.apply(body(case.spec()), "--dry-run=server")
    assert case.rule is not None
    assert answer.code != 0
    assert case.rule.message in answer.err
    assert f"{case.field}: Invalid value" in answer.err


@pytest.mark.parametrize(
    "case", [*cases.OUT_OF_BOUNDS, cases.SAME_NAME], ids=lambda case: case.name
)
def test_a_value_out_of_bounds_is_refused_with_its_field(server: Kubectl, case: Case) -> None:
    answer = server.apply(body(case.spec()), "--dry-run=server")
    assert answer.code != 0
    told = answer.err.replace('[name="eagle"]', "[0]")  # how server-side apply counts
    assert case.field in told


def test_an_unknown_field_is_refused_by_strict_validation(server: Kubectl) -> None:
    spec = good_spec()
    spec["coolDownSeconds"] = 5
    answer = server.apply(body(spec), "--dry-run=server")
    assert answer.code != 0
    assert "coolDownSeconds" in answer.err


def test_the_schema_writes_its_defaults_and_none_that_a_policy_shares(kubectl: Kubectl) -> None:
    none = {"name": "none", "method": "Disabled"}
    small = {"targetRef": {"name": "x"}, "profiles": [none]}
    assert kubectl.apply(body(small)).code == 0
    held = kubectl.get("sps", "llama")
    assert held["spec"] == {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
        "mode": "RecommendOnly",
        "suspend": False,
        "conflictPolicy": "Hold",
        "onDelete": "Keep",
        "profiles": [none],
    }
    read = parse_serving(held, strict=True)
    assert read.spec.document() == held["spec"]
    assert (read.metadata.namespace, read.metadata.generation) == (kubectl.namespace, 1)
    assert read.metadata.creation_timestamp is not None


def test_the_target_changes_only_while_suspended(kubectl: Kubectl) -> None:
    spec = good_spec()
    assert kubectl.apply(body(spec)).code == 0
    moved = copy.deepcopy(spec)
    moved["targetRef"]["name"] = "other"
    refused = kubectl.apply(body(moved))
    assert refused.code != 0
    assert TARGET_CHANGES_WHILE_SUSPENDED.message in refused.err
    assert "spec.targetRef.name" in refused.err
    for step in (spec | {"suspend": True}, moved | {"suspend": True}, moved):
        answer = kubectl.apply(body(step))
        assert answer.code == 0, answer.err
    assert kubectl.get("sps", "llama")["spec"]["targetRef"]["name"] == "other"


def test_status_is_a_subresource(kubectl: Kubectl) -> None:
    assert kubectl.apply({**body(good_spec()), "status": STATUS}).code == 0
    created = kubectl.get("sps", "llama")
    assert "status" not in created
    assert report(kubectl, STATUS) == ""
    reported = kubectl.get("sps", "llama")
    assert reported["status"] == STATUS
    assert reported["spec"] == created["spec"]
    assert reported["metadata"]["generation"] == created["metadata"]["generation"] == 1
    spec = good_spec()
    spec["cooldownSeconds"] = 5
    other = {"observedGeneration": 9}
    assert kubectl.apply({**body(spec), "status": other}).code == 0
    edited = kubectl.get("sps", "llama")
    assert edited["status"] == STATUS
    assert edited["metadata"]["generation"] == 2


def test_a_spec_beside_a_status_is_not_written(kubectl: Kubectl) -> None:
    assert kubectl.apply(body(good_spec())).code == 0
    spec = good_spec()
    spec["cooldownSeconds"] = 5
    assert report(kubectl, STATUS, spec=spec) == ""
    held = kubectl.get("sps", "llama")
    assert held["spec"]["cooldownSeconds"] == good_spec()["cooldownSeconds"]
    assert held["metadata"]["generation"] == 1


def test_the_same_status_again_writes_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(body(good_spec())).code == 0
    document = parse_serving({**body(good_spec()), "status": STATUS}).status.document()
    assert report(kubectl, document) == ""
    first = kubectl.get("sps", "llama")["metadata"]["resourceVersion"]
    assert report(kubectl, document) == ""
    assert kubectl.get("sps", "llama")["metadata"]["resourceVersion"] == first


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cutoffTable": [{"profile": "a", "upToConcurrency": 2.5}]}, "upToConcurrency"),
        ({"switchHistory": STATUS["switchHistory"] * 11}, "switchHistory"),
        ({"lastDecision": {**STATUS["lastDecision"], "time": "soon"}}, "lastDecision.time"),
        ({"rollout": {**STATUS["rollout"], "state": "Lost"}}, "rollout.state"),
        ({"cutoff": {**STATUS["cutoff"], "verdict": "Perhaps"}}, "cutoff.verdict"),
        ({"cutoff": {"verdict": "Yes"}}, "cutoff.strategy"),
        ({"accelerator": {"name": "h100-sxm"}}, "accelerator.source"),
        ({"policy": {"name": "shared"}}, "policy.generation"),
        ({"nextSchedule": {"name": "a", "startTime": MOMENT}}, "nextSchedule.message"),
        ({"conditions": [{**STATUS["conditions"][0], "reason": "not a word"}]}, "reason"),
        ({"conditions": [{**STATUS["conditions"][0], "message": "m" * 32769}]}, "message"),
    ],
)
def test_a_status_out_of_shape_is_refused(
    kubectl: Kubectl, change: dict[str, Any], field: str
) -> None:
    assert kubectl.apply(body(good_spec())).code == 0
    assert field in report(kubectl, {**STATUS, **change})
    assert "status" not in kubectl.get("sps", "llama")


def test_get_shows_the_columns(kubectl: Kubectl) -> None:
    assert kubectl.apply(body(good_spec())).code == 0
    assert report(kubectl, STATUS) == ""
    header, row = kubectl.ok("get", "sps").splitlines()
    assert header.split() == [
        *("NAME", "TARGET", "PROFILE", "DESIRED", "CUT-OFF", "ACT-AT", "READY", "REASON", "AGE"),
    ]
    assert row.split()[:-1] == [
        "llama",
        "llama",
        "eagle",
        "none",
        "20",
        "17",
        "True",
        "AboveCutoff",
    ]
    header, row = kubectl.ok("get", "sps", "--output=wide").splitlines()
    assert row[header.index("ACCELERATOR") :].split()[:2] == ["h100-sxm", "shared"]
    start = header.index("LAST DECISION")
    assert row[start:].startswith("22 is above 20")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("sps", "Keeps one vLLM workload"),
        ("sps.spec.cutoff.ranges.upToConcurrency", "requests in decode per engine"),
        ("sps.spec.cooldownSeconds", "When not set: 1800."),
        ("sps.spec.mode", "RecommendOnly"),
        ("sps.status.rollout.targetUID", "metadata.uid of the target"),
        ("sps.spec.schedules.cron", "the five fields of cron"),
    ],
)
def test_explain_tells_what_a_field_means(server: Kubectl, path: str, told: str) -> None:
    assert told in " ".join(server.ok("explain", path).split())
