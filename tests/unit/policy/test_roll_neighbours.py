"""Rolls that others have a say in: quotas, autoscalers, gangs, protected Pods, owners, answers."""

import math
from typing import Any

import pytest

from ridgeline.policy.placement import Room
from ridgeline.policy.roll_neighbours import Autoscaler, Gang, ProtectedPod
from ridgeline.policy.roll_notes import looked_into
from ridgeline.policy.roll_plan import RollPlan, first_hold
from ridgeline.policy.verdict import Hold
from ridgeline.terms.reasons import Reason

NO_QUOTA = Room(pods=0, why="ResourceQuota team has 8 of 8 GPUs in use")
KARPENTER = "karpenter.sh/do-not-disrupt"
OWNED: dict[str, Any] = {"owner": "InferenceService/llama"}
LONG: dict[str, Any] = {"longest_answer_seconds": 120.0, "grace_seconds": 300.0}


def plan(**changes: Any) -> RollPlan:
    fields: dict[str, Any] = {
        "replicas": 4,
        "max_surge": 1,
        "max_unavailable": 0,
        "room": Room(pods=1, why="1 node has room"),
        **changes,
    }
    return RollPlan(**fields)


def hold(*, voluntary: bool = True, **changes: Any) -> Hold | None:
    return first_hold(plan(**changes), voluntary=voluntary)


def reason(*, voluntary: bool = True, **changes: Any) -> Reason | None:
    found = hold(voluntary=voluntary, **changes)
    return found.reason if found else None


def message(**changes: Any) -> str:
    found = hold(**changes)
    assert found is not None
    return found.message


class TestQuota:
    def test_a_surge_pod_that_no_quota_allows_is_not_begun(self) -> None:
        assert reason(quota=NO_QUOTA) is Reason.NO_QUOTA_FOR_SURGE
        assert reason(quota=Room(pods=1, why="")) is None

    def test_a_pod_that_may_go_first_frees_its_quota(self) -> None:
        assert reason(quota=NO_QUOTA, max_unavailable=1) is None

    def test_a_quota_that_is_not_known_does_not_hold(self) -> None:
        assert reason(quota=Room(pods=None, why="ResourceQuotas cannot be read")) is None

    def test_it_says_the_numbers_and_the_line_to_change(self) -> None:
        said = message(quota=NO_QUOTA, max_surge=2)
        assert "2 Pods more" in said
        assert NO_QUOTA.why in said
        assert "maxUnavailable: 1" in said


class TestAutoscaler:
    @staticmethod
    def scaler(**changes: Any) -> Autoscaler:
        fields = {"name": "hpa", "least": 1, "most": 8, "current": 4, "desired": 4, **changes}
        return Autoscaler(**fields)

    @pytest.mark.parametrize("desired", [3, 5])
    def test_a_scale_up_or_down_under_way_holds(self, desired: int) -> None:
        scaler = self.scaler(desired=desired)
        assert reason(autoscaler=scaler) is Reason.SCALING_UNDER_WAY
        assert f"from 4 to {desired} replicas" in message(autoscaler=scaler)
        assert reason(autoscaler=scaler, voluntary=False) is Reason.SCALING_UNDER_WAY

    @pytest.mark.parametrize(
        "changes", [{}, {"current": None}, {"desired": None}, {"desired": 9, "acts": False}]
    )
    def test_one_that_rests_or_is_not_known_to_act_does_not_hold(
        self, changes: dict[str, Any]
    ) -> None:
        assert reason(autoscaler=self.scaler(**changes)) is None

    def test_what_passes_by_itself_is_told_last(self) -> None:
        both: dict[str, Any] = {"autoscaler": self.scaler(desired=5), "quota": NO_QUOTA}
        assert reason(**both) is Reason.NO_QUOTA_FOR_SURGE


