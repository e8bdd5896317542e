"""Service accounts with few rights, and kubeconfigs that hold their tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.handle import Cluster
from tests.scene.manifests import Object

RBAC = "rbac.authorization.k8s.io"


def rule(group: str, resources: str, verbs: str) -> Object:
    """A rule of a role; resources and verbs are words with blanks between."""
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


NAMESPACED_RULES = (
    rule("ridgeline.dev", "speculativeservings speculationpolicies", "list watch"),
    rule("ridgeline.dev", "speculativeservings/status", "patch"),
    rule("apps", "deployments", "get list watch patch"),
    rule("", "pods", "list watch"),
    rule("policy", "poddisruptionbudgets", "list watch"),
    rule("events.k8s.io", "events", "create"),
    rule("coordination.k8s.io", "leases", "create get update"),
)
"""All that the operator needs in the namespaces that it looks after, and for its Lease."""


def put_account(
    cluster: Cluster,
    namespace: str,
    name: str,
    rules: Sequence[Object],
    *,
    everywhere: Sequence[Object] = (),
) -> None:
    """Make a service account with a Role in its own namespace.

    It has no other right but `everywhere`, in all namespaces and on what has none; then call
    `remove_account` in the end.
    """
    items = [_object("v1", "ServiceAccount", name, namespace)]
    items += _granted("Role", name, namespace, namespace, rules)
    if everywhere:
        items += _granted("ClusterRole", _everywhere(namespace, name), "", namespace, everywhere)
        items[-1]["subjects"][0]["name"] = name
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    cluster.kubectl("apply", "-f", "-", input_object=body)


def remove_account(cluster: Cluster, namespace: str, name: str) -> None:
    """Take away the rights of an account outside its namespace."""
    kinds = "clusterrole,clusterrolebinding"
    cluster.kubectl("delete", kinds, _everywhere(namespace, name), "--ignore-not-found")


def _everywhere(namespace: str, name: str) -> str:
    return f"{namespace}-{name}"


def _granted(
    kind: str, name: str, namespace: str, home: str, rules: Sequence[Object]
) -> list[Object]:
    """A role and its binding to the account of that name in namespace `home`."""
    role = {**_object(f"{RBAC}/v1", kind, name, namespace), "rules": list(rules)}
    binding = {
        **_object(f"{RBAC}/v1", f"{kind}Binding", name, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home}],
    }
    return [role, binding]


def _object(api_version: str, kind: str, name: str, namespace: str) -> Object:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def kubeconfig_of(
    cluster: Cluster, namespace: str, name: str, folder: Path, *, hours: int = 1
) -> Path:
    """Write a kubeconfig with a fresh token of a service account; return its path."""
    words = ("-n", namespace, f"--duration={hours}h", "-o=jsonpath={.status.token}")
    token = str(cluster.kubectl("create", "token", name, *words))
    known = json.loads(cluster.kubectl("config", "view", "--raw", "--flatten", "-o=json"))
    chosen = next(each for each in known["contexts"] if each["name"] == known["current-context"])
    cluster_name = chosen["context"]["cluster"]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [each for each in known["clusters"] if each["name"] == cluster_name],
        "users": [{"name": name, "user": {"token": token.strip()}}],
        "contexts": [{"name": name, "context": {"cluster": cluster_name, "user": name}}],
        "current-context": name,
    }
    path = folder / f"{name}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path
