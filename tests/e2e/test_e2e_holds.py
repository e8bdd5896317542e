"""Rolls that could not finish, or would take another's: none is begun, and the reason is told.

All the targets stand side by side; each serving would like another profile than its target has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import Crowd, nothing_happens, small
from tests.e2e.variants import container, pod_spec, spec, target_with
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

SLOW_START_S = 24
START_BUDGET_S = 29
"""Longer than the slow start, and shorter than 1.25 times of it."""


def _as_in_git(scene: Placed) -> None:
    scene.apply(scene.scene.deployment())


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing that stands in the way of a roll.

    Attributes:
        name: Name of the scene that has it.
        reason: Reason that must be told.
        names: What the message must name.
        scene: What makes the scene differ from the usual one.
        target: Makes the Deployment with the obstacle.
        after: Done once the target serves, before the serving comes.
        mend: Takes the obstacle away.
    """

    name: str
    reason: str
    names: tuple[str, ...]
    scene: dict[str, object] = field(default_factory=dict)
    target: Callable[[Placed], Object] = lambda scene: scene.scene.deployment()
    after: Callable[[Placed], None] = lambda scene: None
    mend: Callable[[Placed], None] = _as_in_git


def _recreated(scene: Placed) -> Object:
    return target_with(scene, spec(strategy={"type": "Recreate"}))


def _immovable(scene: Placed) -> Object:
    strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}
    return target_with(scene, spec(strategy=strategy))


def _hasty(scene: Placed) -> Object:
    return target_with(scene, pod_spec(terminationGracePeriodSeconds=20))


def _slow_to_start(scene: Placed) -> Object:
    env = [{"name": "STAND_IN_STARTUP_SECONDS", "value": str(SLOW_START_S)}]
    probe = {
        "httpGet": {"path": "/health", "port": "http"},
        "periodSeconds": 1,
        "failureThreshold": START_BUDGET_S,
    }
    return target_with(scene, container(env=env, startupProbe=probe))


def _put_disruption_budget(scene: Placed) -> None:
    name, where = scene.scene.name, scene.scene.namespace
    scene.apply(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": where},
            "spec": {
                "minAvailable": scene.scene.replicas,
                "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            },
        }
    )


def _delete_disruption_budget(scene: Placed) -> None:
    scene.cluster.kubectl("delete", f"pdb/{scene.scene.name}", "-n", scene.scene.namespace)


def _roll_to_nowhere(scene: Placed) -> None:
    scene.apply(target_with(scene, pod_spec(nodeSelector={"kubernetes.io/hostname": "nowhere"})))


def _rollout(command: str) -> Callable[[Placed], None]:
    def act(scene: Placed) -> None:
        words = ("rollout", command, f"deployment/{scene.scene.name}")
        scene.cluster.kubectl(*words, "-n", scene.scene.namespace)

    return act


CASES = (
    Case(
        name="slow-start",
        reason="StartBudgetTooShort",
        names=("startup", f"is {START_BUDGET_S} s"),
        target=_slow_to_start,
    ),
    Case(
        name="recreate",
        reason="RollStopsServing",
        names=("Recreate", "spec.strategy.type: RollingUpdate"),
        target=_recreated,
    ),
    Case(
        name="immovable",
        reason="RollCannotMove",
        names=("maxSurge 0", "maxUnavailable 10%", "spec.strategy.rollingUpdate"),
        target=_immovable,
    ),
    Case(
        name="hasty",
        reason="DrainTooShort",
        names=("27 s", "terminationGracePeriodSeconds is 20", "29 or more"),
        target=_hasty,
    ),
    Case(
        name="budgeted",
        reason="DisruptionBudget",
        names=("PodDisruptionBudget budgeted", "allows 0", "maxUnavailable"),
        scene={"replicas": 2},
        after=_put_disruption_budget,
        mend=_delete_disruption_budget,
    ),
    Case(
        name="rolled",
        reason="RolloutUnderWay",
        names=("1 of 1 Pods updated",),
        scene={"max_unavailable": 0},
        after=_roll_to_nowhere,
    ),
    Case(
        name="paused",
        reason="RolloutPaused",
        names=("kubectl rollout resume",),
        after=_rollout("pause"),
        mend=_rollout("resume"),
    ),
)


@pytest.fixture(scope="module")
def held(prepared: Cluster, room: str, operator: OperatorProcess) -> Crowd:
    """Every scene, told about, and then left alone for as long as a roll would need."""
    audit = AuditLog(prepared)
    scenes = {
        each.name: Placed(prepared, small(room, each.name, **each.scene), operator)
        for each in CASES
    }
    for each in CASES:
        scenes[each.name].apply(scenes[each.name].scene.default_config())
        scenes[each.name].apply(each.target(scenes[each.name]))
    for each in reversed(CASES):
        scene = scenes[each.name]
        scene.wait(scene.settled, "the target's replicas")
        each.after(scene)
        scene.put_serving()
    for each in CASES:
        scenes[each.name].wait_reason(each.reason)
    assert nothing_happens(lambda: all(scenes[each.name].reason() == each.reason for each in CASES))
    return Crowd(scenes=scenes, audit=audit)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_roll_that_could_not_go_well_is_not_begun(held: Crowd, case: Case) -> None:
    scene = held.scenes[case.name]
    message = scene.status()["lastDecision"]["message"]
    for part in case.names:
        assert part in message
    status = scene.status()
    assert status["activeProfile"] == status["desiredProfile"] == "none"
    # Nothing is wrong with the serving: it is seen and decided.
    assert scene.condition("Ready") == ("True", "Operating")
    assert scene.condition("Stalled") is None
    assert [each["type"] for each in scene.events()] == []
    assert held.audit.tries(scene.scene.namespace, case.name) == []

    case.mend(scene)

    scene.wait_rolled("eagle")
    assert len(held.audit.profile_writes(scene.scene.namespace, case.name)) == 1