class TestGang:
    # Four old Pods stay and one comes; where one old Pod goes first there are four.
    @pytest.mark.parametrize(
        ("least", "held", "held_when_one_goes"),
        [
            (None, True, True),
            (6, True, True),
            (5, False, True),
            (4, False, False),
            (1, False, False),
            (0, False, False),
        ],
    )
    def test_a_gang_of_more_than_are_there_may_wait_for_ever(
        self, least: int | None, held: bool, held_when_one_goes: bool
    ) -> None:
        gang = Gang(name="llama", key="scheduling.x-k8s.io/pod-group", least=least)
        assert (reason(gang=gang) is Reason.GANG_SCHEDULED) is held
        one_goes = reason(gang=gang, max_unavailable=1) is Reason.GANG_SCHEDULED
        assert one_goes is held_when_one_goes

    @pytest.mark.parametrize(("least", "held"), [(1, False), (2, True), (4, True)])
    def test_where_running_pods_do_not_count_one_more_is_alone(
        self, least: int, held: bool
    ) -> None:
        gang = Gang(name="g", key="k", least=least, counts_running=False)
        assert (reason(gang=gang) is Reason.GANG_SCHEDULED) is held
        assert "old ones" not in (message(gang=gang) if held else "")

    def test_it_says_numbers_that_can_be_checked(self) -> None:
        gang = Gang(name="g", key="the/key", least=6)
        said = message(gang=gang, replicas=6, max_unavailable=2)
        assert "of which 6 Pods must find a place together" in said
        assert "with one of them 5 are there: 4 old ones stay meanwhile" in said

    def test_it_says_what_to_take_out_and_what_to_set(self) -> None:
        gang = Gang(name="g", key="the/key", least=9, least_key="the/number")
        said = message(gang=gang, max_surge=2)
        assert "gang 'g' (the/key), of which 9 Pods must" in said
        assert "2 at a time" in said
        assert 'set the/number: "1"' in said
        unnamed = message(gang=Gang(name="", key="the/key"))
        assert "gang (the/key), of which several Pods must" in unnamed
        assert "set " not in unnamed
        by_object = message(gang=Gang(name="g", key="the/key", least=9, group="a.group"))
        assert by_object.endswith("Deployment, or lower minMember of its PodGroup")


class TestProtectedPods:
    def test_a_pod_that_somebody_protects_is_not_rolled(self) -> None:
        one = (ProtectedPod(name="llama-x", by=KARPENTER),)
        assert reason(protected=one) is Reason.POD_PROTECTED
        assert reason(protected=()) is None

    def test_it_names_the_pod_and_the_command_that_frees_it(self) -> None:
        pods = (
            ProtectedPod(name="llama-x", by=f"a/b, {KARPENTER}"),
            ProtectedPod(name="llama-y", by=KARPENTER),
        )
        said = message(protected=pods)
        assert "Pod llama-x (and 1 more)" in said
        assert f"kubectl annotate pod llama-x a/b- {KARPENTER}-" in said
        assert "more)" not in message(protected=pods[:1])


class TestOwner:
    def test_another_controllers_deployment_is_left_alone_whoever_asks(self) -> None:
        assert reason(**OWNED) is Reason.TARGET_OWNED_BY_CONTROLLER
        assert reason(**OWNED, voluntary=False) is Reason.TARGET_OWNED_BY_CONTROLLER
        assert reason(owner="") is None

    def test_it_is_told_before_what_could_be_changed_in_the_deployment(self) -> None:
        assert reason(**OWNED, recreate=True) is Reason.TARGET_OWNED_BY_CONTROLLER

    def test_it_shows_what_to_set_in_the_owner(self) -> None:
        found = first_hold(plan(**OWNED, configs={"eagle2": '{"method":"eagle"}'}), "eagle2")
        assert found is not None
        assert "InferenceService/llama owns this Deployment" in found.message
        assert found.message.endswith('env item SPECULATION_CONFIG = \'{"method":"eagle"}\'')
        none = first_hold(plan(**OWNED, configs={"none": ""}), "none")
        assert none is not None
        assert none.message.endswith("env item SPECULATION_CONFIG = ''")
        assert message(**OWNED).endswith("env item SPECULATION_CONFIG")


