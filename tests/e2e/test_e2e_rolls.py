"""The main job, as `make demo` shows it: the load crosses the cut-off, and the profile follows."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ridgeline.sim.load.results import RequestResult, Summary
from tests.cluster.handle import Cluster
from tests.cluster.progress import Progress
from tests.demo import real
from tests.demo.frame import Frame
from tests.demo.scenario import Scenario
from tests.scene.load import Load
from tests.scene.manifests import STATED_ACCEPTANCE
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]


class WatchedLoad(Load):
    """Load that tells at its end how its requests fared."""

    summaries: list[Summary]

    def __exit__(self, *error: object) -> None:
        self.summaries.append(self.summary())
        super().__exit__(*error)


def test_the_profile_follows_the_load(
    prepared: Cluster, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    summaries: list[Summary] = []
    failed: list[str | None] = []

    def watched(url: str, **settings: Any) -> Load:
        def told(result: RequestResult) -> None:
            if result.error is not None:
                failed.append(result.error)

        load = WatchedLoad(url, on_result=told, **settings)
        load.summaries = summaries
        return load

    monkeypatch.setattr(real, "Load", watched)
    frames: list[Frame] = []
    with real.staged(prepared, Progress(io.StringIO())) as stage:
        scene = Placed(prepared, stage.scene)
        before = scene.target()
        outcome = real.play(stage, Scenario(), frames.append)
        after, status = scene.target(), scene.status()
        replica_sets, events = scene.replica_sets(), scene.events()

    assert outcome.failure is None
    assert outcome.rolls == ("eagle", "none", "eagle")
    history = status["switchHistory"]
    first, second, third = [each["reason"] for each in history]
    assert first == third == "AllQuiet"
    assert second in ("DemandHigh", "AboveCutoff", "Saturated")

    # The cut-off was predicted from facts of GPU, model and requests, and says how sure it is.
    assert status["cutoff"]["strategy"] == "Goodput"
    assert status["cutoff"]["verdict"] == "Yes"
    row = status["cutoffTable"][0]
    assert row["bandLow"] <= row["upToConcurrency"] <= row["bandHigh"]
    learned = {each["profile"]: each for each in status["learned"]["profiles"]}
    assert abs(learned["eagle"]["acceptancePercent"][0] - STATED_ACCEPTANCE[0]) <= 5
    assert status["learned"]["contextTokens"] > 0
    assert status["control"]["running"] == "eagle"
    reasons = [each["reason"] for each in events]
    assert reasons.count("RollStarted") == reasons.count("RollFinished") == 3
    assert {each["type"] for each in events} == {"Normal"}

    # One write for each roll, and of the Deployment nothing that is not a profile's.
    writes = audit.profile_writes(real.NAMESPACE, stage.scene.name)
    assert [each.verb for each in writes] == ["patch"] * 3
    assert _without_profile(after) == _without_profile(before)

    # EAGLE came back to the ReplicaSet that it had before; beside it there are the one for "none"
    # and the one of Git, without a mark.
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in replica_sets]
    profiles = sorted(each.get("ridgeline.dev/profile", "") for each in labels)
    assert profiles == ["", "eagle", "none"]
    serving = [each for each in replica_sets if each["spec"]["replicas"]]
    assert [each["spec"]["replicas"] for each in serving] == [stage.scene.replicas]

    # Rolled while it served: some requests were sent again, none was given up.
    (summary,) = summaries
    assert failed == []
    assert summary.failed == 0
    assert summary.answered > 500
    available = [each.replicas for each in frames if each.rolling]
    assert available
    assert all(sum(pod.ready for pod in pods) >= stage.scene.replicas - 2 for pods in available)


def _without_profile(target: dict[str, Any]) -> dict[str, Any]:
    """The spec of a Deployment without the item and the label that are a profile's."""
    spec: dict[str, Any] = target["spec"]
    spec["template"]["metadata"]["labels"].pop("ridgeline.dev/profile", None)
    for container in spec["template"]["spec"]["containers"]:
        container["env"] = [
            each for each in container["env"] if each["name"] != "SPECULATION_CONFIG"
        ]
    return spec
