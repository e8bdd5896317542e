"""Whatever the API server would take from somebody else, it refuses from the operator.

A Deployment is filled with every field that the server takes. Then each leaf of its schema is
changed, removed or added, in ways that another account could carry out, and the operator sends the
same, by update and by server-side apply, with force.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path as File

import pytest

from tests.chart.rendering import Object
from tests.cluster.handle import Cluster
from tests.crd.guard_mutants import MISSING, additions, change, get, values
from tests.crd.guard_server import Guarded, guarded, named
from tests.tools.guard import LEVELS
from tests.tools.guard_schema import ITEM, Leaf, Path, fields_at, leaves

NEVER_IN_A_TEMPLATE = ("spec", "template", "spec", "ephemeralContainers")
MAY: set[Path] = {("spec", "paused")}
CONTAINERS = ("spec", "template", "spec", "containers")
NOT_TRIED: dict[Path, set[str]] = {
    (): {"apiVersion", "kind", "status"},
    ("metadata",): {
        *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation"),
        *("managedFields", "name", "namespace", "resourceVersion", "uid"),
    },
    ("spec",): {"paused", "selector"},
    ("spec", "template", "spec"): {
        *("activeDeadlineSeconds", "ephemeralContainers", "hostnameOverride", "os", "overhead"),
        *("resources", "restartPolicy", "serviceAccount"),
    },
    (*CONTAINERS, ITEM): {"restartPolicy", "restartPolicyRules"},
}
"""What no account can change: it is the server's, immutable, has one value in a Deployment, is
behind a closed feature gate, or goes with another field."""

PATIENCE = 6
"""Values that are tried for a leaf, and ways to change it, before it is left."""

SERVERS_OWN = ("generation", "managedFields", "resourceVersion")


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guard(control_plane: Cluster, helm_binary: File) -> Iterator[Guarded]:
    """The guard, as the chart installs it."""
    with guarded(control_plane, helm_binary) as found:
        yield found


@pytest.fixture(scope="module")
def schema(guard: Guarded) -> tuple[str, list[Leaf]]:
    """The server's minor and the leaves of its Deployment, without those that nobody can write."""
    version = guard.person.call("GET", "/version").body
    minor = f"{version['major']}.{version['minor'].rstrip('+')}"
    found = [
        leaf
        for leaf in leaves(minor)
        if leaf.path[: len(NEVER_IN_A_TEMPLATE)] != NEVER_IN_A_TEMPLATE
        and leaf.path[0] not in ("apiVersion", "kind", "status")
        and leaf.path not in MAY
        and leaf.path[:2] != ("metadata", "managedFields")
    ]
    return minor, found


