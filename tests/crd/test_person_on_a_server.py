"""`kubectl ridgeline status|history|force|suspend|resume` on a real API server."""

import json
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.cli.kubectl import app
from ridgeline.terms.names import FORCE_ANNOTATION
from tests.crd.kube import Kubectl

SERVING: dict[str, Any] = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculativeServing",
    "metadata": {"name": "llama"},
    "spec": {
        "targetRef": {"name": "llama"},
        "profiles": [
            {"name": "ngram", "method": "NGram", "numSpeculativeTokens": 3},
            {"name": "none", "method": "Disabled"},
        ],
    },
}
STATUS = {
    "activeProfile": "none",
    "desiredProfile": "none",
    "recommendedProfile": "ngram",
    "cutoffTable": [{"profile": "ngram", "upToConcurrency": 24}, {"profile": "none"}],
    "lastDecision": {
        "time": "2026-01-01T00:00:00Z",
        "reason": "RecommendOnly",
        "message": "ngram is better",
    },
    "switchHistory": [
        {
            "startTime": "2025-12-31T23:00:00Z",
            "finishTime": "2025-12-31T23:05:00Z",
            "from": "ngram",
            "to": "none",
            "reason": "AboveCutoff",
        }
    ],
}


@pytest.fixture
def served(kubectl: Kubectl) -> Kubectl:
    """A namespace with a serving that has a status."""
    assert kubectl.apply(SERVING).code == 0
    patch = json.dumps({"status": STATUS})
    kubectl.ok("patch", "sps", "llama", "--subresource=status", "--type=merge", "--patch", patch)
    return kubectl


def run(kubectl: Kubectl, *words: str) -> Result:
    where = ["--namespace", kubectl.namespace, "--kubeconfig", str(kubectl.cluster.kubeconfig)]
    return CliRunner().invoke(app, [*words, *where])


def test_the_status_of_all_servings_is_a_table_and_a_document(served: Kubectl) -> None:
    table = run(served, "status")
    assert table.exit_code == 0, table.output
    assert "RecommendOnly" in table.output
    (document,) = json.loads(run(served, "status", "-o", "json").output)
    assert document["serving"] == "llama"
    assert document["cutoff"] == 24
    assert document["recommendedProfile"] == "ngram"
    assert yaml.safe_load(run(served, "status", "llama", "-o", "yaml").output) == [document]
    assert "ngram is better" in run(served, "status", "-o", "wide").output


def test_an_empty_namespace_and_a_missing_serving_are_told(kubectl: Kubectl) -> None:
    empty = run(kubectl, "status")
    assert (empty.exit_code, "no SpeculativeServing found" in empty.output) == (0, True)
    for command in ("status", "history", "suspend", "resume", "force"):
        more = ("none",) if command == "force" else ()
        missing = run(kubectl, command, "nobody", *more)
        assert missing.exit_code == 1
        assert "there is no SpeculativeServing 'nobody'" in missing.output


def test_the_history_is_what_was_switched(served: Kubectl) -> None:
    table = run(served, "history", "llama")
    assert table.exit_code == 0, table.output
    assert "AboveCutoff" in table.output
    assert (
        json.loads(run(served, "history", "llama", "-o", "json").output) == STATUS["switchHistory"]
    )


def test_an_order_is_given_and_taken_back(served: Kubectl) -> None:
    given = run(served, "force", "llama", "none")
    assert given.exit_code == 0, given.output
    metadata = served.get("sps", "llama")["metadata"]
    assert metadata["annotations"][FORCE_ANNOTATION] == "none"
    assert "nothing to change" in run(served, "force", "llama", "none").output
    assert run(served, "force", "llama", "--off").exit_code == 0
    assert FORCE_ANNOTATION not in served.get("sps", "llama")["metadata"].get("annotations", {})


def test_an_order_of_a_profile_that_is_not_there_changes_nothing(served: Kubectl) -> None:
    before = served.get("sps", "llama")["metadata"]["resourceVersion"]
    refused = run(served, "force", "llama", "eagle")
    assert refused.exit_code == 1
    assert "has no profile 'eagle': choose one of ngram, none" in refused.output
    assert served.get("sps", "llama")["metadata"]["resourceVersion"] == before


def test_suspending_and_resuming_changes_that_field_alone(served: Kubectl) -> None:
    before = served.get("sps", "llama")["spec"]
    assert run(served, "suspend", "llama").exit_code == 0
    assert served.get("sps", "llama")["spec"] == {**before, "suspend": True}
    assert "nothing to change" in run(served, "suspend", "llama").output
    waits = run(served, "force", "llama", "none")
    assert "suspended, and waits" in waits.output
    assert run(served, "resume", "llama").exit_code == 0
    assert served.get("sps", "llama")["spec"] == {**before, "suspend": False}


def test_a_person_who_may_only_look_is_told_what_is_refused(served: Kubectl) -> None:
    account, binding = "looker", f"looker-{served.namespace}"
    served.ok("create", "serviceaccount", account)
    served.ok(
        "create", "role", account, "--verb=get,list", "--resource=speculativeservings.ridgeline.dev"
    )
    served.ok(
        "create",
        "rolebinding",
        binding,
        f"--role={account}",
        f"--serviceaccount={served.namespace}:{account}",
    )
    token = served.ok("create", "token", account).strip()
    config = yaml.safe_load(served.cluster.kubeconfig.read_text())
    config["users"] = [{"name": "looker", "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = "looker"
    config["current-context"] = config["contexts"][0]["name"]
    file = served.cluster.kubeconfig.parent / f"{binding}.yaml"
    file.write_text(yaml.safe_dump(config))
    try:
        where = ["--namespace", served.namespace, "--kubeconfig", str(file)]
        looked = CliRunner().invoke(app, ["status", "llama", *where])
        assert looked.exit_code == 0, looked.output
        refused = CliRunner().invoke(app, ["suspend", "llama", *where])
        assert refused.exit_code == 1
        assert "cannot patch" in refused.output
    finally:
        file.unlink()
