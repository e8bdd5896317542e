"""Where the commands of a page run: a folder with the files that it speaks of, and a server."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from tests.crd.docs_shown import REPOSITORY, Manifest
from tests.crd.kube import Answer, Kubectl
from tests.unit.cli.calibration_grids import grid

NAMESPACES: Final = ("inference", "ridgeline-system", "argocd", "speculation")
SERVINGS: Final = ("llama-70b", "llama-3-8b", "llama-8b", "llama")
PATIENCE_SECONDS: Final = 120
_WATCH_SECONDS: Final = 4

_PROFILES: Final = [
    {
        "name": "eagle",
        "method": "Eagle",
        "model": "yuhuili/EAGLE-LLaMA3-Instruct-8B",
        "numSpeculativeTokens": 4,
    },
    {
        "name": "draft-1b",
        "method": "DraftModel",
        "model": "meta-llama/Llama-3.2-1B-Instruct",
        "numSpeculativeTokens": 5,
    },
    {"name": "none", "method": "Disabled"},
]
_FOLDERS: Final = {"docs/how-to/lint.md": "deploy"}
"""Pages whose folder of that name is the reader's and not the repository's."""

_POLICY: Final = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculationPolicy",
    "metadata": {"name": "quiet", "namespace": "inference"},
    "spec": {"cooldownSeconds": 3600},
}


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def deployment(name: str) -> dict[str, Any]:
    """Return a Deployment that takes its config from the env item."""
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "command": ["vllm", "serve"],
        "args": [
            "meta-llama/Meta-Llama-3-8B-Instruct",
            "--speculative-config=$(SPECULATION_CONFIG)",
        ],
        "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "inference"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


def serving(name: str) -> dict[str, Any]:
    """Return a serving."""
    return {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculativeServing",
        "metadata": {"name": name, "namespace": "inference"},
        "spec": {"targetRef": {"name": name, "containerName": "vllm"}, "profiles": _PROFILES},
    }


def applied(server: Kubectl, body: dict[str, Any], *options: str) -> Answer:
    """Apply an object in the namespace that it names, else in the pages' own."""
    namespace = body["metadata"].get("namespace", "inference")
    return replace(server, namespace=namespace).apply(body, "--force-conflicts", *options)


def stock(server: Kubectl) -> None:
    """Put what the pages speak of into the cluster; what a page took away comes back."""
    for name in NAMESPACES:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        assert server.apply(body).code == 0
    room = replace(server, namespace="inference")
    for name in SERVINGS:
        for body in (deployment(name), serving(name)):
            # As a reader does it: not with --server-side.
            how = ("apply", "--validate=strict", "-f", "-")
            answer = room.run(*how, stdin=json.dumps(body))
            if "field is immutable" in answer.err:
                room.ok("delete", "deployment", name)
                answer = room.run(*how, stdin=json.dumps(body))
            assert answer.code == 0, answer.err


def furnish(folder: Path, page: str, manifests: list[Manifest]) -> None:
    """Write the files that a page speaks of into a folder, as a reader would have them.

    Args:
        folder: The folder.
        page: Path of the page; that about lint speaks of the reader's own `deploy/`.
        manifests: Its manifests.
    """
    theirs = {"charts", "crds", "requirements"} | ({"deploy"} - {_FOLDERS.get(page, "")})
    for name in theirs:
        (folder / name).symlink_to(REPOSITORY / name)
    files = {
        "serving.yaml": yaml.safe_dump(serving("llama-3-8b")),
        "deployment.yaml": yaml.safe_dump(deployment("llama-3-8b")),
        "values.yaml": "image: {registry: registry.example}\n",
        "grid.json": json.dumps(grid()),
        "my-chart/Chart.yaml": "apiVersion: v2\nname: my-chart\nversion: 0.1.0\n",
        "my-chart/templates/server.yaml": yaml.safe_dump(deployment("llama")),
        "overlays/prod/kustomization.yaml": "resources: [server.yaml]\n",
        "overlays/prod/server.yaml": yaml.safe_dump(deployment("llama")),
    }
    if page in _FOLDERS:
        files["deploy/llama.yaml"] = yaml.safe_dump(deployment("llama"))
        files["deploy/policies/quiet.yaml"] = yaml.safe_dump(_POLICY)
        files["deploy/coder.yaml"] = yaml.safe_dump(manifests[0].body)
    files |= {each.name: yaml.safe_dump(each.body) for each in manifests if each.name}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def programs(folder: Path, kubectl: str, helm: Path) -> str:
    """Return a PATH with what a reader has: kubectl and its plugin, ridgeline, helm, kustomize."""
    shelf = folder / ".programs"
    shelf.mkdir()
    (shelf / "kubectl").symlink_to(kubectl)
    (shelf / "helm").symlink_to(helm)
    script = shelf / "kustomize"
    script.write_text('#!/bin/sh\nshift\nexec kubectl kustomize "$@"\n')
    script.chmod(0o755)
    ours = REPOSITORY / ".venv" / "bin"
    return os.pathsep.join((str(shelf), str(ours), os.environ["PATH"]))


_ADDED: Final = (
    (r"kubectl delete (crd|namespace) ", "--dry-run=server"),
    (r"kubectl create namespace ", "--dry-run=client"),
    (r"kubectl apply --server-side -k ", "--dry-run=server"),
    (r"kubectl delete lease ", "--ignore-not-found"),
    # Its kinds are the Prometheus Operator's, which this server does not have.
    (r"helm install .*prometheus-operator/", "--dry-run=client"),
    # The CRDs are there already, for all tests.
    (r"helm install (?!.*prometheus-operator/)", "--take-ownership --dry-run=server"),
    (r"ridgeline simulate ", "--days 0.05 --tick 60 --processes 1"),
)
"""What is added to a command that would take the server from other tests, or take a week."""


def surroundings(server: Kubectl, folder: Path, helm: Path) -> dict[str, str]:
    """Return the environment of a reader whose context names the namespace of the pages."""
    config = yaml.safe_load(server.cluster.kubeconfig.read_text())
    for each in config["contexts"]:
        each["context"]["namespace"] = "inference"
    file = folder / ".kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return {
        **server.cluster.environment(),
        "KUBECONFIG": str(file),
        "PATH": programs(folder, server.cluster.kubectl_path, helm),
        "HOME": str(folder),
    }


def typed(text: str) -> str:
    """Return a command as it is typed here.

    Names stand for what they stand for; what would take the server from other tests is rehearsed; a
    watch is looked at for a few seconds; `jq` is left out where there is none.
    """
    for word, here in (("NAMESPACE", "inference"), ("PROFILE", "none"), ("NAME", "llama")):
        text = text.replace(word, here)
    text = text.partition(" # ")[0].rstrip()
    text = " ".join((text, *(more for what, more in _ADDED if re.match(what, text))))
    text = text.replace("kubectl logs -n inference job/ridgeline-calibrate", "cat grid.json")
    if shutil.which("jq") is None:
        text = "true" if text.startswith("jq ") else text.partition(" | jq")[0]
    if "quick-paths/kind/model.yaml" in text:
        # The Deployment of that name here has another selector.
        text = f"kubectl delete deployment,sps llama -n inference --ignore-not-found && {text}"
    if text.endswith((" -w", " --watch")):
        text = f"timeout {_WATCH_SECONDS} {text} || test $? = 124"
    return text


def run(text: str, folder: Path, environment: dict[str, str]) -> Ran:
    """Type a command into a shell."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
