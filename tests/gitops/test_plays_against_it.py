"""Every tool in the ways that the docs warn of: the operator holds, says who, does not fight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from ridgeline.terms.names import PROFILE_ENV
from tests.e2e.plugin import ridgeline
from tests.e2e.rooms import nothing_happens
from tests.gitops.stage import OURS, TOOLS, Application, Stage
from tests.gitops.writers import Applied, Helm, SyncError

pytestmark = pytest.mark.timeout(600)

FORCERS: Final = ("argo-server-side", "flux")
"""Tools that take over what others own."""

MERGERS: Final = ("argo-client-side", "helm-3")
"""Tools that merge three ways: they change what others own, and may leave no trace of it."""

APPLIERS: Final = ("argo-server-side", "flux", "helm-4")
"""Tools that apply on the server."""

QUIET_S: Final = 8.0
"""Longer than the operator needs to roll what it may roll, here."""


def _held(each: Application) -> bool:
    """Whether the operator holds because of what somebody else wrote."""
    return each.stalled("FieldConflict") or each.stalled("UndoneByOthers")


def _ready(each: Application) -> bool:
    return each.condition("Ready") == ("True", "Operating")


@pytest.fixture(scope="module")
def held(stage: Stage) -> Mapping[str, Application]:
    """One application for each tool, held, and healed for a while."""
    applications = {tool: stage.application(f"item-{tool}", tool) for tool in TOOLS}
    everyone = applications.values()
    for each in everyone:
        each.repository.put_item("")
        each.repository.want("eagle")
        each.sync()
    stage.until(everyone, lambda each: each.stalled("FieldConflict"), "FieldConflict")
    assert nothing_happens(
        lambda: all(each.stalled("FieldConflict") for each in everyone), seconds=QUIET_S
    )
    return applications


class TestAnItemInGitFromTheBeginning:
    """Somebody gives the default as an env item instead of a ConfigMap."""

    @pytest.mark.parametrize("tool", TOOLS)
    def test_it_holds_with_the_managers_name_and_what_to_put_instead(
        self, stage: Stage, held: Mapping[str, Application], tool: str
    ) -> None:
        application = held[tool]
        told = application.full_condition("Stalled")
        assert told is not None
        assert f"'{application.writer.manager}'" in told["message"]
        assert f"remove the env item {PROFILE_ENV}" in told["message"]
        assert "envFrom" in told["message"]
        assert stage.profile_writes(application) == []
        assert application.item() == ""
        assert application.owners_of_item() == {application.writer.manager}
        assert application.target()["metadata"]["generation"] == 1

    def test_a_commit_without_the_item_heals_it(
        self, stage: Stage, held: Mapping[str, Application]
    ) -> None:
        everyone = held.values()
        for each in everyone:
            each.repository.remove_item()
        stage.until(everyone, lambda each: each.rolls() == ["eagle"], "the roll")
        for each in everyone:
            assert _ready(each)
            assert each.owners_of_item() == {OURS}
            # Its creation, the commit, the roll.
            assert each.target()["metadata"]["generation"] == 3


@pytest.fixture(scope="module")
def rolled(stage: Stage) -> Mapping[str, Application]:
    """Applications that run `eagle` by a roll, for what tools do to them then."""
    wanted = (
        *(("later", tool) for tool in (*FORCERS, *MERGERS, "helm-4")),
        *(("replace", tool) for tool in MERGERS),
        *(("rename", tool) for tool in (*APPLIERS, "helm-3")),
    )
    applications = {
        f"{what}-{tool}": stage.application(f"{what}-{tool}", tool) for what, tool in wanted
    }
    everyone = applications.values()
    for each in everyone:
        each.repository.want("eagle")
        each.sync()
    stage.until(everyone, lambda each: each.rolls() == ["eagle"], "the roll", syncing=False)
    return applications


@pytest.fixture(scope="module")
def taken(stage: Stage, rolled: Mapping[str, Application]) -> Mapping[str, Application]:
    """Applications whose item was taken, and healed for a while."""
    applications = {tool: rolled[f"later-{tool}"] for tool in (*FORCERS, *MERGERS)}
    everyone = applications.values()
    for each in everyone:
        each.repository.put_item("")
        each.sync()
    stage.until(everyone, _held, "a hold")
    for each in everyone:
        each.sync()
    assert nothing_happens(lambda: all(map(_held, everyone)), seconds=QUIET_S)
    return applications


class TestAnItemThatComesLater:
    """Somebody commits an env item while the operator's own stands in the Deployment."""

    def test_who_takes_it_by_force_keeps_it(
        self, stage: Stage, taken: Mapping[str, Application]
    ) -> None:
        for each in (taken[tool] for tool in FORCERS):
            told = each.full_condition("Stalled")
            assert told is not None
            assert f"'{each.writer.manager}'" in told["message"]
            assert len(stage.profile_writes(each)) == 1
            assert each.item() == ""
            # Its creation, the roll, the commit.
            assert each.target()["metadata"]["generation"] == 3

    def test_who_merges_it_in_has_it_after_the_second_time(
        self, stage: Stage, taken: Mapping[str, Application]
    ) -> None:
        for each in (taken[tool] for tool in MERGERS):
            assert each.stalled("UndoneByOthers")
            assert 1 <= len(stage.profile_writes(each)) <= 2
            assert each.item() == ""

    def test_helm_4_refuses_to(self, rolled: Mapping[str, Application]) -> None:
        application = rolled["later-helm-4"]
        assert isinstance(application.writer, Helm)
        item = application.item()
        application.repository.put_item("")
        with pytest.raises(SyncError, match=f'conflict with "{OURS}"'):
            application.sync()
        application.writer.options = ("--force-replace",)
        with pytest.raises(SyncError, match="cannot use server-side apply and force replace"):
            application.sync()
        assert application.item() == item
        assert _ready(application)


