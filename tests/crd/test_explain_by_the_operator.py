"""`kubectl ridgeline explain` by the operator's own answer: through a real API server's proxy.

A real operator runs beside a real API server; its port stands behind a Service, as it does with the
chart.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.cli.kubectl import app
from tests.cluster.waiting import wait_until
from tests.crd.kube import Kubectl
from tests.crd.test_explain_with_few_rights import DEPLOYMENT, SERVING, TARGETS, account
from tests.scene.operator_process import OperatorProcess

SERVICE = "ridgeline"
PROXIED = "http:ridgeline:http"
FIXED = {
    "strategy": "Fixed",
    "ranges": [{"profile": "eagle", "upToConcurrency": 20}, {"profile": "none"}],
}


def own_address() -> str:
    """The address of this machine that is not the loopback's: the proxy refuses that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # a datagram's socket: nothing is sent
        return str(probe.getsockname()[0])


@pytest.fixture
def operator(kubectl: Kubectl) -> Iterator[OperatorProcess]:
    """An operator that looks after the namespace, behind a Service in it."""
    assert kubectl.apply({**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 0}}).code == 0
    assert kubectl.apply({**SERVING, "spec": {**SERVING["spec"], "cutoff": FIXED}}).code == 0
    lease = {"namespace": kubectl.namespace, "name": SERVICE, "durationSeconds": 5}
    changes: dict[str, Any] = {"namespaces": [kubectl.namespace], "lease": lease}
    with OperatorProcess(kubectl.cluster.kubeconfig, "http://127.0.0.1:9", **changes) as process:
        process.wait_ready()
        behind_a_service(kubectl, process.port)
        page = f"/explain/{kubectl.namespace}/llama"
        wait_until(lambda: "TelemetryUnavailable" in (process.page(page) or ""), "the first pass")
        wait_until(lambda: "status" in kubectl.get("sps", "llama"), "a status")
        yield process


def behind_a_service(kubectl: Kubectl, port: int) -> None:
    """Make the Service and what stands behind it: the proxy leads to addresses of Pods alone."""
    address = own_address()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": SERVICE},
        "spec": {
            "schedulerName": "nobody",
            "containers": [{"name": "operator", "image": "ridgeline.dev/ridgeline"}],
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE},
        "spec": {"ports": [{"name": "http", "port": 8080, "targetPort": port}]},
    }
    behind = {"kind": "Pod", "namespace": kubectl.namespace, "name": SERVICE}
    endpoints = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": SERVICE},
        "subsets": [
            {
                "addresses": [{"ip": address, "targetRef": behind}],
                "ports": [{"name": "http", "port": port}],
            }
        ],
    }
    for body in (pod, service, endpoints):
        assert kubectl.apply(body).code == 0
    told = json.dumps({"status": {"podIP": address, "podIPs": [{"ip": address}]}})
    kubectl.ok("patch", "pod", SERVICE, "--subresource=status", "--type=merge", "--patch", told)


@contextmanager
def may_ask(kubectl: Kubectl, account_name: str) -> Iterator[None]:
    """Give an account the Role of the page about explain: the proxy of this one Service."""
    role = ("--verb=get", "--resource=services/proxy", f"--resource-name={PROXIED}")
    kubectl.ok("create", "role", "explainer", *role)
    who = f"--serviceaccount={kubectl.namespace}:{account_name}"
    kubectl.ok("create", "rolebinding", "explainer", "--role=explainer", who)
    yield
    kubectl.ok("delete", "rolebinding,role", "explainer")


def explain(kubectl: Kubectl, kubeconfig: Path, *words: str) -> Result:
    where = ["--namespace", kubectl.namespace, "--kubeconfig", str(kubeconfig)]
    return CliRunner().invoke(app, ["explain", "llama", *words, *where])


