"""Predicted cut-offs on a real cluster: first contact, learning, and what a person sees of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.plugin import explained, rows
from tests.e2e.rooms import nothing_happens, prometheus_of
from tests.e2e.test_e2e_sizing import _service_url as service_url
from tests.e2e.variants import serving_with
from tests.scene.load import Load
from tests.scene.manifests import STAND_IN_GPU, Object
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

FORCE = "ridgeline.dev/force-profile"


@pytest.fixture(scope="module", autouse=True)
def gpu(prepared: Cluster) -> Iterator[None]:
    """The accelerator that the stand-ins are as fast as."""
    prepared.kubectl("apply", "-f", "-", input_object=STAND_IN_GPU)
    yield
    prepared.kubectl("delete", "accel", STAND_IN_GPU["metadata"]["name"], "--ignore-not-found")


def _without_stated_acceptance(serving: Object) -> None:
    del serving["spec"]["profiles"][0]["acceptancePercent"]


def _unknown_model(serving: Object) -> None:
    serving["spec"]["model"] = {"name": "acme/made-up-1b"}


def test_a_profile_that_never_ran_is_recommended_and_once_a_person_let_it_run_it_is_learned(
    scene_of: Callable[..., Placed], audit: AuditLog, prepared: Cluster
) -> None:
    scene = scene_of("contact", strategy="Goodput", max_unavailable=0)
    scene.put_target()
    scene.put_serving(serving_with(scene, _without_stated_acceptance))
    with Load(service_url(scene), users=6):
        scene.wait(
            lambda: scene.status().get("lastDecision", {}).get("reason") == "CutoffUndecided",
            "the hold of a first contact",
        )
        status = scene.status()
        assert status["recommendedProfile"] == "eagle"
        assert any("first contact" in each for each in status["cutoff"]["reasons"])
        assert nothing_happens(lambda: not _writes(audit, scene))

        name = f"sps/{scene.scene.name}"
        where = ("-n", scene.scene.namespace)
        prepared.kubectl("annotate", name, f"{FORCE}=eagle", *where)
        scene.wait_rolled("eagle")
        prepared.kubectl("annotate", name, f"{FORCE}-", *where)
        scene.wait(lambda: _learned(scene, "eagle"), "the acceptance that the stand-in has")
        scene.wait(lambda: scene.status()["cutoff"]["verdict"] == "Yes", "a table to act on")

        live = ("--prometheus", prometheus_of(prepared), "--window", "8")
        told = explained(scene, *live)
        basis = {each[0]: each[1] for each in rows(told, "What the cut-offs rest on")}
        assert basis["strategy"] == "Goodput"


def test_a_model_that_no_catalogue_knows_is_a_hold_that_says_what_to_do(
    scene_of: Callable[..., Placed], audit: AuditLog
) -> None:
    scene = scene_of("unknown", strategy="Goodput")
    scene.put_target()
    scene.put_serving(serving_with(scene, _unknown_model))
    scene.wait(
        lambda: scene.condition("Ready") == ("False", "ModelUnknown"), "the hold of the model"
    )
    assert nothing_happens(lambda: not _writes(audit, scene))


def _writes(audit: AuditLog, scene: Placed) -> list[object]:
    return list(audit.profile_writes(scene.scene.namespace, scene.scene.name))


def _learned(scene: Placed, profile: str) -> bool:
    arms = (scene.status().get("learned") or {}).get("profiles") or ()
    found = [each for each in arms if each["profile"] == profile]
    return bool(found) and len(found[0].get("acceptancePercent", ())) == 4
