"""kubectl as a person uses it, for what the API server does with our resources."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any, Final

from tests.cluster.handle import Cluster

PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True)
class Answer:
    """What kubectl said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """kubectl on a cluster, in a namespace."""

    cluster: Cluster
    namespace: str

    def run(self, *arguments: str, stdin: str | None = None) -> Answer:
        """Run kubectl and return what it said, refusals included."""
        done = subprocess.run(
            [self.cluster.kubectl_path, "--namespace", self.namespace, *arguments],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            env=self.cluster.environment(),
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return its output; a refusal fails the test."""
        answer = self.run(*arguments, stdin=stdin)
        assert answer.code == 0, answer.err
        return answer.out

    def apply(self, document: dict[str, Any], *options: str) -> Answer:
        """Apply a document server-side with strict field validation."""
        return self.run(
            "apply",
            "--server-side",
            "--validate=strict",
            "--filename=-",
            *options,
            stdin=json.dumps(document),
        )

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return an object as the API server holds it."""
        document: dict[str, Any] = json.loads(self.ok("get", kind, name, "--output=json"))
        return document
