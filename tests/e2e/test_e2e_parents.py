"""A Deployment that an InferenceService owns is rolled, undone and left through it."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.component.cluster.parents import FULL_ISVC
from tests.e2e.plugin import ridgeline
from tests.e2e.rooms import fresh_namespace, nothing_happens, operator_of, small
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

PARENT, TARGET, CONTAINER = "llama", "llama-predictor", "kserve-container"
ITEM = "SPECULATION_CONFIG"


@pytest.fixture
def room(prepared: Cluster) -> Iterator[str]:
    """The namespace of one test, on a cluster that knows InferenceServices."""
    prepared.kubectl("apply", "--server-side", "-f", "-", input_object=FULL_ISVC)
    crd = f"crd/{FULL_ISVC['metadata']['name']}"
    prepared.kubectl("wait", "--for=condition=Established", "--timeout=30s", crd)
    with fresh_namespace(prepared) as name:
        yield name


class KServe:
    """Keeps a Deployment as an InferenceService says, whenever its spec changes."""

    def __init__(self, cluster: Cluster, base: Object) -> None:
        self._cluster = cluster
        self._base = base
        self._room = base["metadata"]["namespace"]
        self._seen = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._for_ever)

    def __enter__(self) -> KServe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def parent(self) -> Object:
        """The InferenceService as it is now."""
        words = ("get", "inferenceservice", PARENT, "-n", self._room)
        found: Object = self._cluster.kubectl(*words)
        return found

    def item(self) -> str | None:
        """Value of the env item in the InferenceService; `None` without one."""
        env = self.parent()["spec"]["predictor"]["model"].get("env", ())
        return next((each.get("value", "") for each in env if each["name"] == ITEM), None)

    def _for_ever(self) -> None:
        while not self._stop.wait(0.3):
            parent = self.parent()
            if parent["metadata"]["generation"] == self._seen:
                continue
            verb = "replace" if self._seen else "create"
            try:
                self._cluster.kubectl(verb, "-f", "-", input_object=self._wanted(parent))
            except ClusterError:
                continue  # the next round tries again
            self._seen = parent["metadata"]["generation"]

    def _wanted(self, parent: Object) -> Object:
        wanted = copy.deepcopy(self._base)
        predictor = parent["spec"]["predictor"]
        told = wanted["spec"]["template"]["metadata"]
        # Into new ones: the Deployment's selector may be the same dictionary, and must not change.
        told["labels"] = {**told["labels"], **(predictor.get("labels") or {})}
        told["annotations"] = {**told["annotations"], **(predictor.get("annotations") or {})}
        (container,) = wanted["spec"]["template"]["spec"]["containers"]
        container["name"] = CONTAINER
        container["env"] += predictor["model"].get("env") or []
        wanted["metadata"]["ownerReferences"] = [
            {
                "apiVersion": parent["apiVersion"],
                "kind": parent["kind"],
                "name": PARENT,
                "uid": parent["metadata"]["uid"],
                "controller": True,
            }
        ]
        return wanted


@pytest.fixture
def scene(prepared: Cluster, room: str) -> Placed:
    """A target of one stand-in, whose serving wants eagle."""
    return Placed(prepared, small(room, TARGET, max_surge=1, max_unavailable=0))


@pytest.fixture
def kserve(scene: Placed) -> Iterator[KServe]:
    """An InferenceService and its controller; the target serves."""
    parent = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": PARENT, "namespace": scene.scene.namespace},
        "spec": {"predictor": {"model": {"storageUri": "hf://org/m"}}},
    }
    scene.apply(scene.scene.default_config())
    scene.apply(scene.scene.service())
    scene.apply(parent, "--server-side")
    with KServe(scene.cluster, scene.scene.deployment()) as controller:
        scene.wait(lambda: _is_there(scene) and scene.settled(), "the target's replicas")
        yield controller


def _is_there(scene: Placed) -> bool:
    words = ("get", "deployments", "-n", scene.scene.namespace)
    return bool(scene.cluster.kubectl(*words)["items"])


def _put_serving(scene: Placed) -> None:
    body = scene.scene.serving()
    body["spec"]["targetRef"] = {"name": TARGET, "containerName": CONTAINER}
    scene.put_serving(body)


def _template(scene: Placed) -> str:
    return json.dumps(scene.target()["spec"]["template"], sort_keys=True)


def _operator(scene: Placed, *parents: str) -> OperatorProcess:
    return operator_of(scene.cluster, scene.scene.namespace, parents=list(parents))


def test_it_rolls_and_is_released_through_its_parent(scene: Placed, kserve: KServe) -> None:
    audit = AuditLog(scene.cluster)
    before = _template(scene)
    with _operator(scene, "InferenceService") as operator:
        operator.wait_ready()
        scene.operator = operator
        _put_serving(scene)

        scene.wait_rolled("eagle")
        assert '"method":"eagle"' in (kserve.item() or "")

        scene.want("none")
        scene.wait_rolled("none")
        assert kserve.item() == ""

        scene.edit_serving(suspend=True)
        scene.wait_condition("Suspended", "True", "Suspended")
        done = ridgeline(scene, "release")
        assert done.returncode == 0, done.stderr
        scene.wait(lambda: _template(scene) == before, "the template from before")

    assert kserve.item() is None
    assert scene.owned_by("ridgeline-profile") is None
    assert audit.tries(scene.scene.namespace, TARGET) == []


def test_a_kind_that_is_not_switched_on_is_recommended_for(scene: Placed, kserve: KServe) -> None:
    with _operator(scene) as operator:
        operator.wait_ready()
        scene.operator = operator
        _put_serving(scene)

        scene.wait_reason("TargetOwnedByController")
        assert "`parents: [InferenceService]`" in scene.status()["lastDecision"]["message"]
        assert nothing_happens(lambda: kserve.item() is None)