class TestLongestAnswers:
    @pytest.mark.parametrize(
        ("drain", "held"), [(0.0, True), (119.0, True), (120.0, False), (200.0, False)]
    )
    def test_a_drain_as_long_as_the_longest_answer_cuts_none(
        self, drain: float, held: bool
    ) -> None:
        found = reason(**LONG, drain_seconds=drain)
        assert found is (Reason.DRAIN_TOO_SHORT if held else None)

    def test_the_grace_period_ends_every_drain(self) -> None:
        # The grace period of a drain that asks for more is another check's, which binds all rolls.
        changes = {"longest_answer_seconds": 120.0, "drain_seconds": 110.0}
        assert "leaves them 110 s" in message(**changes, grace_seconds=112.0)
        assert plan(drain_seconds=110.0, grace_seconds=60.0).drain_lasts == 60.0

    @pytest.mark.parametrize("longest", [None, math.inf, math.nan])
    def test_answers_whose_length_is_not_known_hold_nothing(self, longest: float | None) -> None:
        assert reason(longest_answer_seconds=longest) is None

    def test_a_roll_that_cannot_wait_is_not_held_for_it(self) -> None:
        assert reason(**LONG, voluntary=False) is None

    @pytest.mark.parametrize(
        ("drains", "said", "unsaid"),
        [
            (True, "set --shutdown-timeout=120 and", "preStop sleep"),
            (False, "vLLM before 0.18 has no --shutdown-timeout", "--shutdown-timeout=120"),
            (None, "set --shutdown-timeout=120 (vLLM 0.18 and later;", "has no"),
        ],
    )
    def test_it_says_what_to_set_for_the_engine_at_hand(
        self, drains: bool | None, said: str, unsaid: str
    ) -> None:
        told = message(**LONG, drains=drains)
        assert said in told
        assert unsaid not in told
        assert "terminationGracePeriodSeconds 122" in told
        assert "answers take up to 120 s" in told
        assert "leaves them 0 s" in told


class TestStartOfTheProfile:
    def test_a_start_that_was_learned_of_the_profile_needs_no_margin(self) -> None:
        changes = {"start_seconds_by_profile": {"eagle2": 110.0}, "start_seconds": 100.0}
        enough = plan(**changes, startup_budget_seconds=110.0)
        assert first_hold(enough, "eagle2") is None
        assert first_hold(enough, "draft-1b") is not None
        assert first_hold(enough) is not None

    def test_one_that_was_learned_as_longer_needs_more(self) -> None:
        changes = {"start_seconds_by_profile": {"eagle2": 200.0}, "start_seconds": 100.0}
        found = first_hold(plan(**changes, progress_deadline_seconds=199.0), "eagle2")
        assert found is not None
        assert found.reason is Reason.START_BUDGET_TOO_SHORT
        assert "took 200 s, and" in found.message
        assert "drafter" not in found.message

    @pytest.mark.parametrize("learned", [math.nan, math.inf, 0.0, -1.0])
    def test_what_is_no_time_teaches_nothing(self, learned: float) -> None:
        changes = {"start_seconds_by_profile": {"eagle2": learned}, "start_seconds": 100.0}
        assert first_hold(plan(**changes, startup_budget_seconds=125.0), "eagle2") is None
        assert first_hold(plan(**changes, startup_budget_seconds=124.0), "eagle2") is not None


class TestNotes:
    def test_a_plain_target(self) -> None:
        notes = dict(looked_into(plan()))
        assert notes["room for a surge Pod"] == "1 node has room"
        assert notes["quota"].startswith("not known")
        assert notes["drain"].endswith("the longest answers are not known")
        assert notes.keys() == {"room for a surge Pod", "quota", "drain"}

    def test_all_that_others_have_a_say_in(self) -> None:
        notes = dict(
            looked_into(
                plan(
                    owner="InferenceService/llama",
                    autoscaler=Autoscaler(name="hpa", least=2, most=8),
                    gang=Gang(name="g", key="k", least=2),
                    unread=("ResourceQuotas", "PodDisruptionBudgets"),
                    longest_answer_seconds=120.0,
                    drain_seconds=20.0,
                )
            )
        )
        assert "recommendations only" in notes["owned by"]
        assert "2 to 8 replicas and may scale at any moment" in notes["autoscaler"]
        assert notes["gang"] == "g (k): 2 together"
        assert notes["not readable"].startswith("ResourceQuotas, PodDisruptionBudgets")
        assert "get 20 s when a Pod goes; answers take up to 120 s" in notes["drain"]
