"""The samples are what we tell people to write: they must be right, together with their targets."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.api.serving import parse_serving
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.names import PROFILE_ENV, SERVING_KIND

FOLDER = Path(__file__).parents[3] / "deploy" / "samples"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


EVERYTHING = [document for path in FILES for document in documents(path)]
SERVINGS = [document for document in EVERYTHING if document["kind"] == SERVING_KIND]


def by_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {d["metadata"]["name"]: d for d in EVERYTHING if d["kind"] == kind}


def container_of(serving: dict[str, Any]) -> dict[str, Any]:
    target = parse_serving(serving).spec.target_ref
    template = by_kind("Deployment")[target.name]["spec"]["template"]
    chosen: list[dict[str, Any]] = [
        container
        for container in template["spec"]["containers"]
        if target.container_name in (None, container["name"])
    ]
    assert len(chosen) == 1
    return chosen[0]


def test_the_samples_show_each_way_to_begin() -> None:
    parsed = [parse_serving(serving, strict=True) for serving in SERVINGS]
    methods = {profile.method for serving in parsed for profile in serving.spec.profiles}
    assert {Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL, Method.NGRAM} <= methods
    assert {serving.spec.mode for serving in parsed} == set(Mode)


def test_kustomize_names_every_file() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in FILES)


@pytest.mark.parametrize("serving", SERVINGS, ids=lambda s: s["metadata"]["name"])
def test_the_target_reads_the_profile_and_works_without_the_operator(
    serving: dict[str, Any],
) -> None:
    container = container_of(serving)
    assert f"--speculative-config=$({PROFILE_ENV})" in container["args"]
    assert PROFILE_ENV not in [item["name"] for item in container.get("env", ())]
    sources = [source["configMapRef"]["name"] for source in container["envFrom"]]
    defaults = [by_kind("ConfigMap")[name]["data"] for name in sources]
    assert {PROFILE_ENV: ""} in defaults


@pytest.mark.parametrize("serving", SERVINGS, ids=lambda s: s["metadata"]["name"])
def test_the_target_can_be_rolled(serving: dict[str, Any]) -> None:
    target = by_kind("Deployment")[parse_serving(serving).spec.target_ref.name]["spec"]
    rolling = target["strategy"]["rollingUpdate"]
    assert rolling["maxSurge"] + rolling["maxUnavailable"] >= 1
    container = container_of(serving)
    startup = container["startupProbe"]
    assert (
        startup["periodSeconds"] * startup["failureThreshold"] < target["progressDeadlineSeconds"]
    )
    assert {"readinessProbe", "livenessProbe"} <= container.keys()
    drain = container["lifecycle"]["preStop"]["sleep"]["seconds"] + 90
    assert target["template"]["spec"]["terminationGracePeriodSeconds"] > drain
    assert "--shutdown-timeout=90" in container["args"]
