"""Argo CD's health check and actions, run as Argo CD runs them, over its own layout of tests."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.terms import names
from ridgeline.terms.conditions import ConditionStatus, ConditionType
from tests.gitops.actions import ACTIONS, OFFERED
from tests.gitops.programs import Object, Programs
from tests.gitops.situations import SITUATIONS
from tests.tools import argocd as tool
from tests.tools.argocd import CONFIG, KIND

ACTION_FOLDER = KIND / "actions"
HEALTH_TESTS: list[Object] = yaml.safe_load((KIND / "health_test.yaml").read_text())["tests"]
ACTION_TESTS: Object = yaml.safe_load((ACTION_FOLDER / "action_test.yaml").read_text())


def _load(folder: Path, path: str) -> Object:
    document: Object = yaml.safe_load((folder / path).read_text())
    return document


def _name(test: Object) -> str:
    return Path(test["inputPath"]).stem


@pytest.fixture(scope="module")
def customization() -> Object:
    """What Argo CD gets: the scripts as they stand in its ConfigMap."""
    key = f"{names.GROUP}_{names.SERVING_KIND}"
    data = yaml.safe_load(CONFIG.read_text())["data"]
    actions = yaml.safe_load(data[f"resource.customizations.actions.{key}"])
    return {
        "health": data[f"resource.customizations.health.{key}"],
        "discovery": actions["discovery.lua"],
        **{each["name"]: each["action.lua"] for each in actions["definitions"]},
    }


@pytest.mark.parametrize("test", HEALTH_TESTS, ids=_name)
def test_health(programs: Programs, customization: Object, test: Object) -> None:
    health = programs.lua(customization["health"], _load(KIND, test["inputPath"]))
    assert health == test["healthStatus"]


def test_a_condition_that_is_not_there_yet_is_progress(
    programs: Programs, customization: Object
) -> None:
    serving = _load(KIND, "testdata/healthy.yaml")
    serving["status"]["conditions"] = []
    health = programs.lua(customization["health"], serving)
    assert health["status"] == "Progressing"


def test_a_serving_that_is_not_ready_is_degraded_also_without_stalled(
    programs: Programs, customization: Object
) -> None:
    serving = _load(KIND, "testdata/conflict.yaml")
    standing = serving["status"]["conditions"]
    serving["status"]["conditions"] = [each for each in standing if each["type"] != "Stalled"]
    assert programs.lua(customization["health"], serving)["status"] == "Degraded"


def test_every_condition_stands_in_the_test_data() -> None:
    found = {
        (each["type"], each["status"])
        for test in HEALTH_TESTS
        for each in _load(KIND, test["inputPath"]).get("status", {}).get("conditions", ())
    }
    assert {kind for kind, _ in found} == {kind.value for kind in ConditionType}
    false, unknown = ConditionStatus.FALSE.value, ConditionStatus.UNKNOWN.value
    for kind in ("Ready", "TargetResolved", "TelemetryAvailable", "ProfileApplied"):
        assert (kind, false) in found
    assert ("TelemetryAvailable", unknown) in found
    assert {test["healthStatus"]["status"] for test in HEALTH_TESTS} == {
        each.argo for each in SITUATIONS.values()
    }


@pytest.mark.parametrize("test", ACTION_TESTS["discoveryTests"], ids=_name)
def test_actions_that_are_offered(programs: Programs, customization: Object, test: Object) -> None:
    serving = _load(ACTION_FOLDER, test["inputPath"])
    told: dict[str, Any] = programs.lua(customization["discovery"], serving)
    assert told == {
        each["name"]: {key: value for key, value in each.items() if key != "name"}
        for each in test["result"]
    }


@pytest.mark.parametrize("test", ACTION_TESTS["actionTests"], ids=lambda test: test["action"])
def test_an_action_changes_one_field(
    programs: Programs, customization: Object, test: Object
) -> None:
    serving = _load(ACTION_FOLDER, test["inputPath"])
    changed = programs.lua(customization[test["action"]], serving)
    assert changed == _load(ACTION_FOLDER, test["expectedOutputPath"])
    assert changed != serving


@pytest.mark.parametrize("name", ["promote-canary", "take-canary-back"])
def test_without_a_canary_nothing_is_ordered(
    programs: Programs, customization: Object, name: str
) -> None:
    with pytest.raises(ValueError, match="no canary is being judged"):
        programs.lua(customization[name], _load(KIND, "testdata/healthy.yaml"))


def test_a_canary_of_which_nobody_knows_what_ran_before_is_not_taken_back(
    programs: Programs, customization: Object
) -> None:
    serving = copy.deepcopy(_load(KIND, "testdata/canary.yaml"))
    del serving["status"]["rollout"]["from"]
    with pytest.raises(ValueError, match="no profile of the serving"):
        programs.lua(customization["take-canary-back"], serving)
    offered = programs.lua(customization["discovery"], serving)
    assert offered["take-canary-back"]["disabled"]
    assert not offered["promote-canary"]["disabled"]


def test_every_action_has_its_script_and_is_offered_somewhere(customization: Object) -> None:
    folders = {each.name for each in ACTION_FOLDER.iterdir() if each.is_dir()} - {"testdata"}
    assert folders == set(ACTIONS) == customization.keys() - {"health", "discovery"}
    assert set().union(*OFFERED.values()) == set(ACTIONS)


def test_what_is_generated_is_up_to_date() -> None:
    assert tool.main(["--check"]) == 0
