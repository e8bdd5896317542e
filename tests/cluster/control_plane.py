"""etcd, API server, controller-manager and scheduler: files and command lines."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.component import Component
from tests.cluster.spec import Spec

AUDIT_LOG = "audit.log"

OPERATOR_NAMESPACE = "ridgeline-system"
"""Where an operator that runs inside the cluster is installed, for its reads to be audited."""

_WRITES = ["create", "update", "patch", "delete", "deletecollection"]

_BODIES = [
    {"group": "apps", "resources": ["deployments", "deployments/status"]},
    {"group": "ridgeline.dev", "resources": ["speculativeservings", "speculativeservings/status"]},
    {"group": "coordination.k8s.io", "resources": ["leases"]},
]
"""What is told with the bodies of its writes and of their answers."""

# Writes only, most of them without bodies: enough to ask who wrote what and when. With them where
# an observer is to judge what was written (tests/leaders). Of an operator inside the cluster reads
# are told too: they show which of its rights it uses, and which it lacks.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {"level": "RequestResponse", "verbs": _WRITES, "resources": _BODIES},
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{OPERATOR_NAMESPACE}"]},
        {"level": "Metadata", "verbs": _WRITES},
        {"level": "None"},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A user of the API server, known by a token."""

    user: str
    groups: tuple[str, ...] = ()


ADMIN = Identity(user="admin", groups=("system:masters",))
# Each component has its own user, bound to its bootstrap role, so that the audit log tells them
# apart.
_COMPONENTS = {
    "kube-controller-manager": Identity(user="system:kube-controller-manager"),
    "kube-scheduler": Identity(user="system:kube-scheduler"),
    "kube-proxy": Identity(user="system:kube-proxy"),
    "prometheus": Identity(user="prometheus", groups=("system:masters",)),
}


def identities(spec: Spec) -> dict[str, Identity]:
    """Name of the kubeconfig → user, for everything that talks to this API server."""
    nodes = {
        name: Identity(user=f"system:node:{name}", groups=("system:nodes",))
        for name in spec.node_names
    }
    return {"admin": ADMIN, **_COMPONENTS, **nodes}


def write_secrets(spec: Spec) -> dict[str, str]:
    """Make the tokens and the service-account key; returns name → token."""
    tokens = {name: secrets.token_urlsafe(24) for name in identities(spec)}
    lines = [
        f'{tokens[name]},{identity.user},{name},"{",".join(identity.groups)}"'
        for name, identity in identities(spec).items()
    ]
    _write_private(spec.state_dir / "tokens.csv", "\n".join(lines) + "\n")
    key = subprocess.run(
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    _write_private(spec.state_dir / "service-account.key", key)
    (spec.state_dir / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))
    return tokens


def write_kubeconfigs(spec: Spec, tokens: dict[str, str]) -> None:
    """One kubeconfig per user; the admin's is `kubeconfig`, the others lie in `users/`.

    The API server's own certificate must be there: it is its own authority.
    """
    authority = base64.b64encode(certificate(spec).read_bytes()).decode()
    for name, token in tokens.items():
        path = spec.state_dir / "kubeconfig" if name == "admin" else user_config(spec, name)
        path.parent.mkdir(exist_ok=True)
        _write_private(path, json.dumps(_kubeconfig(server_url(spec), authority, name, token)))


def _kubeconfig(server: str, authority: str, user: str, token: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "ridgeline-test",
                "cluster": {"server": server, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [
            {"name": "ridgeline-test", "context": {"cluster": "ridgeline-test", "user": user}}
        ],
        "current-context": "ridgeline-test",
    }


def user_config(spec: Spec, name: str) -> Path:
    """The kubeconfig of a component."""
    return spec.state_dir / "users" / f"{name}.json"


def server_url(spec: Spec) -> str:
    """Where the API server listens."""
    return f"https://{spec.host}:{spec.ports.api}"


def certificate(spec: Spec) -> Path:
    """The API server's self-made certificate."""
    return spec.state_dir / "apiserver" / "apiserver.crt"


def etcd(spec: Spec) -> Component:
    """A single etcd that never waits for the disk."""
    client = f"http://127.0.0.1:{spec.ports.etcd}"
    peer = f"http://127.0.0.1:{spec.ports.etcd_peer}"
    return Component(
        name="etcd",
        argv=(
            "etcd",
            f"--data-dir={spec.state_dir / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
    )


def apiserver(spec: Spec) -> Component:
    """The API server."""
    state = spec.state_dir
    arguments = [
        spec.binary("kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{spec.ports.etcd}",
        f"--bind-address={spec.host}",
        f"--secure-port={spec.ports.api}",
        f"--cert-dir={certificate(spec).parent}",
        f"--service-account-key-file={state / 'service-account.key'}",
        f"--service-account-signing-key-file={state / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={state / 'tokens.csv'}",
        "--authorization-mode=RBAC,Node",
        f"--service-cluster-ip-range={spec.service_range}",
        "--allow-privileged=true",
        # Else `kubectl logs` and `exec` look the node's name up in DNS.
        "--kubelet-preferred-address-types=InternalIP",
        f"--audit-policy-file={state / 'audit-policy.json'}",
        f"--audit-log-path={state / AUDIT_LOG}",
        # The log is what tests read: it is not to roll over, and it dies with the state folder.
        "--audit-log-maxsize=0",
    ]
    if spec.slot is None:
        # The API server refuses to publish a loopback address as a Service endpoint.
        arguments += ["--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"]
    return Component(name="kube-apiserver", argv=tuple(arguments))


def controller_manager(spec: Spec) -> Component:
    """The controllers, each under its own service account."""
    return Component(
        name="kube-controller-manager",
        argv=(
            spec.binary("kube-controller-manager"),
            f"--kubeconfig={user_config(spec, 'kube-controller-manager')}",
            "--leader-elect=false",
            "--secure-port=0",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={spec.state_dir / 'service-account.key'}",
            f"--root-ca-file={certificate(spec)}",
            "--controllers=*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
    )


def scheduler(spec: Spec) -> Component:
    """The default scheduler."""
    return Component(
        name="kube-scheduler",
        argv=(
            spec.binary("kube-scheduler"),
            f"--kubeconfig={user_config(spec, 'kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
    )


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
