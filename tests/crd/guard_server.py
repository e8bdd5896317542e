"""The chart's guard on a real API server, and accounts that talk to it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any
from urllib.parse import urlsplit

from ridgeline.terms.names import PROFILE_MANAGER
from tests.chart.rendering import Chart, Object, one
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.tools.guard import LEVELS
from tests.tools.guard_schema import KEY, Path

ACCOUNT = "ridgeline"
APPLY = "application/apply-patch+yaml"
PLAIN = "application/json"
_CONTAINERS = ("spec", "template", "spec", "containers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said."""

    status: int
    body: Object

    @property
    def taken(self) -> bool:
        """The request was carried out, or would have been."""
        return self.status < 300

    @property
    def message(self) -> str:
        """Why it was not."""
        return str(self.body.get("message", ""))


class Account:
    """A service account that calls the API server by its own token."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        shown = cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
        entry = json.loads(shown)["clusters"][0]["cluster"]
        authority = base64.b64decode(entry["certificate-authority-data"]).decode()
        address = urlsplit(entry["server"])
        trust = ssl.create_default_context(cadata=authority)
        self._connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, timeout=30, context=trust
        )
        token = cluster.kubectl("create", "token", name, "-n", namespace, "-o", "json")
        self._token = json.loads(token)["status"]["token"]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def call(self, method: str, path: str, body: object = None, form: str = PLAIN) -> Answer:
        """Send one request and return the answer, refusals included."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": form}
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, headers)
        except OSError:
            # The API server hangs up where nothing was asked for a while.
            self._connection.close()
            self._connection.request(method, path, text, headers)
        response = self._connection.getresponse()
        return Answer(status=response.status, body=json.loads(response.read()))

    def replace(self, path: str, body: Object, *, manager: str = PROFILE_MANAGER) -> Answer:
        """Rehearse an update."""
        return self.call("PUT", f"{path}?dryRun=All&fieldManager={manager}", body)

    def apply(
        self, path: str, body: Object, *, manager: str = PROFILE_MANAGER, force: bool = False
    ) -> Answer:
        """Rehearse a server-side apply."""
        query = f"dryRun=All&fieldManager={manager}&force={str(force).lower()}"
        return self.call("PATCH", f"{path}?{query}", body, APPLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A namespace on an API server that has the guard.

    Attributes:
        operator: The account that the guard binds; its Role lets it do everything.
        person: Another account with the same Role.
        namespace: Namespace of both.
        policy: Name of the policy.
        cluster: The API server.
    """

    operator: Account
    person: Account
    namespace: str
    policy: str
    cluster: Cluster

    @property
    def deployments(self) -> str:
        """Path of the namespace's Deployments."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments"

    def refused(self, answer: Answer, naming: str = "") -> bool:
        """Whether it was the guard that refused, with a text in its message."""
        return (
            answer.status == 403
            and f"ValidatingAdmissionPolicy '{self.policy}'" in answer.message
            and "resulted in error" not in answer.message
            and naming in answer.message
        )


@contextlib.contextmanager
def guarded(
    cluster: Cluster,
    helm: File,
    values: Object | None = None,
    *,
    group: str = "apps",
) -> Iterator[Guarded]:
    """Install the guard alone, for a namespace of its own.

    Args:
        cluster: The API server.
        helm: Renders the chart.
        values: Values of the chart.
        group: API group whose Deployments are guarded, in the place of apps.
    """
    namespace = f"guard-{uuid.uuid4().hex[:10]}"
    options = ("--show-only", "templates/guard.yaml")
    objects = Chart(helm=helm).render(values, namespace=namespace, options=options)
    policy = one(objects, "ValidatingAdmissionPolicy")
    policy["spec"]["matchConstraints"]["resourceRules"][0]["apiGroups"] = [group]
    made = [*objects, *_accounts(namespace)]
    everything = {"apiVersion": "v1", "kind": "List", "items": made}
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "-o", "name", "-f", "-", input_object=everything)
    try:
        with (
            contextlib.closing(Account(cluster, namespace, ACCOUNT)) as operator,
            contextlib.closing(Account(cluster, namespace, "person")) as person,
        ):
            guard = Guarded(
                operator=operator,
                person=person,
                namespace=namespace,
                policy=policy["metadata"]["name"],
                cluster=cluster,
            )
            wait_until(lambda: _at_work(guard, group), "the guard to be at work")
            yield guard
    finally:
        cluster.kubectl("delete", "-f", "-", "--wait=false", input_object=everything)
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def named(path: Path) -> str:
    """What the refusal must name: the containers, or the first field below a level."""
    if path[: len(_CONTAINERS)] == _CONTAINERS:
        return ".".join(_CONTAINERS)
    levels = {level.path: level.may for level in LEVELS}
    for size in range(len(path)):
        if path[:size] in levels and path[size] not in levels[path[:size]]:
            return ".".join(step for step in path[: size + 1] if step != KEY)
    raise AssertionError(f"{path} is not guarded")


def _at_work(guard: Guarded, group: str) -> bool:
    path = f"/apis/{group}/v1/namespaces/{guard.namespace}/deployments/none"
    body: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "Deployment",
        "metadata": {"name": "none"},
        "spec": {
            "selector": {"matchLabels": {"app": "none"}},
            "template": {
                "metadata": {"labels": {"app": "none"}},
                "spec": {"containers": [{"name": "none", "image": "none"}]},
            },
        },
    }
    time.sleep(0.1)
    return guard.refused(guard.operator.apply(path, body))


def _accounts(namespace: str) -> list[Object]:
    """Both accounts, with a Role that refuses nothing: what is refused is the guard's doing."""
    names = (ACCOUNT, "person")
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in names]
    place = {"namespace": namespace}
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    rbac = "rbac.authorization.k8s.io"
    return [
        *(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, **place}}
            for name in names
        ),
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": {"name": "everything", **place},
            "rules": rules,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "everything", **place},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "everything"},
            "subjects": subjects,
        },
    ]
