"""Every tool at work, as the docs recommend it, while the operator rolls profiles.

Each of them brings the same manifests: the default in a ConfigMap by `envFrom`, no env item. They
heal all the time. What they write and what the operator writes must not meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.gitops.repository import Object
from tests.gitops.stage import OURS, TOOLS, Application, Stage
from tests.gitops.writers import Applied, Helm, SyncError

pytestmark = pytest.mark.timeout(600)

ROLLS = ["eagle", "none", "eagle"]


@pytest.fixture(scope="module")
def rolled(stage: Stage) -> Mapping[str, Application]:
    """One application for each tool, rolled three times while its tool healed."""
    applications = {tool: stage.application(tool, tool) for tool in TOOLS}
    everyone = applications.values()
    for each in everyone:
        each.sync()
    stage.until(everyone, lambda each: each.condition("Ready") == ("True", "Operating"), "Ready")
    for count, profile in enumerate(ROLLS, start=1):
        for each in everyone:
            each.repository.want(profile)
        stage.until(everyone, lambda each, n=count: len(each.rolls()) == n, f"roll {count}")  # type: ignore[misc]
    stage.until(everyone, lambda each: each.settled(), "settled", syncing=False)
    return applications


@pytest.fixture(params=TOOLS)
def played(rolled: Mapping[str, Application], request: pytest.FixtureRequest) -> Application:
    """The application of one tool."""
    return rolled[request.param]


def _named(wanted: Any, there: Any) -> bool:
    """Whether all that is wanted is there; lists of named things may have more of them."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(
            key in there and _named(value, there[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], dict) and "name" in wanted[0]:
        by_name = {each["name"]: each for each in there}
        return all(_named(each, by_name.get(each["name"])) for each in wanted)
    return bool(wanted == there)


def _version(application: Application) -> str:
    version: str = application.target()["metadata"]["resourceVersion"]
    return version


def test_every_roll_was_made_and_no_generation_was_lost_on_anything_else(
    stage: Stage, played: Application
) -> None:
    assert played.rolls() == ROLLS
    assert len(stage.profile_writes(played)) == len(ROLLS)
    # The first one is that of its creation.
    assert played.target()["metadata"]["generation"] == 1 + len(ROLLS)
    # Each roll was healed into.
    assert played.writer.syncs > 2 * len(ROLLS)


def test_nothing_was_in_conflict(played: Application) -> None:
    assert played.condition("Ready") == ("True", "Operating")
    assert played.condition("Stalled") is None
    assert [each["reason"] for each in played.events() if each["type"] == "Warning"] == []


def test_the_operator_alone_owns_the_item(played: Application) -> None:
    assert played.owners_of_item() == {OURS}
    assert '"method":"eagle"' in str(played.item())
    assert played.label() == "eagle"
    assert played.owned_by(played.writer.manager) is not None


def test_no_field_of_git_was_lost(played: Application) -> None:
    assert _named(played.repository.deployment["spec"], played.target()["spec"])


def test_applying_again_writes_nothing(played: Application) -> None:
    before = _version(played)
    played.sync()
    played.sync()
    assert _version(played) == before


@pytest.mark.parametrize("tool", ["argo-client-side", "argo-server-side", "flux"])
def test_git_and_cluster_do_not_differ(rolled: Mapping[str, Application], tool: str) -> None:
    writer = rolled[tool].writer
    assert isinstance(writer, Applied)
    assert writer.differences() == ""


def _extra(application: Application) -> Object:
    metadata = {"name": f"{application.scene.name}-extra", "namespace": application.scene.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def test_a_commit_a_drift_and_a_pruning_leave_the_profile_where_it_is(
    stage: Stage, played: Application
) -> None:
    item, generation = played.item(), played.target()["metadata"]["generation"]
    name, where = played.scene.name, ("-n", stage.namespace)
    extra = _extra(played)
    played.repository.put(extra)
    played.repository.container["args"].append("--max-num-seqs=64")
    played.sync()
    stage.cluster.kubectl("scale", f"deployment/{name}", *where, "--replicas=3", "-o", "name")
    if isinstance(played.writer, Helm) and played.writer.binary == stage.helm4:
        # Else Helm 4 stops at what others changed since.
        with pytest.raises(SyncError, match="replicas"):
            played.sync()
        played.writer.options = ("--force-conflicts",)
    played.repository.remove("ConfigMap", extra["metadata"]["name"])
    played.sync()

    assert played.target()["metadata"]["generation"] == generation + 3
    assert played.target()["spec"]["replicas"] == 2
    assert "--max-num-seqs=64" in played.container()["args"]
    assert played.item() == item
    assert played.owners_of_item() == {OURS}
    left = stage.cluster.kubectl("get", "configmaps,leases", *where, "-o", "name").split()
    assert f"configmap/{extra['metadata']['name']}" not in left
    assert f"configmap/{played.repository.config_name}" in left
    assert "lease.coordination.k8s.io/ridgeline" in left
    stage.until([played], lambda each: each.settled(), "settled", syncing=False)
    assert played.condition("Ready") == ("True", "Operating")