def _sync_past_a_status(application: Application) -> None:
    """Let a tool write, and once more where a status came in between: Helm 3 replaces blindly."""
    try:
        application.sync()
    except SyncError as error:
        if "the object has been modified" not in str(error):
            raise
        application.sync()


class TestReplacing:
    """A tool that writes the whole object takes the profile out with it."""

    def test_it_is_not_fought(self, stage: Stage, rolled: Mapping[str, Application]) -> None:
        applications = [rolled[f"replace-{tool}"] for tool in MERGERS]
        for each in applications:
            if isinstance(each.writer, Helm):
                each.writer.options = ("--force",)
            elif isinstance(each.writer, Applied):
                each.writer.replace = True
            _sync_past_a_status(each)
            assert each.item() is None
        stage.until(
            applications,
            lambda each: each.stalled("UndoneByOthers"),
            "UndoneByOthers",
            syncing=False,
        )
        assert nothing_happens(
            lambda: all(each.stalled("UndoneByOthers") for each in applications), seconds=QUIET_S
        )
        assert [len(stage.profile_writes(each)) for each in applications] == [1, 1]


class TestRenamingTheContainer:
    """While the operator owns an item of the container, server-side appliers cannot rename it."""

    def test_a_release_lets_it_pass(self, stage: Stage, rolled: Mapping[str, Application]) -> None:
        applications = [rolled[f"rename-{tool}"] for tool in APPLIERS]
        for each in applications:
            each.repository.container["name"] = "server"
            with pytest.raises(SyncError, match=r"image: Required value"):
                each.sync()
            each.edit_serving(suspend=True)
        for each in applications:
            each.wait_condition("Suspended", "True", "Suspended")
            assert ridgeline(each, "release").returncode == 0
            each.sync()
            assert each.container()["name"] == "server"
            each.edit_serving(suspend=False)
        stage.until(applications, lambda each: each.rolls() == ["eagle", "eagle"], "a second roll")
        assert [each.owners_of_item() for each in applications] == [{OURS}] * 3

    def test_a_three_way_merge_renames_it_and_the_profile_comes_after(
        self, stage: Stage, rolled: Mapping[str, Application]
    ) -> None:
        application = rolled["rename-helm-3"]
        application.repository.container["name"] = "server"

        application.sync()

        containers = application.target()["spec"]["template"]["spec"]["containers"]
        assert [each["name"] for each in containers] == ["server"]
        assert application.item() is None
        stage.until([application], lambda each: each.rolls() == ["eagle", "eagle"], "a second roll")
        assert application.owners_of_item() == {OURS}
