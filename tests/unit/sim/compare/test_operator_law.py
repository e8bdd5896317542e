"""The operator in the simulator: what it is told, and that it decides as in a cluster."""

from dataclasses import replace

import pytest

from ridgeline.policy.decision import Outcome
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.sim.compare.case import published_case, sizes_of
from ridgeline.sim.compare.operator_law import EPOCH, OperatorLaw
from ridgeline.sim.requests.controller import EngineObservation, Observation
from ridgeline.sim.requests.traffic import MIXES
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction

CASE = published_case("70b", sizes_of(None, MIXES["chat"]))
SETTINGS = CASE.variants[0].settings


def engine(concurrency: float, profile: str = "eagle", **more: float) -> EngineObservation:
    """A replica at a concurrency, with the speed that the published tables give it."""
    speed = CASE.sizes.curve(CASE.truth, profile).tokens_at(concurrency)
    length = 2.28 if profile == "eagle" else 1.0
    known = EngineObservation(
        name="pod",
        profile=profile,
        ready_seconds=3600.0,
        age_seconds=5.0,
        decode_concurrency=concurrency,
        generated_tokens_per_second=speed,
        request_steps_per_second=speed / length,
        steps_per_second=speed / length / concurrency,
        running=concurrency,
        waiting=0.0,
        waiting_for_capacity=0.0,
        queue_seconds_per_second=0.0,
        prompt_tokens_per_second=0.0,
        mean_prompt_tokens=500.0,
        mean_output_tokens=800.0,
    )
    return replace(known, **more)  # type: ignore[arg-type]


def seen(concurrency: float, profile: str = "eagle", **more: object) -> Observation:
    engines = tuple(replace(engine(concurrency, profile), name=f"pod-{n}") for n in range(4))
    known = Observation(
        active_profile=profile, replicas=4, rolling=False, serving=4, engines=engines
    )
    return replace(known, **more)  # type: ignore[arg-type]


def law(**more: object) -> OperatorLaw:
    return OperatorLaw(settings=SETTINGS, surge=1, **more)  # type: ignore[arg-type]


def play(
    operator: OperatorLaw, observation: Observation, ticks: int, since: float = 0.0
) -> list[str]:
    """Ask every 30 s with the same observation; return what was asked for."""
    answers = (operator.decide(observation, since + 30.0 * n) for n in range(1, ticks + 1))
    return [each for each in answers if each is not None]


def last(operator: OperatorLaw) -> Reason:
    """Why the operator did what it did last."""
    return operator.notes[-1].reason


def test_a_load_beyond_the_cut_off_is_left_after_the_dwell() -> None:
    operator = law()
    assert play(operator, seen(130.0), 2) == []
    assert play(operator, seen(130.0), 3, since=60.0)[:1] == ["none"]
    assert operator.acts_at is not None
    assert (operator.acts_at.quieter, operator.acts_at.busier) == ("eagle", "none")
    assert operator.concurrency == pytest.approx(130.0)


def test_a_quiet_fleet_is_left_alone() -> None:
    operator = law()
    assert play(operator, seen(10.0), 40) == []
    assert operator.notes[-1].outcome is Outcome.KEEP


def test_a_switch_ends_when_the_fleet_has_rolled() -> None:
    """Cooldown and settling count from there: a roll under way is no time to ask again."""
    operator = law()
    assert play(operator, seen(130.0), 3) == ["none"]
    rolling = seen(60.0, "none", rolling=True)
    assert play(operator, rolling, 20, since=120.0) == []
    assert last(operator) is Reason.ROLLOUT_UNDER_WAY
    assert play(operator, seen(60.0, "none"), 1, since=720.0) == []
    assert last(operator) is Reason.REPLICAS_SETTLING


def test_without_telemetry_nothing_is_decided() -> None:
    operator = law()
    blind = seen(130.0, engines=(), unseen_seconds=(3600.0,) * 4)
    assert play(operator, blind, 10) == []
    assert operator.notes[-1].outcome is Outcome.HOLD
    assert last(operator) is Reason.NO_DATA


def test_young_replicas_are_pending_and_hold_nothing_up() -> None:
    """One of four that has just started is not missed, one that has long served is."""
    three = seen(130.0).engines[:3]
    young = law()
    assert play(young, seen(130.0, engines=three, unseen_seconds=(20.0,)), 4)[:1] == ["none"]
    lost = law()
    assert play(lost, seen(130.0, engines=three, unseen_seconds=(3600.0,)), 4) == []
    assert last(lost) is Reason.PARTIAL_DATA


def test_recommending_rolls_nothing() -> None:
    operator = OperatorLaw(settings=replace(SETTINGS, mode=Mode.RECOMMEND_ONLY), surge=1)
    assert play(operator, seen(130.0), 10) == []
    assert last(operator) is Reason.RECOMMEND_ONLY


def test_schedules_are_asked_at_the_simulated_moment() -> None:
    asked: list[float] = []

    def schedules(at: float, lead: float) -> ScheduleState:
        asked.append(at)
        assert lead > 0
        window = Window(
            schedule="day",
            order=0,
            action=ScheduleAction.PROFILE,
            profile="none",
            starts_at=EPOCH,
            ends_at=EPOCH + 3600.0,
        )
        return ScheduleState(active=(window,), leading=None, upcoming=None)

    operator = law(schedules=schedules)
    assert play(operator, seen(10.0), 5)[:1] == ["none"]
    assert asked[0] == EPOCH + 30.0
    assert (EPOCH / 86_400) % 7 == 0  # a Thursday, as 1970-01-01 was


def test_changes_of_mind_are_noted_once() -> None:
    operator = law()
    play(operator, seen(10.0), 30)
    reasons = [each.reason for each in operator.notes]
    assert len(reasons) == len(set(reasons))
