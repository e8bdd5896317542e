"""What the project itself ships, and what a cluster hands out, is not called wrong."""

from pathlib import Path

import pytest

from tests.unit.cli.lint_inputs import (
    LLAMA,
    READS,
    Body,
    Lint,
    container,
    default,
    profile,
    serving,
    target,
)

ROOT = Path(__file__).parents[3]
KSERVE = ROOT / "deploy/quick-paths/kserve"
ITEM: Body = {"env": [{"name": "SPECULATION_CONFIG", "value": ""}]}


def test_the_quick_path_of_kserve_has_no_error(tmp_path: Path) -> None:
    status, stdout, _ = Lint(tmp_path).run(str(KSERVE))
    assert status == 0, stdout
    assert "FieldConflict" not in stdout


@pytest.mark.parametrize(
    ("version", "kind", "conflict"),
    [
        ("serving.kserve.io/v1beta1", "InferenceService", False),
        ("serving.kserve.io/v1alpha1", "LLMInferenceService", False),
        ("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", False),
        ("apps/v1", "Deployment", True),
        ("apps/v1", "StatefulSet", True),
    ],
)
def test_an_item_in_git_is_wrong_where_the_operator_would_write(
    version: str, kind: str, conflict: bool, tmp_path: Path
) -> None:
    body = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "llama"},
        "spec": {"predictor": {"containers": [container(LLAMA, READS, **ITEM)]}},
    }
    assert ("FieldConflict" in Lint(tmp_path).checks([body])) == conflict


def test_a_status_is_not_judged(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    bodies = [target(), default(), serving(profile())]
    before = lint.found(bodies)
    bodies[2] = {**bodies[2], "status": {"rollout": {"phase": 3}, "strange": [1]}}
    assert lint.found(bodies) == before


def test_servings_as_a_cluster_hands_them_out_have_no_refused_field(tmp_path: Path) -> None:
    folder = ROOT / "deploy/argocd/resource_customizations/ridgeline.dev/SpeculativeServing"
    files = sorted(folder.glob("**/testdata/*.yaml"))
    assert files
    _, stdout, _ = Lint(tmp_path).run(*map(str, files))
    assert "SpeculativeServing" in stdout
    assert "SpecInvalid: status" not in stdout
