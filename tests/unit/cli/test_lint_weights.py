"""What lint says of the way to a drafter's weights, from mounts and variables of a container."""

from pathlib import Path
from typing import Any

import pytest

from ridgeline.settings.preflight_weights import USUAL_CACHE
from tests.unit.cli.lint_inputs import Lint, container, draft, flag, workload

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
GATED = "meta-llama/Llama-3.2-1B-Instruct"
CACHE = {"name": "cache", "mountPath": USUAL_CACHE}


def found(tmp_path: Path, model: str, **fields: Any) -> set[str]:
    config = draft(model=model)
    bodies = (workload(container(MODEL, flag(config), **fields)),)
    return {name for name in Lint(tmp_path).checks(bodies) if name.startswith("Weights")}


def test_a_gated_model_wants_a_token_or_a_cache(tmp_path: Path) -> None:
    assert found(tmp_path, GATED) == {"WeightsGated"}
    assert found(tmp_path, GATED, volumeMounts=[CACHE]) == set()


@pytest.mark.parametrize(
    "fields",
    [
        {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        {"envFrom": [{"secretRef": {"name": "hub"}}]},
        {"envFrom": [{"configMapRef": {"name": "not-given"}}]},
    ],
)
def test_a_token_that_may_be_there_is_taken_for_one(fields: dict[str, Any], tmp_path: Path) -> None:
    assert found(tmp_path, GATED, **fields) == {"WeightsDownloaded"}


def test_a_path_wants_a_volume(tmp_path: Path) -> None:
    assert found(tmp_path, "/models/draft") == {"WeightsPath"}
    models = {"name": "models", "mountPath": "/models"}
    assert found(tmp_path, "/models/draft", volumeMounts=[models]) == set()


def test_no_download_wants_a_cache(tmp_path: Path) -> None:
    offline = [{"name": "HF_HUB_OFFLINE", "value": "1"}]
    assert found(tmp_path, "org/draft", env=offline) == {"WeightsOffline"}
    assert found(tmp_path, "org/draft", env=offline, volumeMounts=[CACHE]) == set()