@pytest.fixture(scope="module")
def full(guard: Guarded, schema: tuple[str, list[Leaf]]) -> Object:
    """A Deployment with every field that fits together, as the server holds it."""
    minor, found = schema
    body = _small()
    for leaf in found:
        if leaf.path[0] == "metadata" or leaf.path[:2] == ("spec", "selector"):
            continue
        if get(body, leaf.path) is not MISSING:
            continue
        for mutant in _ways_to_add(minor, body, leaf):
            answer = guard.person.call("POST", f"{guard.deployments}?dryRun=All", mutant)
            if answer.taken and get(answer.body, leaf.path) is not MISSING:
                body = mutant
                break
    body["spec"]["paused"] = True
    made = guard.person.call("POST", guard.deployments, body)
    assert made.taken, made.message
    return made.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A Deployment that another account may write in the place of the full one."""

    path: Path
    body: Object
    removes: bool


@pytest.fixture(scope="module")
def mutants(guard: Guarded, full: Object, schema: tuple[str, list[Leaf]]) -> list[Mutant]:
    """For each leaf what changes it, and what removes it, as far as the server takes that."""
    minor, found = schema
    return [
        mutant
        for leaf in found
        for candidates in (islice(_changes(minor, full, leaf), PATIENCE), _removals(full, leaf))
        if (mutant := next((each for each in candidates if _works(guard, full, each)), None))
    ]


def test_no_leaf_can_be_changed_or_removed_by_an_update(
    guard: Guarded, mutants: list[Mutant]
) -> None:
    let_through = []
    for mutant in mutants:
        answer = guard.operator.replace(f"{guard.deployments}/full", mutant.body)
        if not guard.refused(answer, named(mutant.path)):
            let_through.append((".".join(mutant.path), answer.status, answer.message))
    assert not let_through


def test_no_leaf_can_be_changed_by_a_forced_apply(guard: Guarded, mutants: list[Mutant]) -> None:
    let_through, path = [], f"{guard.deployments}/full"
    for mutant in (each for each in mutants if not each.removes):
        answer = guard.operator.apply(path, mutant.body, force=True)
        if guard.refused(answer):
            continue
        # The API server itself refuses to apply a list with two items of one key.
        if guard.person.apply(path, mutant.body, force=True).taken:
            let_through.append((".".join(mutant.path), answer.status, answer.message))
    assert not let_through


def test_nearly_every_leaf_was_tried(schema: tuple[str, list[Leaf]], mutants: list[Mutant]) -> None:
    minor, found = schema
    tried = {mutant.path for mutant in mutants}
    left = {leaf.path for leaf in found if leaf.path not in tried}
    assert len(left) < 0.2 * len(found), sorted(left)
    levels = [level.path for level in LEVELS if not level.free_keys]
    for path in (*levels, (*CONTAINERS, ITEM)):
        below = {each[len(path)] for each in tried if each[:-1][: len(path)] == path}
        assert set(fields_at(path, (minor,))) - below == NOT_TRIED.get(path, set()), path


def _changes(minor: str, full: Object, leaf: Leaf) -> Iterator[Mutant]:
    now = get(full, leaf.path)
    for value in values(leaf.path, leaf.schema):
        ways = additions(minor, full, leaf, value)
        if now is not MISSING and value != now:
            ways = chain([change(full, leaf.path, value)], ways)
        for body in ways:
            yield Mutant(path=leaf.path, body=_sendable(body), removes=False)


def _removals(full: Object, leaf: Leaf) -> Iterator[Mutant]:
    """Without the leaf, or without what holds it."""
    for size in (len(leaf.path), max(2, len(leaf.path) - 1)):
        path = leaf.path[:size]
        if get(full, path) is not MISSING:
            yield Mutant(path=path, body=_sendable(change(full, path, MISSING)), removes=True)


def _works(guard: Guarded, full: Object, mutant: Mutant) -> bool:
    answer = guard.person.replace(f"{guard.deployments}/full", mutant.body)
    return answer.taken and _sendable(answer.body) != _sendable(full)


def _sendable(body: Object) -> Object:
    """A Deployment without what changes with every write."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in SERVERS_OWN}
    return {k: v for k, v in body.items() if k != "status"} | {"metadata": metadata}


def _ways_to_add(minor: str, body: Object, leaf: Leaf) -> Iterator[Object]:
    for value in islice(values(leaf.path, leaf.schema), PATIENCE):
        yield from islice(additions(minor, body, leaf, value), 2)


def _small() -> Object:
    """A Deployment with what excludes each other, in several containers and volumes."""
    labels = {"app": "full"}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [
        {"name": "data", "emptyDir": {}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "made", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
        {"name": "config", "configMap": {"name": "config", "items": [{"key": "a", "path": "a"}]}},
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "full"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
                    "volumes": volumes,
                    "containers": list(_containers("vllm")),
                    "initContainers": [{**next(_containers("first")), "restartPolicy": "Always"}],
                },
            },
        },
    }


def _containers(name: str) -> Iterator[Object]:
    handlers: dict[str, Object] = {
        "exec": {"command": ["true"]},
        "httpGet": {"port": 80},
        "tcpSocket": {"port": 80},
        "grpc": {"port": 80},
        "sleep": {"seconds": 1},
    }
    for number, (kind, handler) in enumerate(handlers.items()):
        probe = {} if kind == "sleep" else {kind: handler}
        hook = {} if kind == "grpc" else {kind: handler}
        probes = ("livenessProbe", "readinessProbe", "startupProbe") if probe else ()
        yield {
            "name": f"{name}-{number}" if number else name,
            "image": "registry.example/image",
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "volumeDevices": [{"name": "disk", "devicePath": "/disk"}],
            "resources": {"limits": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
            **dict.fromkeys(probes, probe),
            **({"lifecycle": {"postStart": hook, "preStop": hook}} if hook else {}),
        }