def document(kubectl: Kubectl, kubeconfig: Path, *words: str) -> dict[str, Any]:
    answer = explain(kubectl, kubeconfig, "-o", "json", *words)
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_the_proxy_is_used_where_rights_reach_it_and_done_without_where_they_do_not(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    here = ("--operator", f"{kubectl.namespace}/{SERVICE}")
    with account(kubectl, "viewer", *TARGETS) as kubeconfig:
        without = document(kubectl, kubeconfig, *here)
        page = explain(kubectl, kubeconfig, *here)
        with may_ask(kubectl, "viewer"):
            wait_until(lambda: "instance" in _operator(kubectl, kubeconfig, *here), "the right")
            found = document(kubectl, kubeconfig, *here)
            other = document(kubectl, kubeconfig, "--operator", f"{kubectl.namespace}/another")
    told = f"your rights do not reach services/proxy of {PROXIED} in {kubectl.namespace}"
    assert without["operator"] == {"wentWithout": told}
    assert "decision" not in without
    (line,) = [each for each in page.output.splitlines() if "own answer" in each]
    assert told in line
    assert found["operator"]["leader"] is True
    assert found["cause"]["knownBy"] == "the operator's last pass"
    assert found["decision"]["reason"] == found["cause"]["reason"] == "TelemetryUnavailable"
    assert found["decision"]["compared"] is not None
    assert {"what": "switches", "value": "0 of 6 in the last 24 hours"} in found["remembered"]
    assert "wentWithout" in other["operator"]


def test_a_port_forward_needs_no_right_to_the_proxy(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    with account(kubectl, "looker", *TARGETS) as kubeconfig:
        found = document(kubectl, kubeconfig, "--operator-url", f"http://127.0.0.1:{operator.port}")
        page = explain(
            kubectl, kubeconfig, "--operator-url", f"http://127.0.0.1:{operator.port}", "-o", "wide"
        )
    assert found["operator"]["leader"] is True
    assert found["operator"]["watchHeardSecondsAgo"] >= 0
    assert page.exit_code == 0, page.output
    assert "What the operator remembers" in page.output
    assert "(the leader) tells it" in page.output


def test_of_an_operator_that_is_gone_the_lease_tells(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    kubeconfig = kubectl.cluster.kubeconfig
    here = ("--operator", f"{kubectl.namespace}/{SERVICE}")
    assert operator.stop() == 0
    found = document(kubectl, kubeconfig, *here)
    assert found["cause"]["reason"] == "OperatorSilent"
    assert f"nobody holds the Lease {kubectl.namespace}/{SERVICE}" in found["cause"]["message"]
    assert "the status was last written" in found["cause"]["message"]


def test_a_serving_that_a_finalizer_holds_is_said_to_be_going(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    patch = '{"metadata":{"finalizers":["kopf.example/finalizer"]}}'
    kubectl.ok("patch", "sps", "llama", "--type=merge", "--patch", patch)
    kubectl.ok("delete", "sps", "llama", "--wait=false")
    found = document(kubectl, kubectl.cluster.kubeconfig, "--operator", "none")
    kubectl.ok("patch", "sps", "llama", "--type=merge", "--patch", '{"metadata":{"finalizers":[]}}')
    assert found["cause"]["reason"] == "BeingDeleted"
    assert "the finalizer kopf.example/finalizer holds it" in found["cause"]["message"]


def _operator(kubectl: Kubectl, kubeconfig: Path, *words: str) -> dict[str, Any]:
    found = document(kubectl, kubeconfig, *words).get("operator")
    assert isinstance(found, dict)
    return found


def test_the_role_of_the_page_is_the_role_that_works() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/explain.md").read_text()
    blocks = page.split("```yaml")[1:]
    roles = [yaml.safe_load(each.partition("```")[0]) for each in blocks]
    (role,) = [each for each in roles if each["kind"] == "Role"]
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["services/proxy"],
            "resourceNames": [PROXIED],
            "verbs": ["get"],
        }
    ]
