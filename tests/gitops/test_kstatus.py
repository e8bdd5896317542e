"""What kstatus makes of a serving, alone and with the expressions that Flux gets from us."""

from __future__ import annotations

import pytest
import yaml

from tests.gitops.programs import Object, Programs
from tests.gitops.situations import SITUATIONS
from tests.tools.argocd import KIND, REPO

KUSTOMIZATION = REPO / "deploy" / "flux" / "kustomization.yaml"
SERVINGS: dict[str, Object] = {
    name: yaml.safe_load((KIND / "testdata" / f"{name}.yaml").read_text()) for name in SITUATIONS
}


@pytest.fixture(scope="module")
def exprs() -> dict[str, str]:
    """The health check expressions of the Kustomization."""
    documents = yaml.safe_load_all(KUSTOMIZATION.read_text())
    (found,) = (
        each
        for document in documents
        for each in document["spec"].get("healthCheckExprs", ())
        if each["kind"] == "SpeculativeServing"
    )
    return {key: found[key] for key in ("inProgress", "failed", "current")}


def test_kstatus_alone(programs: Programs) -> None:
    told = programs.kstatus(list(SERVINGS.values()))
    assert dict(zip(SERVINGS, told, strict=True)) == {
        name: each.kstatus for name, each in SITUATIONS.items()
    }


def test_flux_waits_for_the_operators_first_look_too(
    programs: Programs, exprs: dict[str, str]
) -> None:
    told = programs.kstatus(list(SERVINGS.values()), exprs)
    assert dict(zip(SERVINGS, told, strict=True)) == {
        name: each.flux for name, each in SITUATIONS.items()
    }


def test_a_serving_that_is_being_deleted_is_going(programs: Programs) -> None:
    serving = SERVINGS["healthy"]
    metadata = {**serving["metadata"], "deletionTimestamp": "2026-11-28T10:00:00Z"}
    assert programs.kstatus([{**serving, "metadata": metadata}]) == ["Terminating"]
